//! Which networks a node is in, as far as anybody has said so.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

/// Where OVN-Kubernetes writes the addresses of a node, with their networks.
const HOST_CIDRS: &str = "k8s.ovn.org/host-cidrs";
const PRIMARY_ADDRESS: &str = "k8s.ovn.org/node-primary-ifaddr";

/// A node's addresses, each with its network: as its network plugin says, and as it was discovered with.
pub(crate) fn of_node(node: &Value, agents: &[Value]) -> Vec<IpNet> {
    let annotation = |name: &str| node["metadata"]["annotations"][name].as_str();
    let mut found: Vec<String> = Vec::new();
    if let Some(Value::Array(list)) = annotation(HOST_CIDRS).and_then(|text| serde_json::from_str(text).ok()) {
        found.extend(list.iter().filter_map(|entry| entry.as_str().map(str::to_owned)));
    }
    if let Some(Value::Object(primary)) = annotation(PRIMARY_ADDRESS).and_then(|text| serde_json::from_str(text).ok()) {
        found.extend(primary.values().filter_map(|entry| entry.as_str().map(str::to_owned)));
    }
    let name = node["metadata"]["name"].as_str().unwrap_or_default();
    for agent in agents.iter().filter(|agent| node_of(agent) == Some(name)) {
        let interfaces = agent["status"]["inventory"]["interfaces"].as_array().into_iter().flatten();
        let addresses = interfaces.flat_map(|interface| {
            ["ipV4Addresses", "ipV6Addresses"].map(|field| interface[field].as_array().cloned().unwrap_or_default())
        });
        found.extend(addresses.flatten().filter_map(|address| address.as_str().map(str::to_owned)));
    }
    let mut networks: Vec<IpNet> = found.iter().filter_map(|text| text.parse().ok()).filter(is_shared).collect();
    networks.sort();
    networks.dedup();
    networks
}

/// A link-local or loopback address tells nothing, and an address alone is no network.
fn is_shared(address: &IpNet) -> bool {
    let local = match address.addr() {
        IpAddr::V4(address) => address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local(),
    };
    !local && address.prefix_len() < address.max_prefix_len()
}

/// The name that a host has as a node.
fn node_of(agent: &Value) -> Option<&str> {
    let named = |value: &'_ Value| value.as_str().is_some_and(|name| !name.is_empty());
    [&agent["spec"]["hostname"], &agent["status"]["inventory"]["hostname"], &agent["metadata"]["name"]]
        .into_iter()
        .find(|value| named(value))
        .and_then(Value::as_str)
}

/// Networks for people to read.
pub(crate) fn listed(networks: &[IpNet]) -> String {
    let mut names: Vec<String> = networks.iter().map(|network| network.trunc().to_string()).collect();
    names.dedup();
    names.join(", ")
}
