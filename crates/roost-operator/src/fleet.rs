//! Which hosts are known, by what they identified themselves by and by the node names that they may have.
//!
//! An index of the Machines of all clusters, fed by their watch and by what is being written at this moment. It only
//! says who was first; what a Machine is, is read from the Machine.

use std::collections::{BTreeMap, HashMap};

use kube::api::ObjectMeta;
use parking_lot::Mutex;
use roost_api::hypershift::names::annotation::NODE_POOL;

use crate::machine::{HOST_ID, NODE_NAME};

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// The Machine's name.
    pub(crate) machine: String,
    /// The pool's namespace and name, with a slash between.
    pub(crate) pool: String,
    pub(crate) identity: String,
    pub(crate) node_name: String,
}

/// Why a host may not be what it asks to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Conflict {
    #[error("the node name {name} belongs to the Machine {holder}, whose host has another identity")]
    NameTaken { name: String, holder: String },
    #[error(
        "this host is the Machine {machine} of the NodePool {pool} already; delete that Machine before it joins another pool"
    )]
    OtherPool { machine: String, pool: String },
    #[error("this host is being answered at this moment")]
    Busy,
    #[error("the machines of the cluster are not known yet")]
    NotSynced,
}

#[derive(Default)]
struct State {
    is_synced: bool,
    clusters: HashMap<String, Cluster>,
}

/// The hosts of one control plane's namespace.
#[derive(Default)]
struct Cluster {
    hosts: BTreeMap<String, Host>,
    by_host_id: HashMap<String, String>,
    /// The first Machine with a node name; later ones are its rivals.
    by_node_name: HashMap<String, Vec<String>>,
    /// Hosts that are being answered.
    busy: HashMap<String, String>,
}

impl Cluster {
    fn insert(&mut self, host: Host) {
        self.remove(&host.machine.clone());
        self.by_host_id.insert(host.identity.clone(), host.machine.clone());
        self.by_node_name.entry(host.node_name.clone()).or_default().push(host.machine.clone());
        self.hosts.insert(host.machine.clone(), host);
    }

    fn remove(&mut self, machine: &str) {
        let Some(host) = self.hosts.remove(machine) else { return };
        if self.by_host_id.get(&host.identity).is_some_and(|known| known == machine) {
            self.by_host_id.remove(&host.identity);
        }
        if let Some(machines) = self.by_node_name.get_mut(&host.node_name) {
            machines.retain(|known| known != machine);
            if machines.is_empty() {
                self.by_node_name.remove(&host.node_name);
            }
        }
    }
}

/// The hosts of all clusters.
#[derive(Default)]
pub(crate) struct Fleet(Mutex<State>);

/// A host's right to its name while it is being answered.
pub(crate) struct Claim<'a> {
    fleet: &'a Fleet,
    namespace: String,
    host_id: String,
    /// The Machine that the host has already.
    pub(crate) machine: Option<Host>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(cluster) = self.fleet.0.lock().clusters.get_mut(&self.namespace) {
            cluster.busy.remove(&self.host_id);
        }
    }
}

impl Fleet {
    /// Forgets all, because all is told again.
    pub(crate) fn restart(&self) {
        let mut state = self.0.lock();
        state.is_synced = false;
        for cluster in state.clusters.values_mut() {
            let busy = std::mem::take(&mut cluster.busy);
            *cluster = Cluster { busy, ..Cluster::default() };
        }
    }

    /// All that was there has been told.
    pub(crate) fn finish(&self) {
        self.0.lock().is_synced = true;
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.0.lock().is_synced
    }

    /// A Machine as it is now.
    pub(crate) fn learn(&self, metadata: &ObjectMeta) {
        let Some((namespace, host)) = read(metadata) else { return };
        let mut state = self.0.lock();
        let cluster = state.clusters.entry(namespace).or_default();
        if cluster.hosts.get(&host.machine) != Some(&host) {
            cluster.insert(host);
        }
    }

    /// A Machine is gone.
    pub(crate) fn forget(&self, namespace: &str, machine: &str) {
        let mut state = self.0.lock();
        if let Some(cluster) = state.clusters.get_mut(namespace) {
            cluster.remove(machine);
            if cluster.hosts.is_empty() && cluster.busy.is_empty() {
                state.clusters.remove(namespace);
            }
        }
    }

