//! The nodes and what lies on them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::node::Node;
use super::nomination::Nominations;
use super::term::{Namespaces, Terms, fingerprint};
use crate::Pod;
use crate::pod::Resources;

/// A kind of pods that look the same to every rule about other pods.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) namespace: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) terms: Terms,
}

/// How many pods of a group a node has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) all: i64,
    /// Those that were not asked to go.
    pub(super) staying: i64,
}

/// What a node has and what lies on it.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// None for one that is only known from pods that are on it.
    pub(super) node: Option<Arc<Node>>,
    pub(super) requested: Resources,
    /// Cores and memory, where a container that says nothing is taken to need something.
    pub(super) likely: (i64, i64),
    pub(super) pods: HashMap<String, Arc<Placed>>,
    pub(super) ports: HashMap<(String, String, i64), usize>,
    pub(super) groups: HashMap<usize, Count>,
}

/// A pod on a node.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) pod: Arc<Pod>,
    pub(super) node: String,
    pub(super) requests: Resources,
    pub(super) likely: (i64, i64),
    pub(super) group: usize,
}

/// The nodes of a cluster and what lies on them.
#[derive(Debug, Default)]
pub struct State {
    pub(super) places: BTreeMap<String, Place>,
    placed: HashMap<String, Arc<Placed>>,
    groups: Vec<Option<Group>>,
    /// The number of a group, and how many placed pods it has, by what makes it one.
    group_numbers: HashMap<String, (usize, usize)>,
    free_numbers: Vec<usize>,
    /// How many placed pods have terms about other pods: most clusters have none, and need not look.
    pub(super) with_terms: usize,
    pub(super) namespaces: Namespaces,
    pub(super) nominations: Nominations,
    /// How many nodes have an image, by its name.
    pub(super) images: HashMap<String, usize>,
    nodes: usize,
    /// Where the search for a node begins, so that all get their turn.
    pub(super) start: usize,
}

