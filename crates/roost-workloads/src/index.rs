//! What the controllers of one cluster look up: pods by owner and by namespace, selectors, and the scheduler's state.

pub mod queue;
mod summary;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use roost_object::selector::Selector;

use crate::Pod;
use crate::scheduler::{Node, State};
pub use queue::{Next, Queue};
use summary::Summary;

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Pods.
    Pods,
    /// Nodes.
    Nodes,
    /// Namespaces.
    Namespaces,
    /// Deployments.
    Deployments,
    /// `ReplicaSets`.
    ReplicaSets,
    /// `ReplicationControllers`.
    ReplicationControllers,
    /// `StatefulSets`.
    StatefulSets,
    /// `DaemonSets`.
    DaemonSets,
    /// Jobs.
    Jobs,
    /// Revisions of `StatefulSets` and `DaemonSets`.
    ControllerRevisions,
    /// Services.
    Services,
    /// `EndpointSlices`.
    EndpointSlices,
    /// `PodDisruptionBudgets`.
    DisruptionBudgets,
}

impl Source {
    /// All sources, in their order.
    pub const ALL: [Source; 13] = [
        Source::Pods,
        Source::Nodes,
        Source::Namespaces,
        Source::Deployments,
        Source::ReplicaSets,
        Source::ReplicationControllers,
        Source::StatefulSets,
        Source::DaemonSets,
        Source::Jobs,
        Source::ControllerRevisions,
        Source::Services,
        Source::EndpointSlices,
        Source::DisruptionBudgets,
    ];

    /// The group and the plural.
    pub fn resource(self) -> (&'static str, &'static str) {
        match self {
            Source::Pods => ("", "pods"),
            Source::Nodes => ("", "nodes"),
            Source::Namespaces => ("", "namespaces"),
            Source::Deployments => ("apps", "deployments"),
            Source::ReplicaSets => ("apps", "replicasets"),
            Source::ReplicationControllers => ("", "replicationcontrollers"),
            Source::StatefulSets => ("apps", "statefulsets"),
            Source::DaemonSets => ("apps", "daemonsets"),
            Source::Jobs => ("batch", "jobs"),
            Source::ControllerRevisions => ("apps", "controllerrevisions"),
            Source::Services => ("", "services"),
            Source::EndpointSlices => ("discovery.k8s.io", "endpointslices"),
            Source::DisruptionBudgets => ("policy", "poddisruptionbudgets"),
        }
    }
}

/// The index of one cluster. Objects are known by `namespace/name`.
#[derive(Debug, Default)]
pub struct Index {
    pods: BTreeMap<String, Arc<Pod>>,
    pods_by_owner: HashMap<String, BTreeSet<String>>,
    loose_pods: BTreeSet<String>,
    others: HashMap<Source, BTreeMap<String, Summary>>,
    by_owner: HashMap<(Source, String), BTreeSet<String>>,
    /// The nodes and what lies on them.
    pub scheduler: State,
    /// Pods that wait for a node.
    pub waiting: Queue,
}

impl Index {
    /// Takes in an object that is new or changed.
    pub fn insert(&mut self, source: Source, key: &str, json: &[u8]) {
        match source {
            Source::Pods => {
                if let Some(pod) = Pod::from_json(json) {
                    self.insert_pod(key, &Arc::new(pod));
                }
            }
            Source::Nodes => {
                if let Some(node) = Node::from_json(json) {
                    self.scheduler.set_node(node);
                    self.waiting.something_moved();
                }
            }
            Source::Namespaces => {
                let labels = Summary::read(json).map(|summary| summary.labels);
                self.scheduler.set_namespace(key, labels);
            }
            _ => {
                self.remove(source, key);
                let Some(summary) = Summary::read(json) else { return };
                if let Some(owner) = &summary.controller {
                    self.by_owner.entry((source, owner.clone())).or_default().insert(key.to_owned());
                }
                self.others.entry(source).or_default().insert(key.to_owned(), summary);
            }
        }
    }

    /// Forgets an object.
    pub fn remove(&mut self, source: Source, key: &str) {
        match source {
            Source::Pods => self.remove_pod(key),
            Source::Nodes => self.scheduler.remove_node(key),
            Source::Namespaces => self.scheduler.set_namespace(key, None),
            _ => {
                let Some(summary) = self.others.get_mut(&source).and_then(|known| known.remove(key)) else { return };
                if let Some(owner) = summary.controller {
                    drop_from(&mut self.by_owner, &(source, owner), key);
                }
            }
        }
    }

