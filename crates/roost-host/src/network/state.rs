//! An NMState document as far as it can be put into an image: ethernet, VLAN and bond interfaces, addresses, routes and
//! name servers. What else it says is refused, because a host that comes up otherwise than written is not reached.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most interfaces, routes and addresses of one document.
pub(super) const MOST: usize = 256;

/// What a document wants.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct State {
    #[serde(default)]
    pub(super) interfaces: Vec<Interface>,
    #[serde(default)]
    pub(super) routes: Routes,
    #[serde(default, rename = "dns-resolver")]
    pub(super) resolver: Resolver,
}

/// What an interface is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InterfaceKind {
    #[default]
    Ethernet,
    Vlan,
    Bond,
}

/// Whether an interface is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InterfaceState {
    #[default]
    Up,
    Down,
    Absent,
    Ignore,
}

/// An interface.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Interface {
    pub(super) name: String,
    #[serde(default, rename = "type")]
    pub(super) kind: InterfaceKind,
    #[serde(default)]
    pub(super) state: InterfaceState,
    pub(super) mtu: Option<u16>,
    #[serde(default)]
    pub(super) ipv4: Addresses,
    #[serde(default)]
    pub(super) ipv6: Addresses,
    pub(super) vlan: Option<Vlan>,
    pub(super) link_aggregation: Option<Bond>,
    #[serde(rename = "description")]
    _description: Option<IgnoredAny>,
    #[serde(rename = "profile-name")]
    _profile_name: Option<IgnoredAny>,
    #[serde(rename = "lldp")]
    _lldp: Option<IgnoredAny>,
    /// The mapping of the NMStateConfig says it.
    #[serde(rename = "mac-address")]
    _mac_address: Option<IgnoredAny>,
}

/// The addresses of one family on an interface.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Addresses {
    pub(super) enabled: Option<bool>,
    #[serde(default)]
    pub(super) dhcp: bool,
    #[serde(default)]
    pub(super) autoconf: bool,
    #[serde(default, rename = "address")]
    list: Vec<Address>,
    pub(super) auto_dns: Option<bool>,
    pub(super) auto_gateway: Option<bool>,
    pub(super) auto_routes: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Address {
    ip: IpAddr,
    prefix_length: u8,
}

impl Addresses {
    pub(super) fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(self.dhcp || self.autoconf || !self.list.is_empty())
    }

    pub(super) fn is_dynamic(&self) -> bool {
        self.is_enabled() && (self.dhcp || self.autoconf)
    }

    /// The addresses that are written down.
    pub(super) fn fixed(&self) -> impl Iterator<Item = IpNet> {
        let addresses = if self.is_enabled() { self.list.as_slice() } else { &[] };
        addresses.iter().filter_map(|address| IpNet::new(address.ip, address.prefix_length).ok())
    }
}

/// An interface with a tag on another.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Vlan {
    pub(super) base_iface: String,
    pub(super) id: u16,
}

/// Interfaces that are one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Bond {
    pub(super) mode: String,
    #[serde(default, alias = "slaves", rename = "port")]
    pub(super) ports: Vec<String>,
    #[serde(default)]
    pub(super) options: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Routes {
    #[serde(default)]
    pub(super) config: Vec<Route>,
}

/// A route.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Route {
    #[serde(deserialize_with = "network")]
    pub(super) destination: IpNet,
    pub(super) next_hop_address: IpAddr,
    pub(super) next_hop_interface: String,
    pub(super) metric: Option<u32>,
    #[serde(rename = "table-id")]
    pub(super) table: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Resolver {
    #[serde(default)]
    pub(super) config: NameServers,
}

/// Who is asked for names.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct NameServers {
    #[serde(default, rename = "server")]
    pub(super) servers: Vec<IpAddr>,
    #[serde(default)]
    pub(super) search: Vec<String>,
}

