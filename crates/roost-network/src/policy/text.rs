//! A plan as a part of the packet filter's table: maps lead from the address of a pod to the chain of what is let through.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{Allowed, Plan, Ports, Who};
use crate::balance::Family;
use crate::filter::{Words, chain, map, set};
use crate::model::Direction;

/// The chain that every packet meets that begins something.
pub(crate) const CHAIN: &str = "policies";

/// Writes all of it.
pub(crate) fn write(text: &mut String, plan: &Plan) {
    let mut lines = vec![
        // Without these, neighbours on one link do not find each other.
        "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } return".to_owned(),
    ];
    for family in Family::ALL {
        let Words { suffix, address, packet } = Words::of(family);
        for (number, peers) in plan.peers.iter().enumerate() {
            let peers = of_family(peers.iter().copied(), family);
            write_set(text, &format!("peers-{number}-{suffix}"), address, &peers);
        }
        for (number, places) in plan.places.iter().enumerate() {
            let places = places.iter().filter(|(address, ..)| family.has(address));
            let places: Vec<String> =
                places.map(|(address, protocol, port)| format!("{address} . {} . {port}", protocol.name())).collect();
            let kind = format!("{address} . inet_proto . inet_service");
            write_set(text, &format!("places-{number}-{suffix}"), &kind, &places);
        }
        let own: BTreeSet<IpAddr> = plan.pods.keys().map(|(_, address)| *address).collect();
        let selves: Vec<String> =
            of_family(own, family).iter().map(|address| format!("{address} . {address}")).collect();
        set(text, &format!("selves{suffix}"), &format!("{address} . {address}"), false, &selves);
        lines.push(format!("{packet} saddr . {packet} daddr @selves{suffix} return"));
        for direction in Direction::ALL {
            let pods = plan.pods.iter().filter(|((of, address), _)| *of == direction && family.has(address));
            let verdicts: BTreeMap<String, String> =
                pods.map(|((_, address), number)| (address.to_string(), format!("jump allowed-{number}"))).collect();
            let (name, field) = match direction {
                Direction::Ingress => ("ingress", "daddr"),
                Direction::Egress => ("egress", "saddr"),
            };
            map(text, &format!("{name}{suffix}"), address, &verdicts);
            lines.push(format!("{packet} {field} vmap @{name}{suffix}"));
        }
    }
    for (number, (direction, allowed)) in plan.chains.iter().enumerate() {
        let mut lines: Vec<String> = allowed.iter().flat_map(|allowed| rules(plan, *direction, allowed)).collect();
        lines.push("drop".to_owned());
        chain(text, &format!("allowed-{number}"), &lines);
    }
    chain(text, CHAIN, &lines);
}

fn of_family(addresses: impl IntoIterator<Item = IpAddr>, family: Family) -> Vec<String> {
    addresses.into_iter().filter(|address| family.has(address)).map(|address| address.to_string()).collect()
}

/// Writes a set that has something in it; no rule names one that has not.
fn write_set(text: &mut String, name: &str, kind: &str, elements: &[String]) {
    if !elements.is_empty() {
        set(text, name, kind, false, elements);
    }
}

/// The rules that let something through.
fn rules(plan: &Plan, direction: Direction, allowed: &Allowed) -> Vec<String> {
    let field = match direction {
        Direction::Ingress => "saddr",
        Direction::Egress => "daddr",
    };
    let mut who = Vec::new();
    for family in Family::ALL {
        let Words { suffix, packet, .. } = Words::of(family);
        match &allowed.who {
            Who::Anybody => {}
            Who::Pods(number) => {
                if plan.peers[*number].iter().any(|address| family.has(address)) {
                    who.push(format!("{packet} {field} @peers-{number}-{suffix} "));
                }
            }
            Who::Places(number) => {
                if plan.places[*number].iter().any(|(address, ..)| family.has(address)) {
                    who.push(format!("{packet} {field} . meta l4proto . th dport @places-{number}-{suffix} "));
                }
            }
            Who::Block(network, except) => {
                if family.has_network(network) {
                    let list: Vec<String> = except.iter().map(ToString::to_string).collect();
                    let except = if list.is_empty() {
                        String::new()
                    } else {
                        format!("{packet} {field} != {{ {} }} ", list.join(", "))
                    };
                    who.push(format!("{packet} {field} {network} {except}"));
                }
            }
        }
    }
    if allowed.who == Who::Anybody {
        who.push(String::new());
    }
    let ports = allowed
        .ports
        .as_ref()
        .map_or_else(String::new, |(protocol, ports)| format!("meta l4proto {} {}", protocol.name(), numbers(ports)));
    who.iter().map(|who| format!("{who}{ports}return")).collect()
}

/// What overlaps is one: the kernel refuses intervals that do.
fn numbers(ports: &Ports) -> String {
    let mut merged: Ports = Vec::new();
    for (first, last) in ports {
        match merged.last_mut() {
            Some((_, end)) if u32::from(*first) <= u32::from(*end) + 1 => *end = (*end).max(*last),
            _ => merged.push((*first, *last)),
        }
    }
    if merged.is_empty() {
        return String::new();
    }
    let one = |(first, last): &(u16, u16)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("th dport {{ {} }} ", merged.iter().map(one).collect::<Vec<_>>().join(", "))
}