    fn insert_pod(&mut self, key: &str, pod: &Arc<Pod>) {
        self.forget_owner(key);
        match pod.metadata.controller() {
            Some(owner) => {
                self.pods_by_owner.entry(owner.uid.clone()).or_default().insert(key.to_owned());
            }
            None => {
                self.loose_pods.insert(key.to_owned());
            }
        }
        let before = self.pods.insert(key.to_owned(), Arc::clone(pod));
        if let Some(before) = before.filter(|before| before.metadata.uid != pod.metadata.uid) {
            self.scheduler.remove_pod(&before.metadata.uid);
        }
        self.scheduler.set_pod(pod);
        self.waiting.observe(key, pod);
    }

    fn remove_pod(&mut self, key: &str) {
        self.forget_owner(key);
        if let Some(pod) = self.pods.remove(key) {
            self.scheduler.remove_pod(&pod.metadata.uid);
            self.waiting.forget(key, !pod.spec.node_name.is_empty());
        }
    }

    fn forget_owner(&mut self, key: &str) {
        self.loose_pods.remove(key);
        let Some(pod) = self.pods.get(key) else { return };
        if let Some(owner) = pod.metadata.controller() {
            let owner = owner.uid.clone();
            drop_from(&mut self.pods_by_owner, &owner, key);
        }
    }

    /// A pod.
    pub fn pod(&self, key: &str) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    /// The pods of an owner, and those of its namespace that have none.
    pub fn pods_for(&self, namespace: &str, owner: &str) -> Vec<Arc<Pod>> {
        let owned = self.pods_by_owner.get(owner).into_iter().flatten();
        let prefix = format!("{namespace}/");
        let loose = self.loose_pods.range(prefix.clone()..).take_while(|key| key.starts_with(&prefix));
        owned.chain(loose).filter_map(|key| self.pods.get(key)).cloned().collect()
    }

    /// The pods of an owner.
    pub fn pods_of(&self, owner: &str) -> Vec<Arc<Pod>> {
        let owned = self.pods_by_owner.get(owner).into_iter().flatten();
        owned.filter_map(|key| self.pods.get(key)).cloned().collect()
    }

