//! Which discovered hosts there are, which are free, and which pools wait for one.
//!
//! An index of all Agents, fed by their watch. It only says where to look: what an Agent is, is read from the Agent, and
//! who takes it writes against the version that was read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use roost_api::agent_install::HostState;
use roost_api::agent_install::names::{annotation as names, label};
use serde_json::Value;

use crate::agent;
use crate::discovery::Place;
use crate::object::{annotation, is_deleting};

/// On an Agent: how often an installation on its host failed since it last succeeded.
pub(crate) const FAILURES: &str = "roost.dev/failed-installations";

/// A host that failed so often is left alone until a person removes the annotation: else a pool of broken hosts would
/// install for ever.
const MOST_FAILURES: u32 = 3;

/// What of an Agent matters to those who look for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) place: Place,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) is_approved: bool,
    pub(crate) is_deleting: bool,
    pub(crate) state: HostState,
    /// The AgentMachine that has it.
    pub(crate) machine: Option<Place>,
    /// The cluster that it belongs to.
    pub(crate) cluster: Option<Place>,
    pub(crate) hostname: String,
    pub(crate) processors: i64,
    pub(crate) mebibytes: i64,
    pub(crate) failures: u32,
    addresses: Vec<String>,
}

impl Host {
    pub(crate) fn of(agent: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &agent["metadata"];
        let place = (text(&metadata["namespace"])?, text(&metadata["name"])?);
        let labels: BTreeMap<String, String> = metadata["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), text(value)?)))
            .collect();
        let machine = labels
            .get(label::AGENT_MACHINE)
            .map(|name| (annotation(agent, names::AGENT_MACHINE_NAMESPACE).to_owned(), name.clone()));
        let cluster = &agent["spec"]["clusterDeploymentName"];
        let inventory = &agent["status"]["inventory"];
        let cards = inventory["interfaces"].as_array().into_iter().flatten();
        Some(Self {
            place,
            labels,
            is_approved: agent["spec"]["approved"] == true,
            is_deleting: is_deleting(agent),
            state: agent::state_of(agent),
            machine,
            cluster: text(&cluster["name"]).map(|name| (text(&cluster["namespace"]).unwrap_or_default(), name)),
            hostname: agent::hostname(agent),
            processors: inventory["cpu"]["count"].as_i64().unwrap_or_default(),
            mebibytes: inventory["memory"]["physicalBytes"].as_i64().unwrap_or_default() >> 20,
            failures: annotation(agent, FAILURES).parse().unwrap_or_default(),
            addresses: cards.filter_map(|card| card["macAddress"].as_str().map(str::to_ascii_lowercase)).collect(),
        })
    }

    /// Whether a pool may take it.
    pub(crate) fn is_free(&self) -> bool {
        self.is_approved
            && !self.is_deleting
            && self.machine.is_none()
            && self.cluster.is_none()
            && self.state == HostState::KnownUnbound
            && self.failures < MOST_FAILURES
    }
}

#[derive(Default)]
struct State {
    hosts: HashMap<Place, Arc<Host>>,
    /// Namespaces by the name of an Agent.
    by_name: HashMap<String, BTreeSet<String>>,
    free: HashMap<String, BTreeSet<String>>,
    by_hostname: HashMap<(Place, String), BTreeSet<Place>>,
    by_address: HashMap<String, BTreeSet<Place>>,
    /// The pools that wait for hosts of a namespace.
    waiting: HashMap<String, BTreeSet<Place>>,
}

/// All hosts.
#[derive(Default)]
pub(crate) struct Hosts(Mutex<State>);

impl Hosts {
    /// Forgets all, because all is told again. Who waits still waits.
    pub(crate) fn restart(&self) {
        let mut state = self.0.lock();
        let waiting = std::mem::take(&mut state.waiting);
        *state = State { waiting, ..State::default() };
    }

