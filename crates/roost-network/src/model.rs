//! What of a cluster matters to a node's network: few fields of Nodes, Services, EndpointSlices, and of what network policies
//! go by. Everything else that changes about them, such as heartbeats, is no change here.

mod isolation;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mesh;

pub use isolation::{Direction, Labels, NamedPort, Number, Peer, Pod, Policy, Port, Rule};

/// A kind of object that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Where pods are, and how to get there.
    Node,
    /// What stands for pods.
    Service,
    /// Which pods.
    EndpointSlice,
    /// What pods are found by, beside their own labels.
    Namespace,
    /// Who may speak with whom.
    NetworkPolicy,
    /// Who they are.
    Pod,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Node, Self::Service, Self::EndpointSlice, Self::Namespace, Self::NetworkPolicy, Self::Pod];

    /// Whether it is followed although there is no policy: pods are many, and change often.
    pub fn is_always_followed(self) -> bool {
        self != Self::Pod
    }

    /// Where all objects of the kind are listed.
    pub fn path(self) -> &'static str {
        match self {
            Self::Node => "/api/v1/nodes",
            Self::Service => "/api/v1/services",
            Self::EndpointSlice => "/apis/discovery.k8s.io/v1/endpointslices",
            Self::Namespace => "/api/v1/namespaces",
            Self::NetworkPolicy => "/apis/networking.k8s.io/v1/networkpolicies",
            Self::Pod => "/api/v1/pods",
        }
    }
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

impl Protocol {
    fn read(value: &Value) -> Self {
        match value.as_str() {
            Some("UDP") => Self::Udp,
            Some("SCTP") => Self::Sctp,
            _ => Self::Tcp,
        }
    }

    /// As packet filters and names of Services have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its internal addresses.
    pub addresses: Vec<IpAddr>,
    /// The addresses that it is known by outside.
    #[serde(default)]
    pub external_addresses: Vec<IpAddr>,
    /// The addresses of its pods.
    pub pod_networks: Vec<IpNet>,
    /// Its public key in the mesh, once it has one.
    #[serde(default)]
    pub mesh_key: Option<mesh::Key>,
    /// Where a router leads to it.
    #[serde(default)]
    pub mesh_endpoint: Option<SocketAddr>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicePort {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its number at the Service's addresses.
    pub port: u16,
    /// Its number at every node's addresses.
    pub node_port: Option<u16>,
}

/// A Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Its addresses; none where it is headless or an alias.
    pub cluster_ips: Vec<IpAddr>,
    /// What it is an alias of.
    pub external_name: Option<String>,
    /// Its ports.
    pub ports: Vec<ServicePort>,
    /// Addresses that somebody else leads to the nodes.
    pub external_ips: Vec<IpAddr>,
    /// Addresses of its load balancer that arrive at the nodes unchanged.
    pub load_balancer_ips: Vec<IpAddr>,
    /// Who may use the load balancer; everybody when empty.
    pub source_ranges: Vec<IpNet>,
    /// Whether only pods of the same node serve clients inside.
    pub internal_local: bool,
    /// Whether only pods of the node that it arrives at serve clients outside.
    pub external_local: bool,
    /// Whether a client stays with its pod.
    pub has_affinity: bool,
}

/// A pod or whatever else serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its addresses, of one family.
    pub addresses: Vec<IpAddr>,
    /// Its own name.
    pub hostname: Option<String>,
    /// The node that it is on.
    pub node: Option<String>,
    /// Whether it takes connections.
    pub is_ready: bool,
    /// Whether it ends and yet takes connections.
    pub is_last_resort: bool,
}

/// A port of endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointPort {
    /// The name of the Service's port.
    pub name: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its number.
    pub port: u16,
}

/// Some endpoints of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointSlice {
    /// The Service's name.
    pub service: String,
    /// Their ports.
    pub ports: Vec<EndpointPort>,
    /// The endpoints.
    pub endpoints: Vec<Endpoint>,
}

/// Namespace and name; nodes have no namespace.
pub type Key = (String, String);

