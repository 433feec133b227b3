//! Giving addresses and ports to services. This comes before a service is prepared and validated, because validation
//! wants to see what was given.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use ipnet::IpNet;
use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

use super::allocation::{Taken, allocate_cluster_ip, claim_cluster_ip};
use super::service::{is_headless, needs_health_check};
use super::service_families::prefers_as_before;
use super::service_ports::{opens_node_ports, port, to_port, wants_node_ports};
use super::service_update::{node_ports, same_addresses};
use super::texts;
use crate::address::parse_leniently;
use crate::check::{elements, text};
use crate::fill::Fill;

/// What a cluster has to give, and what of it is taken.
pub struct Pools<'a> {
    /// The ranges of cluster addresses. The family of the first is the one services get unless they ask otherwise.
    pub ranges: &'a [IpNet],
    /// Whether an address is taken.
    pub address_in_use: &'a dyn Fn(IpAddr) -> bool,
    /// The ports that nodes open for services.
    pub ports: RangeInclusive<u16>,
    /// Whether a port is taken.
    pub port_in_use: &'a dyn Fn(u16) -> bool,
    /// Where the search for something free begins.
    pub seed: u64,
    /// Whether nothing will be stored, so that any number will do.
    pub dry_run: bool,
}

/// What a write takes, and what it gives back.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Addresses that the service has from now on.
    pub taken_addresses: Vec<IpAddr>,
    /// Addresses that the service no longer has.
    pub returned_addresses: Vec<IpAddr>,
    /// Ports that the service has from now on.
    pub taken_ports: Vec<u16>,
    /// Ports that the service no longer has.
    pub returned_ports: Vec<u16>,
}

/// Why nothing could be given.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// The service asks for something it cannot have: 422.
    Invalid(Errors),
    /// There is nothing left: 500.
    Exhausted(String),
    /// What stock does not take for a fault of the service: 500, without a reason.
    Failed(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Invalid(vec![error])
    }
}

/// Gives a new service what it needs.
pub fn allocate_for_create(service: &mut Value, pools: &Pools<'_>) -> Result<Changes, Refusal> {
    let name = text(&service["metadata"], "name").to_owned();
    let spec = service.at_or_empty("spec");
    if elements(&spec["clusterIPs"]).is_empty() && !text(spec, "clusterIP").is_empty() {
        let only = vec![spec["clusterIP"].clone()];
        spec.put("clusterIPs", only);
    }
    let mut giving = Giving { pools, name, changes: Changes::default() };
    giving.init_families(spec, None)?;
    giving.give_addresses(spec)?;
    if opens_node_ports(spec) {
        giving.give_ports(spec)?;
    }
    if needs_health_check(spec) {
        giving.give_health_check_port(spec)?;
    }
    Ok(giving.changes)
}

/// Gives an updated service what it needs more than before, and names what it no longer needs.
pub fn allocate_for_update(new: &mut Value, old: &Value, pools: &Pools<'_>) -> Result<Changes, Refusal> {
    let name = text(&new["metadata"], "name").to_owned();
    let before = &old["spec"];
    let spec = new.at_or_empty("spec");
    patch(spec, before);
    normalize(spec, before);
    let mut giving = Giving { pools, name, changes: Changes::default() };
    giving.init_families(spec, Some(before))?;
    giving.update_addresses(spec, before)?;
    giving.update_ports(spec, before)?;
    match (needs_health_check(before), needs_health_check(spec)) {
        (false, true) => giving.give_health_check_port(spec)?,
        (true, false) => giving.changes.returned_ports.extend(port(&before["healthCheckNodePort"])),
        _ => {}
    }
    Ok(giving.changes)
}

/// All that a service has, which is free again once the service is deleted.
pub fn held_by(service: &Value) -> Changes {
    let spec = &service["spec"];
    let mut changes = Changes { returned_ports: node_ports(spec).filter_map(to_port).collect(), ..Changes::default() };
    if text(spec, "type") != "ExternalName" && !is_headless(spec) {
        changes.returned_addresses = texts(&spec["clusterIPs"]).into_iter().filter_map(parse_leniently).collect();
    }
    if needs_health_check(spec) {
        changes.returned_ports.extend(port(&spec["healthCheckNodePort"]));
    }
    changes
}