    /// An Agent as it is now. Returns the pools that may want it.
    pub(crate) fn learn(&self, agent: &Value) -> Vec<Place> {
        let Some(host) = Host::of(agent) else { return Vec::new() };
        let mut state = self.0.lock();
        let was_free = state.hosts.get(&host.place).is_some_and(|known| known.is_free());
        if state.hosts.get(&host.place).is_some_and(|known| **known == host) {
            return Vec::new();
        }
        state.remove(&host.place.clone());
        let (namespace, is_free) = (host.place.0.clone(), host.is_free());
        state.insert(host);
        if is_free && !was_free {
            state.waiting.get(&namespace).into_iter().flatten().cloned().collect()
        } else {
            Vec::new()
        }
    }

    pub(crate) fn forget(&self, place: &Place) {
        self.0.lock().remove(place);
    }

    /// The Agents of a name, by their namespaces.
    pub(crate) fn named(&self, name: &str) -> Vec<Place> {
        let state = self.0.lock();
        state.by_name.get(name).into_iter().flatten().map(|space| (space.clone(), name.to_owned())).collect()
    }

    /// All hosts of a namespace.
    pub(crate) fn all_of(&self, namespace: &str) -> Vec<Place> {
        self.0.lock().hosts.keys().filter(|place| place.0 == namespace).cloned().collect()
    }

    /// The hosts of a namespace with a network card.
    pub(crate) fn with_card(&self, namespace: &str, address: &str) -> Vec<Place> {
        let state = self.0.lock();
        let places = state.by_address.get(&address.to_ascii_lowercase()).into_iter().flatten();
        places.filter(|place| place.0 == namespace).cloned().collect()
    }

    /// The free hosts of a namespace.
    pub(crate) fn free(&self, namespace: &str) -> Vec<Arc<Host>> {
        let state = self.0.lock();
        let names = state.free.get(namespace).into_iter().flatten();
        names.filter_map(|name| state.hosts.get(&(namespace.to_owned(), name.clone())).cloned()).collect()
    }

    pub(crate) fn find(&self, place: &Place) -> Option<Arc<Host>> {
        self.0.lock().hosts.get(place).cloned()
    }

    /// Another host of the same cluster with the same name.
    pub(crate) fn hostname_twin(&self, host: &Host) -> Option<String> {
        let cluster = host.cluster.clone()?;
        let state = self.0.lock();
        let holders = state.by_hostname.get(&(cluster, host.hostname.clone()))?;
        holders.iter().find(|place| **place != host.place).map(|place| place.1.clone())
    }

    /// Whether the host with a network card boots its disk.
    pub(crate) fn is_installed(&self, namespace: &str, address: &str) -> bool {
        let state = self.0.lock();
        let places = state.by_address.get(&address.to_ascii_lowercase()).into_iter().flatten();
        places.filter(|place| place.0 == namespace).filter_map(|place| state.hosts.get(place)).any(|host| {
            matches!(
                host.state,
                HostState::InstallingInProgress
                    | HostState::InstallingPendingUserAction
                    | HostState::AddedToExistingCluster
                    | HostState::Installed
            )
        })
    }

    /// How many hosts of a namespace are not free, by why.
    pub(crate) fn busy(&self, namespace: &str) -> BTreeMap<&'static str, usize> {
        let state = self.0.lock();
        let mut reasons = BTreeMap::new();
        for host in state.hosts.values().filter(|host| host.place.0 == namespace && !host.is_free()) {
            let reason = if host.machine.is_some() || host.cluster.is_some() {
                "taken"
            } else if !host.is_approved {
                "not approved"
            } else if host.failures >= MOST_FAILURES {
                "failed three times (remove their annotation roost.dev/failed-installations to try again)"
            } else if host.state == HostState::InsufficientUnbound {
                "insufficient"
            } else if matches!(host.state, HostState::DisconnectedUnbound | HostState::UnbindingPendingUserAction) {
                "disconnected"
            } else {
                "not ready yet"
            };
            *reasons.entry(reason).or_default() += 1;
        }
        reasons
    }

    /// A pool waits for hosts of a namespace, or no longer.
    pub(crate) fn wait(&self, namespace: &str, pool: &Place, is_waiting: bool) {
        let mut state = self.0.lock();
        if is_waiting {
            state.waiting.entry(namespace.to_owned()).or_default().insert(pool.clone());
        } else if let Some(pools) = state.waiting.get_mut(namespace) {
            pools.remove(pool);
            if pools.is_empty() {
                state.waiting.remove(namespace);
            }
        }
    }
}

