//! Routes to the pods of other nodes: through the nodes' own addresses where they are on one network, else through the mesh.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use crate::balance::Family;
use crate::mesh::{self, Key, Peer};
use crate::model::Model;

/// The number that marks a route as ours, so that nobody else's is touched.
pub const PROTOCOL: &str = "114";
/// Interfaces of pods, behind which no node is.
const POD_INTERFACES: [&str; 3] = ["cni", "roost", "veth"];

/// Which way a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Through a neighbour.
    Through(IpAddr),
    /// Through the mesh.
    Mesh,
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Through(gateway) => write!(formatter, "via {gateway}"),
            Self::Mesh => write!(formatter, "dev {}", mesh::LINK),
        }
    }
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Where to.
    pub network: IpNet,
    /// Which way.
    pub way: Way,
}

/// A node whose pods cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Which.
    pub node: String,
    /// Its address, if it has one.
    pub address: Option<IpAddr>,
}

impl fmt::Display for Apart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => {
                write!(
                    formatter,
                    "{} ({address}) is not on a network of this node, and has no key for the mesh",
                    self.node
                )
            }
            None => write!(formatter, "{} has no address yet", self.node),
        }
    }
}

/// The ways from a node to the pods of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The routes.
    pub routes: Vec<Route>,
    /// Those who are reached through the mesh.
    pub peers: Vec<Peer>,
    /// Those who are not reached.
    pub apart: Vec<Apart>,
}

impl Plan {
    /// Whether this node has to be in the mesh, so that others reach it or will.
    pub fn needs_mesh(&self) -> bool {
        !self.peers.is_empty() || self.apart.iter().any(|apart| apart.address.is_some())
    }

    /// What is left of it where there is no mesh.
    #[must_use]
    pub fn without_mesh(mut self) -> Self {
        self.routes.retain(|route| route.way != Way::Mesh);
        self.peers.clear();
        self
    }
}

/// Decides. `on_link` are the networks that this node reaches without a router.
pub fn plan(model: &Model, node: &str, on_link: &[IpNet]) -> Plan {
    let mut plan = Plan::default();
    let own_key = model.nodes.get(node).and_then(|own| own.mesh_key);
    let mut peers: BTreeMap<Key, Peer> = BTreeMap::new();
    for (name, other) in model.nodes.iter().filter(|(name, _)| *name != node) {
        for network in &other.pod_networks {
            let family = if network.addr().is_ipv4() { Family::Four } else { Family::Six };
            let mut addresses = other.addresses.iter().filter(|address| family.has(address));
            let near = addresses.clone().find(|address| on_link.iter().any(|near| near.contains(*address)));
            let way = match (near, other.mesh_key.filter(|key| Some(*key) != own_key)) {
                (Some(gateway), _) => Way::Through(*gateway),
                (None, Some(key)) => {
                    let new = || Peer { nodes: Vec::new(), key, networks: Vec::new(), places: Vec::new() };
                    let peer = peers.entry(key).or_insert_with(new);
                    if !peer.nodes.contains(name) {
                        peer.nodes.push(name.clone());
                        peer.places.extend(mesh::places(other));
                    }
                    peer.networks.push(network.trunc());
                    Way::Mesh
                }
                (None, None) => {
                    plan.apart.push(Apart { node: name.clone(), address: addresses.next().copied() });
                    continue;
                }
            };
            plan.routes.push(Route { network: network.trunc(), way });
        }
    }
    plan.routes.sort();
    plan.peers.extend(peers.into_values());
    plan
}

/// What `ip -batch -` has to be told to get from some routes to others; nothing where they are the same.
pub fn changes(current: &[Route], wanted: &[Route]) -> String {
    let mut text = String::new();
    let gone = current.iter().filter(|route| !wanted.iter().any(|other| other.network == route.network));
    for route in gone {
        let _ = writeln!(text, "route del {} {} proto {PROTOCOL}", route.network, route.way);
    }
    for route in wanted.iter().filter(|route| !current.contains(route)) {
        let _ = writeln!(text, "route replace {} {} proto {PROTOCOL}", route.network, route.way);
    }
    text
}

/// The routes in what `ip -j route show` printed.
pub fn read(text: &str) -> Vec<Route> {
    let route = |entry: &Value| {
        let way = match entry["gateway"].as_str() {
            Some(gateway) => Way::Through(gateway.parse().ok()?),
            None if entry["dev"] == mesh::LINK => Way::Mesh,
            None => return None,
        };
        Some(Route { network: network(&entry["dst"])?, way })
    };
    entries(text).iter().filter_map(route).collect()
}

/// The networks that are reached without a router, in what `ip -j route show` printed.
pub fn on_link(text: &str) -> Vec<IpNet> {
    let is_direct = |entry: &&Value| {
        let device = entry["dev"].as_str().unwrap_or_default();
        let has_router = ["gateway", "via", "nexthops"].iter().any(|field| entry.get(field).is_some());
        !device.is_empty() && !has_router && !POD_INTERFACES.iter().any(|prefix| device.starts_with(prefix))
    };
    entries(text).iter().filter(is_direct).filter_map(|entry| network(&entry["dst"])).collect()
}

