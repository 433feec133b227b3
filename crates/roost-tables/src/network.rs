//! Services, endpoints, and what leads to them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::column::{AGE, Cell, Column, NAME, Table};
use crate::read::{self, at, first_three, integer, labels, list, text};

const GROUP: &str = "networking.k8s.io";

pub(crate) static TABLES: &[Table] = &[
    Table {
        kind: "Service",
        columns: &[
            NAME,
            Column::field("Type", "spec.type"),
            Column::text("Cluster-IP", Cell::Made(cluster_address)).doc("spec.clusterIP"),
            Column::text("External-IP", Cell::Made(external_address)).doc("spec.externalIPs"),
            Column::text("Port(s)", Cell::Made(service_ports)).doc("spec.ports"),
            AGE,
            Column::text("Selector", Cell::Made(|object, _| labels(at(object, "spec.selector")).into()))
                .doc("spec.selector")
                .wide(),
        ],
        ..Table::EMPTY
    },
    Table {
        kind: "Endpoints",
        columns: &[NAME, Column::text("Endpoints", Cell::Made(endpoints)).doc("subsets"), AGE],
        ..Table::EMPTY
    },
    Table {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        columns: &[
            NAME,
            Column::field("AddressType", "addressType"),
            Column::text("Ports", Cell::Made(slice_ports)).doc("ports"),
            Column::text("Endpoints", Cell::Made(slice_addresses)).doc("endpoints"),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "Ingress",
        columns: &[
            NAME,
            Column::text("Class", Cell::TextOr("spec.ingressClassName", "<none>"))
                .says("The IngressClass that configures this ingress."),
            Column::text("Hosts", Cell::Made(hosts)).says("The hosts that the rules match."),
            Column::text("Address", Cell::Made(|object, _| load_balancers(object).into()))
                .says("Where the load balancer lets traffic in."),
            Column::text("Ports", Cell::Made(ingress_ports)).says("The ports that are open."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "IngressClass",
        columns: &[
            Column::text("Name", Cell::Made(ingress_class_name)).names().doc("metadata.name"),
            Column::text("Controller", Cell::Text("spec.controller")).says("The controller of this class."),
            Column::text("Parameters", Cell::Made(parameters)).says("The object that holds more parameters."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "NetworkPolicy",
        columns: &[NAME, Column::text("Pod-Selector", Cell::Made(pod_selector)).doc("spec.podSelector"), AGE],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "ServiceCIDR",
        columns: &[NAME, Column::text("CIDRs", Cell::Made(blocks)).doc("spec.cidrs"), AGE],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "IPAddress",
        columns: &[NAME, Column::text("ParentRef", Cell::Made(parent)).doc("spec.parentRef")],
        unnamed: &[Cell::Age],
        ..Table::EMPTY
    },
];

fn strings(object: &Value, path: &str) -> Vec<String> {
    list(object, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn cluster_address(service: &Value, _now: i64) -> Value {
    list(service, "spec.clusterIPs").first().cloned().unwrap_or_else(|| "<none>".into())
}

fn external_address(service: &Value, _now: i64) -> Value {
    let mut addresses = strings(service, "spec.externalIPs");
    match text(service, "spec.type") {
        "ClusterIP" | "NodePort" if addresses.is_empty() => "<none>".into(),
        "ClusterIP" | "NodePort" => addresses.join(",").into(),
        "LoadBalancer" => {
            let balancers = load_balancers(service);
            if !balancers.is_empty() {
                addresses.insert(0, balancers);
            }
            if addresses.is_empty() { "<pending>".into() } else { addresses.join(",").into() }
        }
        "ExternalName" => text(service, "spec.externalName").into(),
        _ => "<unknown>".into(),
    }
}

/// The addresses of load balancers, sorted.
fn load_balancers(object: &Value) -> String {
    let addresses: BTreeSet<_> = list(object, "status.loadBalancer.ingress")
        .iter()
        .filter_map(|ingress| read::filled(ingress, "ip").or_else(|| read::filled(ingress, "hostname")))
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn service_ports(service: &Value, _now: i64) -> Value {
    let ports: Vec<_> = list(service, "spec.ports")
        .iter()
        .map(|port| {
            let (number, protocol) = (integer(port, "port"), text(port, "protocol"));
            match integer(port, "nodePort") {
                0 => format!("{number}/{protocol}"),
                node_port => format!("{number}:{node_port}/{protocol}"),
            }
        })
        .collect();
    if ports.is_empty() { "<none>".into() } else { ports.join(",").into() }
}

fn endpoints(object: &Value, _now: i64) -> Value {
    let subsets = list(object, "subsets");
    if subsets.is_empty() {
        return "<none>".into();
    }
    let mut shown = Vec::new();
    for subset in subsets {
        let addresses = list(subset, "addresses").iter().map(|address| text(address, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            shown.extend(addresses.map(str::to_owned));
        } else {
            for port in ports {
                shown.extend(addresses.clone().map(|address| join_port(address, integer(port, "port"))));
            }
        }
    }
    first_three(&shown, "").into()
}

fn join_port(address: &str, port: i64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn slice_ports(slice: &Value, _now: i64) -> Value {
    let ports: Vec<_> = list(slice, "ports")
        .iter()
        .map(|port| match (port.get("port"), port.get("name")) {
            (Some(number), _) => number.to_string(),
            (None, Some(Value::String(name))) => name.clone(),
            _ => "*".to_owned(),
        })
        .collect();
    first_three(&ports, "<unset>").into()
}

fn slice_addresses(slice: &Value, _now: i64) -> Value {
    let addresses: Vec<_> =
        list(slice, "endpoints").iter().flat_map(|endpoint| strings(endpoint, "addresses")).collect();
    first_three(&addresses, "<unset>").into()
}

fn hosts(ingress: &Value, _now: i64) -> Value {
    const SHOWN: usize = 3;
    let rules = list(ingress, "spec.rules");
    let mut shown = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        let host = text(rule, "host");
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".into(),
        (_, true) => format!("{} + {} more...", shown.join(","), rules.len() - SHOWN).into(),
        _ => shown.join(",").into(),
    }
}

fn ingress_ports(ingress: &Value, _now: i64) -> Value {
    if list(ingress, "spec.tls").is_empty() { "80".into() } else { "80, 443".into() }
}

fn ingress_class_name(class: &Value, _now: i64) -> Value {
    let annotations = at(class, "metadata.annotations");
    let default = annotations.and_then(|all| all.get("ingressclass.kubernetes.io/is-default-class"));
    let name = text(class, "metadata.name");
    if default.and_then(Value::as_str) == Some("true") { format!("{name} (default)").into() } else { name.into() }
}

fn parameters(class: &Value, _now: i64) -> Value {
    let Some(parameters) = at(class, "spec.parameters") else { return "<none>".into() };
    let (kind, name) = (text(parameters, "kind"), text(parameters, "name"));
    match parameters.get("apiGroup").and_then(Value::as_str) {
        Some(group) => format!("{kind}.{group}/{name}").into(),
        None => format!("{kind}/{name}").into(),
    }
}

fn pod_selector(policy: &Value, _now: i64) -> Value {
    match read::selector(at(policy, "spec.podSelector")) {
        None => "<error>".into(),
        Some(query) if query.is_empty() => "<none>".into(),
        Some(query) => query.into(),
    }
}

fn blocks(object: &Value, _now: i64) -> Value {
    strings(object, "spec.cidrs").join(",").into()
}

fn parent(address: &Value, _now: i64) -> Value {
    let Some(parent) = at(address, "spec.parentRef") else { return "<none>".into() };
    let mut shown = text(parent, "resource").to_lowercase();
    if let Some(group) = read::filled(parent, "group") {
        shown = format!("{shown}.{}", group.to_lowercase());
    }
    if let Some(namespace) = read::filled(parent, "namespace") {
        shown = format!("{shown}/{namespace}");
    }
    format!("{shown}/{}", text(parent, "name")).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn services_show_where_they_are_reached() {
        let service = json!({"metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"],
            "externalIPs": ["1.1.1.1"], "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]},
            "status": {"loadBalancer": {"ingress": [{"hostname": "b.example"}, {"ip": "2.2.2.2"}]}}});
        let cells = crate::cells("", "Service", &service, 0);
        assert_eq!(
            cells[1..5],
            [
                json!("LoadBalancer"),
                json!("10.0.0.1"),
                json!("2.2.2.2,b.example,1.1.1.1"),
                json!("80:30080/TCP,53/UDP")
            ]
        );
    }

    #[test]
    fn endpoints_show_three_and_count_the_rest() {
        let object = json!({"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}], "ports": [{"port": 1}, {"port": 2}]}]});
        assert_eq!(crate::cells("", "Endpoints", &object, 0)[1], json!("1.1.1.1:1,[fd00::1]:1,1.1.1.1:2 + 1 more..."));
    }
}
