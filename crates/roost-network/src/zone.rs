//! The names of a cluster: Services, their ports and endpoints, pods by address, and addresses by name. What is found and
//! what is not is as `CoreDNS` has it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Settings;
use crate::balance::slices_by_service;
use crate::model::{EndpointSlice, Model, Protocol, Service};

/// The version of the specification that these names follow.
const VERSION: &str = "1.1.0";

/// A host and port that serve.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// The host's name.
    pub target: String,
    /// The port.
    pub port: u16,
    /// The host's addresses.
    pub addresses: Vec<IpAddr>,
}

/// What a name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is somebody else's.
    Elsewhere,
    /// It is ours, and nobody has it.
    Nothing,
    /// It is there and leads nowhere: a namespace, or the zone itself.
    Branch,
    /// The zone itself.
    Apex,
    /// Addresses and ports.
    Host {
        /// The addresses.
        addresses: Vec<IpAddr>,
        /// What serves there.
        served: Vec<Served>,
    },
    /// Another name.
    Alias(String),
    /// The names of an address.
    Names(Vec<String>),
    /// Some text.
    Text(&'static str),
}

#[derive(Clone, Debug)]
struct Place {
    hostname: String,
    addresses: Vec<IpAddr>,
    ports: Vec<(String, Protocol, u16)>,
}

#[derive(Clone, Debug)]
struct Entry {
    service: Service,
    places: Vec<Place>,
}

/// All names of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Zone {
    domain: String,
    dns: Vec<IpAddr>,
    /// By namespace and then name.
    services: BTreeMap<String, BTreeMap<String, Entry>>,
    addresses: BTreeMap<IpAddr, BTreeSet<String>>,
    serial: u32,
}

impl Zone {
    /// The names of what a model has. `serial` is larger for later ones.
    pub fn new(model: &Model, settings: &Settings, serial: u32) -> Self {
        let slices = slices_by_service(model);
        let domain = settings.domain.trim_matches('.').to_ascii_lowercase();
        let mut zone = Self { domain, dns: settings.dns.clone(), serial, ..Self::default() };
        for ((namespace, name), service) in &model.services {
            let of_service = slices.get(&(namespace.as_str(), name.as_str())).map(Vec::as_slice).unwrap_or_default();
            let places = places(of_service);
            let full = format!("{name}.{namespace}.svc.{}", zone.domain);
            for address in &service.cluster_ips {
                zone.addresses.entry(*address).or_default().insert(full.clone());
            }
            for place in &places {
                for address in &place.addresses {
                    zone.addresses.entry(*address).or_default().insert(format!("{}.{full}", place.hostname));
                }
            }
            let entry = Entry { service: service.clone(), places };
            zone.services.entry(namespace.clone()).or_default().insert(name.clone(), entry);
        }
        zone
    }

    /// What the names of Services end with.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The version of these names.
    pub fn serial(&self) -> u32 {
        self.serial
    }

    /// What a name in lower case is.
    pub fn find(&self, name: &str) -> Found {
        if let Some(address) = reversed(name) {
            let names = self.addresses.get(&address);
            return names.map_or(Found::Elsewhere, |names| Found::Names(names.iter().cloned().collect()));
        }
        if name == self.domain {
            return Found::Apex;
        }
        let Some(rest) = name.strip_suffix(&self.domain).and_then(|rest| rest.strip_suffix('.')) else {
            return Found::Elsewhere;
        };
        let labels: Vec<&str> = rest.rsplit('.').collect();
        match labels.as_slice() {
            ["dns-version"] => Found::Text(VERSION),
            ["svc" | "pod" | "dns"] => Found::Branch,
            ["dns", "ns"] => Found::Host { addresses: self.dns.clone(), served: Vec::new() },
            ["pod" | "svc", namespace] => {
                if self.services.contains_key(*namespace) {
                    Found::Branch
                } else {
                    Found::Nothing
                }
            }
            ["pod", _, dashed] => undashed(dashed)
                .map_or(Found::Nothing, |address| Found::Host { addresses: vec![address], served: Vec::new() }),
            ["svc", namespace, service, further @ ..] => {
                let entry = self.services.get(*namespace).and_then(|services| services.get(*service));
                let full = format!("{service}.{namespace}.svc.{}", self.domain);
                entry.map_or(Found::Nothing, |entry| entry.find(further, &full))
            }
            _ => Found::Nothing,
        }
    }
}

