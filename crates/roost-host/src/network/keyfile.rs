//! Connections of NetworkManager, as files.
//!
//! Ethernet connections name the card by its address and nothing by the name that a host may give it, so one file does
//! wherever the card is plugged in. VLANs name the connection below them, bonds are found by their own name.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_lc_rs::digest;

use super::state::{Addresses, Interface, InterfaceKind, State, option_text};

/// The file of one interface. `owner` makes its identity another than that of the same interface on another host.
pub(super) fn keyfile(
    state: &State,
    interface: &Interface,
    addresses: &BTreeMap<String, String>,
    owner: &str,
) -> String {
    let mut text = String::new();
    let name = &interface.name;
    let kind = match interface.kind {
        InterfaceKind::Ethernet => "ethernet",
        InterfaceKind::Vlan => "vlan",
        InterfaceKind::Bond => "bond",
    };
    let _ = write!(text, "[connection]\nid={name}\nuuid={}\ntype={kind}\nautoconnect=true\n", identity(owner, name));
    if interface.kind != InterfaceKind::Ethernet {
        let _ = writeln!(text, "interface-name={name}");
    }
    let bond = state.bond_of(name);
    if let Some(bond) = bond {
        let _ = writeln!(text, "master={}\nslave-type=bond", identity(owner, &bond.name));
    }
    if interface.kind == InterfaceKind::Ethernet || interface.mtu.is_some() {
        text.push_str("\n[ethernet]\n");
        if let Some(address) = addresses.get(name).filter(|_| interface.kind == InterfaceKind::Ethernet) {
            let _ = writeln!(text, "mac-address={address}");
        }
        if let Some(mtu) = interface.mtu {
            let _ = writeln!(text, "mtu={mtu}");
        }
    }
    if let Some(vlan) = &interface.vlan {
        let _ = write!(text, "\n[vlan]\nid={}\nparent={}\n", vlan.id, identity(owner, &vlan.base_iface));
    }
    if let Some(bond) = &interface.link_aggregation {
        let _ = write!(text, "\n[bond]\nmode={}\n", bond.mode);
        for (key, value) in &bond.options {
            let _ = writeln!(text, "{key}={}", option_text(value).unwrap_or_default());
        }
    }
    if bond.is_none() {
        family(&mut text, state, interface, true);
        family(&mut text, state, interface, false);
    }
    text
}

/// The section of one family.
fn family(text: &mut String, state: &State, interface: &Interface, is_v4: bool) {
    let addresses = if is_v4 { &interface.ipv4 } else { &interface.ipv6 };
    let _ = write!(text, "\n[{}]\nmethod={}\n", if is_v4 { "ipv4" } else { "ipv6" }, method(addresses, is_v4));
    if !addresses.is_enabled() {
        return;
    }
    for (index, address) in addresses.fixed().enumerate() {
        let _ = writeln!(text, "address{}={address}", index + 1);
    }
    let by_this = |route: &&super::state::Route| {
        route.next_hop_interface == interface.name && route.next_hop_address.is_ipv4() == is_v4
    };
    for (index, route) in state.routes.config.iter().filter(by_this).enumerate() {
        let number = index + 1;
        let _ = write!(text, "route{number}={},{}", route.destination, route.next_hop_address);
        let _ = match route.metric {
            Some(metric) => writeln!(text, ",{metric}"),
            None => writeln!(text),
        };
        if let Some(table) = route.table.filter(|table| *table != 0 && *table != 254) {
            let _ = writeln!(text, "route{number}_options=table={table}");
        }
    }
    if state.names_by(is_v4) == Some(interface.name.as_str()) {
        let names = &state.resolver.config;
        let servers: Vec<String> =
            names.servers.iter().filter(|server| server.is_ipv4() == is_v4).map(ToString::to_string).collect();
        if !servers.is_empty() {
            let _ = writeln!(text, "dns={};", servers.join(";"));
        }
        if !names.search.is_empty() {
            let _ = writeln!(text, "dns-search={};", names.search.join(";"));
        }
    }
    for (key, is_wanted) in [
        ("ignore-auto-dns", addresses.auto_dns),
        ("ignore-auto-routes", addresses.auto_routes),
        ("never-default", addresses.auto_gateway),
    ] {
        if addresses.is_dynamic() && is_wanted == Some(false) {
            let _ = writeln!(text, "{key}=true");
        }
    }
}

fn method(addresses: &Addresses, is_v4: bool) -> &'static str {
    if !addresses.is_enabled() {
        "disabled"
    } else if addresses.autoconf || (is_v4 && addresses.dhcp) {
        "auto"
    } else if addresses.dhcp {
        "dhcp"
    } else if addresses.fixed().next().is_some() {
        "manual"
    } else if is_v4 {
        "disabled"
    } else {
        "link-local"
    }
}

/// The identity of a connection: the same for the same interface of the same document.
fn identity(owner: &str, name: &str) -> String {
    let digest = digest::digest(&digest::SHA256, format!("{owner}/{name}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    // A UUID of the form that everybody may define.
    let number = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0x3 << 62) | (0x8 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The file of a bond's port that is not described any further.
pub(super) fn port(state: &State, name: &str, addresses: &BTreeMap<String, String>, owner: &str) -> String {
    let bond = state.bond_of(name).map(|bond| identity(owner, &bond.name)).unwrap_or_default();
    let address = addresses.get(name).map(String::as_str).unwrap_or_default();
    format!(
        "[connection]\nid={name}\nuuid={}\ntype=ethernet\nautoconnect=true\nmaster={bond}\nslave-type=bond\n\n[ethernet]\nmac-address={address}\n",
        identity(owner, name)
    )
}
