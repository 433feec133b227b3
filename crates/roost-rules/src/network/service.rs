//! Services: their defaults, and what a valid one looks like.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::{service_addresses, texts};
use crate::check::{Check, Spot, elements, text};
use crate::fill::Fill;
use crate::shown;
use crate::{address, address_range};

pub(crate) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
/// How long a client stays with its endpoint unless the service says otherwise.
const AFFINITY_SECONDS: i64 = 10_800;
/// The longest time that a client can stay with its endpoint.
const AFFINITY_SECONDS_MAX: i64 = 86_400;
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
pub(super) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
pub(super) const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

pub(super) fn defaults(service: &mut Value) {
    let spec = service.at_or_empty("spec");
    spec.fill_text("sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => spec.drop_field("sessionAffinityConfig"),
        "ClientIP" if spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].is_null() => {
            let config = serde_json::json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
            spec.put("sessionAffinityConfig", config);
        }
        _ => {}
    }
    spec.fill_text("type", "ClusterIP");
    for port in spec.each("ports") {
        port.fill_text("protocol", "TCP");
        if matches!(&port["targetPort"], Value::Null) || port["targetPort"] == 0 || port["targetPort"] == "" {
            let number = port["port"].as_i64().unwrap_or_default();
            port.put("targetPort", number);
        }
    }
    if is_reached_from_outside(spec) {
        spec.fill_text("externalTrafficPolicy", "Cluster");
    }
    let kind = text(spec, "type").to_owned();
    if matches!(&*kind, "ClusterIP" | "NodePort" | "LoadBalancer") {
        spec.fill("internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        spec.fill("allocateLoadBalancerNodePorts", true);
        if let Some(balancer) = service.at("status").and_then(|status| status.at("loadBalancer")) {
            for ingress in balancer.each("ingress") {
                if !text(ingress, "ip").is_empty() {
                    ingress.fill("ipMode", "VIP");
                }
            }
        }
    }
}

/// Whether clients outside the cluster reach a service of this spec.
pub(super) fn is_reached_from_outside(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !elements(&spec["externalIPs"]).is_empty(),
        _ => false,
    }
}

/// Whether a service of this spec has a port that tells load balancers which nodes are healthy.
pub(super) fn needs_health_check(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// Whether a service of this spec has no address of its own.
pub(super) fn is_headless(spec: &Value) -> bool {
    matches!(elements(&spec["clusterIPs"]), [only] if only == "None")
}

pub(super) fn validate(service: &Value, old: Option<&Value>, errors: &mut Errors) {
    validate_topology(service, errors);
    let root = Spot::root(service);
    let spec = root.field("spec");
    let kind = text(spec.value, "type");
    let headless = is_headless(spec.value);
    let ports = spec.field("ports");
    if !ports.filled() && !headless && kind != "ExternalName" {
        errors.push(Error::required(&ports.path, ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let words = format!("may not be set to 'None' for {kind} services");
            errors.push(Error::invalid(&spec.field("clusterIPs").path.index(0), "None", words));
        }
        "ExternalName" => validate_external_name(&spec, errors),
        _ => {}
    }
    validate_ports(&ports, errors);
    spec.field("selector").check(&[Check::Labels], errors);
    spec.field("sessionAffinity").check(&[Check::Required, Check::OneOf(&["ClientIP", "None"])], errors);
    validate_affinity(&spec, errors);
    service_addresses::validate(&spec, old, errors);

    let external = spec.field("externalIPs");
    let known = old.map(|old| texts(&old["spec"]["externalIPs"])).unwrap_or_default();
    external.each(|_, one| {
        let before = errors.len();
        address::validate(one.text(), &known, &one.path, errors);
        if errors.len() == before {
            super::endpoints::validate_destination(one, errors);
        }
    });
    spec.field("type").check(&[Check::Required, Check::OneOf(TYPES)], errors);
    if kind == "ClusterIP" {
        ports.each(|_, port| {
            let node_port = port.field("nodePort");
            if node_port.filled() {
                node_port.forbidden("may not be used when `type` is 'ClusterIP'", errors);
            }
        });
    }
    validate_unique_ports(&ports, errors);
    validate_source_ranges(service, old, &spec, errors);
    let allocate = spec.field("allocateLoadBalancerNodePorts");
    if allocate.given() && kind != "LoadBalancer" {
        allocate.forbidden(ONLY_LOAD_BALANCER, errors);
    }
    if !allocate.given() && kind == "LoadBalancer" {
        errors.push(Error::required(&Path::new("allocateLoadBalancerNodePorts"), ""));
    }
    validate_load_balancer_class(&spec, errors);
    validate_traffic(&spec, errors);
}

fn validate_topology(service: &Value, errors: &mut Errors) {
    let annotations = &service["metadata"]["annotations"];
    if let (Some(hints), Some(mode)) = (annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE))
        && hints != mode
    {
        let path = Path::new("metadata.annotations");
        let words = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(Error::invalid(&path.key(TOPOLOGY_MODE), mode.clone(), words));
    }
}

fn validate_external_name(spec: &Spot<'_>, errors: &mut Errors) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let field = spec.field(field);
        if field.filled() || field.value.is_string() {
            field.forbidden("may not be set for ExternalName services", errors);
        }
    }
    let name = spec.field("externalName");
    let host = name.text().strip_suffix('.').unwrap_or(name.text());
    if host.is_empty() {
        errors.push(Error::required(&name.path, ""));
    } else {
        errors
            .extend(names::is_dns1123_subdomain(host).into_iter().map(|words| Error::invalid(&name.path, host, words)));
    }
}