impl State {
    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// A node by its name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.places.get(name)?.node.as_deref()
    }

    /// All nodes, in the order of their names.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.places.values().filter_map(|place| place.node.as_deref())
    }

    /// The pods on a node.
    pub fn pods_on(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.places.get(node).into_iter().flat_map(|place| place.pods.values()).map(|placed| &placed.pod)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes in a node as it is.
    pub fn set_node(&mut self, node: Node) {
        for name in node.images.iter().flat_map(|image| &image.names) {
            *self.images.entry(name.clone()).or_default() += 1;
        }
        let before = self.places.entry(node.name.clone()).or_default().node.replace(Arc::new(node));
        match before {
            Some(before) => self.forget_images(&before),
            None => self.nodes += 1,
        }
    }

    /// Forgets a node. What lies on it stays known for as long as it is there.
    pub fn remove_node(&mut self, name: &str) {
        let Some(place) = self.places.get_mut(name) else { return };
        let before = place.node.take();
        if place.pods.is_empty() {
            self.places.remove(name);
        }
        if let Some(before) = before {
            self.forget_images(&before);
            self.nodes -= 1;
        }
    }

    fn forget_images(&mut self, node: &Node) {
        for name in node.images.iter().flat_map(|image| &image.names) {
            if let Some(count) = self.images.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.images.remove(name);
                }
            }
        }
    }

    /// Takes in the labels of a namespace, or that it is gone.
    pub fn set_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        match labels {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels),
            None => self.namespaces.remove(name),
        };
    }

    /// Takes in a pod as it is: on its node, on the way to one, or on none when it has ended.
    pub fn set_pod(&mut self, pod: &Arc<Pod>) {
        self.lift(&pod.metadata.uid);
        if pod.has_ended() {
            self.nominations.remove(&pod.metadata.uid);
        } else if pod.spec.node_name.is_empty() {
            self.nominations.observe(pod);
        } else {
            self.nominations.remove(&pod.metadata.uid);
            self.put(pod, &pod.spec.node_name);
        }
    }

    /// Puts a pod on a node before it is there, so that the next one finds the room taken.
    pub fn assume(&mut self, pod: &Arc<Pod>, node: &str) {
        self.remove_pod(&pod.metadata.uid);
        self.put(pod, node);
    }

    /// Keeps room on a node for a pod, and takes it from those of less importance that waited for it.
    pub fn nominate(&mut self, pod: &Arc<Pod>, node: &str) -> Vec<Arc<Pod>> {
        let lesser = |other: &&Arc<Pod>| other.spec.priority < pod.spec.priority;
        let lesser: Vec<Arc<Pod>> = self.nominations.on(node).iter().filter(lesser).cloned().collect();
        for other in &lesser {
            self.nominations.remove(&other.metadata.uid);
        }
        self.nominations.insert(pod, node);
        lesser
    }

    /// Keeps no room for a pod.
    pub fn renounce(&mut self, pod: &Pod) {
        self.nominations.remove(&pod.metadata.uid);
    }

    /// Puts a pod on a node that it is not on.
    pub(super) fn put(&mut self, pod: &Arc<Pod>, node: &str) {
        let group = self.join_group(pod);
        let placed = Arc::new(Placed {
            pod: Arc::clone(pod),
            node: node.to_owned(),
            requests: pod.requests(),
            likely: pod.likely_requests(),
            group,
        });
        let place = self.places.entry(node.to_owned()).or_default();
        place.requested.add(&placed.requests);
        place.likely.0 += placed.likely.0;
        place.likely.1 += placed.likely.1;
        for port in host_ports(pod) {
            *place.ports.entry(port).or_default() += 1;
        }
        let count = place.groups.entry(group).or_default();
        count.all += 1;
        count.staying += i64::from(!pod.metadata.is_going());
        place.pods.insert(pod.metadata.uid.clone(), Arc::clone(&placed));
        self.placed.insert(pod.metadata.uid.clone(), placed);
    }

    /// Forgets a pod.
    pub fn remove_pod(&mut self, uid: &str) {
        self.nominations.remove(uid);
        self.lift(uid);
    }

    /// Takes a pod off its node.
    pub(super) fn lift(&mut self, uid: &str) {
        let Some(placed) = self.placed.remove(uid) else { return };
        if let Some(place) = self.places.get_mut(&placed.node) {
            place.requested.subtract(&placed.requests);
            place.likely.0 -= placed.likely.0;
            place.likely.1 -= placed.likely.1;
            for port in host_ports(&placed.pod) {
                if let Some(count) = place.ports.get_mut(&port) {
                    *count -= 1;
                    if *count == 0 {
                        place.ports.remove(&port);
                    }
                }
            }
            if let Some(count) = place.groups.get_mut(&placed.group) {
                count.all -= 1;
                count.staying -= i64::from(!placed.pod.metadata.is_going());
                if count.all == 0 {
                    place.groups.remove(&placed.group);
                }
            }
            place.pods.remove(uid);
            if place.pods.is_empty() && place.node.is_none() {
                self.places.remove(&placed.node);
            }
        }
        self.leave_group(&placed.pod);
    }

    pub(super) fn group(&self, number: usize) -> Option<&Group> {
        self.groups.get(number).and_then(Option::as_ref)
    }

    fn join_group(&mut self, pod: &Pod) -> usize {
        let terms = Terms::of(pod);
        self.with_terms += usize::from(!terms.is_empty());
        let key = group_key(pod);
        if let Some((number, members)) = self.group_numbers.get_mut(&key) {
            *members += 1;
            return *number;
        }
        let group = Group { namespace: pod.metadata.namespace.clone(), labels: pod.metadata.labels.clone(), terms };
        let number = if let Some(number) = self.free_numbers.pop() {
            self.groups[number] = Some(group);
            number
        } else {
            self.groups.push(Some(group));
            self.groups.len() - 1
        };
        self.group_numbers.insert(key, (number, 1));
        number
    }

    fn leave_group(&mut self, pod: &Pod) {
        let key = group_key(pod);
        let Some((number, members)) = self.group_numbers.get_mut(&key) else { return };
        let number = *number;
        *members -= 1;
        let last = *members == 0;
        let had_terms = self.group(number).is_some_and(|group| !group.terms.is_empty());
        self.with_terms -= usize::from(had_terms);
        if last {
            self.group_numbers.remove(&key);
            self.groups[number] = None;
            self.free_numbers.push(number);
        }
    }
}

fn group_key(pod: &Pod) -> String {
    let mut key = pod.metadata.namespace.clone();
    for (name, value) in &pod.metadata.labels {
        key.push('\n');
        key.push_str(name);
        key.push('=');
        key.push_str(value);
    }
    key.push('\u{1}');
    key.push_str(&fingerprint(pod));
    key
}

/// The ports of its node that a pod takes: address, protocol and number.
pub(super) fn host_ports(pod: &Pod) -> Vec<(String, String, i64)> {
    let beside = pod.spec.init_containers.iter().filter(|container| container.restart_policy == "Always");
    pod.spec
        .containers
        .iter()
        .chain(beside)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(|port| {
            let address = if port.host_ip.is_empty() { "0.0.0.0" } else { &port.host_ip };
            let protocol = if port.protocol.is_empty() { "TCP" } else { &port.protocol };
            (address.to_owned(), protocol.to_owned(), port.host_port)
        })
        .collect()
}
