//! Which nodes can host an address that pods are seen with outside, and why the others cannot.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Serialize;
use serde_json::Value;

use super::networks;

/// What marks a node that may host such addresses.
const ASSIGNABLE: &str = "k8s.ovn.org/egress-assignable";

/// What is said about one node and one address.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    pub(crate) address: IpAddr,
    pub(crate) node: String,
    pub(crate) can_host: bool,
    /// Why not, or where.
    pub(crate) why: String,
    /// What would help; empty where nothing would.
    pub(crate) fix: String,
}

/// What the verdicts come from.
pub(crate) struct Facts<'a> {
    pub(crate) cluster: &'a Value,
    pub(crate) nodes: &'a [Value],
    pub(crate) agents: &'a [Value],
    /// The addresses that are asked for already.
    pub(crate) egress_ips: &'a [Value],
}

/// Every address with every node.
pub(crate) fn verdicts(addresses: &[IpAddr], facts: &Facts<'_>) -> Vec<Verdict> {
    let mut nodes: Vec<&Value> = facts.nodes.iter().collect();
    nodes.sort_by_key(|node| node["metadata"]["name"].as_str());
    addresses
        .iter()
        .flat_map(|address| {
            let nowhere = nowhere(*address, facts);
            nodes.iter().map(move |node| verdict(*address, node, nowhere.as_deref(), facts)).collect::<Vec<_>>()
        })
        .collect()
}

fn verdict(address: IpAddr, node: &Value, nowhere: Option<&str>, facts: &Facts<'_>) -> Verdict {
    let name = node["metadata"]["name"].as_str().unwrap_or_default();
    let networks = networks::of_node(node, facts.agents);
    let home = networks.iter().find(|network| network.contains(&address));
    let own = networks.iter().any(|network| network.addr() == address)
        || node["status"]["addresses"].as_array().into_iter().flatten().any(|known| is(&known["address"], address));
    let label = format!("kubectl label node {name} {ASSIGNABLE}=\"\"");
    let (why, fix) = if let Some(reason) = nowhere {
        (reason.to_owned(), String::new())
    } else if own {
        ("it is the node's own address".to_owned(), "choose an address that nothing has".to_owned())
    } else if networks.is_empty() {
        ("nobody has said which networks it is in".to_owned(), format!("kubectl describe node {name}"))
    } else if home.is_none() {
        let fix = "choose an address of its networks, or another node".to_owned();
        (format!("it is not in the address's network; its networks are {}", networks::listed(&networks)), fix)
    } else if !is_ready(node) {
        ("it is not Ready".to_owned(), format!("kubectl describe node {name}"))
    } else if node["metadata"]["labels"][ASSIGNABLE].is_null() {
        (format!("it has no label {ASSIGNABLE}"), label)
    } else {
        let network = home.map_or_else(String::new, |network| network.trunc().to_string());
        return Verdict {
            address,
            node: name.into(),
            can_host: true,
            why: format!("in {network}"),
            fix: String::new(),
        };
    };
    Verdict { address, node: name.into(), can_host: false, why, fix }
}

/// Why no node could host an address, whatever its networks.
fn nowhere(address: IpAddr, facts: &Facts<'_>) -> Option<String> {
    let networking = &facts.cluster["spec"]["networking"];
    for (field, whose) in [("clusterNetwork", "pods"), ("serviceNetwork", "Services")] {
        let mut networks = networking[field].as_array().into_iter().flatten();
        let within = |entry: &Value| {
            let network: Option<IpNet> = entry["cidr"].as_str().and_then(|text| text.parse().ok());
            network.filter(|network| network.contains(&address))
        };
        if let Some(network) = networks.find_map(within) {
            return Some(format!("the address is in {network}, which is for {whose}"));
        }
    }
    let asks =
        |object: &&Value| object["spec"]["egressIPs"].as_array().into_iter().flatten().any(|known| is(known, address));
    let taken = facts.egress_ips.iter().find(asks)?;
    let name = taken["metadata"]["name"].as_str().unwrap_or_default();
    let mut items = taken["status"]["items"].as_array().into_iter().flatten();
    let host = items.find(|item| is(&item["egressIP"], address)).and_then(|item| item["node"].as_str());
    Some(match host {
        Some(host) => format!("the EgressIP {name} has it, on {host}"),
        None => format!("the EgressIP {name} asks for it"),
    })
}

