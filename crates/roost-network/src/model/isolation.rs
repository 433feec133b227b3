//! What network policies go by: pods with their labels and addresses, and the policies themselves.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Protocol, list, parsed, port_number};

/// The labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A pod that has addresses of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// Its labels.
    pub labels: Labels,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// The node that it is on.
    pub node: String,
    /// Its ports that have names.
    pub ports: Vec<NamedPort>,
}

/// A port of a pod that has a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPort {
    /// Its name.
    pub name: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its number.
    pub port: u16,
}

impl Pod {
    /// The number of a port by its name.
    pub fn port(&self, name: &str, protocol: Protocol) -> Option<u16> {
        self.ports.iter().find(|port| port.name == name && port.protocol == protocol).map(|port| port.port)
    }
}

/// Which way a connection is begun, as seen from the pod that a policy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// To the pod.
    Ingress,
    /// From the pod.
    Egress,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ingress, Self::Egress];
}

/// A policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The pods of its namespace that it is about, as a label selector.
    pub pods: Value,
    /// What it lets in; none where it is not about that.
    pub ingress: Option<Vec<Rule>>,
    /// What it lets out; none where it is not about that.
    pub egress: Option<Vec<Rule>>,
}

impl Policy {
    /// What it lets through in a direction; none where it is not about that.
    pub fn rules(&self, direction: Direction) -> Option<&[Rule]> {
        match direction {
            Direction::Ingress => self.ingress.as_deref(),
            Direction::Egress => self.egress.as_deref(),
        }
    }
}

/// What a policy lets through: any of these peers at any of these ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The others; none where it may be anybody.
    pub peers: Option<Vec<Peer>>,
    /// Ports of whom the connection is to; none where it may be any.
    pub ports: Option<Vec<Port>>,
}

/// Somebody at the other end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Peer {
    /// Pods, by label selectors.
    Pods {
        /// Of their namespaces; none where it is the policy's own.
        namespaces: Option<Value>,
        /// Of them; none where it may be any.
        pods: Option<Value>,
    },
    /// Addresses.
    Block {
        /// Which.
        network: IpNet,
        /// And which of them not.
        except: Vec<IpNet>,
    },
}

/// Ports of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// The protocol.
    pub protocol: Protocol,
    /// Which of its ports.
    pub number: Number,
}

/// How a port is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Number {
    /// It may be any.
    Any,
    /// From the first to the last.
    Range(u16, u16),
    /// As the pod calls it.
    Name(String),
}

/// None where a pod has no address of its own, or needs none any more.
pub(super) fn pod(object: &Value) -> Option<Pod> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let has_ended = matches!(status["phase"].as_str(), Some("Succeeded" | "Failed"));
    if spec["hostNetwork"] == true || has_ended {
        return None;
    }
    let addresses: Vec<IpAddr> = list(&status["podIPs"]).filter_map(|address| parsed(&address["ip"])).collect();
    if addresses.is_empty() {
        return None;
    }
    let beside = list(&spec["initContainers"]).filter(|container| container["restartPolicy"] == "Always");
    let ports = list(&spec["containers"]).chain(beside).flat_map(|container| list(&container["ports"]));
    let named = |port: &Value| {
        Some(NamedPort {
            name: port["name"].as_str().filter(|name| !name.is_empty())?.to_owned(),
            protocol: Protocol::read(&port["protocol"]),
            port: port_number(&port["containerPort"])?,
        })
    };
    Some(Pod {
        labels: labels(object),
        addresses,
        node: spec["nodeName"].as_str().unwrap_or_default().to_owned(),
        ports: ports.filter_map(named).collect(),
    })
}

/// The labels of an object.
pub(super) fn labels(object: &Value) -> Labels {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// A policy that does not say what it is about is about what comes in, and about what goes out where it lets out something.
pub(super) fn policy(object: &Value) -> Policy {
    let spec = &object["spec"];
    let (incoming, outgoing) = (&spec["ingress"], &spec["egress"]);
    let mut is_about = [true, list(outgoing).next().is_some()];
    if list(&spec["policyTypes"]).next().is_some() {
        is_about = ["Ingress", "Egress"].map(|name| list(&spec["policyTypes"]).any(|kind| kind == name));
    }
    let rules = |value: &Value, peers: &str| list(value).map(|value| rule(value, peers)).collect();
    // A selector that is not there is an empty one here, and selects everything.
    let pods = if spec["podSelector"].is_null() { json!({}) } else { spec["podSelector"].clone() };
    Policy {
        pods,
        ingress: is_about[0].then(|| rules(incoming, "from")),
        egress: is_about[1].then(|| rules(outgoing, "to")),
    }
}

/// What cannot be read lets nobody through.
fn rule(value: &Value, peers: &str) -> Rule {
    let some = |value: &Value| list(value).next().is_some();
    Rule {
        peers: some(&value[peers]).then(|| list(&value[peers]).filter_map(peer).collect()),
        ports: some(&value["ports"]).then(|| list(&value["ports"]).filter_map(port).collect()),
    }
}

fn peer(value: &Value) -> Option<Peer> {
    let block = &value["ipBlock"];
    if !block.is_null() {
        let network: IpNet = parsed(&block["cidr"])?;
        let except = list(&block["except"]).map(|part| parsed::<IpNet>(part).map(|part| part.trunc()));
        return Some(Peer::Block { network: network.trunc(), except: except.collect::<Option<_>>()? });
    }
    let given = |name: &str| Some(&value[name]).filter(|selector| !selector.is_null()).cloned();
    let (namespaces, pods) = (given("namespaceSelector"), given("podSelector"));
    (namespaces.is_some() || pods.is_some()).then_some(Peer::Pods { namespaces, pods })
}

fn port(value: &Value) -> Option<Port> {
    let number = match &value["port"] {
        Value::Null => Number::Any,
        Value::String(name) => Number::Name(name.clone()),
        first => {
            let first = port_number(first)?;
            let last = if value["endPort"].is_null() { first } else { port_number(&value["endPort"])? };
            if last < first {
                return None;
            }
            Number::Range(first, last)
        }
    };
    Some(Port { protocol: Protocol::read(&value["protocol"]), number })
}
