//! Which part of the pod networks each node has: a pure book that gives every node the first free part.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::Value;

/// A node's part of a network of IPv4, unless the cluster says otherwise: 512 addresses.
const DEFAULT_V4_PREFIX: u8 = 23;
/// A node's part of a network of IPv6.
const DEFAULT_V6_PREFIX: u8 = 64;

/// A network and how large a node's part of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodNetwork {
    network: IpNet,
    prefix: u8,
}

/// The pod networks of a cluster's spec, at most one of each family.
pub(crate) fn pod_networks(spec: &Value) -> Vec<PodNetwork> {
    let mut found: Vec<PodNetwork> = Vec::new();
    for entry in spec["networking"]["clusterNetwork"].as_array().into_iter().flatten() {
        let Some(network) = entry["cidr"].as_str().and_then(|cidr| cidr.parse::<IpNet>().ok()) else { continue };
        let is_four = matches!(network, IpNet::V4(_));
        if found.iter().any(|other| matches!(other.network, IpNet::V4(_)) == is_four) {
            continue;
        }
        let default = if is_four { DEFAULT_V4_PREFIX } else { DEFAULT_V6_PREFIX };
        let wanted =
            entry["hostPrefix"].as_u64().and_then(|prefix| u8::try_from(prefix).ok()).filter(|&prefix| prefix > 0);
        let prefix = wanted.unwrap_or(default).clamp(network.prefix_len(), network.max_prefix_len());
        found.push(PodNetwork { network, prefix });
    }
    found
}

/// Who has which part.
#[derive(Debug, Default)]
pub(crate) struct Book {
    taken: BTreeSet<IpNet>,
    nodes: HashMap<String, Vec<IpNet>>,
    /// Where to look for the next free part, so that a thousand nodes are not a million steps.
    next: BTreeMap<PodNetwork, u128>,
}

impl Book {
    /// A node has these parts.
    pub(crate) fn learn(&mut self, node: &str, parts: Vec<IpNet>) {
        if parts.is_empty() || self.nodes.get(node) == Some(&parts) {
            return;
        }
        self.forget(node);
        self.taken.extend(parts.iter().copied());
        self.nodes.insert(node.to_owned(), parts);
    }

    /// A node is gone, and its parts are free.
    pub(crate) fn forget(&mut self, node: &str) {
        for part in self.nodes.remove(node).unwrap_or_default() {
            self.taken.remove(&part);
            self.next.clear();
        }
    }

    /// The parts of a node, which it gets now if it has none; fewer than networks when one is full.
    pub(crate) fn assign(&mut self, node: &str, networks: &[PodNetwork]) -> Vec<IpNet> {
        if let Some(parts) = self.nodes.get(node) {
            return parts.clone();
        }
        let parts: Vec<IpNet> = networks.iter().filter_map(|network| self.free(network)).collect();
        if parts.len() < networks.len() {
            return Vec::new();
        }
        self.learn(node, parts.clone());
        parts
    }

    fn free(&mut self, network: &PodNetwork) -> Option<IpNet> {
        let bits = u32::from(network.prefix - network.network.prefix_len());
        let count = 1u128.checked_shl(bits).unwrap_or(u128::MAX);
        let start = self.next.get(network).copied().unwrap_or_default();
        // As many steps as parts that are taken find a free one, if there is one.
        let numbers = (start..count).take(self.taken.len() + 1);
        let (number, part) = numbers
            .filter_map(|number| Some((number, part(network, number)?)))
            .find(|(_, part)| !self.taken.contains(part))?;
        self.next.insert(*network, number + 1);
        Some(part)
    }
}

fn part(network: &PodNetwork, number: u128) -> Option<IpNet> {
    let shift = u32::from(network.network.max_prefix_len() - network.prefix);
    let offset = if shift >= 128 { 0 } else { number.checked_shl(shift)? };
    match network.network.network() {
        IpAddr::V4(base) => {
            let address = u32::from(base).checked_add(u32::try_from(offset).ok()?)?;
            Ipv4Net::new(address.into(), network.prefix).ok().map(IpNet::V4)
        }
        IpAddr::V6(base) => {
            let address = u128::from(base).checked_add(offset)?;
            Ipv6Net::new(address.into(), network.prefix).ok().map(IpNet::V6)
        }
    }
}

/// The parts that a Node has.
pub(crate) fn parts_of(node: &Value) -> Vec<IpNet> {
    node["spec"]["podCIDRs"].as_array().into_iter().flatten().filter_map(|cidr| cidr.as_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_node_has_its_own_part() {
        let networks = pod_networks(&json!({"networking": {"clusterNetwork": [
            {"cidr": "10.132.0.0/14"}, {"cidr": "10.200.0.0/16"}, {"cidr": "fd01::/48", "hostPrefix": 64}]}}));
        let mut book = Book::default();
        book.learn("old", vec!["10.132.2.0/23".parse().unwrap()]);
        let mut seen = HashSet::new();
        for number in 0..511 {
            let parts = book.assign(&format!("node-{number}"), &networks);
            assert_eq!(parts.len(), 2, "{number}");
            assert!(parts.iter().all(|part| seen.insert(*part)), "{parts:?}");
        }
        assert!(!seen.contains(&"10.132.2.0/23".parse().unwrap()));
        assert!(book.assign("one-too-many", &networks).is_empty());
        let first = book.assign("node-0", &networks);
        book.forget("node-0");
        assert_eq!(book.assign("another", &networks), first);
    }

    #[test]
    fn odd_networks_are_no_trouble() {
        for (cidr, prefix, wanted) in [
            ("10.0.0.0/24", 23, "10.0.0.0/24"),
            ("10.0.0.0/8", 32, "10.0.0.0/32"),
            ("0.0.0.0/0", 8, "0.0.0.0/8"),
            ("::/0", 128, "::/128"),
            ("fd00::/8", 0, "fd00::/64"),
        ] {
            let networks =
                pod_networks(&json!({"networking": {"clusterNetwork": [{"cidr": cidr, "hostPrefix": prefix}]}}));
            assert_eq!(Book::default().assign("n", &networks), [wanted.parse::<IpNet>().unwrap()], "{cidr} {prefix}");
        }
        assert!(pod_networks(&json!({})).is_empty());
    }
}
