//! Updates of services: what a change of type takes away, and what may not change.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::service::{is_headless, is_reached_from_outside, needs_health_check, validate_load_balancer_class};
use super::texts;
use crate::address;
use crate::check::{Spot, elements, text};
use crate::fill::Fill;
use crate::internal;

const FIXED: &str = "may not change once set";

/// Carries over the status, and takes away what the service's new type has no use for: but only what the caller did
/// not change, since a change is a mistake to be reported.
pub(super) fn prepare(new: &mut Value, old: &Value) {
    crate::keep_status(new, old);
    let before = &old["spec"];
    let kind = text(&new["spec"], "type").to_owned();
    if kind != "LoadBalancer"
        && let Some(status) = new.at("status")
    {
        status.put("loadBalancer", roost_object::Map::new());
    }
    drop_internal_policy(new);
    let Some(spec) = new.at("spec") else { return };
    let unchanged = |spec: &Value, field: &str, shape: &str| internal::same(shape, &spec[field], &before[field]);
    if text(before, "type") != "ExternalName" && kind == "ExternalName" {
        if unchanged(spec, "clusterIP", "s") && unchanged(spec, "clusterIPs", "[s") {
            spec.drop_field("clusterIP");
            spec.drop_field("clusterIPs");
        }
        for (field, shape) in [("ipFamilies", "[s"), ("ipFamilyPolicy", "*s")] {
            if unchanged(spec, field, shape) {
                spec.drop_field(field);
            }
        }
    }
    if opens_node_ports(before) && !opens_node_ports(spec) && has_no_new_node_ports(spec, before) {
        for port in spec.each("ports") {
            port.drop_field("nodePort");
        }
    }
    if needs_health_check(before) && !needs_health_check(spec) && unchanged(spec, "healthCheckNodePort", "n") {
        spec.drop_field("healthCheckNodePort");
    }
    if text(before, "type") == "LoadBalancer" && kind != "LoadBalancer" {
        for (field, shape) in [("allocateLoadBalancerNodePorts", "*b"), ("loadBalancerClass", "*s")] {
            if unchanged(spec, field, shape) {
                spec.drop_field(field);
            }
        }
    }
    if is_reached_from_outside(before)
        && !is_reached_from_outside(spec)
        && unchanged(spec, "externalTrafficPolicy", "s")
    {
        spec.drop_field("externalTrafficPolicy");
    }
}

/// A new service has no status, nor a policy for traffic that it does not have.
pub(super) fn prepare_create(service: &mut Value) {
    crate::drop_status(service);
    drop_internal_policy(service);
}

/// Drops what is not shown, unless validation has to refuse it.
fn drop_internal_policy(service: &mut Value) {
    if text(&service["spec"], "type") == "ExternalName"
        && matches!(text(&service["spec"], "internalTrafficPolicy"), "Cluster" | "Local")
        && let Some(spec) = service.at("spec")
    {
        spec.drop_field("internalTrafficPolicy");
    }
}

fn opens_node_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn has_no_new_node_ports(spec: &Value, before: &Value) -> bool {
    let known: Vec<i64> = node_ports(before).collect();
    node_ports(spec).all(|port| known.contains(&port))
}

/// The ports that a service opens on nodes.
pub(super) fn node_ports(spec: &Value) -> impl Iterator<Item = i64> {
    elements(&spec["ports"]).iter().filter_map(|port| port["nodePort"].as_i64()).filter(|port| *port != 0)
}

pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let (after, before) = (&new["spec"], &old["spec"]);
    if text(after, "type") != "ExternalName" && text(before, "type") != "ExternalName" {
        let (was, is) = (is_headless(before), is_headless(after));
        if !(was && is) {
            validate_addresses(after, before, errors);
        }
        if !was && !is {
            validate_families(after, before, errors);
        }
    }
    let path = Path::new("spec");
    let spec = Spot::new(after, path);
    let both_balanced = [after, before].iter().all(|spec| text(spec, "type") == "LoadBalancer");
    if both_balanced && after["loadBalancerClass"] != before["loadBalancerClass"] {
        spec.field("loadBalancerClass").invalid(FIXED, errors);
    }
    validate_load_balancer_class(&spec, errors);
    if needs_health_check(before)
        && needs_health_check(after)
        && !internal::same("n", &after["healthCheckNodePort"], &before["healthCheckNodePort"])
    {
        spec.field("healthCheckNodePort").forbidden(crate::check::IMMUTABLE, errors);
    }
}

fn validate_addresses(after: &Value, before: &Value, errors: &mut Errors) {
    let (new, old) = (elements(&after["clusterIPs"]), elements(&before["clusterIPs"]));
    let spec = Path::new("spec");
    let path = spec.child("clusterIPs");
    let mut changed = |index: usize, words: &str| {
        errors.push(Error::invalid(&path.index(index), after["clusterIPs"].clone(), words));
    };
    if new.len() == old.len() {
        (0..old.len()).filter(|index| new[*index] != old[*index]).for_each(|index| changed(index, FIXED));
        return;
    }
    if new.is_empty() {
        changed(0, "primary clusterIP can not be unset");
    } else if old.first().is_some_and(|first| new[0] != *first) {
        changed(0, FIXED);
    }
    if new.len() == 1 && old.len() > 1 {
        require_single_stack(after, "must be set to 'SingleStack' when releasing the secondary clusterIP", errors);
    }
}

