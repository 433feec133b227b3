//! The packet filter of a node: one table, written as a whole and taken in by `nft` in one transaction.
//!
//! A packet meets a fixed number of rules, however many Services there are: maps lead from address, protocol and port to
//! the chain of one port of one Service, whose single rule picks an endpoint. What begins a connection to or from a pod that
//! network policies are about also meets what they let through.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use crate::Settings;
use crate::balance::{Balanced, Family, balanced};
use crate::model::Model;
use crate::{policy, stable_hash};

/// The table.
pub const TABLE: &str = "inet roost";
/// The mark of packets whose source becomes the node; the same bit that kube-proxy uses.
const MASQUERADE: &str = "0x4000";
/// The longest comment that the kernel takes.
const LONGEST_COMMENT: usize = 120;

/// What takes the table away; the first line makes it exist, since what is not there cannot be deleted.
pub fn removal() -> String {
    format!("table {TABLE} {{\n}}\ndelete table {TABLE}\n")
}

/// The whole table of a node, with what takes the old one away before it.
pub fn ruleset(model: &Model, settings: &Settings, node: &str) -> String {
    let mut parts = Parts::default();
    for entry in balanced(model, node) {
        parts.add(&entry);
    }
    let mut text = removal();
    let _ = writeln!(text, "table {TABLE} {{");
    for family in Family::ALL {
        let words = Words::of(family);
        let own = model.nodes.get(node);
        let of_family = |networks: &[ipnet::IpNet]| -> Vec<String> {
            networks.iter().filter(|network| family.has_network(network)).map(ToString::to_string).collect()
        };
        let addresses = own.iter().flat_map(|own| &own.addresses).filter(|address| family.has(address));
        let suffix = words.suffix;
        set(&mut text, &format!("pods{suffix}"), words.address, true, &of_family(&settings.pod_networks));
        set(&mut text, &format!("services{suffix}"), words.address, true, &of_family(&settings.service_networks));
        let own_pods = own.map(|own| of_family(&own.pod_networks)).unwrap_or_default();
        set(&mut text, &format!("own{suffix}"), words.address, true, &own_pods);
        set(
            &mut text,
            &format!("node{suffix}"),
            words.address,
            false,
            &addresses.map(ToString::to_string).collect::<Vec<_>>(),
        );
        let found = parts.families.remove(&family).unwrap_or_default();
        let hairpins: Vec<String> = found.here.iter().map(|address| format!("{address} . {address}")).collect();
        set(&mut text, &format!("hairpins{suffix}"), &format!("{0} . {0}", words.address), false, &hairpins);
        let place = format!("{} . inet_proto . inet_service", words.address);
        set(&mut text, &format!("unserved{suffix}"), &place, false, &found.unserved);
        map(&mut text, &format!("entries{suffix}"), &place, &found.entries);
        let port = "inet_proto . inet_service";
        set(&mut text, &format!("unserved-ports{suffix}"), port, false, &found.unserved_ports);
        map(&mut text, &format!("ports{suffix}"), port, &found.ports);
    }
    text.push_str(&parts.chains);
    policy::write(&mut text, &policy::plan(model, node));
    text.push_str(&fixed());
    text.push_str("}\n");
    text
}

/// How a family is spelt.
pub(crate) struct Words {
    /// At the end of names.
    pub(crate) suffix: &'static str,
    /// The type of an address.
    pub(crate) address: &'static str,
    /// Before a field of a packet.
    pub(crate) packet: &'static str,
}

impl Words {
    pub(crate) fn of(family: Family) -> Self {
        match family {
            Family::Four => Self { suffix: "4", address: "ipv4_addr", packet: "ip" },
            Family::Six => Self { suffix: "6", address: "ipv6_addr", packet: "ip6" },
        }
    }
}

pub(crate) fn set<'a>(
    text: &mut String,
    name: &str,
    kind: &str,
    is_interval: bool,
    elements: impl IntoIterator<Item = &'a String>,
) {
    let flags = if is_interval { "\t\tflags interval\n\t\tauto-merge\n" } else { "" };
    let _ = write!(text, "\tset {name} {{\n\t\ttype {kind}\n{flags}");
    let elements: Vec<&str> = elements.into_iter().map(String::as_str).collect();
    if !elements.is_empty() {
        let _ = writeln!(text, "\t\telements = {{ {} }}", elements.join(", "));
    }
    text.push_str("\t}\n");
}

pub(crate) fn map(text: &mut String, name: &str, kind: &str, elements: &BTreeMap<String, String>) {
    let _ = write!(text, "\tmap {name} {{\n\t\ttype {kind} : verdict\n");
    if !elements.is_empty() {
        let list: Vec<String> = elements.iter().map(|(key, verdict)| format!("{key} : {verdict}")).collect();
        let _ = writeln!(text, "\t\telements = {{ {} }}", list.join(", "));
    }
    text.push_str("\t}\n");
}

