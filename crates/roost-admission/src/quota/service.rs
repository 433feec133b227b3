//! What Services use: their number, node ports and load balancers.

use roost_object::Value;

use crate::amounts::{Amounts, count};

pub(super) const RESOURCES: &[&str] = &["count/services", "services", "services.nodeports", "services.loadbalancers"];

/// Ports count by intent, as they are not allocated yet when a Service is admitted.
pub(super) fn usage(service: &Value) -> Amounts {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let explicit = ports.iter().filter(|port| port["nodePort"].as_i64().unwrap_or(0) != 0).count();
    let (node_ports, balancers) = match spec["type"].as_str() {
        Some("NodePort") => (ports.len(), 0),
        Some("LoadBalancer") if spec["allocateLoadBalancerNodePorts"] == false => (explicit, 1),
        Some("LoadBalancer") => (ports.len(), 1),
        _ => (0, 0),
    };
    Amounts::from([
        ("count/services".to_owned(), count(1)),
        ("services".to_owned(), count(1)),
        ("services.nodeports".to_owned(), count(node_ports as i64)),
        ("services.loadbalancers".to_owned(), count(balancers)),
    ])
}
