//! Who serves a Service: the endpoints of each of its ports and address families, as seen from one node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use crate::model::{EndpointSlice, Key, Model, Protocol, Service, ServicePort};

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Four, Self::Six];

    /// Whether an address is of it.
    pub fn has(self, address: &IpAddr) -> bool {
        address.is_ipv4() == (self == Self::Four)
    }

    /// Whether a network is of it.
    pub fn has_network(self, network: &IpNet) -> bool {
        self.has(&network.addr())
    }
}

/// One port of a Service in one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balanced<'a> {
    /// The Service.
    pub key: &'a Key,
    /// The family.
    pub family: Family,
    /// Its address inside.
    pub cluster_ip: IpAddr,
    /// All of it.
    pub service: &'a Service,
    /// The port.
    pub port: &'a ServicePort,
    /// Who serves, on any node.
    pub everywhere: Vec<SocketAddr>,
    /// Who serves on this node.
    pub here: Vec<SocketAddr>,
}

/// All ports of all Services that have addresses, in a stable order.
pub fn balanced<'a>(model: &'a Model, node: &str) -> Vec<Balanced<'a>> {
    let slices = slices_by_service(model);
    let mut list = Vec::new();
    for (key, service) in &model.services {
        let slices = slices.get(&(key.0.as_str(), key.1.as_str())).map(Vec::as_slice).unwrap_or_default();
        for family in Family::ALL {
            let Some(&cluster_ip) = service.cluster_ips.iter().find(|address| family.has(address)) else { continue };
            for port in &service.ports {
                let everywhere = endpoints(slices, port, family, |_| true);
                let here = endpoints(slices, port, family, |place| place == Some(node));
                list.push(Balanced { key, family, cluster_ip, service, port, everywhere, here });
            }
        }
    }
    list
}

/// The slices of each Service, by namespace and name.
pub(crate) fn slices_by_service(model: &Model) -> BTreeMap<(&str, &str), Vec<&EndpointSlice>> {
    let mut slices: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for ((namespace, _), slice) in &model.slices {
        slices.entry((namespace.as_str(), slice.service.as_str())).or_default().push(slice);
    }
    slices
}

/// Those that are ready; where none is, those that end and still serve.
fn endpoints(
    slices: &[&EndpointSlice],
    port: &ServicePort,
    family: Family,
    is_wanted: impl Fn(Option<&str>) -> bool,
) -> Vec<SocketAddr> {
    let (mut ready, mut last_resort) = (BTreeSet::new(), BTreeSet::new());
    for slice in slices {
        let matching = |other: &&crate::model::EndpointPort| other.name == port.name && other.protocol == port.protocol;
        for number in slice.ports.iter().filter(matching).map(|port| port.port) {
            for endpoint in slice.endpoints.iter().filter(|endpoint| is_wanted(endpoint.node.as_deref())) {
                // Further addresses of an endpoint mean the same one.
                let address = endpoint.addresses.first().filter(|address| family.has(address));
                let address = address.map(|address| SocketAddr::new(*address, number));
                if endpoint.is_ready {
                    ready.extend(address);
                } else if endpoint.is_last_resort {
                    last_resort.extend(address);
                }
            }
        }
    }
    let chosen = if ready.is_empty() { last_resort } else { ready };
    chosen.into_iter().collect()
}

/// Endpoints that were served by UDP and no longer are: packets of old clients would follow them for ever, since
/// nothing ends a connection that has no end. As address of the Service and of the endpoint.
pub fn forgotten(before: &Model, after: &Model, node: &str) -> BTreeSet<(IpAddr, IpAddr)> {
    let pairs = |model: &Model| -> BTreeSet<(IpAddr, IpAddr)> {
        let list = balanced(model, node);
        let udp = list.iter().filter(|entry| entry.port.protocol == Protocol::Udp);
        udp.flat_map(|entry| {
            let addresses = std::iter::once(&entry.cluster_ip)
                .chain(&entry.service.external_ips)
                .chain(&entry.service.load_balancer_ips);
            addresses
                .flat_map(|address| entry.everywhere.iter().map(|endpoint| (*address, endpoint.ip())))
                .collect::<Vec<_>>()
        })
        .collect()
    };
    pairs(before).difference(&pairs(after)).copied().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{balanced, forgotten};
    use crate::model::tests::{service, slice};
    use crate::model::{Kind, Model};

    fn texts(addresses: &[std::net::SocketAddr]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_ready_serve_and_else_those_that_end() {
        let mut model = Model::default();
        model.put(
            Kind::Service,
            &service("web", json!({"clusterIPs": ["10.2.0.1"], "ports": [{"name": "http", "port": 80}]})),
        );
        let mut object = slice("web", &json!({"name": "http", "port": 8080}), &[("10.1.0.5", "a"), ("10.1.1.5", "b")]);
        model.put(Kind::EndpointSlice, &object);
        let list = balanced(&model, "a");
        assert_eq!(texts(&list[0].everywhere), ["10.1.0.5:8080", "10.1.1.5:8080"]);
        assert_eq!(texts(&list[0].here), ["10.1.0.5:8080"]);
        object["endpoints"][0]["conditions"] = json!({"ready": false, "serving": true, "terminating": true});
        model.put(Kind::EndpointSlice, &object);
        let list = balanced(&model, "a");
        assert_eq!(texts(&list[0].everywhere), ["10.1.1.5:8080"]);
        assert_eq!(texts(&list[0].here), ["10.1.0.5:8080"]);
        object["ports"][0]["name"] = json!("other");
        model.put(Kind::EndpointSlice, &object);
        assert!(balanced(&model, "a")[0].everywhere.is_empty());
    }

    #[test]
    fn endpoints_of_udp_are_told_when_they_go() {
        let mut before = Model::default();
        let spec = json!({"clusterIPs": ["10.2.0.1"], "ports": [{"port": 53, "protocol": "UDP"}]});
        before.put(Kind::Service, &service("dns", spec));
        let port = json!({"port": 53, "protocol": "UDP"});
        before.put(Kind::EndpointSlice, &slice("dns", &port, &[("10.1.0.5", "a"), ("10.1.0.6", "a")]));
        let mut after = before.clone();
        after.put(Kind::EndpointSlice, &slice("dns", &port, &[("10.1.0.6", "a")]));
        let pair = ("10.2.0.1".parse().unwrap(), "10.1.0.5".parse().unwrap());
        assert_eq!(forgotten(&before, &after, "a").into_iter().collect::<Vec<_>>(), [pair]);
        assert!(forgotten(&after, &before, "a").is_empty());
    }
}
