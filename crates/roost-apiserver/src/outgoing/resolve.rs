//! From a Service to one of the addresses behind it: the server is on no cluster network, so it calls pods directly.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use roost_object::Value;

use crate::cluster::Cluster;

/// An address behind a Service's port.
pub(super) fn service(cluster: &Arc<Cluster>, namespace: &str, name: &str, port: u16) -> Result<SocketAddr, String> {
    let Some(service) = cluster.find("", "services", namespace, name) else {
        return Err(format!("service \"{name}\" not found"));
    };
    let kind = service["spec"]["type"].as_str().unwrap_or("ClusterIP");
    if !matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer") {
        return Err(format!("unsupported service type \"{kind}\""));
    }
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let Some(service_port) = ports.into_iter().find(|candidate| candidate["port"].as_u64() == Some(port.into())) else {
        return Err(format!("no service port {port} found for service \"{name}\""));
    };
    let port_name = service_port["name"].as_str().unwrap_or_default();
    let addresses = from_slices(cluster, namespace, name, port_name);
    let addresses = if addresses.is_empty() { from_endpoints(cluster, namespace, name, port_name) } else { addresses };
    // Which of them does not matter, as long as it is not always the same one.
    let turn = uuid::Uuid::new_v4().as_u128() as usize;
    match addresses.len() {
        0 => Err(format!("no endpoints available for service \"{name}\"")),
        count => Ok(addresses[turn % count]),
    }
}

fn from_slices(cluster: &Cluster, namespace: &str, service: &str, port_name: &str) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for slice in cluster.find_all("discovery.k8s.io", "endpointslices", namespace) {
        if slice["metadata"]["labels"]["kubernetes.io/service-name"] != service {
            continue;
        }
        let Some(port) = port_of(&slice["ports"], port_name) else { continue };
        for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
            if endpoint["conditions"]["ready"] != false {
                found.extend(address(&endpoint["addresses"][0], port));
            }
        }
    }
    found
}

fn from_endpoints(cluster: &Cluster, namespace: &str, service: &str, port_name: &str) -> Vec<SocketAddr> {
    let Some(endpoints) = cluster.find("", "endpoints", namespace, service) else { return Vec::new() };
    let mut found = Vec::new();
    for subset in endpoints["subsets"].as_array().into_iter().flatten() {
        let Some(port) = port_of(&subset["ports"], port_name) else { continue };
        for one in subset["addresses"].as_array().into_iter().flatten() {
            found.extend(address(&one["ip"], port));
        }
    }
    found
}

fn port_of(ports: &Value, name: &str) -> Option<u16> {
    let mut ports = ports.as_array().into_iter().flatten();
    let port = ports.find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    u16::try_from(port["port"].as_u64()?).ok()
}

fn address(ip: &Value, port: u16) -> Option<SocketAddr> {
    let ip: IpAddr = ip.as_str()?.parse().ok()?;
    Some(SocketAddr::new(ip, port))
}
