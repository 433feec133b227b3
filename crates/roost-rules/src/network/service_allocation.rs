//! Giving addresses and ports to services. This comes before a service is prepared and validated, because validation
//! wants to see what was given.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use ipnet::IpNet;
use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

use super::allocation::{Taken, allocate_cluster_ip, allocate_node_port, claim_cluster_ip, claim_node_port};
use super::service::{is_headless, needs_health_check};
use super::service_addresses::{self, is_ipv6};
use super::service_update::{node_ports, same_addresses};
use super::texts;
use crate::address::parse_leniently;
use crate::check::{Spot, elements, text};
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

fn to_port(number: i64) -> Option<u16> {
    u16::try_from(number).ok()
}

fn port(value: &Value) -> Option<u16> {
    value.as_i64().filter(|number| *number > 0).and_then(to_port)
}

fn opens_node_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// Whether ports are given even where none is asked for.
fn wants_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
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

fn other_family(family: &str) -> &'static str {
    if family == "IPv4" { "IPv6" } else { "IPv4" }
}

fn family_of(address: &str) -> &'static str {
    if is_ipv6(address) { "IPv6" } else { "IPv4" }
}

/// A write in progress.
struct Giving<'a> {
    pools: &'a Pools<'a>,
    name: String,
    changes: Changes,
}