/// Fills in what was given before and the caller did not repeat.
fn patch(spec: &mut Value, before: &Value) {
    if text(spec, "type") != "ExternalName" && text(before, "type") != "ExternalName" {
        if !before["clusterIP"].is_null() {
            spec.fill_text("clusterIP", text(before, "clusterIP"));
        }
        if elements(&spec["clusterIPs"]).is_empty() && !elements(&before["clusterIPs"]).is_empty() {
            spec.put("clusterIPs", before["clusterIPs"].clone());
        }
    }
    if wants_node_ports(before) && wants_node_ports(spec) {
        let kept: Vec<i64> = node_ports(before).filter(|port| node_ports(spec).any(|new| new == *port)).collect();
        let by_name = |name: &str| {
            elements(&before["ports"]).iter().rev().find(|port| text(port, "name") == name)?["nodePort"].as_i64()
        };
        for port in spec.each("ports") {
            if port["nodePort"].as_i64().unwrap_or_default() == 0
                && let Some(number) = by_name(text(port, "name"))
                && !kept.contains(&number)
            {
                port.put("nodePort", number);
            }
        }
    }
    if needs_health_check(before) && needs_health_check(spec) && !before["healthCheckNodePort"].is_null() {
        spec.fill_number("healthCheckNodePort", before["healthCheckNodePort"].as_i64().unwrap_or_default());
    }
}

/// Brings the single address and the list of addresses together when a caller changed only one of them.
fn normalize(spec: &mut Value, before: &Value) {
    let (new, old) = (text(spec, "clusterIP").to_owned(), text(before, "clusterIP"));
    if elements(&spec["clusterIPs"]).is_empty() && !elements(&before["clusterIPs"]).is_empty() && new == old {
        spec.put("clusterIPs", before["clusterIPs"].clone());
    }
    if new != old && same_addresses(spec, before) {
        if new.is_empty() {
            spec.drop_field("clusterIPs");
        } else {
            spec.put("clusterIPs", vec![Value::from(new)]);
        }
    }
}

/// A write in progress.
pub(super) struct Giving<'a> {
    pub(super) pools: &'a Pools<'a>,
    name: String,
    pub(super) changes: Changes,
}

