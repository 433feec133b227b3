//! Where a hosted API is reached: its Service, and what clients are told.

use roost_pki::plane::Endpoint;
use serde_json::{Value, json};

use super::dereference::API_SERVICE;
use crate::context::Front;
use crate::names::CLUSTER;
use crate::object::has_all;
use crate::publishing::Publishing;

/// The port of the hosted API inside its namespace.
const API_PORT: u16 = 6443;

/// The Service to apply; none when it is as it should be.
pub(crate) fn service(plane: &Value, publishing: &Publishing, live: Option<&Value>) -> Option<Value> {
    let mut port = json!({"name": "client", "port": API_PORT, "protocol": "TCP", "targetPort": "client"});
    let kind = match publishing {
        Publishing::NodePort { port: fixed, .. } => {
            if let Some(fixed) = fixed {
                port["nodePort"] = json!(fixed);
            }
            "NodePort"
        }
        Publishing::LoadBalancer { .. } => "LoadBalancer",
        // The listener that is shared still hands over to a port of the plane's own.
        Publishing::Route { .. } => "NodePort",
    };
    let document = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": API_SERVICE,
            "namespace": plane["metadata"]["namespace"],
            "labels": {"app": "kube-apiserver", "hypershift.openshift.io/control-plane-component": "kube-apiserver"},
            "annotations": {(CLUSTER): plane["metadata"]["annotations"][CLUSTER]},
        },
        "spec": {"type": kind, "ports": [port]},
    });
    (!live.is_some_and(|live| has_all(live, &document))).then_some(document)
}

/// The port of the machine that belongs to the plane.
pub(crate) fn node_port(service: &Value) -> Option<u16> {
    service["spec"]["ports"][0]["nodePort"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|&port| port > 0)
}

/// What clients are told.
pub(crate) fn endpoint(publishing: &Publishing, node_port: u16, front: Front) -> Endpoint {
    match publishing {
        Publishing::NodePort { address, .. } => Endpoint::new(address.clone(), node_port),
        Publishing::LoadBalancer { hostname } => {
            Endpoint::new(hostname.clone().unwrap_or_else(|| front.address.to_string()), node_port)
        }
        Publishing::Route { hostname } => Endpoint::new(hostname.clone(), front.port),
    }
}

/// The names by which the shared listener finds the plane.
pub(crate) fn server_names(publishing: &Publishing) -> Vec<String> {
    match publishing {
        Publishing::Route { hostname } => vec![hostname.clone()],
        _ => Vec::new(),
    }
}

/// What the Service of a load balancer reports, since this process is the load balancer; none when it does already.
pub(crate) fn balancer_status(publishing: &Publishing, service: &Value, front: Front) -> Option<Value> {
    let Publishing::LoadBalancer { .. } = publishing else { return None };
    let ingress = json!([{"ip": front.address.to_string(), "ipMode": "VIP"}]);
    (service["status"]["loadBalancer"]["ingress"] != ingress).then(|| json!({"loadBalancer": {"ingress": ingress}}))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn endpoints_follow_the_strategy() {
        let address = Ipv4Addr::LOCALHOST.into();
        let front = Front { address, port: 6443, listen: address };
        for (publishing, url) in [
            (
                Publishing::NodePort { address: "api.demo.example.test".to_owned(), port: None },
                "https://api.demo.example.test:30123",
            ),
            (Publishing::LoadBalancer { hostname: None }, "https://127.0.0.1:30123"),
            (Publishing::Route { hostname: "api.demo.example.test".to_owned() }, "https://api.demo.example.test:6443"),
        ] {
            assert_eq!(endpoint(&publishing, 30_123, front).to_string(), url);
        }
    }

    #[test]
    fn a_service_that_is_right_is_left_alone() {
        let plane = json!({"metadata": {"name": "demo", "namespace": "clusters-demo", "uid": "u",
            "annotations": {CLUSTER: "clusters/demo"}}});
        let publishing = Publishing::NodePort { address: "192.0.2.1".to_owned(), port: None };
        let mut live = service(&plane, &publishing, None).expect("a document");
        live["spec"]["ports"][0]["nodePort"] = json!(30_123);
        assert_eq!(service(&plane, &publishing, Some(&live)), None);
        assert_eq!(node_port(&live), Some(30_123));
    }
}