pub(crate) fn chain(text: &mut String, name: &str, lines: &[String]) {
    let _ = writeln!(text, "\tchain {name} {{");
    for line in lines {
        let _ = writeln!(text, "\t\t{line}");
    }
    text.push_str("\t}\n");
}

#[derive(Default)]
struct Found {
    entries: BTreeMap<String, String>,
    ports: BTreeMap<String, String>,
    unserved: BTreeSet<String>,
    unserved_ports: BTreeSet<String>,
    here: BTreeSet<IpAddr>,
}

#[derive(Default)]
struct Parts {
    families: BTreeMap<Family, Found>,
    chains: String,
}

impl Parts {
    /// One port of one Service. Where two Services claim the same address from outside, the first by name has it.
    fn add(&mut self, entry: &Balanced<'_>) {
        let found = self.families.entry(entry.family).or_default();
        let protocol = entry.port.protocol.name();
        let at = |address: &IpAddr| format!("{address} . {protocol} . {}", entry.port.port);
        let service = entry.service;
        let of_family = |list: &[IpAddr]| list.iter().filter(|ip| entry.family.has(ip)).map(at).collect::<Vec<_>>();
        let balancers = of_family(&service.load_balancer_ips);
        let externals = of_family(&service.external_ips);
        let node_port = entry.port.node_port.map(|port| format!("{protocol} . {port}"));
        if entry.everywhere.is_empty() {
            found.unserved.insert(at(&entry.cluster_ip));
            found.unserved.extend(balancers.into_iter().chain(externals));
            found.unserved_ports.extend(node_port);
            return;
        }
        let id = id(entry);
        let words = Words::of(entry.family);
        let packet = words.packet;
        let is_outside = !balancers.is_empty() || !externals.is_empty() || node_port.is_some();
        let is_everywhere = !service.internal_local || is_outside;
        let is_here = (service.internal_local || service.external_local && is_outside) && !entry.here.is_empty();
        if is_everywhere {
            chain(&mut self.chains, &format!("all-{id}"), &[pick(entry, &entry.everywhere, packet)]);
        }
        if is_here {
            chain(&mut self.chains, &format!("here-{id}"), &[pick(entry, &entry.here, packet)]);
        }
        found.here.extend(entry.here.iter().map(SocketAddr::ip));
        let inside = match (service.internal_local, entry.here.is_empty()) {
            (false, _) => format!("goto all-{id}"),
            (true, false) => format!("goto here-{id}"),
            (true, true) => "drop".to_owned(),
        };
        found.entries.entry(at(&entry.cluster_ip)).or_insert(inside);
        if !is_outside {
            return;
        }
        let mark = format!("meta mark set meta mark or {MASQUERADE}");
        let lines = if service.external_local {
            // Those inside lose nothing by being served elsewhere.
            let elsewhere = format!("fib saddr type local {mark} goto all-{id}");
            let here = if entry.here.is_empty() { "drop".to_owned() } else { format!("goto here-{id}") };
            vec![format!("{packet} saddr @pods{} goto all-{id}", words.suffix), elsewhere, here]
        } else {
            vec![mark, format!("goto all-{id}")]
        };
        chain(&mut self.chains, &format!("outside-{id}"), &lines);
        let outside = format!("goto outside-{id}");
        for address in externals {
            found.entries.entry(address).or_insert_with(|| outside.clone());
        }
        if let Some(port) = node_port {
            found.ports.entry(port).or_insert_with(|| outside.clone());
        }
        let ranges: Vec<String> = service
            .source_ranges
            .iter()
            .filter(|range| entry.family.has_network(range))
            .map(|range| range.trunc().to_string())
            .collect();
        let guarded = if service.source_ranges.is_empty() || balancers.is_empty() {
            outside
        } else {
            let allowed = format!("{packet} saddr {{ {} }} {outside}", ranges.join(", "));
            let lines = if ranges.is_empty() { vec!["drop".to_owned()] } else { vec![allowed, "drop".to_owned()] };
            chain(&mut self.chains, &format!("guard-{id}"), &lines);
            format!("goto guard-{id}")
        };
        for address in balancers {
            found.entries.entry(address).or_insert_with(|| guarded.clone());
        }
    }
}

/// What a port's chains are called: the same on all nodes, whatever else there is.
fn id(entry: &Balanced<'_>) -> String {
    let (namespace, name) = entry.key;
    let port = entry.port;
    let text = format!("{namespace}/{name}/{}/{}/{:?}", port.protocol.name(), port.port, entry.family);
    format!("{:016x}", stable_hash(text.as_bytes()))
}