/// All that is known. It is written to disk, so that a node that starts without its cluster has the last of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// The nodes.
    pub nodes: BTreeMap<String, Node>,
    /// The Services.
    pub services: BTreeMap<Key, Service>,
    /// The endpoints.
    pub slices: BTreeMap<Key, EndpointSlice>,
    /// The labels of namespaces.
    pub namespaces: BTreeMap<String, Labels>,
    /// The policies.
    pub policies: BTreeMap<Key, Policy>,
    /// The pods that have addresses; empty until they are followed.
    pub pods: BTreeMap<Key, Pod>,
}

/// Keys of JSON objects are texts, so maps are kept as lists.
#[derive(Serialize, Deserialize)]
struct Kept {
    nodes: Vec<(String, Node)>,
    services: Vec<(Key, Service)>,
    slices: Vec<(Key, EndpointSlice)>,
    #[serde(default)]
    namespaces: Vec<(String, Labels)>,
    #[serde(default)]
    policies: Vec<(Key, Policy)>,
    #[serde(default)]
    pods: Vec<(Key, Pod)>,
}

impl Model {
    /// Reads what [`Self::to_bytes`] wrote.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let kept: Kept = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            nodes: kept.nodes.into_iter().collect(),
            services: kept.services.into_iter().collect(),
            slices: kept.slices.into_iter().collect(),
            namespaces: kept.namespaces.into_iter().collect(),
            policies: kept.policies.into_iter().collect(),
            pods: kept.pods.into_iter().collect(),
        })
    }

    /// The bytes of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kept = Kept {
            nodes: self.nodes.clone().into_iter().collect(),
            services: self.services.clone().into_iter().collect(),
            slices: self.slices.clone().into_iter().collect(),
            namespaces: self.namespaces.clone().into_iter().collect(),
            policies: self.policies.clone().into_iter().collect(),
            pods: self.pods.clone().into_iter().collect(),
        };
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    /// Takes in an object that is there. Says whether anything changed.
    pub fn put(&mut self, kind: Kind, object: &Value) -> bool {
        let key = key(object);
        match kind {
            Kind::Node => put(&mut self.nodes, key.1, node(object)),
            Kind::Service => put(&mut self.services, key, service(object)),
            Kind::EndpointSlice => match slice(object) {
                Some(slice) => put(&mut self.slices, key, slice),
                None => self.slices.remove(&key).is_some(),
            },
            Kind::Namespace => put(&mut self.namespaces, key.1, isolation::labels(object)),
            Kind::NetworkPolicy => put(&mut self.policies, key, isolation::policy(object)),
            Kind::Pod => match isolation::pod(object) {
                Some(pod) => put(&mut self.pods, key, pod),
                None => self.pods.remove(&key).is_some(),
            },
        }
    }

    /// Takes in that an object is gone. Says whether anything changed.
    pub fn remove(&mut self, kind: Kind, object: &Value) -> bool {
        let key = key(object);
        match kind {
            Kind::Node => self.nodes.remove(&key.1).is_some(),
            Kind::Service => self.services.remove(&key).is_some(),
            Kind::EndpointSlice => self.slices.remove(&key).is_some(),
            Kind::Namespace => self.namespaces.remove(&key.1).is_some(),
            Kind::NetworkPolicy => self.policies.remove(&key).is_some(),
            Kind::Pod => self.pods.remove(&key).is_some(),
        }
    }

    /// Takes in all objects of a kind. Says whether anything changed.
    pub fn replace(&mut self, kind: Kind, objects: &[Value]) -> bool {
        let mut other = Self::default();
        for object in objects {
            other.put(kind, object);
        }
        match kind {
            Kind::Node => swap(&mut self.nodes, other.nodes),
            Kind::Service => swap(&mut self.services, other.services),
            Kind::EndpointSlice => swap(&mut self.slices, other.slices),
            Kind::Namespace => swap(&mut self.namespaces, other.namespaces),
            Kind::NetworkPolicy => swap(&mut self.policies, other.policies),
            Kind::Pod => swap(&mut self.pods, other.pods),
        }
    }
}

