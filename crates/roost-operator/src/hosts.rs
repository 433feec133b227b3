//! Which discovered hosts there are, which are free, and which pools wait for one.
//!
//! An index of all Agents, fed by their watch. It only says where to look: what an Agent is, is read from the Agent, and
//! who takes it writes against the version that was read.

mod host;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use roost_api::agent_install::HostState;
use roost_host::measurement::{MOST_PEERS, RemoteHost};
use serde_json::Value;
use tokio::time::Instant;

use crate::discovery::Place;
use host::Circle;

pub(crate) use host::{FAILURES, Host, Rank, Standing};

/// How many neighbours are looked at for some that answer: most of a pool may be turned off.
const MOST_NEIGHBOURS: usize = 64;

#[derive(Default)]
struct State {
    hosts: HashMap<Place, Arc<Host>>,
    /// Whether all that there are have been told.
    is_complete: bool,
    /// Namespaces by the name of an Agent.
    by_name: HashMap<String, BTreeSet<String>>,
    /// The free hosts of a namespace, by where they stand, the best first.
    free: HashMap<String, BTreeMap<Standing, BTreeSet<Rank>>>,
    /// How many hosts of a namespace are not free, by why.
    busy: HashMap<String, BTreeMap<&'static str, usize>>,
    /// The hosts that were claimed for an AgentMachine.
    by_machine: HashMap<Place, BTreeSet<Place>>,
    by_hostname: HashMap<(Place, String), BTreeSet<Place>>,
    by_address: HashMap<String, BTreeSet<Place>>,
    by_circle: HashMap<Circle, BTreeSet<Place>>,
    /// The pools that wait for hosts of a namespace.
    waiting: HashMap<String, BTreeSet<Place>>,
    /// When the machines of a pool were last told why they have no host.
    told: HashMap<Place, Instant>,
}

/// All hosts.
#[derive(Default)]
pub(crate) struct Hosts(Mutex<State>);

impl Hosts {
    /// Forgets all, because all is told again. Who waits still waits.
    pub(crate) fn restart(&self) {
        let mut state = self.0.lock();
        let (waiting, told) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.told));
        *state = State { waiting, told, ..State::default() };
    }

    /// All that there are have been told.
    pub(crate) fn complete(&self) {
        self.0.lock().is_complete = true;
    }

    /// The hosts of a namespace with a label, and its values; none before all hosts are known.
    pub(crate) fn labelled(&self, namespace: &str, key: &str) -> Option<Vec<(Place, String)>> {
        let state = self.0.lock();
        let inside = state.hosts.values().filter(|host| host.place.0 == namespace);
        let labelled = inside.filter_map(|host| Some((host.place.clone(), host.labels.get(key)?.clone())));
        state.is_complete.then(|| labelled.collect())
    }

    /// The host that was claimed for an AgentMachine.
    pub(crate) fn claimed(&self, machine: &Place) -> Option<Place> {
        self.0.lock().by_machine.get(machine)?.first().cloned()
    }

    /// Whether all hosts are known; before that, one that was claimed may not be.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.lock().is_complete
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

    /// The free hosts of a namespace that are as wished: of those that stand in one place, so many of the best.
    pub(crate) fn free(&self, namespace: &str, most: usize, is_good: impl Fn(&Host) -> bool) -> Vec<Arc<Host>> {
        let state = self.0.lock();
        let standings = state.free.get(namespace).into_iter().flat_map(BTreeMap::values);
        let find = |rank: &Rank| state.hosts.get(&(namespace.to_owned(), rank.3.clone()));
        standings
            .flat_map(|ranks| ranks.iter().filter_map(find).filter(|host| is_good(host)).take(most))
            .cloned()
            .collect()
    }

    pub(crate) fn find(&self, place: &Place) -> Option<Arc<Host>> {
        self.0.lock().hosts.get(place).cloned()
    }

    /// The hosts that one is told to reach: the next in the ring of those that it belongs with.
    pub(crate) fn peers(&self, place: &Place) -> Vec<RemoteHost> {
        let state = self.0.lock();
        let circle = state.hosts.get(place).and_then(|host| host.circle());
        let Some(members) = circle.and_then(|circle| state.by_circle.get(&circle)) else { return Vec::new() };
        let after = members.range::<Place, _>((Excluded(place), Unbounded));
        let before = members.range::<Place, _>((Unbounded, Excluded(place)));
        let neighbours = after.chain(before).take(MOST_NEIGHBOURS).filter_map(|place| state.hosts.get(place));
        neighbours.filter_map(|host| host.as_peer()).take(MOST_PEERS).collect()
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
        self.0.lock().busy.get(namespace).cloned().unwrap_or_default()
    }

    /// After which time the machines of a pool that waits may be told why, when that is once in a while; when it is now,
    /// they are taken to be told.
    pub(crate) fn words_due(&self, pool: &Place, while_: Duration) -> Duration {
        let mut state = self.0.lock();
        let due = state.told.get(pool).map_or(Duration::ZERO, |told| while_.saturating_sub(told.elapsed()));
        if due.is_zero() {
            state.told.insert(pool.clone(), Instant::now());
        }
        due
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
            state.told.remove(pool);
        }
    }
}

