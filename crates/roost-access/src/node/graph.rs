//! Which objects concern which nodes, kept up to date object by object.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::MIRROR_POD;
use super::authorize::{NodeGraph, RelatedKind};
use super::reference::{PodReferences, volume_secrets};

/// The kinds that the index is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeIndexKind {
    /// Pods, which lead from nodes to nearly everything.
    Pod,
    /// Volumes, which lead from claims to secrets.
    PersistentVolume,
    /// Attachments of volumes.
    VolumeAttachment,
    /// Devices of nodes.
    ResourceSlice,
}

type Key = (RelatedKind, Arc<str>, Arc<str>);

#[derive(Clone, Debug)]
struct Edges {
    node: Arc<str>,
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Volume {
    claim: (Arc<str>, Arc<str>),
    secrets: Vec<(String, String)>,
}

/// A [`NodeGraph`] in memory, fed by what a watch reports.
#[derive(Clone, Debug, Default)]
pub struct NodeIndex {
    /// How many pods, attachments or slices of a node lead to an object.
    nodes_of: HashMap<Key, HashMap<Arc<str>, u32>>,
    edges: HashMap<Key, Edges>,
    volumes: HashMap<String, Volume>,
    volumes_of_secret: HashMap<(String, String), Vec<String>>,
}

impl NodeIndex {
    /// Takes in an object that was created or changed.
    pub fn apply(&mut self, kind: NodeIndexKind, object: &Value) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        self.remove(kind, namespace, name);
        let node = object["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
        match (kind, node) {
            (NodeIndexKind::Pod, Some(node)) => self.add_pod(object, namespace, name, node),
            (NodeIndexKind::VolumeAttachment, Some(node)) => {
                self.add(related(RelatedKind::VolumeAttachment, "", name), node, []);
            }
            (NodeIndexKind::ResourceSlice, Some(node)) => {
                self.add(related(RelatedKind::ResourceSlice, "", name), node, []);
            }
            (NodeIndexKind::PersistentVolume, _) => self.add_volume(object, name),
            (_, None) => {}
        }
    }

    /// Forgets an object that was deleted.
    pub fn remove(&mut self, kind: NodeIndexKind, namespace: &str, name: &str) {
        let key = match kind {
            NodeIndexKind::Pod => related(RelatedKind::Pod, namespace, name),
            NodeIndexKind::VolumeAttachment => related(RelatedKind::VolumeAttachment, "", name),
            NodeIndexKind::ResourceSlice => related(RelatedKind::ResourceSlice, "", name),
            NodeIndexKind::PersistentVolume => return self.remove_volume(name),
        };
        let Some(edges) = self.edges.remove(&key) else {
            return;
        };
        for key in &edges.keys {
            let Some(nodes) = self.nodes_of.get_mut(key) else {
                continue;
            };
            if let Some(count) = nodes.get_mut(&edges.node) {
                *count -= 1;
                if *count == 0 {
                    nodes.remove(&edges.node);
                }
            }
            if nodes.is_empty() {
                self.nodes_of.remove(key);
            }
        }
    }

    fn add_pod(&mut self, pod: &Value, namespace: &str, name: &str, node: &str) {
        let own = related(RelatedKind::Pod, namespace, name);
        // A kubelet makes mirror pods itself: they must not open a way to anything.
        if pod["metadata"]["annotations"].get(MIRROR_POD).is_some() {
            return self.add(own, node, []);
        }
        let references = PodReferences::of(pod);
        let namespace = Arc::clone(&own.1);
        let lists = [
            (RelatedKind::ServiceAccount, references.service_account.into_iter().collect()),
            (RelatedKind::Secret, references.secrets),
            (RelatedKind::ConfigMap, references.config_maps),
            (RelatedKind::PersistentVolumeClaim, references.claims),
            (RelatedKind::ResourceClaim, references.resource_claims),
        ];
        let keys = lists.into_iter().flat_map(|(kind, mut names): (_, Vec<String>)| {
            names.sort();
            names.dedup();
            let namespace = Arc::clone(&namespace);
            names.into_iter().map(move |name| (kind, Arc::clone(&namespace), name.into()))
        });
        self.add(own, node, keys);
    }

    fn add(&mut self, own: Key, node: &str, others: impl IntoIterator<Item = Key>) {
        let node: Arc<str> = node.into();
        let keys: Vec<Key> = std::iter::once(own.clone()).chain(others).collect();
        for key in &keys {
            *self.nodes_of.entry(key.clone()).or_default().entry(Arc::clone(&node)).or_default() += 1;
        }
        self.edges.insert(own, Edges { node, keys });
    }

    fn add_volume(&mut self, object: &Value, name: &str) {
        let claim = &object["spec"]["claimRef"];
        let text = |field: &str| claim[field].as_str().unwrap_or_default();
        if !claim.is_object() {
            return;
        }
        let secrets = volume_secrets(object);
        for secret in &secrets {
            self.volumes_of_secret.entry(secret.clone()).or_default().push(name.to_owned());
        }
        self.volumes
            .insert(name.to_owned(), Volume { claim: (text("namespace").into(), text("name").into()), secrets });
    }

