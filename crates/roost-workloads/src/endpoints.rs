//! Endpoints of Services: who answers, in EndpointSlices and in the older Endpoints.

mod legacy;
mod slices;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{Pod, value};

pub use legacy::legacy;
pub use slices::slices;

/// What the clients of a Service are served by.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const HEADLESS: &str = "service.kubernetes.io/headless";
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// What is needed to name an endpoint.
pub struct View<'a> {
    /// The Service.
    pub service: &'a Value,
    /// The pods that it selects.
    pub pods: &'a [Arc<Pod>],
    /// The zone of a node.
    pub zone: &'a dyn Fn(&str) -> Option<String>,
}

impl View<'_> {
    fn is_headless(&self) -> bool {
        self.service["spec"]["clusterIP"] == "None"
    }

    fn publishes_unready(&self) -> bool {
        self.service["spec"]["publishNotReadyAddresses"] == true
    }

    /// The Service's own labels, and whether it has no address of its own.
    fn labels(&self) -> Value {
        let mut labels = match &self.service["metadata"]["labels"] {
            Value::Object(labels) => Value::Object(labels.clone()),
            _ => json!({}),
        };
        value::remove(&mut labels, &[HEADLESS]);
        if self.is_headless() {
            labels[HEADLESS] = "".into();
        }
        labels
    }

    /// The name under which a pod is found beside the Service's own.
    fn hostname<'p>(&self, pod: &'p Pod) -> Option<&'p str> {
        let own = !pod.spec.hostname.is_empty()
            && pod.spec.subdomain == value::text(self.service, &["metadata", "name"])
            && pod.metadata.namespace == value::text(self.service, &["metadata", "namespace"]);
        own.then_some(pod.spec.hostname.as_str())
    }
}

/// Notes when pods last brought something new; what only went away has no such time.
fn set_trigger_time(object: &mut Value, gained: bool, now: Timestamp) {
    if gained {
        value::set(object, &["metadata", "annotations", TRIGGER_TIME], value::seconds(now));
    } else {
        value::remove(object, &["metadata", "annotations", TRIGGER_TIME]);
        if object["metadata"]["annotations"].as_object().is_some_and(serde_json::Map::is_empty) {
            value::remove(object, &["metadata", "annotations"]);
        }
    }
}

/// The address of a pod in a family.
fn address<'p>(pod: &'p Pod, family: &str) -> Option<&'p str> {
    let fits = |ip: &&str| ip.contains(':') == (family == "IPv6");
    let all = pod.status.pod_ips.iter().map(|address| address.ip.as_str());
    all.chain([pod.status.pod_ip.as_str()]).filter(|ip| !ip.is_empty()).find(fits)
}

fn target(pod: &Pod) -> Value {
    json!({
        "kind": "Pod", "namespace": pod.metadata.namespace, "name": pod.metadata.name, "uid": pod.metadata.uid,
    })
}

/// The number of a Service's port in a pod; none when the pod has no port of that name.
fn port_number(port: &Value, pod: &Pod) -> Option<i64> {
    let target = &port["targetPort"];
    match target {
        Value::String(name) => {
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            let beside = pod.spec.init_containers.iter().filter(|container| container.restart_policy == "Always");
            let ports = pod.spec.containers.iter().chain(beside).flat_map(|container| &container.ports);
            let named = ports.into_iter().find(|own| {
                own.name == *name && (own.protocol == protocol || (own.protocol.is_empty() && protocol == "TCP"))
            });
            named.map(|own| own.container_port)
        }
        Value::Number(number) => number.as_i64(),
        _ => port["port"].as_i64(),
    }
}

/// The ports of a Service as a pod serves them.
fn ports(service: &Value, pod: &Pod) -> Vec<Value> {
    let one = |port: &Value| {
        let mut own = json!({
            "name": port["name"].as_str().unwrap_or_default(),
            "protocol": port["protocol"].as_str().unwrap_or("TCP"),
            "port": port_number(port, pod)?,
        });
        if let Some(protocol) = port["appProtocol"].as_str() {
            own["appProtocol"] = protocol.into();
        }
        Some(own)
    };
    value::list(service, &["spec", "ports"]).iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests;
