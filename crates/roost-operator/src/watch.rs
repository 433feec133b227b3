//! From changes of objects to what has to be looked at. One watch for each kind, for all clusters.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, TryStreamExt as _, pin_mut};
use kube::api::{Api, DynamicObject, ObjectMeta, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use roost_api::hypershift::names::annotation::NODE_POOL;
use roost_pki::plane::WRITTEN_ANNOTATION;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::hosted_cluster;
use crate::hosts::Hosts;
use crate::machine::HOST_ID;
use crate::names::{CLUSTER, CONTROL_PLANE_LABEL, OPENED};
use crate::node_pool;
use crate::object::{Kind, Objects};
use crate::pools::Pools;
use crate::queue::{Controller, Key, Queue};

/// How long a pool's report may lag behind its machines: of a thousand that join, each changes several times.
const REPORT: Duration = Duration::from_millis(500);

/// A user's Secret or ConfigMap: its kind, namespace and name.
type Material = (Kind, String, String);

/// What the watches remember: which clusters a user's Secret or ConfigMap matters to.
#[derive(Default)]
struct Index {
    references: HashMap<Material, HashSet<String>>,
    referring: HashMap<(String, String), Vec<Material>>,
    /// The ConfigMaps of each pool.
    configs: HashMap<(String, String), Vec<String>>,
}

/// Follows all kinds until the future is dropped.
pub(crate) async fn run(objects: Objects, queue: Arc<Queue>, known: &Pools, fleet: &Fleet, hosts: &Hosts) {
    let index = Arc::new(parking_lot::Mutex::new(Index::default()));
    tokio::join!(
        clusters(&objects, &queue, &index, known),
        pools(&objects, &queue, &index, known),
        machines(&objects, &queue, fleet, hosts),
        follow(&objects, Kind::HostedControlPlane, None, |change| {
            let (namespace, name) = change.identity();
            if change.is_meaningful {
                queue.add(Key::new(Controller::HostedControlPlane, namespace, name));
            }
            add_cluster(&queue, change.metadata);
        }),
        follow(&objects, Kind::Secret, None, |change| material(&queue, &index, Kind::Secret, &change)),
        follow(&objects, Kind::ConfigMap, None, |change| material(&queue, &index, Kind::ConfigMap, &change)),
        follow(&objects, Kind::Service, None, |change| {
            add_plane(&queue, change.metadata);
        }),
        follow(&objects, Kind::ControlPlaneComponent, None, |change| {
            if change.is_meaningful {
                add_plane(&queue, change.metadata);
            }
        }),
        follow(&objects, Kind::Namespace, Some(CONTROL_PLANE_LABEL), |change| {
            add_cluster(&queue, change.metadata);
        }),
    );
}

/// HostedClusters are followed whole, for what they name.
async fn clusters(objects: &Objects, queue: &Queue, index: &parking_lot::Mutex<Index>, known: &Pools) {
    let api: Api<DynamicObject> = Api::all_with(objects.client(), &Kind::HostedCluster.resource());
    let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut seen = Seen::default();
    while let Some(event) = next(&mut events, Kind::HostedCluster).await {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                let Some((namespace, name)) = identity(&object.metadata) else { continue };
                index.lock().refer(namespace, name, object.data.get("spec").unwrap_or(&Value::Null));
                if seen.is_new(&object.metadata) {
                    queue.add(Key::new(Controller::HostedCluster, namespace, name));
                }
                for pool in known.known_of(namespace, name) {
                    queue.add(Key::new(Controller::NodePool, namespace, &pool));
                }
            }
            Event::Delete(object) => {
                let Some((namespace, name)) = identity(&object.metadata) else { continue };
                index.lock().refer(namespace, name, &Value::Null);
                seen.forget(&object.metadata);
                queue.add(Key::new(Controller::Orphans, namespace, name));
            }
            // Clusters may have gone while nobody watched.
            Event::InitDone => queue.add(Key::new(Controller::Orphans, "", "")),
            Event::Init => seen.clear(),
        }
    }
}

/// NodePools are followed whole, for the cluster that they name.
async fn pools(objects: &Objects, queue: &Queue, index: &parking_lot::Mutex<Index>, known: &Pools) {
    let api: Api<DynamicObject> = Api::all_with(objects.client(), &Kind::NodePool.resource());
    let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut seen = Seen::default();
    while let Some(event) = next(&mut events, Kind::NodePool).await {
        let (object, is_gone) = match event {
            Event::Apply(object) | Event::InitApply(object) => (object, false),
            Event::Delete(object) => (object, true),
            Event::Init => {
                seen.clear();
                known.begin();
                continue;
            }
            Event::InitDone => {
                known.complete();
                continue;
            }
        };
        let Some((namespace, name)) = identity(&object.metadata) else { continue };
        let cluster = object.data["spec"]["clusterName"].as_str().unwrap_or_default();
        if is_gone {
            known.remove(namespace, cluster, name);
            index.lock().configure(namespace, name, Vec::new());
            seen.forget(&object.metadata);
            queue.add(Key::new(Controller::HostedCluster, namespace, cluster));
            queue.add(Key::new(Controller::AgentPool, namespace, name));
            // One that its controller took away has nothing left.
            if object.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(OPENED)) {
                queue.add(Key::new(Controller::NodePool, namespace, name));
            }
        } else {
            known.add(namespace, cluster, name);
            index.lock().configure(namespace, name, node_pool::config_names(&object.data["spec"]));
            if seen.is_new(&object.metadata) {
                queue.add(Key::new(Controller::NodePool, namespace, name));
                queue.add(Key::new(Controller::AgentPool, namespace, name));
            }
        }
    }
}