    fn remove_volume(&mut self, name: &str) {
        let Some(volume) = self.volumes.remove(name) else {
            return;
        };
        for secret in volume.secrets {
            if let Some(volumes) = self.volumes_of_secret.get_mut(&secret) {
                volumes.retain(|other| other != name);
                if volumes.is_empty() {
                    self.volumes_of_secret.remove(&secret);
                }
            }
        }
    }

    fn has_edge(&self, node: &str, key: &Key) -> bool {
        self.nodes_of.get(key).is_some_and(|nodes| nodes.contains_key(node))
    }

    fn has_volume(&self, node: &str, name: &str) -> bool {
        self.volumes.get(name).is_some_and(|volume| {
            let (namespace, name) = &volume.claim;
            self.has_edge(node, &(RelatedKind::PersistentVolumeClaim, Arc::clone(namespace), Arc::clone(name)))
        })
    }
}

fn related(kind: RelatedKind, namespace: &str, name: &str) -> Key {
    (kind, namespace.into(), name.into())
}

impl NodeGraph for NodeIndex {
    fn is_related(&self, node: &str, kind: RelatedKind, namespace: &str, name: &str) -> bool {
        match kind {
            RelatedKind::PersistentVolume => self.has_volume(node, name),
            RelatedKind::Secret => {
                let volumes = || self.volumes_of_secret.get(&(namespace.to_owned(), name.to_owned()));
                self.has_edge(node, &related(kind, namespace, name))
                    || volumes().into_iter().flatten().any(|volume| self.has_volume(node, volume))
            }
            _ => self.has_edge(node, &related(kind, namespace, name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, node: &str, claim: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "a"}, "spec": {"nodeName": node, "serviceAccountName": "bot",
            "volumes": [{"secret": {"secretName": "s"}}, {"persistentVolumeClaim": {"claimName": claim}},
                {"secret": {"secretName": "s"}}]}})
    }

    #[test]
    fn pods_lead_from_nodes_to_what_they_use() {
        let mut index = NodeIndex::default();
        index.apply(NodeIndexKind::Pod, &pod("p", "n", "c"));
        index.apply(NodeIndexKind::Pod, &pod("q", "n", "d"));
        let is = |index: &NodeIndex, node: &str, kind, name: &str| index.is_related(node, kind, "a", name);
        assert!(is(&index, "n", RelatedKind::Secret, "s"));
        assert!(is(&index, "n", RelatedKind::ServiceAccount, "bot"));
        assert!(is(&index, "n", RelatedKind::Pod, "p"));
        assert!(!is(&index, "m", RelatedKind::Secret, "s"));
        assert!(!index.is_related("n", RelatedKind::Secret, "b", "s"));
        index.remove(NodeIndexKind::Pod, "a", "p");
        assert!(is(&index, "n", RelatedKind::Secret, "s"));
        assert!(!is(&index, "n", RelatedKind::PersistentVolumeClaim, "c"));
        index.apply(NodeIndexKind::Pod, &pod("q", "m", "d"));
        assert!(!is(&index, "n", RelatedKind::Secret, "s"));
        assert!(is(&index, "m", RelatedKind::Secret, "s"));
        index.remove(NodeIndexKind::Pod, "a", "q");
        assert!(index.nodes_of.is_empty() && index.edges.is_empty());
    }

    #[test]
    fn volumes_lead_on_to_their_secrets() {
        let mut index = NodeIndex::default();
        let volume = json!({"metadata": {"name": "v"}, "spec": {"claimRef": {"namespace": "a", "name": "c"},
            "csi": {"nodeStageSecretRef": {"namespace": "store", "name": "key"}}}});
        index.apply(NodeIndexKind::PersistentVolume, &volume);
        let reaches = |index: &NodeIndex| {
            (
                index.is_related("n", RelatedKind::PersistentVolume, "", "v"),
                index.is_related("n", RelatedKind::Secret, "store", "key"),
            )
        };
        assert_eq!(reaches(&index), (false, false));
        index.apply(NodeIndexKind::Pod, &pod("p", "n", "c"));
        assert_eq!(reaches(&index), (true, true));
        index.remove(NodeIndexKind::PersistentVolume, "", "v");
        assert_eq!(reaches(&index), (false, false));
        assert!(index.volumes_of_secret.is_empty());
    }

    #[test]
    fn mirror_pods_open_no_way() {
        let mut mirror = pod("p", "n", "c");
        mirror["metadata"]["annotations"] = json!({MIRROR_POD: "x"});
        let mut index = NodeIndex::default();
        index.apply(NodeIndexKind::Pod, &mirror);
        assert!(index.is_related("n", RelatedKind::Pod, "a", "p"));
        assert!(!index.is_related("n", RelatedKind::Secret, "a", "s"));
        let attachment = json!({"metadata": {"name": "t"}, "spec": {"nodeName": "n"}});
        index.apply(NodeIndexKind::VolumeAttachment, &attachment);
        assert!(index.is_related("n", RelatedKind::VolumeAttachment, "", "t"));
        index.apply(NodeIndexKind::VolumeAttachment, &json!({"metadata": {"name": "t"}, "spec": {}}));
        assert!(!index.is_related("n", RelatedKind::VolumeAttachment, "", "t"));
    }
}