impl Giving<'_> {
    /// Gives one address for each family.
    fn give_addresses(&mut self, spec: &mut Value) -> Result<(), Refusal> {
        if text(spec, "type") == "ExternalName"
            || elements(&spec["clusterIPs"]).first().is_some_and(|one| one == "None")
        {
            return Ok(());
        }
        let families: Vec<String> = texts(&spec["ipFamilies"]).into_iter().map(str::to_owned).collect();
        let mut addresses: Vec<Value> = elements(&spec["clusterIPs"]).to_vec();
        while addresses.len() < families.len() {
            addresses.push("".into());
        }
        for (index, family) in families.iter().enumerate() {
            addresses[index] = self.give_address(family, &addresses, index)?.into();
        }
        if let Some(first) = addresses.first() {
            spec.put("clusterIP", first.clone());
        }
        spec.put("clusterIPs", addresses);
        Ok(())
    }

    /// Gives the address at a place of the list, which is the one that stands there if any does.
    fn give_address(&mut self, family: &str, addresses: &[Value], index: usize) -> Result<String, Refusal> {
        let wanted = addresses[index].as_str().unwrap_or_default();
        let ranges: Vec<IpNet> =
            self.pools.ranges.iter().filter(|range| range.network().is_ipv6() == (family == "IPv6")).copied().collect();
        if wanted.is_empty() {
            let chosen = if self.pools.dry_run {
                ranges.first().map(IpNet::network)
            } else {
                ranges.iter().find_map(|range| allocate_cluster_ip(range, self.pools.address_in_use, self.pools.seed))
            };
            let Some(chosen) = chosen else {
                let name = roost_object::field::quote(&self.name);
                return Err(Refusal::Exhausted(format!(
                    "failed to allocate a serviceIP for Service {name}: range is full"
                )));
            };
            self.changes.taken_addresses.push(chosen);
            return Ok(chosen.to_string());
        }
        let refused = match parse_leniently(wanted) {
            None => return Err(Refusal::Exhausted(format!("failed to parse service IP {wanted:?}"))),
            Some(address) => match claim_cluster_ip(address, &ranges, self.pools.address_in_use) {
                Ok(()) => {
                    self.changes.taken_addresses.push(address);
                    return Ok(wanted.to_owned());
                }
                // Without a write, nobody looks whether the address is taken, and one range speaks for all.
                Err(Taken::Address) if self.pools.dry_run => return Ok(wanted.to_owned()),
                Err(Taken::AddressOutsideRanges) if self.pools.dry_run && !ranges.is_empty() => {
                    Taken::AddressReserved(address, ranges[0])
                }
                Err(taken) => taken,
            },
        };
        let words = format!("failed to allocate IP {wanted}: {refused}");
        Err(Error::invalid(&Path::new("spec.clusterIPs"), addresses.to_vec(), words).into())
    }

    fn update_addresses(&mut self, spec: &mut Value, before: &Value) -> Result<(), Refusal> {
        if prefers_as_before(spec, before) {
            return Ok(());
        }
        let external = |spec: &Value| text(spec, "type") == "ExternalName";
        if external(before) && !external(spec) {
            return self.give_addresses(spec);
        }
        let had = texts(&before["clusterIPs"]);
        if had.first() == Some(&"None") {
            return Ok(());
        }
        if !external(before) && external(spec) {
            self.changes.returned_addresses.extend(had.into_iter().filter_map(parse_leniently));
            return Ok(());
        }
        let count = |spec: &Value| elements(&spec["ipFamilies"]).len();
        match (count(before), count(spec)) {
            (1, 2) => {
                let family = text_at(&spec["ipFamilies"], 1);
                let mut addresses: Vec<Value> = elements(&spec["clusterIPs"]).to_vec();
                addresses.resize(2, "".into());
                addresses[1] = self.give_address(&family, &addresses, 1)?.into();
                spec.put("clusterIPs", addresses);
            }
            (2, 1) => self.changes.returned_addresses.extend(had.get(1).and_then(|one| parse_leniently(one))),
            _ => {}
        }
        Ok(())
    }
}