fn entries(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// A network or a single address.
fn network(value: &Value) -> Option<IpNet> {
    let text = value.as_str()?;
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::{Way, changes, on_link, plan, read};
    use crate::mesh;
    use crate::model::tests::node;
    use crate::model::{Kind, Model};

    const NEAR: &str = r#"[{"dst":"default","gateway":"10.0.0.254","dev":"eth0"},{"dst":"10.0.0.0/24","dev":"eth0","protocol":"kernel"},
        {"dst":"192.168.7.0/24","dev":"cni0"},{"dst":"192.168.7.3","gateway":"10.0.0.9","dev":"eth0"},
        {"dst":"192.168.8.0/24","dev":"roost-mesh"}]"#;

    /// Nodes by name, address, pod network and the number of their key.
    fn model(nodes: &[(&str, &str, &str, Option<u8>)]) -> Model {
        let mut model = Model::default();
        for (name, address, network, number) in nodes {
            let mut object = node(name, address, network);
            if let Some(number) = number {
                object["metadata"]["annotations"] = json!({mesh::KEY_ANNOTATION: STANDARD.encode([*number; 32])});
            }
            model.put(Kind::Node, &object);
        }
        model
    }

    #[test]
    fn neighbours_get_routes_and_others_are_named() {
        let model = model(&[
            ("a", "10.0.0.1", "10.1.0.0/24", None),
            ("b", "10.0.0.2", "10.1.1.0/24", None),
            ("c", "192.168.7.3", "10.1.2.0/24", None),
        ]);
        let plan = plan(&model, "a", &on_link(NEAR));
        assert_eq!(changes(&[], &plan.routes), "route replace 10.1.1.0/24 via 10.0.0.2 proto 114\n");
        assert_eq!(
            plan.apart[0].to_string(),
            "c (192.168.7.3) is not on a network of this node, and has no key for the mesh"
        );
        assert!(plan.needs_mesh(), "this node has to show its key before c can");
        let current = read(r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.2","dev":"eth0"}]"#);
        assert_eq!(changes(&current, &plan.routes), "");
        assert_eq!(changes(&current, &[]), "route del 10.1.1.0/24 via 10.0.0.2 proto 114\n");
    }

    #[test]
    fn keys_lead_through_the_mesh_where_no_neighbour_does() {
        let model = model(&[
            ("a", "10.0.0.1", "10.1.0.0/24", Some(1)),
            ("b", "10.0.0.2", "10.1.1.0/24", Some(2)),
            ("c", "192.168.8.3", "10.1.2.0/24", Some(3)),
        ]);
        let plan = plan(&model, "a", &on_link(NEAR));
        let wanted =
            "route replace 10.1.1.0/24 via 10.0.0.2 proto 114\nroute replace 10.1.2.0/24 dev roost-mesh proto 114\n";
        assert_eq!(changes(&[], &plan.routes), wanted);
        assert!(plan.apart.is_empty());
        let [peer] = plan.peers.as_slice() else { panic!("{:?}", plan.peers) };
        assert_eq!((peer.nodes.as_slice(), peer.key), (["c".to_owned()].as_slice(), [3; 32]));
        assert_eq!(peer.networks, ["10.1.2.0/24".parse().unwrap()]);
        assert_eq!(peer.places, ["192.168.8.3:51840".parse().unwrap()]);
        let current = read(
            r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.2","dev":"eth0"},{"dst":"10.1.2.0/24","dev":"roost-mesh","scope":"link"}]"#,
        );
        assert_eq!(changes(&current, &plan.routes), "");
        let left = plan.without_mesh();
        assert_eq!(changes(&current, &left.routes), "route del 10.1.2.0/24 dev roost-mesh proto 114\n");
        assert!(!left.needs_mesh());
    }

    #[test]
    fn nodes_on_one_network_have_no_mesh() {
        let model = model(&[("a", "10.0.0.1", "10.1.0.0/24", None), ("b", "10.0.0.2", "10.1.1.0/24", None)]);
        assert!(!plan(&model, "a", &on_link(NEAR)).needs_mesh());
    }

    #[test]
    fn a_key_that_two_claim_cuts_nobody_off() {
        let model = model(&[
            ("a", "10.0.0.1", "10.1.0.0/24", Some(1)),
            ("liar", "192.168.8.66", "10.1.3.0/24", Some(3)),
            ("true", "192.168.8.3", "10.1.2.0/24", Some(3)),
            ("twin", "192.168.8.4", "10.1.4.0/24", Some(1)),
        ]);
        let plan = plan(&model, "a", &on_link(NEAR));
        assert_eq!(plan.peers.len(), 1);
        assert_eq!(plan.peers[0].nodes, ["liar", "true"]);
        assert!(plan.peers[0].networks.contains(&"10.1.2.0/24".parse().unwrap()));
        assert!(plan.peers[0].places.contains(&"192.168.8.3:51840".parse().unwrap()));
        let through_mesh: BTreeSet<String> =
            plan.routes.iter().filter(|route| route.way == Way::Mesh).map(|route| route.network.to_string()).collect();
        assert_eq!(through_mesh, ["10.1.2.0/24", "10.1.3.0/24"].map(str::to_owned).into());
        assert_eq!(plan.apart[0].node, "twin", "nobody else has our key");
    }

    #[test]
    fn a_node_that_moved_gets_its_route_replaced() {
        let before = read(r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.2"}]"#);
        let after = read(r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.3"}]"#);
        assert_eq!(changes(&before, &after), "route replace 10.1.1.0/24 via 10.0.0.3 proto 114\n");
        let apart = read(r#"[{"dst":"10.1.1.0/24","dev":"roost-mesh"},{"dst":"10.1.9.0/24","dev":"eth0"}]"#);
        assert_eq!(changes(&before, &apart), "route replace 10.1.1.0/24 dev roost-mesh proto 114\n");
        assert!(read("nonsense").is_empty());
    }
}