impl Entry {
    /// What is asked of a Service: itself, one of its endpoints, or one of its ports.
    fn find(&self, further: &[&str], full: &str) -> Found {
        if let Some(name) = &self.service.external_name {
            return if further.is_empty() {
                Found::Alias(name.trim_end_matches('.').to_owned())
            } else {
                Found::Nothing
            };
        }
        let (host, port) = match further {
            [] => (None, None),
            [host] => (Some(*host), None),
            [protocol, port] => match (protocol.strip_prefix('_'), port.strip_prefix('_')) {
                (Some(protocol), Some(port)) => (None, Some((port, protocol))),
                _ => return Found::Nothing,
            },
            _ => return Found::Nothing,
        };
        let is_wanted =
            |name: &str, protocol: Protocol| port.is_none_or(|(wanted, by)| wanted == name && by == protocol.name());
        let served = if self.service.cluster_ips.is_empty() || host.is_some() {
            self.of_places(host, full, &is_wanted)
        } else {
            let addresses = self.service.cluster_ips.clone();
            let ports = self.service.ports.iter().filter(|port| is_wanted(&port.name, port.protocol));
            ports
                .map(|port| Served { target: full.to_owned(), port: port.port, addresses: addresses.clone() })
                .collect()
        };
        if served.is_empty() {
            return Found::Nothing;
        }
        let addresses: BTreeSet<IpAddr> = served.iter().flat_map(|served| served.addresses.iter().copied()).collect();
        let served = served.into_iter().filter(|served| served.port > 0).collect();
        Found::Host { addresses: addresses.into_iter().collect(), served }
    }

    /// Endpoints of a Service without an address of its own, and those that are asked for by name. One without ports is
    /// there, and serves nothing.
    fn of_places(&self, host: Option<&str>, full: &str, is_wanted: &dyn Fn(&str, Protocol) -> bool) -> Vec<Served> {
        let mut served = Vec::new();
        for place in self.places.iter().filter(|place| host.is_none_or(|host| host == place.hostname)) {
            let target = format!("{}.{full}", place.hostname);
            let addresses = place.addresses.clone();
            if place.ports.is_empty() && is_wanted("", Protocol::Tcp) {
                served.push(Served { target: target.clone(), port: 0, addresses: addresses.clone() });
            }
            for (name, protocol, port) in &place.ports {
                if is_wanted(name, *protocol) {
                    served.push(Served { target: target.clone(), port: *port, addresses: addresses.clone() });
                }
            }
        }
        served
    }
}

/// The endpoints that names lead to: those that are ready.
fn places(slices: &[&EndpointSlice]) -> Vec<Place> {
    let mut places = Vec::new();
    for slice in slices {
        let ports: Vec<_> = slice.ports.iter().map(|port| (port.name.clone(), port.protocol, port.port)).collect();
        for endpoint in slice.endpoints.iter().filter(|endpoint| endpoint.is_ready) {
            for address in &endpoint.addresses {
                let hostname = endpoint.hostname.clone().unwrap_or_else(|| dashed(address));
                places.push(Place { hostname, addresses: vec![*address], ports: ports.clone() });
            }
        }
    }
    places
}

fn dashed(address: &IpAddr) -> String {
    address.to_string().replace(['.', ':'], "-")
}

/// The address in the name of a pod.
fn undashed(text: &str) -> Option<IpAddr> {
    let four = text.replace('-', ".").parse::<Ipv4Addr>().map(IpAddr::V4);
    four.or_else(|_| text.replace('-', ":").parse::<Ipv6Addr>().map(IpAddr::V6)).ok()
}

/// The address whose name is asked for.
fn reversed(name: &str) -> Option<IpAddr> {
    if let Some(rest) = name.strip_suffix(".in-addr.arpa") {
        let text = rest.rsplit('.').collect::<Vec<_>>().join(".");
        return text.parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    }
    let digits: String = name.strip_suffix(".ip6.arpa")?.rsplit('.').collect();
    if digits.len() != 32 || name.len() != 72 {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok().map(|bits| IpAddr::V6(bits.into()))
}

#[cfg(test)]
#[path = "zone_tests.rs"]
mod tests;