/// Machines tell by their metadata who they are; how they are is their pool's to report, not more than once a while.
async fn machines(objects: &Objects, queue: &Queue, fleet: &Fleet, hosts: &Hosts) {
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(objects.client(), &Kind::Machine.resource());
    let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut seen = Seen::default();
    while let Some(event) = next(&mut events, Kind::Machine).await {
        let (object, is_gone): (PartialObjectMeta<DynamicObject>, bool) = match event {
            Event::Apply(object) | Event::InitApply(object) => (object, false),
            Event::Delete(object) => (object, true),
            Event::Init => {
                seen.clear();
                fleet.restart();
                continue;
            }
            Event::InitDone => {
                fleet.finish();
                continue;
            }
        };
        let Some((namespace, name)) = identity(&object.metadata) else { continue };
        if is_gone {
            seen.forget(&object.metadata);
            fleet.forget(namespace, name);
        } else {
            fleet.learn(&object.metadata);
            if seen.is_new(&object.metadata) {
                queue.add(Key::new(Controller::Machine, namespace, name));
            }
        }
        if let Some((space, pool)) = pool_of(&object.metadata) {
            queue.add_within(Key::new(Controller::NodePool, space, pool), REPORT);
        }
        let host = object.metadata.annotations.as_ref().and_then(|annotations| annotations.get(HOST_ID));
        for (space, agent) in host.map(|host| hosts.named(host)).unwrap_or_default() {
            queue.add(Key::new(Controller::Agent, &space, &agent));
            if let Some((space, machine)) = hosts.find(&(space, agent)).and_then(|host| host.machine.clone()) {
                queue.add(Key::new(Controller::AgentMachine, &space, &machine));
            }
        }
    }
}

/// The pool that an object belongs to, as namespace and name.
pub(crate) fn pool_of(metadata: &ObjectMeta) -> Option<(&str, &str)> {
    metadata.annotations.as_ref()?.get(NODE_POOL)?.split_once('/')
}

/// A change of an object, as far as its metadata tells.
pub(crate) struct Change<'a> {
    pub(crate) metadata: &'a ObjectMeta,
    /// Whether more than the status changed.
    pub(crate) is_meaningful: bool,
}

impl Change<'_> {
    pub(crate) fn identity(&self) -> (&str, &str) {
        identity(self.metadata).unwrap_or_default()
    }
}

/// Follows the metadata of a kind.
pub(crate) async fn follow(objects: &Objects, kind: Kind, label: Option<&str>, tell: impl Fn(Change<'_>)) {
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(objects.client(), &kind.resource());
    let mut config = watcher::Config::default();
    if let Some(label) = label {
        config = config.labels(label);
    }
    let events = watcher::watcher(api, config).default_backoff();
    pin_mut!(events);
    let mut seen = Seen::default();
    while let Some(event) = next(&mut events, kind).await {
        let (object, is_gone): (PartialObjectMeta<DynamicObject>, bool) = match event {
            Event::Apply(object) | Event::InitApply(object) => (object, false),
            Event::Delete(object) => (object, true),
            Event::Init => {
                seen.clear();
                continue;
            }
            Event::InitDone => continue,
        };
        if is_gone {
            seen.forget(&object.metadata);
        }
        let is_meaningful = is_gone || seen.is_new(&object.metadata);
        tell(Change { metadata: &object.metadata, is_meaningful });
    }
}

/// The next event; failures are told and tried again by the stream itself.
pub(crate) async fn next<T>(
    events: &mut (impl Stream<Item = Result<Event<T>, watcher::Error>> + Unpin),
    kind: Kind,
) -> Option<Event<T>> {
    loop {
        match events.try_next().await {
            Ok(event) => return event,
            Err(error) => tracing::warn!(%error, kind = kind.name(), "a watch was interrupted"),
        }
    }
}

/// What of each object's metadata was seen last, without what every status write changes.
#[derive(Default)]
pub(crate) struct Seen(HashMap<(String, String), u64>);

impl Seen {
    pub(crate) fn is_new(&mut self, metadata: &ObjectMeta) -> bool {
        let mut hasher = DefaultHasher::new();
        metadata.uid.hash(&mut hasher);
        metadata.generation.hash(&mut hasher);
        metadata.labels.hash(&mut hasher);
        metadata.annotations.hash(&mut hasher);
        metadata.finalizers.hash(&mut hasher);
        metadata.deletion_timestamp.is_some().hash(&mut hasher);
        let hash = hasher.finish();
        self.0.insert(place(metadata), hash) != Some(hash)
    }

    /// The watch begins anew: what went meanwhile is not told.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn forget(&mut self, metadata: &ObjectMeta) {
        self.0.remove(&place(metadata));
    }
}

