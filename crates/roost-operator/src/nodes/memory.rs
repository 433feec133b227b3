//! What is remembered of a hosted cluster's nodes and open requests.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::pod_networks::{Book, parts_of};
use crate::approver::{Node, Progress, Request, Requester};
use crate::machine;
use crate::node_pool::{CURRENT_CONFIG, UPDATE_FAILED};
use crate::object::annotation;

/// Requests beyond these are not looked at until others are gone; a cluster has a few for each node.
const MAX_REQUESTS: usize = 20_000;
/// How long an open request counts as one that somebody waits for.
const PENDING: SignedDuration = SignedDuration::from_hours(1);

#[derive(Default)]
pub(super) struct Memory {
    /// Whether all nodes have been told.
    pub(super) knows_nodes: bool,
    /// Open requests.
    pub(super) requests: HashMap<String, Request>,
    /// Requests whose refusal has been told, and by which rule.
    pub(super) told: HashMap<String, &'static str>,
    nodes: HashMap<String, Known>,
    /// Which node has which address.
    pub(super) addresses: HashMap<IpAddr, String>,
    pub(super) book: Book,
}

/// What of a node matters.
#[derive(Clone, PartialEq, Eq)]
struct Known {
    node: Node,
    addresses: Vec<IpAddr>,
    parts: usize,
    is_initialized: bool,
    /// The configuration that its host says it has, and one that it could not take.
    configuration: [String; 2],
}

impl Memory {
    /// A node as it is now; whether something changed that matters.
    pub(super) fn learn_node(&mut self, object: &Value) -> bool {
        let node = read_node(object);
        let addresses = object["status"]["addresses"].as_array().into_iter().flatten();
        let addresses = addresses.filter_map(|entry| entry["address"].as_str()?.parse::<IpAddr>().ok());
        let parts = parts_of(object);
        let taints = object["spec"]["taints"].as_array().into_iter().flatten();
        let known = Known {
            addresses: addresses.map(|address| address.to_canonical()).collect(),
            parts: parts.len(),
            is_initialized: !taints.into_iter().any(|taint| taint["key"] == machine::UNINITIALIZED),
            configuration: [CURRENT_CONFIG, UPDATE_FAILED].map(|key| annotation(object, key).to_owned()),
            node,
        };
        let name = known.node.name.clone();
        self.book.learn(&name, parts);
        if self.nodes.get(&name) == Some(&known) {
            return false;
        }
        self.release_addresses(&name);
        for address in &known.addresses {
            self.addresses.entry(*address).or_insert_with(|| name.clone());
        }
        self.nodes.insert(name, known);
        true
    }

    pub(super) fn forget_node(&mut self, name: &str) {
        self.release_addresses(name);
        self.nodes.remove(name);
        self.book.forget(name);
    }

    fn release_addresses(&mut self, name: &str) {
        if let Some(known) = self.nodes.get(name) {
            for address in &known.addresses {
                if self.addresses.get(address).is_some_and(|holder| holder == name) {
                    self.addresses.remove(address);
                }
            }
        }
    }

    /// All that is there now has been told; nodes that were not are gone.
    pub(super) fn keep_nodes(&mut self, seen: &HashSet<String>) {
        let gone: Vec<String> = self.nodes.keys().filter(|name| !seen.contains(*name)).cloned().collect();
        for name in gone {
            self.forget_node(&name);
        }
        self.knows_nodes = true;
    }

    /// A request as it is now; whether it has to be looked at.
    pub(super) fn learn_request(&mut self, request: Request) -> bool {
        if request.progress != Progress::Open {
            self.forget_request(&request.name);
            return false;
        }
        if self.requests.len() >= MAX_REQUESTS && !self.requests.contains_key(&request.name) {
            return false;
        }
        self.requests.insert(request.name.clone(), request).is_none()
    }

    pub(super) fn forget_request(&mut self, name: &str) {
        self.requests.remove(name);
        self.told.remove(name);
    }

    /// The open requests that a node made.
    pub(super) fn requests_of(&self, node: &str) -> Vec<String> {
        let is_of = |request: &&Request| matches!(request.requester(), Requester::Node { name } if name == node);
        self.requests.values().filter(is_of).map(|request| request.name.clone()).collect()
    }

    /// A later open request of the same requester: the one that a kubelet waits for when it was started again.
    pub(super) fn later(&self, request: &Request) -> Option<&str> {
        let is_later = |other: &&Request| {
            (other.created, &other.name) > (request.created, &request.name)
                && other.signer == request.signer
                && other.username == request.username
        };
        self.requests.values().find(is_later).map(|later| later.name.as_str())
    }

    /// Those whose requests wait. Whoever asks again and again counts once: a host that is started all night long must not
    /// stop the others.
    pub(super) fn pending(&self, now: Timestamp) -> usize {
        let since = now.saturating_sub(PENDING).unwrap_or(now);
        let recent = self.requests.values().filter(|request| request.created >= since);
        recent.map(|request| (&request.username, request.signer)).collect::<HashSet<_>>().len()
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }
}

/// What the approver knows of a Node.
pub(super) fn read_node(object: &Value) -> Node {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Node {
        name: text(&object["metadata"]["name"]),
        uid: text(&object["metadata"]["uid"]),
        provider_id: text(&object["spec"]["providerID"]),
        is_ready: machine::is_ready(object),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, address: &str, ready: &str) -> Value {
        json!({"metadata": {"name": name, "uid": name}, "status": {
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": ready}]}})
    }

    #[test]
    fn a_host_that_asks_again_waits_for_its_last_request_and_counts_once() {
        let request = |name: &str, user: &str, created: &str| {
            Request::read(&json!({
                "metadata": {"name": name, "uid": name, "creationTimestamp": created},
                "spec": {"username": user, "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "request": "", "usages": []},
            }))
            .expect("a request for a node")
        };
        let mut memory = Memory::default();
        let first = request("one", "system:bootstrap:aaaaaa", "2026-01-01T00:00:00Z");
        let last = request("two", "system:bootstrap:aaaaaa", "2026-01-01T00:00:05Z");
        let other = request("three", "system:bootstrap:bbbbbb", "2026-01-01T00:00:09Z");
        for each in [&first, &last, &other] {
            memory.learn_request(each.clone());
        }
        assert_eq!((memory.later(&first), memory.later(&last), memory.later(&other)), (Some("two"), None, None));
        assert_eq!(memory.pending("2026-01-01T00:01:00Z".parse().unwrap()), 2);
        memory.forget_request("two");
        assert_eq!(memory.later(&first), None);
    }

    #[test]
    fn a_heartbeat_is_nothing_new_and_addresses_have_one_holder() {
        let mut memory = Memory::default();
        assert!(memory.learn_node(&node("a", "192.0.2.1", "False")));
        assert!(!memory.learn_node(&node("a", "192.0.2.1", "False")));
        assert!(memory.learn_node(&node("a", "192.0.2.1", "True")));
        memory.learn_node(&node("b", "192.0.2.1", "True"));
        assert_eq!(memory.addresses[&"192.0.2.1".parse().unwrap()], "a");
        memory.forget_node("b");
        assert_eq!(memory.addresses.len(), 1);
        memory.learn_node(&node("a", "192.0.2.2", "True"));
        assert_eq!(memory.addresses.len(), 1);
        memory.keep_nodes(&HashSet::new());
        assert!(memory.addresses.is_empty() && memory.nodes() == 0 && memory.knows_nodes);
    }
}