fn text_at(list: &Value, index: usize) -> String {
    elements(list).get(index).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pools<'a>(ranges: &'a [IpNet], taken: &'a dyn Fn(u16) -> bool) -> Pools<'a> {
        Pools {
            ranges,
            address_in_use: &|address| address.to_string() == "10.0.0.9",
            ports: super::super::allocation::NODE_PORTS,
            port_in_use: taken,
            seed: 42,
            dry_run: false,
        }
    }

    fn create(spec: &Value, ranges: &[&str]) -> Result<(Value, Changes), Refusal> {
        let ranges: Vec<IpNet> = ranges.iter().map(|range| range.parse().unwrap()).collect();
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        super::super::service::defaults(&mut service);
        let changes = allocate_for_create(&mut service, &pools(&ranges, &|port| port == 30_009))?;
        Ok((service["spec"].clone(), changes))
    }

    fn words(result: Result<(Value, Changes), Refusal>) -> String {
        match result.unwrap_err() {
            Refusal::Invalid(errors) => errors[0].to_string(),
            Refusal::Exhausted(words) | Refusal::Failed(words) => words,
        }
    }

    #[test]
    fn a_plain_service_gets_one_address() {
        let (spec, changes) = create(&json!({"ports": [{"port": 80}]}), &["10.0.0.0/24"]).unwrap();
        assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
        assert_eq!((&spec["ipFamilies"], &spec["ipFamilyPolicy"]), (&json!(["IPv4"]), &json!("SingleStack")));
        assert_eq!(changes.taken_addresses.len(), 1);
    }

    #[test]
    fn dual_stack_services_get_two() {
        let (spec, changes) =
            create(&json!({"ipFamilyPolicy": "PreferDualStack"}), &["10.0.0.0/24", "fd00::/112"]).unwrap();
        assert_eq!(spec["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(changes.taken_addresses.len(), 2);
        assert_eq!(
            words(create(&json!({"ipFamilyPolicy": "RequireDualStack"}), &["10.0.0.0/24"])),
            r#"spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services"#
        );
    }

    #[test]
    fn headless_services_get_none() {
        let (spec, changes) = create(&json!({"clusterIP": "None"}), &["10.0.0.0/24"]).unwrap();
        assert_eq!(
            (&spec["clusterIPs"], &spec["ipFamilies"], &spec["ipFamilyPolicy"]),
            (&json!(["None"]), &json!(["IPv4", "IPv6"]), &json!("RequireDualStack"))
        );
        assert_eq!(changes, Changes::default());
    }

    #[test]
    fn what_is_asked_for_is_given_if_it_can_be() {
        let asked = |address: &str| create(&json!({"clusterIP": address}), &["10.0.0.0/24"]);
        assert_eq!(asked("10.0.0.3").unwrap().0["clusterIPs"], json!(["10.0.0.3"]));
        assert_eq!(
            words(asked("10.0.0.9")),
            r#"spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: provided IP is already allocated"#
        );
        assert_eq!(
            words(asked("10.1.0.9")),
            r#"spec.clusterIPs: Invalid value: ["10.1.0.9"]: failed to allocate IP 10.1.0.9: the provided network does not match the current range"#
        );
        assert_eq!(
            words(create(&json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30009}]}), &["10.0.0.0/24"])),
            "spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated"
        );
        assert_eq!(
            words(create(&json!({}), &["10.0.0.0/32"])),
            r#"failed to allocate a serviceIP for Service "s": range is full"#
        );
    }

    #[test]
    fn ports_of_one_number_share_a_node_port() {
        let (spec, changes) = create(
            &json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [
                {"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]}),
            &["10.0.0.0/24"],
        )
        .unwrap();
        assert_eq!(spec["ports"][0]["nodePort"], spec["ports"][1]["nodePort"]);
        assert_eq!(changes.taken_ports.len(), 2);
        assert_eq!(spec["healthCheckNodePort"], json!(changes.taken_ports[1]));
        let mut service = json!({"spec": spec});
        assert_eq!(held_by(&service).returned_ports.len(), 3);
        service["spec"]["type"] = json!("ExternalName");
        assert!(held_by(&service).returned_addresses.is_empty());
    }

    #[test]
    fn updates_keep_and_return() {
        let ranges: Vec<IpNet> = vec!["10.0.0.0/24".parse().unwrap()];
        let (spec, _) = create(&json!({"type": "NodePort", "ports": [{"port": 80}]}), &["10.0.0.0/24"]).unwrap();
        let old = json!({"spec": spec});
        let mut new = json!({"spec": {"type": "NodePort", "ports": [{"port": 81, "protocol": "TCP"}]}});
        let changes = allocate_for_update(&mut new, &old, &pools(&ranges, &|_| false)).unwrap();
        assert_eq!(changes, Changes::default());
        assert_eq!(new["spec"]["ports"][0]["nodePort"], old["spec"]["ports"][0]["nodePort"]);
        assert_eq!(new["spec"]["clusterIPs"], old["spec"]["clusterIPs"]);

        let mut new = old.clone();
        new["spec"]["type"] = json!("ExternalName");
        let changes = allocate_for_update(&mut new, &old, &pools(&ranges, &|_| false)).unwrap();
        assert_eq!((changes.returned_addresses.len(), changes.returned_ports.len()), (1, 1));
    }
}