impl State {
    fn insert(&mut self, host: Host) {
        let (namespace, name) = host.place.clone();
        self.by_name.entry(name.clone()).or_default().insert(namespace.clone());
        if host.is_free() {
            self.free.entry(namespace).or_default().insert(name);
        }
        if let Some(cluster) = &host.cluster {
            let key = (cluster.clone(), host.hostname.clone());
            self.by_hostname.entry(key).or_default().insert(host.place.clone());
        }
        for address in &host.addresses {
            self.by_address.entry(address.clone()).or_default().insert(host.place.clone());
        }
        self.hosts.insert(host.place.clone(), Arc::new(host));
    }

    fn remove(&mut self, place: &Place) {
        let Some(host) = self.hosts.remove(place) else { return };
        take(&mut self.by_name, &place.1, &place.0);
        take(&mut self.free, &place.0, &place.1);
        if let Some(cluster) = &host.cluster {
            take(&mut self.by_hostname, &(cluster.clone(), host.hostname.clone()), place);
        }
        for address in &host.addresses {
            take(&mut self.by_address, address, place);
        }
    }
}

/// Takes an entry out of a set, and the set with its last entry.
fn take<K: std::hash::Hash + Eq, V: Ord>(sets: &mut HashMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(name: &str, state: &str, approved: bool) -> Value {
        json!({
            "metadata": {"namespace": "pool", "name": name, "labels": {"size": "large"}},
            "spec": {"approved": approved, "hostname": "node"},
            "status": {"debugInfo": {"state": state}, "inventory": {"interfaces": [{"macAddress": "52:54:00:AA:00:01"}]}},
        })
    }

    #[test]
    fn a_host_is_free_once_it_is_known_and_approved() {
        let (hosts, waiting) = (Hosts::default(), ("clusters".to_owned(), "workers".to_owned()));
        hosts.wait("pool", &waiting, true);
        assert!(hosts.learn(&agent("a", "known-unbound", false)).is_empty());
        assert_eq!(hosts.busy("pool"), BTreeMap::from([("not approved", 1)]));
        assert_eq!(hosts.learn(&agent("a", "known-unbound", true)), [waiting]);
        assert_eq!(hosts.free("pool").len(), 1);
        let mut taken = agent("a", "binding", true);
        taken["spec"]["clusterDeploymentName"] = json!({"name": "demo", "namespace": "clusters-demo"});
        hosts.learn(&taken);
        assert!(hosts.free("pool").is_empty());
        taken["metadata"]["name"] = json!("b");
        hosts.learn(&taken);
        let host = hosts.find(&("pool".to_owned(), "b".to_owned())).expect("a host");
        assert_eq!(hosts.hostname_twin(&host).as_deref(), Some("a"));
        hosts.forget(&("pool".to_owned(), "a".to_owned()));
        assert_eq!(hosts.hostname_twin(&host), None);
    }

    #[test]
    fn a_host_that_always_fails_is_left_alone() {
        let hosts = Hosts::default();
        let mut broken = agent("a", "known-unbound", true);
        broken["metadata"]["annotations"] = json!({(FAILURES): "2"});
        hosts.learn(&broken);
        assert_eq!(hosts.free("pool").len(), 1);
        broken["metadata"]["annotations"] = json!({(FAILURES): "3"});
        hosts.learn(&broken);
        assert!(hosts.free("pool").is_empty());
        assert!(hosts.busy("pool").keys().any(|reason| reason.starts_with("failed three times")));
    }

    #[test]
    fn a_worker_that_boots_over_the_network_is_sent_to_its_disk() {
        let hosts = Hosts::default();
        hosts.learn(&agent("a", "added-to-existing-cluster", true));
        assert!(hosts.is_installed("pool", "52:54:00:aa:00:01"));
        assert!(!hosts.is_installed("other", "52:54:00:aa:00:01"));
        hosts.learn(&agent("a", "known-unbound", true));
        assert!(!hosts.is_installed("pool", "52:54:00:aa:00:01"));
    }
}
