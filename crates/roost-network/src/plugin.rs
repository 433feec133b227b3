//! The configuration of the network plugins: a bridge with addresses of the node's own part of the pod network.

use ipnet::IpNet;
use serde_json::{Value, json};

/// The file that it lies in, among others of the directory.
pub const FILE: &str = "10-roost.conflist";
/// The bridge that pods are on.
pub const BRIDGE: &str = "cni0";

/// The text of it; none while the node has no part.
pub fn configuration(pod_networks: &[IpNet]) -> Option<String> {
    if pod_networks.is_empty() {
        return None;
    }
    let ranges: Vec<Value> =
        pod_networks.iter().map(|network| json!([{"subnet": network.trunc().to_string()}])).collect();
    let default = |network: &IpNet| if network.addr().is_ipv4() { "0.0.0.0/0" } else { "::/0" };
    let routes: Vec<Value> = pod_networks.iter().map(|network| json!({"dst": default(network)})).collect();
    let document = json!({
        "cniVersion": "0.4.0",
        "name": "roost",
        "plugins": [
            {
                "type": "bridge", "bridge": BRIDGE, "isGateway": true, "forceAddress": true, "ipMasq": false,
                "hairpinMode": true, "ipam": {"type": "host-local", "ranges": ranges, "routes": routes},
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    Some(format!("{document:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::configuration;

    #[test]
    fn a_node_without_a_part_has_no_configuration() {
        assert_eq!(configuration(&[]), None);
        let text = configuration(&["10.1.2.3/24".parse().unwrap(), "fd00::/64".parse().unwrap()]).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let ranges = &document["plugins"][0]["ipam"]["ranges"];
        assert_eq!((&ranges[0][0]["subnet"], &ranges[1][0]["subnet"]), (&"10.1.2.0/24".into(), &"fd00::/64".into()));
    }
}