impl State {
    fn insert(&mut self, host: Host) {
        let (namespace, name) = host.place.clone();
        self.by_name.entry(name).or_default().insert(namespace.clone());
        match host.reason() {
            None => {
                let standings = self.free.entry(namespace).or_default();
                standings.entry(host.standing()).or_default().insert(host.rank());
            }
            Some(reason) => *self.busy.entry(namespace).or_default().entry(reason).or_default() += 1,
        }
        if let Some(machine) = &host.machine {
            self.by_machine.entry(machine.clone()).or_default().insert(host.place.clone());
        }
        if let Some(cluster) = &host.cluster {
            let key = (cluster.clone(), host.hostname.clone());
            self.by_hostname.entry(key).or_default().insert(host.place.clone());
        }
        for card in &host.cards {
            self.by_address.entry(card.mac.clone()).or_default().insert(host.place.clone());
        }
        if let Some(circle) = host.circle() {
            self.by_circle.entry(circle).or_default().insert(host.place.clone());
        }
        self.hosts.insert(host.place.clone(), Arc::new(host));
    }

    fn remove(&mut self, place: &Place) {
        let Some(host) = self.hosts.remove(place) else { return };
        take(&mut self.by_name, &place.1, &place.0);
        match host.reason() {
            None => self.take_free(&host),
            Some(reason) => self.take_busy(&place.0, reason),
        }
        if let Some(machine) = &host.machine {
            take(&mut self.by_machine, machine, place);
        }
        if let Some(cluster) = &host.cluster {
            take(&mut self.by_hostname, &(cluster.clone(), host.hostname.clone()), place);
        }
        for card in &host.cards {
            take(&mut self.by_address, &card.mac, place);
        }
        if let Some(circle) = host.circle() {
            take(&mut self.by_circle, &circle, place);
        }
    }
}

impl State {
    fn take_free(&mut self, host: &Host) {
        let (namespace, standing) = (&host.place.0, host.standing());
        let Some(standings) = self.free.get_mut(namespace) else { return };
        if let Some(ranks) = standings.get_mut(&standing) {
            ranks.remove(&host.rank());
            if ranks.is_empty() {
                standings.remove(&standing);
            }
        }
        if standings.is_empty() {
            self.free.remove(namespace);
        }
    }