fn place(metadata: &ObjectMeta) -> (String, String) {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

fn identity(metadata: &ObjectMeta) -> Option<(&str, &str)> {
    Some((metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref()?))
}

impl Index {
    fn configure(&mut self, namespace: &str, pool: &str, configs: Vec<String>) {
        let place = (namespace.to_owned(), pool.to_owned());
        if configs.is_empty() {
            self.configs.remove(&place);
        } else {
            self.configs.insert(place, configs);
        }
    }

    /// The pools that name a ConfigMap.
    fn configured_by(&self, namespace: &str, config: &str) -> Vec<String> {
        let pools = self
            .configs
            .iter()
            .filter(|((space, _), configs)| space == namespace && configs.iter().any(|name| name == config));
        pools.map(|((_, pool), _)| pool.clone()).collect()
    }

    fn refer(&mut self, namespace: &str, name: &str, spec: &Value) {
        let place = (namespace.to_owned(), name.to_owned());
        for earlier in self.referring.remove(&place).unwrap_or_default() {
            if let Some(clusters) = self.references.get_mut(&earlier) {
                clusters.remove(name);
                if clusters.is_empty() {
                    self.references.remove(&earlier);
                }
            }
        }
        let mut now = Vec::new();
        for reference in hosted_cluster::references(spec) {
            let key = (reference.kind, namespace.to_owned(), reference.name);
            self.references.entry(key.clone()).or_default().insert(name.to_owned());
            now.push(key);
        }
        if !now.is_empty() {
            self.referring.insert(place, now);
        }
    }
}

/// A Secret or ConfigMap: of a control plane, of a cluster, or of a user.
fn material(queue: &Queue, index: &parking_lot::Mutex<Index>, kind: Kind, change: &Change<'_>) {
    if add_plane(queue, change.metadata) {
        // Keys are the control plane's own; what is copied comes from the cluster.
        if !is_key(change.metadata) {
            add_cluster(queue, change.metadata);
        }
        return;
    }
    if add_cluster(queue, change.metadata) {
        return;
    }
    if let Some((space, pool)) = pool_of(change.metadata) {
        queue.add(Key::new(Controller::NodePool, space, pool));
        queue.add(Key::new(Controller::AgentPool, space, pool));
        return;
    }
    let (namespace, name) = change.identity();
    if kind == Kind::ConfigMap {
        for pool in index.lock().configured_by(namespace, name) {
            queue.add(Key::new(Controller::NodePool, namespace, &pool));
        }
    }
    let key = (kind, namespace.to_owned(), name.to_owned());
    let clusters: Vec<String> = index.lock().references.get(&key).into_iter().flatten().cloned().collect();
    for cluster in clusters {
        queue.add(Key::new(Controller::HostedCluster, namespace, &cluster));
    }
}

/// The cluster that a child names, as namespace and name.
fn owner(metadata: &ObjectMeta) -> Option<(&str, &str)> {
    metadata.annotations.as_ref()?.get(CLUSTER)?.split_once('/')
}

fn is_key(metadata: &ObjectMeta) -> bool {
    metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(WRITTEN_ANNOTATION))
}

/// Asks for the control plane that a child belongs to: it is in the same namespace.
fn add_plane(queue: &Queue, metadata: &ObjectMeta) -> bool {
    let Some((namespace, name)) = owner(metadata) else { return false };
    let inside = hosted_cluster::control_plane_namespace(namespace, name);
    let is_inside = metadata.namespace.as_deref() == Some(&inside);
    if is_inside {
        queue.add(Key::new(Controller::HostedControlPlane, &inside, name));
    }
    is_inside
}

/// Asks for the cluster that a child names.
fn add_cluster(queue: &Queue, metadata: &ObjectMeta) -> bool {
    let owner = owner(metadata);
    if let Some((namespace, name)) = owner {
        queue.add(Key::new(Controller::HostedCluster, namespace, name));
    }
    owner.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_follow_the_spec() {
        let mut index = Index::default();
        let key = |name: &str| (Kind::Secret, "clusters".to_owned(), name.to_owned());
        index.refer("clusters", "demo", &json!({"pullSecret": {"name": "one"}}));
        assert!(index.references[&key("one")].contains("demo"));
        index.refer("clusters", "demo", &json!({"pullSecret": {"name": "two"}}));
        assert!(!index.references.contains_key(&key("one")));
        assert!(index.references[&key("two")].contains("demo"));
        index.refer("clusters", "demo", &Value::Null);
        assert!(index.references.is_empty() && index.referring.is_empty());
    }

    #[test]
    fn a_status_write_is_nothing_new() {
        let mut seen = Seen::default();
        let mut metadata = ObjectMeta {
            name: Some("demo".into()),
            generation: Some(1),
            resource_version: Some("1".into()),
            ..ObjectMeta::default()
        };
        assert!(seen.is_new(&metadata));
        metadata.resource_version = Some("2".into());
        assert!(!seen.is_new(&metadata));
        metadata.generation = Some(2);
        assert!(seen.is_new(&metadata));
    }
}