impl State {
    /// Reads a document and checks that its parts fit together.
    pub(super) fn parse(document: &Value) -> Result<Self, String> {
        let state: Self = serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
        let addresses = |interface: &Interface| interface.ipv4.list.len() + interface.ipv6.list.len();
        let count: usize = state.interfaces.iter().map(|interface| 1 + addresses(interface)).sum();
        if count + state.routes.config.len() + state.resolver.config.servers.len() > MOST {
            return Err(format!("there are more than {MOST} interfaces, addresses and routes"));
        }
        for interface in &state.interfaces {
            state.check(interface)?;
        }
        for route in &state.routes.config {
            if state.find(&route.next_hop_interface).is_none() {
                return Err(format!(
                    "the route to {} goes by {}, which is no interface here",
                    route.destination, route.next_hop_interface
                ));
            }
            if route.destination.addr().is_ipv4() != route.next_hop_address.is_ipv4() {
                return Err(format!("the route to {} goes by an address of the other family", route.destination));
            }
        }
        let is_word = |text: &String| {
            !text.is_empty()
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_'))
        };
        match state.resolver.config.search.iter().find(|domain| !is_word(domain)) {
            Some(domain) => Err(format!("{domain:?} is no domain to search in")),
            None => Ok(state),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    /// The interfaces that are used.
    pub(super) fn used(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.iter().filter(|interface| interface.state == InterfaceState::Up)
    }

    /// The bond that an interface is a port of.
    pub(super) fn bond_of(&self, name: &str) -> Option<&Interface> {
        self.used().find(|interface| {
            interface.link_aggregation.as_ref().is_some_and(|bond| bond.ports.iter().any(|port| port == name))
        })
    }

    /// Where default routes by an interface go.
    pub(super) fn gateways(&self, name: &str) -> impl Iterator<Item = IpAddr> {
        let routes = self.routes.config.iter().filter(move |route| route.next_hop_interface == name);
        let main = |table: u32| matches!(table, 0 | 254);
        routes
            .filter(move |route| route.destination.prefix_len() == 0 && route.table.is_none_or(main))
            .map(|route| route.next_hop_address)
    }

    /// The interface that names are asked by in a family: the one with the default route, or else the first that has
    /// an address of its own.
    pub(super) fn names_by(&self, is_v4: bool) -> Option<&str> {
        let family = |interface: &&Interface| {
            let addresses = if is_v4 { &interface.ipv4 } else { &interface.ipv6 };
            addresses.is_enabled()
        };
        let leads_out =
            |interface: &&Interface| self.gateways(&interface.name).any(|gateway| gateway.is_ipv4() == is_v4);
        let candidates = || self.used().filter(family);
        candidates().find(leads_out).or_else(|| candidates().next()).map(|interface| interface.name.as_str())
    }

    fn check(&self, interface: &Interface) -> Result<(), String> {
        let name = &interface.name;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '@' | ':');
        // The kernel's limit, which NetworkManager shares.
        if name.is_empty() || name.len() > 15 || !name.chars().all(is_name) || name.starts_with('.') {
            return Err(format!(
                "{name:?} cannot be the name of an interface: at most 15 letters, digits, - _ . @ and :"
            ));
        }
        if self.interfaces.iter().filter(|other| other.name == *name).count() > 1 {
            return Err(format!("there is more than one interface {name}"));
        }
        let addresses = interface.ipv4.list.iter().map(|address| (address, true));
        for (address, is_v4) in addresses.chain(interface.ipv6.list.iter().map(|address| (address, false))) {
            if address.ip.is_ipv4() != is_v4 || IpNet::new(address.ip, address.prefix_length).is_err() {
                let family = if is_v4 { "ipv4" } else { "ipv6" };
                return Err(format!("{name}: {}/{} is no address of {family}", address.ip, address.prefix_length));
            }
        }
        match (interface.kind, &interface.vlan, &interface.link_aggregation) {
            (InterfaceKind::Vlan, None, _) => {
                Err(format!("{name} is a VLAN and does not say of what (vlan.base-iface and vlan.id)"))
            }
            (InterfaceKind::Vlan, Some(vlan), _) if !(1..=4094).contains(&vlan.id) => {
                Err(format!("{name}: {} is no VLAN; they go from 1 to 4094", vlan.id))
            }
            (InterfaceKind::Vlan, Some(vlan), _)
                if self.find(&vlan.base_iface).is_none_or(|base| base.kind == InterfaceKind::Vlan) =>
            {
                Err(format!("{name}: vlan.base-iface {} is no ethernet or bond interface here", vlan.base_iface))
            }
            (InterfaceKind::Bond, _, None) => {
                Err(format!("{name} is a bond and does not say of what (link-aggregation)"))
            }
            (InterfaceKind::Bond, _, Some(bond)) => self.check_bond(name, bond),
            _ => Ok(()),
        }
    }

    fn check_bond(&self, name: &str, bond: &Bond) -> Result<(), String> {
        const MODES: [&str; 7] =
            ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];
        if !MODES.contains(&bond.mode.as_str()) {
            return Err(format!("{name}: {:?} is no mode of a bond; there are {}", bond.mode, MODES.join(", ")));
        }
        if bond.ports.is_empty() {
            return Err(format!("{name}: a bond needs ports (link-aggregation.port)"));
        }
        for port in &bond.ports {
            if self.find(port).is_some_and(|interface| interface.kind != InterfaceKind::Ethernet) {
                return Err(format!("{name}: the port {port} is no ethernet interface"));
            }
        }
        let is_plain =
            |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.,:".contains(letter));
        match bond
            .options
            .iter()
            .find(|(key, value)| !is_plain(key) || !option_text(value).is_some_and(|text| is_plain(&text)))
        {
            Some((key, value)) => Err(format!("{name}: the option {key} cannot be {value}")),
            None => Ok(()),
        }
    }
}

fn network<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpNet, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom(format!("{text:?} is no network; they look like 192.0.2.0/24")))
}

/// An option of a bond as text.
pub(super) fn option_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        _ => None,
    }
}