fn validate_families(after: &Value, before: &Value, errors: &mut Errors) {
    let (new, old) = (elements(&after["ipFamilies"]), elements(&before["ipFamilies"]));
    let spec = Path::new("spec");
    let path = spec.child("ipFamilies");
    let mut changed = |shown: &Value, words: &str| {
        errors.push(Error::invalid(&path.index(0), shown.clone(), words));
    };
    if new.len() == old.len() {
        new.iter().zip(old).filter(|(new, old)| new != old).for_each(|_| changed(&after["ipFamilies"], FIXED));
        return;
    }
    if new.len() < old.len() && elements(&after["clusterIPs"]).is_empty() {
        changed(&after["ipFamilies"], "primary ipFamily can not be unset");
    }
    // The stock server shows the addresses here, not the families.
    if let (Some(is), Some(was)) = (new.first(), old.first())
        && is != was
    {
        changed(&after["clusterIPs"], FIXED);
    }
    if new.len() == 1 && old.len() > 1 {
        require_single_stack(after, "must be set to 'SingleStack' when releasing the secondary ipFamily", errors);
    }
}

fn require_single_stack(spec: &Value, words: &str, errors: &mut Errors) {
    if text(spec, "ipFamilyPolicy") != "SingleStack" {
        errors.push(Error::invalid(&Path::new("spec.ipFamilyPolicy"), spec["ipFamilyPolicy"].clone(), words));
    }
}

pub(super) fn validate_status(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let (status, spec) = (root.field("status"), &new["spec"]);
    let balancer = status.field("loadBalancer");
    let ingress = balancer.field("ingress");
    if text(spec, "type") != "LoadBalancer" && ingress.filled() {
        ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'", errors);
        return;
    }
    validate_ingress(&ingress, &old["status"]["loadBalancer"]["ingress"], errors, |one, errors| {
        let (address, mode) = (one.field("ip"), one.field("ipMode"));
        if !mode.given() {
            if address.filled() {
                errors.push(Error::required(&mode.path, "must be specified when `ip` is set"));
            }
        } else if !address.filled() {
            mode.forbidden("may not be specified when `ip` is not set", errors);
        } else if !matches!(mode.text(), "VIP" | "Proxy") {
            errors.push(Error::not_supported(&mode.path, mode.text(), &["Proxy", "VIP"]));
        }
    });
}

/// Checks where a load balancer lets traffic in.
pub(super) fn validate_ingress(
    ingress: &Spot<'_>,
    old: &Value,
    errors: &mut Errors,
    also: impl Fn(&Spot<'_>, &mut Errors),
) {
    let known: Vec<&str> = elements(old).iter().map(|one| text(one, "ip")).filter(|ip| !ip.is_empty()).collect();
    ingress.each(|_, one| {
        let (address, host) = (one.field("ip"), one.field("hostname"));
        if address.filled() {
            address::validate(address.text(), &known, &address.path, errors);
        }
        also(one, errors);
        if host.filled() {
            host.text_passes(names::is_dns1123_subdomain, errors);
            if address::parse_leniently(host.text()).is_some() {
                host.invalid("must be a DNS name, not an IP address", errors);
            }
        }
    });
}

/// Whether two specs have the same addresses.
pub(super) fn same_addresses(one: &Value, other: &Value) -> bool {
    texts(&one["clusterIPs"]) == texts(&other["clusterIPs"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn a_new_type_drops_what_the_old_one_had() {
        let old = json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001, "allocateLoadBalancerNodePorts": true,
            "ports": [{"port": 80, "nodePort": 30000}]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}});
        let mut new = old.clone();
        new["spec"]["type"] = json!("ClusterIP");
        prepare(&mut new, &old);
        assert_eq!(
            new,
            json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]}, "status": {"loadBalancer": {}}})
        );
        let mut new = old.clone();
        new["spec"]["type"] = json!("ExternalName");
        prepare(&mut new, &old);
        assert_eq!(new["spec"], json!({"type": "ExternalName", "ports": [{"port": 80}]}));
    }

    #[test]
    fn addresses_stay() {
        let old = json!({"spec": {"type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}});
        let new = json!({"spec": {"type": "ClusterIP", "clusterIPs": ["10.0.0.2"], "ipFamilies": ["IPv4"]}});
        assert_eq!(
            words(|errors| validate(&new, &old, errors)),
            [r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set"#]
        );
        let dual = json!({"spec": {"type": "ClusterIP", "clusterIPs": ["10.0.0.1", "fd00::1"], "ipFamilies": ["IPv4", "IPv6"]}});
        assert_eq!(
            words(|errors| validate(&old, &dual, errors)),
            [
                "spec.ipFamilyPolicy: Invalid value: null: must be set to 'SingleStack' when releasing the secondary clusterIP",
                "spec.ipFamilyPolicy: Invalid value: null: must be set to 'SingleStack' when releasing the secondary ipFamily",
            ]
        );
        assert!(words(|errors| validate(&dual, &old, errors)).is_empty());
    }

    #[test]
    fn status_tells_where_traffic_comes_in() {
        let new = json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"hostname": "1.1.1.1"}]}}});
        assert_eq!(
            words(|errors| validate_status(&new, &json!({}), errors)),
            [
                "status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set",
                r#"status.loadBalancer.ingress[1].hostname: Invalid value: "1.1.1.1": must be a DNS name, not an IP address"#,
            ]
        );
    }
}