fn validate_ports(ports: &Spot<'_>, errors: &mut Errors) {
    let several = ports.elements().len() > 1;
    ports.each(|index, port| {
        let name = port.field("name");
        if several && !name.filled() {
            errors.push(Error::required(&name.path, ""));
        } else if name.filled() {
            name.text_passes(names::is_dns1123_label, errors);
            if ports.elements()[..index].iter().any(|earlier| text(earlier, "name") == name.text()) {
                errors.push(Error::duplicate(&name.path, name.text()));
            }
        }
        port.field("port").port(errors);
        port.field("protocol").check(&[Check::Required, Check::OneOf(PROTOCOLS)], errors);
        port.field("targetPort").port(errors);
        let protocol = port.field("appProtocol");
        if protocol.given() {
            protocol.text_passes(names::is_qualified_name, errors);
        }
    });
}

fn validate_affinity(spec: &Spot<'_>, errors: &mut Errors) {
    let config = spec.field("sessionAffinityConfig");
    match text(spec.value, "sessionAffinity") {
        "ClientIP" => {
            let client = config.field("clientIP");
            let timeout = client.field("timeoutSeconds");
            if let Some(missing) = [&config, &client, &timeout].into_iter().find(|field| !field.given()) {
                errors.push(Error::required(&missing.path, "when session affinity type is ClientIP"));
            } else if !(1..=AFFINITY_SECONDS_MAX).contains(&timeout.number()) {
                timeout.invalid(format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}"), errors);
            }
        }
        "None" if config.given() => config.forbidden("must not be set when session affinity is None", errors),
        _ => {}
    }
}

/// No two ports may have the same protocol and number, neither on nodes nor on the service's address.
fn validate_unique_ports(ports: &Spot<'_>, errors: &mut Errors) {
    let repeats = |index: usize, port: &Spot<'_>, number: &str| {
        ports.elements()[..index].iter().any(|earlier| {
            earlier[number] == port.value[number] && text(earlier, "protocol") == text(port.value, "protocol")
        })
    };
    ports.each(|index, port| {
        let node_port = port.field("nodePort");
        if node_port.filled() && repeats(index, port, "nodePort") {
            errors.push(Error::duplicate(&node_port.path, node_port.number()));
        }
    });
    ports.each(|index, port| {
        if repeats(index, port, "port") {
            let key = serde_json::json!({"protocol": port.value["protocol"], "port": port.value["port"]});
            errors.push(shown::duplicate(&port.path, "ServicePort", &key));
        }
    });
}