    fn take_busy(&mut self, namespace: &str, reason: &'static str) {
        let Some(reasons) = self.busy.get_mut(namespace) else { return };
        if let Some(count) = reasons.get_mut(reason) {
            *count -= 1;
            if *count == 0 {
                reasons.remove(reason);
            }
        }
        if reasons.is_empty() {
            self.busy.remove(namespace);
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
    use roost_api::agent_install::names::{annotation as names, label};
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
        assert_eq!(hosts.free("pool", 9, |_| true).len(), 1);
        let mut taken = agent("a", "binding", true);
        taken["spec"]["clusterDeploymentName"] = json!({"name": "demo", "namespace": "clusters-demo"});
        hosts.learn(&taken);
        assert!(hosts.free("pool", 9, |_| true).is_empty());
        taken["metadata"]["name"] = json!("b");
        hosts.learn(&taken);
        let host = hosts.find(&("pool".to_owned(), "b".to_owned())).expect("a host");
        assert_eq!(hosts.hostname_twin(&host).as_deref(), Some("a"));
        hosts.forget(&("pool".to_owned(), "a".to_owned()));
        assert_eq!(hosts.hostname_twin(&host), None);
    }

    #[test]
    fn a_host_is_found_by_the_machine_that_it_was_claimed_for() {
        let (hosts, machine) = (Hosts::default(), ("clusters-demo".to_owned(), "workers-1".to_owned()));
        assert_eq!(hosts.claimed(&machine), None);
        let mut claimed = agent("a", "binding", true);
        claimed["metadata"]["labels"] = json!({(label::AGENT_MACHINE): machine.1});
        claimed["metadata"]["annotations"] = json!({(names::AGENT_MACHINE_NAMESPACE): machine.0});
        hosts.learn(&claimed);
        assert_eq!(hosts.claimed(&machine), Some(("pool".to_owned(), "a".to_owned())));
        assert_eq!(hosts.claimed(&("another".to_owned(), machine.1.clone())), None);
        hosts.learn(&agent("a", "known-unbound", true));
        assert_eq!(hosts.claimed(&machine), None);
    }

    #[test]
    fn a_host_that_always_fails_is_left_alone() {
        let hosts = Hosts::default();
        let mut broken = agent("a", "known-unbound", true);
        broken["metadata"]["annotations"] = json!({(FAILURES): "2"});
        hosts.learn(&broken);
        assert_eq!(hosts.free("pool", 9, |_| true).len(), 1);
        broken["metadata"]["annotations"] = json!({(FAILURES): "3"});
        hosts.learn(&broken);
        assert!(hosts.free("pool", 9, |_| true).is_empty());
        assert!(hosts.busy("pool").keys().any(|reason| reason.starts_with("failed three times")));
    }

    #[test]
    fn the_best_of_each_place_come_first_and_all_are_counted() {
        let hosts = Hosts::default();
        let mut expected = Vec::new();
        for number in 0..40_i64 {
            let mut host = agent(&format!("h{number:02}"), "known-unbound", number % 4 > 0);
            host["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!(format!("z{}", number % 2));
            host["status"]["inventory"]["cpu"] = json!({"count": 100 - number});
            hosts.learn(&host);
        }
        for zone in [0, 1] {
            let mine = (0..40).rev().filter(|number| number % 2 == zone && number % 4 > 0 && *number != 39);
            expected.extend(mine.take(3).map(|number| format!("h{number:02}")));
        }
        let free = hosts.free("pool", 3, |host| host.place.1 != "h39");
        assert_eq!(free.iter().map(|host| host.place.1.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(hosts.busy("pool"), BTreeMap::from([("not approved", 10)]));
        for number in 0..40 {
            hosts.forget(&("pool".to_owned(), format!("h{number:02}")));
        }
        let state = hosts.0.lock();
        assert!(
            state.free.is_empty() && state.busy.is_empty() && state.by_name.is_empty() && state.by_address.is_empty()
        );
        assert!(state.by_circle.is_empty());
    }

    #[test]
    fn hosts_reach_for_their_neighbours_that_are_there() {
        let hosts = Hosts::default();
        let place = |number: usize| ("pool".to_owned(), format!("h{number:02}"));
        let learn = |number: usize, state: &str, cluster: Option<&str>| {
            let mut host = agent(&place(number).1, state, true);
            host["metadata"]["labels"][label::INFRA_ENV] = json!("env");
            host["status"]["inventory"]["interfaces"] = json!([
                {"name": "eth0", "macAddress": "52:54:00:00:00:01", "ipV4Addresses": [format!("192.0.2.{number}/24")],
                    "ipV6Addresses": ["fe80::1/64", "2001:db8::1/64"]},
                {"name": "eth1", "macAddress": "52:54:00:00:00:02"},
            ]);
            if let Some(cluster) = cluster {
                host["spec"]["clusterDeploymentName"] = json!({"name": cluster, "namespace": "inside"});
            }
            hosts.learn(&host);
        };
        let names = |number: usize| {
            let peers = hosts.peers(&place(number));
            peers.into_iter().map(|peer| peer.host_id).collect::<Vec<_>>()
        };
        assert!(names(0).is_empty());
        for number in 0..20 {
            learn(number, "known-unbound", None);
        }
        assert_eq!(names(17), ["h18", "h19", "h00", "h01", "h02", "h03", "h04", "h05"]);
        learn(19, "disconnected-unbound", None);
        learn(0, "installing-in-progress", Some("demo"));
        learn(1, "added-to-existing-cluster", Some("demo"));
        assert_eq!(names(17)[..2], ["h18", "h02"]);
        assert_eq!(names(0), ["h01"]);
        let peer = &hosts.peers(&place(0))[0];
        assert_eq!(peer.nics.len(), 1, "a card without an address leads nowhere");
        assert_eq!(peer.nics[0].ip_addresses, ["192.0.2.1", "2001:db8::1"]);
    }

    #[test]
    fn labels_are_told_once_all_hosts_are_known() {
        let hosts = Hosts::default();
        hosts.learn(&agent("a", "known-unbound", true));
        assert_eq!(hosts.labelled("pool", "size"), None);
        hosts.complete();
        let place = ("pool".to_owned(), "a".to_owned());
        assert_eq!(hosts.labelled("pool", "size"), Some(vec![(place, "large".to_owned())]));
        assert_eq!(hosts.labelled("pool", "other"), Some(Vec::new()));
        hosts.restart();
        assert_eq!(hosts.labelled("pool", "size"), None);
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