impl Giving<'_> {
    fn default_family(&self) -> &'static str {
        if self.pools.ranges.first().is_some_and(|range| range.network().is_ipv6()) { "IPv6" } else { "IPv4" }
    }

    fn has_family(&self, family: &str) -> bool {
        self.pools.ranges.iter().any(|range| range.network().is_ipv6() == (family == "IPv6"))
    }

    fn is_dual_stack(&self) -> bool {
        self.has_family("IPv4") && self.has_family("IPv6")
    }

    /// Settles the families of the service and the policy behind them.
    fn init_families(&self, spec: &mut Value, before: Option<&Value>) -> Result<(), Refusal> {
        if text(spec, "type") == "ExternalName" || before.is_some_and(|before| prefers_as_before(spec, before)) {
            return Ok(());
        }
        let selectorless = spec["selector"].as_object().is_none_or(roost_object::Map::is_empty);
        let open = text(spec, "clusterIP") == "None" && selectorless;
        if spec["ipFamilyPolicy"].is_null() {
            let policy = match before.map(|before| text(before, "ipFamilyPolicy")).unwrap_or_default() {
                "" if open => "RequireDualStack",
                "" => "SingleStack",
                policy => policy,
            };
            spec.put("ipFamilyPolicy", policy);
        }
        let mut errors = Errors::new();
        let old = before.map(|before| serde_json::json!({"spec": {"clusterIPs": before["clusterIPs"]}}));
        service_addresses::validate(&Spot::new(spec, Path::new("spec")), old.as_ref(), &mut errors);
        refuse(errors)?;

        let errors = self.settle_against_before(spec, before);
        refuse(errors)?;
        if open {
            self.open_families(spec);
            return Ok(());
        }
        refuse(self.check_families(spec))?;
        let mut families: Vec<Value> = elements(&spec["ipFamilies"]).to_vec();
        if families.is_empty() {
            families.push(self.default_family().into());
        }
        if text(spec, "ipFamilyPolicy") != "SingleStack" && families.len() == 1 && self.is_dual_stack() {
            families.push(other_family(families[0].as_str().unwrap_or_default()).into());
        }
        spec.put("ipFamilies", families);
        Ok(())
    }

    /// Shortens the lists of a service that became single-stack, and reads families from addresses.
    fn settle_against_before(&self, spec: &mut Value, before: Option<&Value>) -> Errors {
        let mut errors = Errors::new();
        let path = Path::new("spec");
        let policy_path = path.child("ipFamilyPolicy");
        let policy = spec["ipFamilyPolicy"].clone();
        let single = policy == "SingleStack";
        if let Some(before) = before {
            for (field, released) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
                let (new, old) = (elements(&spec[field]), elements(&before[field]));
                if single {
                    if new == old && new.len() > 1 {
                        let first = vec![new[0].clone()];
                        spec.put(field, first);
                    }
                } else if !new.is_empty() && new.len() < old.len() {
                    let words = format!("must be 'SingleStack' to release the secondary {released}");
                    errors.push(Error::invalid(&policy_path, policy.clone(), words));
                }
            }
        }
        if single {
            for (field, several) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
                if elements(&spec[field]).len() == 2 {
                    let words = format!(
                        "must be 'RequireDualStack' or 'PreferDualStack' when multiple {several} are specified"
                    );
                    errors.push(Error::invalid(&policy_path, policy.clone(), words));
                }
            }
        }
        let mut families: Vec<Value> = elements(&spec["ipFamilies"]).to_vec();
        let known = families.len();
        for (index, one) in texts(&spec["clusterIPs"]).into_iter().enumerate() {
            if one == "None" {
                break;
            }
            if index >= families.len() {
                let family = family_of(one);
                if self.has_family(family) {
                    families.push(family.into());
                } else {
                    let at = path.child("clusterIPs");
                    let words = format!("{family} is not configured on this cluster");
                    errors.push(Error::invalid(&at.index(index), spec["clusterIPs"].clone(), words));
                }
            }
        }
        if families.len() > known {
            spec.put("ipFamilies", families);
        }
        errors
    }

    /// A headless service without a selector may have endpoints of any family, whatever the cluster has.
    fn open_families(&self, spec: &mut Value) {
        let mut families: Vec<Value> = elements(&spec["ipFamilies"]).to_vec();
        if families.is_empty() {
            families.push(self.default_family().into());
        }
        if families.len() < 2 && text(spec, "ipFamilyPolicy") != "SingleStack" {
            families.push(other_family(families[0].as_str().unwrap_or_default()).into());
        }
        spec.put("ipFamilies", families);
    }

    fn check_families(&self, spec: &Value) -> Errors {
        let mut errors = Errors::new();
        let path = Path::new("spec");
        if text(spec, "ipFamilyPolicy") == "RequireDualStack" && !self.is_dual_stack() {
            let words = "this cluster is not configured for dual-stack services";
            errors.push(Error::invalid(&path.child("ipFamilyPolicy"), spec["ipFamilyPolicy"].clone(), words));
        }
        let families = path.child("ipFamilies");
        for (index, family) in texts(&spec["ipFamilies"]).into_iter().enumerate() {
            if !self.has_family(family) {
                errors.push(Error::invalid(&families.index(index), family, "not configured on this cluster"));
            }
        }
        errors
    }

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

    /// Takes a port that was asked for.
    fn claim_port(&mut self, number: i64) -> Result<(), Taken> {
        let outside = || Taken::PortOutsideRange(self.pools.ports.clone());
        let port = to_port(number).ok_or_else(outside)?;
        if self.pools.dry_run {
            if (self.pools.port_in_use)(port) || self.changes.taken_ports.contains(&port) {
                return Err(Taken::Port);
            }
        } else {
            let used = |port| (self.pools.port_in_use)(port) || self.changes.taken_ports.contains(&port);
            claim_node_port(port, &self.pools.ports, &used)?;
        }
        self.changes.taken_ports.push(port);
        Ok(())
    }

    /// Takes any port.
    fn any_port(&mut self) -> Option<u16> {
        /// Where the made-up ports of writes that are not stored begin.
        const MADE_UP: u16 = 32_769;
        let port = if self.pools.dry_run {
            self.changes.taken_ports.iter().max().map_or(MADE_UP, |last| last.saturating_add(1))
        } else {
            let used = |port| (self.pools.port_in_use)(port) || self.changes.taken_ports.contains(&port);
            let seed = self.pools.seed.wrapping_add(self.changes.taken_ports.len() as u64);
            allocate_node_port(&self.pools.ports, &used, seed)?
        };
        self.changes.taken_ports.push(port);
        Some(port)
    }

    /// Gives a new service its ports. Ports with the same number share one, whatever their protocols.
    fn give_ports(&mut self, spec: &mut Value) -> Result<(), Refusal> {
        let wants_any = wants_node_ports(spec);
        let mut ports: Vec<Value> = elements(&spec["ports"]).to_vec();
        let mut given: Vec<(i64, i64)> = Vec::new();
        for index in 0..ports.len() {
            let number = |port: &Value, field: &str| port[field].as_i64().unwrap_or_default();
            let (service_port, asked) = (number(&ports[index], "port"), number(&ports[index], "nodePort"));
            if asked == 0 && !wants_any {
                continue;
            }
            let shared = given.iter().find(|(port, _)| *port == service_port).map(|(_, node_port)| *node_port);
            match shared {
                None => {
                    let asked = ports
                        .iter()
                        .filter(|port| number(port, "port") == service_port)
                        .map(|port| number(port, "nodePort"))
                        .find(|port| *port != 0);
                    let chosen = match asked {
                        Some(asked) => {
                            self.claim_port(asked).map_err(|taken| refused_port(index, asked, &taken))?;
                            asked
                        }
                        None => i64::from(self.any_port().ok_or_else(no_port_left)?),
                    };
                    ports[index].put("nodePort", chosen);
                    given.push((service_port, chosen));
                }
                Some(shared) if asked == 0 => ports[index].put("nodePort", shared),
                Some(shared) if asked != shared => {
                    self.claim_port(asked).map_err(|taken| refused_port(index, asked, &taken))?;
                }
                Some(_) => {}
            }
        }
        if !ports.is_empty() {
            spec.put("ports", ports);
        }
        Ok(())
    }

    fn update_ports(&mut self, spec: &mut Value, before: &Value) -> Result<(), Refusal> {
        let had: Vec<i64> = node_ports(before).collect();
        if opens_node_ports(spec) {
            let wants_any = wants_node_ports(spec);
            let mut ports: Vec<Value> = elements(&spec["ports"]).to_vec();
            let mut claimed = Vec::new();
            for (index, port) in ports.iter_mut().enumerate() {
                match port["nodePort"].as_i64().unwrap_or_default() {
                    0 if !wants_any => {}
                    0 => {
                        let chosen = self.any_port().ok_or_else(no_port_left)?;
                        port.put("nodePort", chosen);
                    }
                    asked if had.contains(&asked) || claimed.contains(&asked) => {}
                    asked => {
                        self.claim_port(asked).map_err(|taken| refused_port(index, asked, &taken))?;
                        claimed.push(asked);
                    }
                }
            }
            if !ports.is_empty() {
                spec.put("ports", ports);
            }
        }
        if opens_node_ports(before) {
            let has: Vec<i64> = if opens_node_ports(spec) { node_ports(spec).collect() } else { Vec::new() };
            let gone = had.into_iter().filter(|port| !has.contains(port)).filter_map(to_port);
            self.changes.returned_ports.extend(gone);
        }
        Ok(())
    }

    fn give_health_check_port(&mut self, spec: &mut Value) -> Result<(), Refusal> {
        let asked = spec["healthCheckNodePort"].as_i64().unwrap_or_default();
        if asked != 0 {
            return self.claim_port(asked).map_err(|taken| {
                Refusal::Exhausted(format!("failed to allocate requested HealthCheck NodePort {asked}: {taken}"))
            });
        }
        let Some(chosen) = self.any_port() else {
            return Err(Refusal::Exhausted("failed to allocate a HealthCheck NodePort 0: range is full".to_owned()));
        };
        spec.put("healthCheckNodePort", chosen);
        Ok(())
    }
}