fn validate_source_ranges(service: &Value, old: Option<&Value>, spec: &Spot<'_>, errors: &mut Errors) {
    let balanced = text(spec.value, "type") == "LoadBalancer";
    let annotation = |service: &Value| service["metadata"]["annotations"].get(SOURCE_RANGES).cloned();
    let ranges = elements(&spec.value["loadBalancerSourceRanges"]);
    if !ranges.is_empty() {
        let path = spec.path.child("LoadBalancerSourceRanges");
        if !balanced {
            errors.push(Error::forbidden(&path, ONLY_LOAD_BALANCER));
        }
        let known: Vec<&str> = old.map(|old| texts(&old["spec"]["loadBalancerSourceRanges"])).unwrap_or_default();
        let known: Vec<&str> = known.into_iter().map(str::trim).collect();
        for (index, range) in ranges.iter().enumerate() {
            let range = range.as_str().unwrap_or_default().trim();
            address_range::validate(range, &known, &path.index(index), errors);
        }
    } else if let Some(given) = annotation(service) {
        let annotations = Path::new("metadata.annotations");
        let path = annotations.key(SOURCE_RANGES);
        if !balanced {
            errors.push(Error::forbidden(&path, ONLY_LOAD_BALANCER));
        }
        let text = given.as_str().unwrap_or_default().trim();
        if old.and_then(annotation).as_ref() != Some(&given) && !text.is_empty() {
            for range in text.split(',') {
                address_range::validate(range.trim(), &[], &path, errors);
            }
        }
    }
}

pub(super) fn validate_load_balancer_class(spec: &Spot<'_>, errors: &mut Errors) {
    let class = spec.field("loadBalancerClass");
    if !class.given() {
        return;
    }
    if text(spec.value, "type") == "LoadBalancer" {
        class.text_passes(names::is_qualified_name, errors);
    } else {
        class.forbidden(ONLY_LOAD_BALANCER, errors);
    }
}

fn validate_traffic(spec: &Spot<'_>, errors: &mut Errors) {
    let external = spec.field("externalTrafficPolicy");
    if is_reached_from_outside(spec.value) {
        external.check(&[Check::Required, Check::OneOf(&["Cluster", "Local"])], errors);
    } else if external.filled() {
        external.invalid("may only be set for externally-accessible services", errors);
    }
    let health = spec.field("healthCheckNodePort");
    if needs_health_check(spec.value) {
        if health.filled() {
            health.port(errors);
        } else {
            errors.push(Error::required(&health.path, ""));
        }
    } else if health.filled() {
        let words = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        health.invalid(words, errors);
    }
    let internal = spec.field("internalTrafficPolicy");
    if internal.given() {
        one_of(&internal, &["Cluster", "Local"], errors);
    } else if matches!(text(spec.value, "type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
        errors.push(Error::required(&internal.path, ""));
    }
    let distribution = spec.field("trafficDistribution");
    if distribution.given() {
        one_of(&distribution, &["PreferClose", "PreferSameZone", "PreferSameNode"], errors);
    }
}

/// Like [`Check::OneOf`] for a field that counts even when it is empty.
fn one_of(field: &Spot<'_>, words: &[&str], errors: &mut Errors) {
    if !words.contains(&field.text()) {
        errors.push(Error::not_supported(&field.path, field.text(), words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn a_plain_service_gets_its_defaults() {
        let mut service = json!({"spec": {"ports": [{"port": 80}, {"port": 81, "targetPort": "web"}]}});
        defaults(&mut service);
        assert_eq!(
            service["spec"],
            json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ports": [
                {"port": 80, "targetPort": 80, "protocol": "TCP"}, {"port": 81, "targetPort": "web", "protocol": "TCP"}]})
        );
        let mut service = json!({"spec": {"type": "LoadBalancer", "sessionAffinity": "ClientIP"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}});
        defaults(&mut service);
        assert_eq!(
            service,
            json!({"spec": {"type": "LoadBalancer", "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
                "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true},
                "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "ipMode": "VIP"}]}}})
        );
    }

    fn found(spec: &Value) -> Vec<String> {
        let mut service = json!({"spec": spec});
        defaults(&mut service);
        words(|errors| validate(&service, None, errors))
    }

    #[test]
    fn ports_are_named_and_unique() {
        assert_eq!(found(&json!({})), ["spec.ports: Required value"]);
        assert_eq!(
            found(&json!({"ports": [{"port": 80}, {"name": "a", "port": 80, "nodePort": 30000}]})),
            [
                "spec.ports[0].name: Required value",
                "spec.ports[1].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
                r#"spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#,
            ]
        );
    }

    #[test]
    fn types_allow_different_fields() {
        assert_eq!(
            found(&json!({"type": "ExternalName", "clusterIPs": ["None"], "externalName": ""})),
            [
                "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                "spec.externalName: Required value"
            ]
        );
        assert_eq!(
            found(
                &json!({"type": "Odd", "ports": [{"port": 1}], "loadBalancerClass": "x", "loadBalancerSourceRanges": ["10.0.0.0/8"]})
            ),
            [
                r#"spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#,
                "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
                "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
            ]
        );
    }
}
