//! What should be known about services that are allowed.

use roost_object::Value;
use roost_object::field::Path;

use super::service::{TOPOLOGY_HINTS, TOPOLOGY_MODE};
use super::texts;
use crate::check::{elements, text};
use crate::{address, address_range};

pub(super) fn of(service: &Value, warnings: &mut Vec<String>) {
    let spec = &service["spec"];
    let (kind, cluster) = (text(spec, "type"), text(spec, "clusterIP"));
    let headless = kind == "ClusterIP" && cluster == "None";
    let external = !elements(&spec["externalIPs"]).is_empty();
    if service["metadata"]["annotations"].get(TOPOLOGY_HINTS).is_some() {
        warnings.push(format!("annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"));
    }
    let path = Path::new("spec");
    let addresses = |name: &'static str, warnings: &mut Vec<String>| {
        let field = path.child(name);
        for (index, one) in texts(&spec[name]).into_iter().enumerate() {
            address::warn(one, &field.index(index), warnings);
        }
    };
    if !cluster.is_empty() && cluster != "None" {
        addresses("clusterIPs", warnings);
    }
    if headless {
        for (ignored, field) in [
            (!text(spec, "loadBalancerIP").is_empty(), "loadBalancerIP"),
            (external, "externalIPs"),
            (text(spec, "sessionAffinity") != "None", "SessionAffinity"),
        ] {
            if ignored {
                warnings.push(format!("spec.{field} is ignored for headless services"));
            }
        }
    }
    addresses("externalIPs", warnings);
    if external && !headless && kind != "ExternalName" {
        warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    address::warn(text(spec, "loadBalancerIP"), &path.child("loadBalancerIP"), warnings);
    let ranges = path.child("loadBalancerSourceRanges");
    for (index, range) in texts(&spec["loadBalancerSourceRanges"]).into_iter().enumerate() {
        address_range::warn(range, &ranges.index(index), warnings);
    }
    if kind == "ExternalName" && external {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        warnings.push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ignored_fields_are_worth_a_warning() {
        let mut found = Vec::new();
        let service = json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP", "externalName": "a"}});
        of(&service, &mut found);
        assert_eq!(
            found,
            [
                "spec.SessionAffinity is ignored for headless services",
                r#"spec.externalName is ignored when spec.type is not "ExternalName""#
            ]
        );
    }
}
