//! Routes to the pods of other nodes, through the nodes' own addresses where they are on one network.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use crate::balance::Family;
use crate::model::Model;

/// The number that marks a route as ours, so that nobody else's is touched.
pub const PROTOCOL: &str = "114";
/// Interfaces of pods, behind which no node is.
const POD_INTERFACES: [&str; 3] = ["cni", "roost", "veth"];

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Where to.
    pub network: IpNet,
    /// Through whom.
    pub gateway: IpAddr,
}

/// A node whose pods cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Which.
    pub node: String,
    /// Its address, if it has one.
    pub address: Option<IpAddr>,
}

impl std::fmt::Display for Apart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            Some(address) => write!(formatter, "{} ({address}) is not on a network of this node", self.node),
            None => write!(formatter, "{} has no address yet", self.node),
        }
    }
}

/// The routes of a node, and the nodes that none leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The routes.
    pub routes: Vec<Route>,
    /// Those apart.
    pub apart: Vec<Apart>,
}

/// Decides. `on_link` are the networks that this node reaches without a router.
pub fn plan(model: &Model, node: &str, on_link: &[IpNet]) -> Plan {
    let mut plan = Plan::default();
    for (name, other) in model.nodes.iter().filter(|(name, _)| *name != node) {
        for network in &other.pod_networks {
            let family = if network.addr().is_ipv4() { Family::Four } else { Family::Six };
            let mut addresses = other.addresses.iter().filter(|address| family.has(address));
            match addresses.clone().find(|address| on_link.iter().any(|near| near.contains(*address))) {
                Some(gateway) => plan.routes.push(Route { network: network.trunc(), gateway: *gateway }),
                None => plan.apart.push(Apart { node: name.clone(), address: addresses.next().copied() }),
            }
        }
    }
    plan.routes.sort();
    plan
}

/// What `ip -batch -` has to be told to get from some routes to others; nothing where they are the same.
pub fn changes(current: &[Route], wanted: &[Route]) -> String {
    let mut text = String::new();
    let gone = current.iter().filter(|route| !wanted.iter().any(|other| other.network == route.network));
    for route in gone {
        let _ = writeln!(text, "route del {} via {} proto {PROTOCOL}", route.network, route.gateway);
    }
    for route in wanted.iter().filter(|route| !current.contains(route)) {
        let _ = writeln!(text, "route replace {} via {} proto {PROTOCOL}", route.network, route.gateway);
    }
    text
}

/// The routes in what `ip -j route show` printed.
pub fn read(text: &str) -> Vec<Route> {
    let route = |entry: &Value| {
        Some(Route { network: network(&entry["dst"])?, gateway: entry["gateway"].as_str()?.parse().ok()? })
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
    use super::{changes, on_link, plan, read};
    use crate::model::tests::node;
    use crate::model::{Kind, Model};

    #[test]
    fn neighbours_get_routes_and_others_are_named() {
        let mut model = Model::default();
        for (name, address, network) in
            [("a", "10.0.0.1", "10.1.0.0/24"), ("b", "10.0.0.2", "10.1.1.0/24"), ("c", "192.168.7.3", "10.1.2.0/24")]
        {
            model.put(Kind::Node, &node(name, address, network));
        }
        let near = on_link(
            r#"[{"dst":"default","gateway":"10.0.0.254","dev":"eth0"},{"dst":"10.0.0.0/24","dev":"eth0","protocol":"kernel"},
            {"dst":"192.168.7.0/24","dev":"cni0"},{"dst":"192.168.7.3","gateway":"10.0.0.9","dev":"eth0"}]"#,
        );
        let plan = plan(&model, "a", &near);
        assert_eq!(changes(&[], &plan.routes), "route replace 10.1.1.0/24 via 10.0.0.2 proto 114\n");
        assert_eq!(plan.apart[0].to_string(), "c (192.168.7.3) is not on a network of this node");
        let current = read(r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.2","dev":"eth0"}]"#);
        assert_eq!(changes(&current, &plan.routes), "");
        assert_eq!(changes(&current, &[]), "route del 10.1.1.0/24 via 10.0.0.2 proto 114\n");
    }

    #[test]
    fn a_node_that_moved_gets_its_route_replaced() {
        let before = read(r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.2"}]"#);
        let after = read(r#"[{"dst":"10.1.1.0/24","gateway":"10.0.0.3"}]"#);
        assert_eq!(changes(&before, &after), "route replace 10.1.1.0/24 via 10.0.0.3 proto 114\n");
        assert!(read("nonsense").is_empty());
    }
}
