//! The mesh between nodes that are not on one network: who its peers are, where each may be found, and the link that leads
//! to them. What goes over it is encrypted as `WireGuard` does.

use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use serde_json::Value;

use crate::model::Node;

/// The annotation of a Node with its public key; the node itself writes it.
pub const KEY_ANNOTATION: &str = "roost.dev/mesh-key";
/// The annotation of a Node with the address and port that some router leads to it; whoever runs that router writes it.
pub const ENDPOINT_ANNOTATION: &str = "roost.dev/mesh-endpoint";
/// The link that leads into the mesh.
pub const LINK: &str = "roost-mesh";
/// The UDP port of every node.
pub const PORT: u16 = 51_840;
/// What encryption adds to a packet, with the largest headers around it.
const OVERHEAD: u64 = 80;
/// What fits through the internet, and what every link must take.
const MTU: (u64, u64) = (1280, 1500 - OVERHEAD);
/// Links that lead to no other host.
const INNER_LINKS: [&str; 4] = ["lo", "cni", "roost", "veth"];

/// A public key.
pub type Key = [u8; 32];

/// Somebody at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The nodes that say that this is their key. It is one, unless somebody lies; then nobody else is harmed.
    pub nodes: Vec<String>,
    /// Who proves to be it.
    pub key: Key,
    /// Which addresses are behind it, and which it may speak for.
    pub networks: Vec<IpNet>,
    /// Where it may be found, in this order; none where only it can find us.
    pub places: Vec<SocketAddr>,
}

/// A key from its text.
pub fn key(text: &str) -> Option<Key> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// Where a node may be found: where a router leads to it, then where it is known outside, then where it is.
pub fn places(node: &Node) -> Vec<SocketAddr> {
    let mut places: Vec<SocketAddr> = node.mesh_endpoint.iter().copied().collect();
    let addresses = node.external_addresses.iter().chain(&node.addresses);
    places.extend(addresses.map(|address| SocketAddr::new(*address, PORT)));
    places.retain(SocketAddr::is_ipv4);
    places
}

/// The link's own addresses: the first of the node's pod networks, which no pod gets. So what the node itself sends to pods
/// has an address that the other end knows.
pub fn addresses(pod_networks: &[IpNet]) -> Vec<IpNet> {
    pod_networks.iter().map(|network| IpNet::from(network.network())).collect()
}

/// How large the link's packets may be, by what `ip -j link show` printed.
pub fn mtu(links: &str) -> u64 {
    let links: Vec<Value> = serde_json::from_str(links).unwrap_or_default();
    let is_outer = |link: &&Value| {
        let name = link["ifname"].as_str().unwrap_or_default();
        link["operstate"] != "DOWN" && !INNER_LINKS.iter().any(|prefix| name.starts_with(prefix))
    };
    let smallest = links.iter().filter(is_outer).filter_map(|link| link["mtu"].as_u64()).min();
    smallest.map_or(MTU.1, |mtu| mtu.saturating_sub(OVERHEAD)).clamp(MTU.0, MTU.1)
}

/// The destination and the source of a packet.
pub fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
            Some((address(16)?, address(12)?))
        }
        6 => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
            Some((address(24)?, address(8)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{addresses, ends, key, mtu, places};
    use crate::model::Node;

    #[test]
    fn a_node_is_looked_for_where_it_is_said_to_be_first() {
        let node = Node {
            addresses: vec!["10.0.0.2".parse().unwrap(), "fd00::2".parse().unwrap()],
            external_addresses: vec!["192.0.2.7".parse().unwrap()],
            mesh_endpoint: Some("198.51.100.1:4000".parse().unwrap()),
            ..Node::default()
        };
        let found: Vec<String> = places(&node).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["198.51.100.1:4000", "192.0.2.7:51840", "10.0.0.2:51840"]);
        assert!(places(&Node::default()).is_empty());
    }

    #[test]
    fn packets_fit_into_those_around_them() {
        for (links, wanted) in [
            (r#"[{"ifname":"lo","mtu":65536},{"ifname":"eth0","mtu":1500},{"ifname":"cni0","mtu":1400}]"#, 1420),
            (r#"[{"ifname":"eth0","mtu":9000},{"ifname":"ppp0","mtu":1492}]"#, 1412),
            (r#"[{"ifname":"eth0","mtu":1500},{"ifname":"eth1","mtu":1300,"operstate":"DOWN"}]"#, 1420),
            (r#"[{"ifname":"eth0","mtu":576}]"#, 1280),
            ("nonsense", 1420),
        ] {
            assert_eq!(mtu(links), wanted, "{links}");
        }
    }

    #[test]
    fn the_link_has_an_address_that_no_pod_has() {
        let found = addresses(&["10.1.2.0/24".parse().unwrap()]);
        assert_eq!(found[0].to_string(), "10.1.2.0/32");
    }

    #[test]
    fn packets_say_where_they_go() {
        let mut four = vec![0; 20];
        four[0] = 0x45;
        four[12..20].copy_from_slice(&[10, 1, 0, 2, 10, 1, 1, 3]);
        assert_eq!(ends(&four), Some(("10.1.1.3".parse().unwrap(), "10.1.0.2".parse().unwrap())));
        let mut six = vec![0; 40];
        six[0] = 0x60;
        (six[23], six[39]) = (1, 2);
        assert_eq!(ends(&six), Some(("::2".parse().unwrap(), "::1".parse().unwrap())));
        for short in [&four[..19], &six[..39], &[], &[0x55; 40]] {
            assert_eq!(ends(short), None);
        }
        assert_eq!(key("AAAA"), None);
    }
}