    /// The pods of a namespace.
    pub fn pods_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let prefix = format!("{namespace}/");
        let end = format!("{namespace}0");
        self.pods.range(prefix..end).map(|(_, pod)| pod)
    }

    /// The pods of a node, also those that have ended.
    pub fn pods_of_node<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a Arc<Pod>> {
        self.pods.values().filter(move |pod| pod.spec.node_name == node)
    }

    /// Whether there are any pods.
    pub fn has_pods(&self) -> bool {
        !self.pods.is_empty()
    }

    /// The objects of a source that an owner cares for, by name.
    pub fn owned(&self, source: Source, owner: &str) -> Vec<String> {
        let owned = self.by_owner.get(&(source, owner.to_owned())).into_iter().flatten();
        owned.filter_map(|key| Some(key.split_once('/')?.1.to_owned())).collect()
    }

    /// The objects of a source that nobody cares for and that a selector means, by name.
    pub fn loose(&self, source: Source, namespace: &str, selector: &Selector) -> Vec<String> {
        self.others_in(source, namespace)
            .filter(|(_, summary)| summary.controller.is_none() && selector.matches(&summary.labels))
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The objects of a source whose selector means some labels, by name.
    pub fn selecting(&self, source: Source, namespace: &str, labels: &BTreeMap<String, String>) -> Vec<String> {
        self.others_in(source, namespace)
            .filter(|(_, summary)| summary.selects(labels))
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The objects of a source that carry a label with a value, by name.
    pub fn labelled(&self, source: Source, namespace: &str, label: &str, value: &str) -> Vec<String> {
        self.others_in(source, namespace)
            .filter(|(_, summary)| summary.labels.get(label).is_some_and(|own| own == value))
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// All objects of a source, as `namespace/name`.
    pub fn all(&self, source: Source) -> Vec<String> {
        self.others.get(&source).into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// The pods that count as of one kind with a pod when pods are spread: those of its Services and of its owner.
    pub fn same_kind(&self, pod: &Pod) -> Option<Selector> {
        let namespace = &pod.metadata.namespace;
        let mut requirements = Vec::new();
        for (_, summary) in self.others_in(Source::Services, namespace) {
            if summary.selects(&pod.metadata.labels) {
                requirements.extend(summary.selector.iter().flat_map(|selector| selector.requirements().to_vec()));
            }
        }
        if let Some(owner) = pod.metadata.controller() {
            let source = match owner.kind.as_str() {
                "ReplicaSet" => Some(Source::ReplicaSets),
                "ReplicationController" => Some(Source::ReplicationControllers),
                "StatefulSet" => Some(Source::StatefulSets),
                _ => None,
            };
            let owner = source
                .and_then(|source| self.others.get(&source))
                .and_then(|known| known.get(&format!("{namespace}/{}", owner.name)));
            let selector = owner.and_then(|summary| summary.selector.as_ref());
            requirements.extend(selector.into_iter().flat_map(|selector| selector.requirements().to_vec()));
        }
        (!requirements.is_empty()).then(|| Selector::all_of(requirements))
    }

    fn others_in(&self, source: Source, namespace: &str) -> impl Iterator<Item = (&str, &Summary)> {
        let (prefix, end) = (format!("{namespace}/"), format!("{namespace}0"));
        let start = prefix.len();
        self.others
            .get(&source)
            .into_iter()
            .flat_map(move |known| known.range(prefix.clone()..end.clone()))
            .map(move |(key, summary)| (&key[start..], summary))
    }
}

fn drop_from<K: std::hash::Hash + Eq>(map: &mut HashMap<K, BTreeSet<String>>, owner: &K, key: &str) {
    if let Some(keys) = map.get_mut(owner) {
        keys.remove(key);
        if keys.is_empty() {
            map.remove(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn insert(index: &mut Index, source: Source, key: &str, value: &Value) {
        index.insert(source, key, value.to_string().as_bytes());
    }

    fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
        pods.iter().map(|pod| pod.metadata.name.as_str()).collect()
    }

    #[test]
    fn pods_are_found_by_owner_until_they_change_or_go() {
        let mut index = Index::default();
        let pod = |name: &str, owner: Option<&str>| {
            let owners: Vec<Value> = owner.iter().map(|uid| json!({"uid": uid, "controller": true})).collect();
            json!({"metadata": {"name": name, "namespace": "d", "uid": name, "ownerReferences": owners}})
        };
        insert(&mut index, Source::Pods, "d/a", &pod("a", Some("o")));
        insert(&mut index, Source::Pods, "d/b", &pod("b", None));
        insert(&mut index, Source::Pods, "e/c", &pod("c", None));
        assert_eq!(names(&index.pods_for("d", "o")), ["a", "b"]);
        insert(&mut index, Source::Pods, "d/a", &pod("a", None));
        assert_eq!(names(&index.pods_of("o")), Vec::<&str>::new());
        index.remove(Source::Pods, "d/a");
        index.remove(Source::Pods, "d/b");
        assert!(index.pods_by_owner.is_empty() && names(&index.pods_for("d", "o")).is_empty());
        assert_eq!(index.pods_in("e").count(), 1);
    }

    #[test]
    fn others_are_found_by_owner_and_selector() {
        let mut index = Index::default();
        let set = json!({"metadata": {"labels": {"app": "web"}, "ownerReferences": [{"uid": "d", "controller": true}]},
            "spec": {"selector": {"matchLabels": {"app": "web"}}}});
        insert(&mut index, Source::ReplicaSets, "n/set", &set);
        insert(&mut index, Source::Services, "n/service", &json!({"spec": {"selector": {"app": "web"}}}));
        insert(&mut index, Source::Services, "n/none", &json!({"spec": {}}));
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        assert_eq!(index.owned(Source::ReplicaSets, "d"), ["set"]);
        assert_eq!(index.selecting(Source::ReplicaSets, "n", &labels), ["set"]);
        assert_eq!(index.selecting(Source::Services, "n", &labels), ["service"]);
        assert_eq!(index.selecting(Source::Services, "m", &labels), Vec::<String>::new());
        index.remove(Source::ReplicaSets, "n/set");
        assert!(index.by_owner.is_empty());
    }
}