/// Whether a dual-stack preference and all it led to is as it was. Such a service stays as it is even if the cluster
/// has changed its families since.
fn prefers_as_before(spec: &Value, before: &Value) -> bool {
    let addressed = |spec: &Value| matches!(text(spec, "type"), "ClusterIP" | "NodePort" | "LoadBalancer");
    let prefers = |spec: &Value| matches!(text(spec, "ipFamilyPolicy"), "" | "PreferDualStack");
    addressed(spec)
        && addressed(before)
        && prefers(spec)
        && prefers(before)
        && same_addresses(spec, before)
        && texts(&spec["ipFamilies"]) == texts(&before["ipFamilies"])
}

fn refuse(errors: Errors) -> Result<(), Refusal> {
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors)) }
}

fn refused_port(index: usize, asked: i64, taken: &Taken) -> Refusal {
    let ports = Path::new("spec.ports");
    let port = ports.index(index);
    Error::invalid(&port.child("nodePort"), asked, taken.to_string()).into()
}

fn no_port_left() -> Refusal {
    Refusal::Exhausted("failed to allocate a nodePort: range is full".to_owned())
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

    fn create(spec: Value, ranges: &[&str]) -> Result<(Value, Changes), Refusal> {
        let ranges: Vec<IpNet> = ranges.iter().map(|range| range.parse().unwrap()).collect();
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        super::super::service::defaults(&mut service);
        let changes = allocate_for_create(&mut service, &pools(&ranges, &|port| port == 30_009))?;
        Ok((service["spec"].clone(), changes))
    }

    fn words(result: Result<(Value, Changes), Refusal>) -> String {
        match result.unwrap_err() {
            Refusal::Invalid(errors) => errors[0].to_string(),
            Refusal::Exhausted(words) => words,
        }
    }

    #[test]
    fn a_plain_service_gets_one_address() {
        let (spec, changes) = create(json!({"ports": [{"port": 80}]}), &["10.0.0.0/24"]).unwrap();
        assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
        assert_eq!((&spec["ipFamilies"], &spec["ipFamilyPolicy"]), (&json!(["IPv4"]), &json!("SingleStack")));
        assert_eq!(changes.taken_addresses.len(), 1);
    }

    #[test]
    fn dual_stack_services_get_two() {
        let (spec, changes) =
            create(json!({"ipFamilyPolicy": "PreferDualStack"}), &["10.0.0.0/24", "fd00::/112"]).unwrap();
        assert_eq!(spec["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(changes.taken_addresses.len(), 2);
        assert_eq!(
            words(create(json!({"ipFamilyPolicy": "RequireDualStack"}), &["10.0.0.0/24"])),
            r#"spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services"#
        );
    }

    #[test]
    fn headless_services_get_none() {
        let (spec, changes) = create(json!({"clusterIP": "None"}), &["10.0.0.0/24"]).unwrap();
        assert_eq!(
            (&spec["clusterIPs"], &spec["ipFamilies"], &spec["ipFamilyPolicy"]),
            (&json!(["None"]), &json!(["IPv4", "IPv6"]), &json!("RequireDualStack"))
        );
        assert_eq!(changes, Changes::default());
    }

    #[test]
    fn what_is_asked_for_is_given_if_it_can_be() {
        let asked = |address: &str| create(json!({"clusterIP": address}), &["10.0.0.0/24"]);
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
            words(create(json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30009}]}), &["10.0.0.0/24"])),
            "spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated"
        );
        assert_eq!(
            words(create(json!({}), &["10.0.0.0/32"])),
            r#"failed to allocate a serviceIP for Service "s": range is full"#
        );
    }

    #[test]
    fn ports_of_one_number_share_a_node_port() {
        let (spec, changes) = create(
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [
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
        let (spec, _) = create(json!({"type": "NodePort", "ports": [{"port": 80}]}), &["10.0.0.0/24"]).unwrap();
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