    /// Takes a host's identity and node name for as long as it is being answered.
    pub(crate) fn claim(
        &self,
        namespace: &str,
        pool: &str,
        host_id: &str,
        node_name: impl FnOnce(Option<&Host>) -> String,
    ) -> Result<(Claim<'_>, String), Conflict> {
        let mut state = self.0.lock();
        if !state.is_synced {
            return Err(Conflict::NotSynced);
        }
        let cluster = state.clusters.entry(namespace.to_owned()).or_default();
        let known = cluster.by_host_id.get(host_id).and_then(|machine| cluster.hosts.get(machine)).cloned();
        if let Some(host) = known.as_ref().filter(|host| host.pool != pool) {
            return Err(Conflict::OtherPool { machine: host.machine.clone(), pool: host.pool.clone() });
        }
        if cluster.busy.contains_key(host_id) {
            return Err(Conflict::Busy);
        }
        let name = node_name(known.as_ref());
        let own = known.as_ref().map(|host| host.machine.as_str());
        let holder = cluster.by_node_name.get(&name).and_then(|machines| machines.first());
        if let Some(holder) = holder.filter(|holder| Some(holder.as_str()) != own) {
            return Err(Conflict::NameTaken { name, holder: holder.clone() });
        }
        if cluster.busy.values().any(|taken| *taken == name) {
            return Err(Conflict::NameTaken { name, holder: "that is being made for another host".to_owned() });
        }
        cluster.busy.insert(host_id.to_owned(), name.clone());
        let claim = Claim { fleet: self, namespace: namespace.to_owned(), host_id: host_id.to_owned(), machine: known };
        Ok((claim, name))
    }

    /// The Machine that had a node name first, and whether a Machine is a rival of it.
    pub(crate) fn holder(&self, namespace: &str, node_name: &str) -> Option<String> {
        let state = self.0.lock();
        state.clusters.get(namespace)?.by_node_name.get(node_name)?.first().cloned()
    }

    pub(crate) fn count(&self, namespace: &str) -> usize {
        self.0.lock().clusters.get(namespace).map_or(0, |cluster| cluster.hosts.len())
    }
}

fn read(metadata: &ObjectMeta) -> Option<(String, Host)> {
    let annotations = metadata.annotations.as_ref()?;
    let text = |name: &str| annotations.get(name).cloned().filter(|text| !text.is_empty());
    let host = Host {
        machine: metadata.name.clone()?,
        pool: text(NODE_POOL)?,
        identity: text(HOST_ID)?,
        node_name: text(NODE_NAME)?,
    };
    Some((metadata.namespace.clone()?, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(machine: &str, pool: &str, host_id: &str, node_name: &str) -> ObjectMeta {
        let annotations = [(NODE_POOL, pool), (HOST_ID, host_id), (NODE_NAME, node_name)];
        ObjectMeta {
            name: Some(machine.to_owned()),
            namespace: Some("clusters-demo".to_owned()),
            annotations: Some(annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            ..ObjectMeta::default()
        }
    }

    fn claim<'a>(fleet: &'a Fleet, pool: &str, host: &str, name: &str) -> Result<Claim<'a>, Conflict> {
        fleet.claim("clusters-demo", pool, host, |_| name.to_owned()).map(|(claim, _)| claim)
    }

    #[test]
    fn of_two_hosts_that_race_for_a_name_one_gets_it() {
        let fleet = Fleet::default();
        assert_eq!(claim(&fleet, "c/w", "one", "node").err(), Some(Conflict::NotSynced));
        fleet.finish();
        let first = claim(&fleet, "c/w", "one", "node").expect("a claim");
        assert!(matches!(claim(&fleet, "c/w", "two", "node"), Err(Conflict::NameTaken { .. })));
        assert_eq!(claim(&fleet, "c/w", "one", "node").err(), Some(Conflict::Busy));
        fleet.learn(&metadata("w-1", "c/w", "one", "node"));
        drop(first);
        let Err(Conflict::NameTaken { holder, .. }) = claim(&fleet, "c/w", "two", "node") else { panic!("taken") };
        assert_eq!(holder, "w-1");
        let again = claim(&fleet, "c/w", "one", "node").expect("its own again");
        assert_eq!(again.machine.as_ref().map(|host| host.machine.as_str()), Some("w-1"));
        drop(again);
        fleet.forget("clusters-demo", "w-1");
        assert!(claim(&fleet, "c/w", "two", "node").is_ok());
    }

    #[test]
    fn a_host_is_one_machine_of_one_pool() {
        let fleet = Fleet::default();
        fleet.finish();
        fleet.learn(&metadata("w-1", "c/w", "one", "node"));
        assert!(matches!(claim(&fleet, "c/other", "one", "other"), Err(Conflict::OtherPool { .. })));
        fleet.learn(&metadata("w-2", "c/w", "two", "node"));
        assert_eq!(fleet.holder("clusters-demo", "node").as_deref(), Some("w-1"));
        fleet.restart();
        assert!(!fleet.is_synced() && fleet.count("clusters-demo") == 0);
    }
}
