//! The settings of interfaces as our own live image reads them: assignments of a shell, one file a card.
//!
//! It knows one VLAN a card and no bonds: of a bond the first port has the addresses. Cards that ask for their addresses
//! have no file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::state::{Interface, InterfaceKind, State};

/// The settings by hardware addresses.
pub(super) fn settings(state: &State, addresses: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for interface in state.used() {
        let (base, tag) = match &interface.vlan {
            Some(vlan) => (state.find(&vlan.base_iface), Some(vlan.id)),
            None => (Some(interface), None),
        };
        let Some(base) = base else { continue };
        let fixed: Vec<String> =
            interface.ipv4.fixed().chain(interface.ipv6.fixed()).map(|address| address.to_string()).collect();
        if fixed.is_empty() {
            continue;
        }
        let card = match (base.kind, &base.link_aggregation) {
            (InterfaceKind::Bond, Some(bond)) => bond.ports.first().and_then(|port| addresses.get(port)),
            _ => addresses.get(&base.name),
        };
        let Some(card) = card else { continue };
        // The first that has addresses on a card has the card.
        all.entry(card.clone()).or_insert_with(|| assignments(state, interface, base, tag, &fixed));
    }
    all
}

fn assignments(state: &State, interface: &Interface, base: &Interface, tag: Option<u16>, fixed: &[String]) -> String {
    let mut text = String::new();
    let join = |values: Vec<String>| values.join(" ");
    let _ = writeln!(text, "ADDRESSES=\"{}\"", fixed.join(" "));
    let gateways: Vec<String> = state.gateways(&interface.name).map(|gateway| gateway.to_string()).collect();
    if !gateways.is_empty() {
        let _ = writeln!(text, "GATEWAY=\"{}\"", join(gateways));
    }
    let asks = [true, false].map(|is_v4| state.names_by(is_v4) == Some(interface.name.as_str()));
    let servers = state.resolver.config.servers.iter().filter(|server| asks[usize::from(server.is_ipv6())]);
    let servers: Vec<String> = servers.map(ToString::to_string).collect();
    if !servers.is_empty() {
        let _ = writeln!(text, "DNS=\"{}\"", join(servers));
    }
    if let Some(tag) = tag {
        let _ = writeln!(text, "VLAN={tag}");
    }
    if let Some(mtu) = base.mtu.or(interface.mtu) {
        let _ = writeln!(text, "MTU={mtu}");
    }
    text
}