fn is(text: &Value, address: IpAddr) -> bool {
    text.as_str().and_then(|text| text.parse::<IpAddr>().ok()) == Some(address)
}

fn is_ready(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, address: &str, assignable: bool, ready: &str) -> Value {
        let labels = if assignable { json!({ASSIGNABLE: ""}) } else { json!({}) };
        json!({
            "metadata": {"name": name, "labels": labels, "annotations": {
                "k8s.ovn.org/host-cidrs": json!([address, "169.254.0.2/17"]).to_string(),
            }},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    }

    fn judged(address: &str, nodes: &[Value], agents: &[Value], egress_ips: &[Value]) -> Vec<(bool, String)> {
        let cluster = json!({"spec": {"networking": {"clusterNetwork": [{"cidr": "10.132.0.0/14"}]}}});
        let facts = Facts { cluster: &cluster, nodes, agents, egress_ips };
        let found = verdicts(&[address.parse().unwrap()], &facts);
        found.into_iter().map(|verdict| (verdict.can_host, verdict.why)).collect()
    }

    #[test]
    fn a_remote_node_cannot_host_an_address_of_another_network() {
        let nodes = [
            node("worker-0", "10.19.3.5/25", true, "True"),
            node("worker-1", "10.19.3.6/25", false, "True"),
            node("worker-2", "10.19.142.9/25", true, "True"),
            node("worker-3", "10.19.3.7/25", true, "Unknown"),
        ];
        assert_eq!(
            judged("10.19.3.50", &nodes, &[], &[]),
            [
                (true, "in 10.19.3.0/25".to_owned()),
                (false, "it has no label k8s.ovn.org/egress-assignable".to_owned()),
                (false, "it is not in the address's network; its networks are 10.19.142.0/25".to_owned()),
                (false, "it is not Ready".to_owned()),
            ]
        );
        assert_eq!(judged("10.19.3.5", &nodes[..1], &[], &[])[0].1, "it is the node's own address");
        assert_eq!(
            judged("10.132.9.9", &nodes[..1], &[], &[])[0].1,
            "the address is in 10.132.0.0/14, which is for pods"
        );
    }

    #[test]
    fn networks_are_those_that_a_host_was_discovered_with_too() {
        let bare = json!({"metadata": {"name": "edge-1", "labels": {ASSIGNABLE: ""}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(
            judged("10.19.3.50", std::slice::from_ref(&bare), &[], &[])[0].1,
            "nobody has said which networks it is in"
        );
        let agent = json!({"spec": {"hostname": "edge-1"}, "status": {"inventory": {"hostname": "other",
            "interfaces": [{"ipV4Addresses": ["10.19.3.77/24"], "ipV6Addresses": ["fe80::1/64"]}]}}});
        let nodes = [bare];
        assert_eq!(
            judged("10.19.3.50", &nodes, std::slice::from_ref(&agent), &[]),
            [(true, "in 10.19.3.0/24".to_owned())]
        );
        let taken = json!({"metadata": {"name": "egressips-rwn"}, "spec": {"egressIPs": ["10.19.3.50"]},
            "status": {"items": [{"egressIP": "10.19.3.50", "node": "worker-0"}]}});
        assert_eq!(
            judged("10.19.3.50", &nodes, &[agent], &[taken]),
            [(false, "the EgressIP egressips-rwn has it, on worker-0".to_owned())]
        );
    }
}