fn put<K: Ord, V: PartialEq>(map: &mut BTreeMap<K, V>, key: K, value: V) -> bool {
    if map.get(&key) == Some(&value) {
        return false;
    }
    map.insert(key, value);
    true
}

fn swap<M: PartialEq>(old: &mut M, new: M) -> bool {
    let is_changed = *old != new;
    *old = new;
    is_changed
}

fn key(object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn parsed<T: std::str::FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

fn port_number(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

fn node(object: &Value) -> Node {
    let addresses = |kind: &str| {
        let of_kind = list(&object["status"]["addresses"]).filter(|address| address["type"] == kind);
        of_kind.filter_map(|address| parsed(&address["address"])).collect()
    };
    let annotations = &object["metadata"]["annotations"];
    Node {
        addresses: addresses("InternalIP"),
        external_addresses: addresses("ExternalIP"),
        pod_networks: list(&object["spec"]["podCIDRs"]).filter_map(parsed).collect(),
        mesh_key: annotations[mesh::KEY_ANNOTATION].as_str().and_then(mesh::key),
        mesh_endpoint: parsed(&annotations[mesh::ENDPOINT_ANNOTATION]),
    }
}

fn service(object: &Value) -> Service {
    let spec = &object["spec"];
    let is_alias = spec["type"] == "ExternalName";
    let port = |port: &Value| {
        Some(ServicePort {
            name: port["name"].as_str().unwrap_or_default().to_owned(),
            protocol: Protocol::read(&port["protocol"]),
            port: port_number(&port["port"])?,
            node_port: port_number(&port["nodePort"]),
        })
    };
    let ingress = |ingress: &Value| if ingress["ipMode"] == "Proxy" { None } else { parsed(&ingress["ip"]) };
    Service {
        cluster_ips: if is_alias { Vec::new() } else { list(&spec["clusterIPs"]).filter_map(parsed).collect() },
        external_name: spec["externalName"].as_str().filter(|_| is_alias).map(str::to_owned),
        ports: list(&spec["ports"]).filter_map(port).collect(),
        external_ips: list(&spec["externalIPs"]).filter_map(parsed).collect(),
        load_balancer_ips: list(&object["status"]["loadBalancer"]["ingress"]).filter_map(ingress).collect(),
        source_ranges: list(&spec["loadBalancerSourceRanges"])
            .filter_map(|range| range.as_str()?.trim().parse().ok())
            .collect(),
        internal_local: spec["internalTrafficPolicy"] == "Local",
        external_local: spec["externalTrafficPolicy"] == "Local",
        has_affinity: spec["sessionAffinity"] == "ClientIP",
    }
}

/// None where it belongs to no Service, or its endpoints are names.
fn slice(object: &Value) -> Option<EndpointSlice> {
    let service = object.pointer("/metadata/labels/kubernetes.io~1service-name")?.as_str()?;
    if object["addressType"] == "FQDN" {
        return None;
    }
    let port = |port: &Value| {
        Some(EndpointPort {
            name: port["name"].as_str().unwrap_or_default().to_owned(),
            protocol: Protocol::read(&port["protocol"]),
            port: port_number(&port["port"])?,
        })
    };
    let endpoint = |endpoint: &Value| {
        let conditions = &endpoint["conditions"];
        Endpoint {
            addresses: list(&endpoint["addresses"]).filter_map(parsed).collect(),
            hostname: endpoint["hostname"].as_str().map(str::to_owned),
            node: endpoint["nodeName"].as_str().map(str::to_owned),
            // What says nothing is ready.
            is_ready: conditions["ready"] != false,
            is_last_resort: conditions["serving"] == true && conditions["terminating"] == true,
        }
    };
    Some(EndpointSlice {
        service: service.to_owned(),
        ports: list(&object["ports"]).filter_map(port).collect(),
        endpoints: list(&object["endpoints"]).map(endpoint).collect(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::{Kind, Model, Value};

    pub(crate) fn node(name: &str, address: &str, network: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"podCIDRs": [network]},
            "status": {"addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]}})
    }

    pub(crate) fn service(name: &str, spec: Value) -> Value {
        let mut object = json!({"metadata": {"namespace": "default", "name": name}});
        object["spec"] = spec;
        object
    }

    /// A slice with endpoints as address and node.
    pub(crate) fn slice(service: &str, port: &Value, endpoints: &[(&str, &str)]) -> Value {
        let endpoints: Vec<Value> = endpoints
            .iter()
            .map(|(address, node)| json!({"addresses": [address], "nodeName": node, "conditions": {"ready": true}}))
            .collect();
        json!({"metadata": {"namespace": "default", "name": format!("{service}-x"),
            "labels": {"kubernetes.io/service-name": service}}, "addressType": "IPv4", "ports": [port], "endpoints": endpoints})
    }

    pub(crate) fn pod(name: &str, labels: &Value, node: &str, address: &str) -> Value {
        json!({"metadata": {"namespace": "default", "name": name, "labels": labels},
            "spec": {"nodeName": node, "containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]},
            "status": {"phase": "Running", "podIPs": [{"ip": address}]}})
    }

    pub(crate) fn policy(name: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": "default", "name": name}, "spec": spec})
    }

    #[test]
    fn pods_are_those_with_addresses_of_their_own() {
        let mut model = Model::default();
        let mut object = pod("web", &json!({"app": "web"}), "a", "10.1.0.5");
        assert!(model.put(Kind::Pod, &object));
        object["status"]["conditions"] = json!([{"type": "Ready"}]);
        assert!(!model.put(Kind::Pod, &object));
        object["status"]["phase"] = json!("Failed");
        assert!(model.put(Kind::Pod, &object));
        object["status"]["phase"] = json!("Running");
        object["spec"]["hostNetwork"] = json!(true);
        assert!(!model.put(Kind::Pod, &object));
        assert!(model.pods.is_empty());
    }

    #[test]
    fn heartbeats_are_no_change() {
        let mut model = Model::default();
        let mut object = node("a", "10.0.0.1", "10.1.0.0/24");
        assert!(model.put(Kind::Node, &object));
        object["status"]["conditions"] = json!([{"type": "Ready", "lastHeartbeatTime": "now"}]);
        assert!(!model.put(Kind::Node, &object));
        assert!(!model.replace(Kind::Node, &[object.clone()]));
        assert!(model.remove(Kind::Node, &object));
        assert!(!model.remove(Kind::Node, &object));
    }

    #[test]
    fn what_is_kept_is_what_was_there() {
        let mut model = Model::default();
        model.put(Kind::Node, &node("a", "10.0.0.1", "10.1.0.0/24"));
        model.put(Kind::Service, &service("web", json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 80}]})));
        model.put(Kind::EndpointSlice, &slice("web", &json!({"port": 8080}), &[("10.1.0.5", "a")]));
        model.put(Kind::Namespace, &json!({"metadata": {"name": "default", "labels": {"team": "a"}}}));
        model.put(Kind::Pod, &pod("db", &json!({"app": "db"}), "a", "10.1.0.6"));
        let rule = json!({"from": [{"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
            "ports": [{"port": 80}, {"port": "http", "protocol": "UDP"}]});
        model.put(Kind::NetworkPolicy, &policy("p", &json!({"podSelector": {}, "ingress": [rule]})));
        assert!(!model.pods.is_empty() && !model.policies.is_empty() && !model.namespaces.is_empty());
        assert_eq!(Model::read(&model.to_bytes()), Some(model));
        assert_eq!(Model::read(b"{"), None);
    }

    #[test]
    fn odd_objects_are_no_trouble() {
        let mut model = Model::default();
        for kind in Kind::ALL {
            for object in [json!(null), json!([]), json!({"spec": 1}), json!({"metadata": {"name": 5}})] {
                model.put(kind, &object);
            }
        }
        assert!(model.slices.is_empty() && model.pods.is_empty());
    }
}