/// The rule that picks an endpoint.
fn pick(entry: &Balanced<'_>, endpoints: &[SocketAddr], packet: &str) -> String {
    let spelt = |endpoint: &SocketAddr| format!("{} . {}", endpoint.ip(), endpoint.port());
    let (chooser, places): (String, Vec<String>) = if entry.service.has_affinity {
        let slots = slots(endpoints.len());
        let places = (0..slots).filter_map(|slot| holder(slot, endpoints)).map(spelt).collect();
        (format!("jhash {packet} saddr mod {slots} seed 0x726f6f73"), places)
    } else {
        (format!("numgen random mod {}", endpoints.len()), endpoints.iter().map(spelt).collect())
    };
    let list: Vec<String> = places.iter().enumerate().map(|(number, place)| format!("{number} : {place}")).collect();
    let (namespace, name) = entry.key;
    let comment: String = format!("{namespace}/{name}:{}", entry.port.port)
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || "-./:".contains(*character))
        .take(LONGEST_COMMENT)
        .collect();
    format!(
        "meta l4proto {} dnat {packet} addr . port to {chooser} map {{ {} }} comment \"{comment}\"",
        entry.port.protocol.name(),
        list.join(", ")
    )
}

/// Clients that stay with their pod are spread over more slots than there are pods, so that shares are even.
fn slots(endpoints: usize) -> usize {
    match endpoints {
        0..=8 => 64,
        9..=32 => 256,
        _ => 1024,
    }
}

/// Who has a slot: the one with the highest number for it. So a pod that goes gives away only its own slots, and one that
/// comes takes an even share, on every node alike and without remembering any client.
fn holder(slot: usize, endpoints: &[SocketAddr]) -> Option<&SocketAddr> {
    endpoints.iter().max_by_key(|endpoint| mixed(stable_hash(format!("{endpoint}#{slot}").as_bytes())))
}

/// The finalizer of `MurmurHash3`: every bit of the input reaches every bit of the output.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// What every packet meets.
fn fixed() -> String {
    let mut text = String::new();
    let families = [Words::of(Family::Four), Words::of(Family::Six)];
    let each = |line: &dyn Fn(&Words) -> Vec<String>| families.iter().flat_map(line).collect::<Vec<_>>();
    let dispatch = each(&|Words { suffix, packet, .. }| {
        vec![
            // Whoever is not a pod would be answered past the node that translated its address.
            format!(
                "{packet} daddr @services{suffix} {packet} saddr != @pods{suffix} meta mark set meta mark or {MASQUERADE}"
            ),
            format!("{packet} daddr . meta l4proto . th dport vmap @entries{suffix}"),
            format!("{packet} daddr @node{suffix} meta l4proto . th dport vmap @ports{suffix}"),
        ]
    });
    chain(&mut text, "dispatch", &dispatch);
    let refuse = each(&|Words { suffix, packet, .. }| {
        vec![
            format!("{packet} daddr . meta l4proto . th dport @unserved{suffix} reject"),
            format!("{packet} daddr @node{suffix} meta l4proto . th dport @unserved-ports{suffix} reject"),
        ]
    });
    chain(&mut text, "refuse", &refuse);
    for (name, hook, priority) in [("nat-prerouting", "prerouting", -100), ("nat-output", "output", -100)] {
        let head = format!("type nat hook {hook} priority {priority}; policy accept;");
        chain(&mut text, name, &[head, "jump dispatch".to_owned()]);
    }
    for hook in ["input", "forward", "output"] {
        let mut lines =
            vec![format!("type filter hook {hook} priority -1; policy accept;"), "ct state new jump refuse".to_owned()];
        if hook == "forward" {
            // What a node itself begins, such as probes, and what is for itself is not forwarded, and free.
            lines.push("ct state established,related accept".to_owned());
            lines.push(format!("jump {}", policy::CHAIN));
        }
        chain(&mut text, &format!("filter-{hook}"), &lines);
    }
    let mut masquerade = vec![
        "type nat hook postrouting priority 100; policy accept;".to_owned(),
        format!(
            "oifname != \"lo\" meta mark and {MASQUERADE} == {MASQUERADE} meta mark set meta mark xor {MASQUERADE} masquerade"
        ),
    ];
    masquerade.extend(each(&|Words { suffix, packet, .. }| {
        vec![
            format!("ct status dnat {packet} saddr . {packet} daddr @hairpins{suffix} masquerade"),
            format!("{packet} saddr @own{suffix} {packet} daddr != @pods{suffix} masquerade"),
        ]
    }));
    chain(&mut text, "nat-postrouting", &masquerade);
    text
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
