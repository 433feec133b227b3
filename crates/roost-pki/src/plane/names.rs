//! What one hosted control plane is called, and by what addresses it is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::lifetimes::{Lifetimes, Pace};

/// Where something is reached from outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// A host name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// An endpoint of a host and a port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

/// The URL, with brackets around an IPv6 address.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.parse::<Ipv6Addr>().is_ok() {
            write!(f, "https://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "https://{}:{}", self.host, self.port)
        }
    }
}

/// Which parts of a control plane there are. The API server's own keys are always made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// etcd as separate servers.
    pub etcd: bool,
    /// The tunnel to the nodes.
    pub konnectivity: bool,
    /// The ignition server for nodes that join.
    pub ignition: bool,
    /// The servers and operators of OpenShift.
    pub openshift: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Self = Self { etcd: true, konnectivity: true, ignition: true, openshift: true };
    /// The API server, its clients and nothing else.
    pub const API_SERVER: Self = Self { etcd: false, konnectivity: false, ignition: false, openshift: false };

    pub(super) fn contain(self, part: Part) -> bool {
        match part {
            Part::ApiServer => true,
            Part::Etcd => self.etcd,
            Part::Konnectivity => self.konnectivity,
            Part::Ignition => self.ignition,
            Part::Openshift => self.openshift,
        }
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self::ALL
    }
}

/// The part that a row of a table belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The API server, its clients and the signer of requests.
    ApiServer,
    /// etcd as separate servers.
    Etcd,
    /// The tunnel to the nodes.
    Konnectivity,
    /// The ignition server.
    Ignition,
    /// The servers and operators of OpenShift.
    Openshift,
}

/// All that the keys of one control plane depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlaneNames {
    /// The control plane's namespace.
    pub namespace: String,
    /// The name of the hosted control plane, which is that of its cluster.
    pub name: String,
    /// The infrastructure's name; the kubeconfig for machines is called after it.
    pub infra_id: String,
    /// Where the API server is published; none until that is known, and kubeconfigs for outside wait for it.
    pub api: Option<Endpoint>,
    /// A second published name of the API server that the user chose, with a kubeconfig of its own.
    pub custom_api: Option<Endpoint>,
    /// Further names and addresses that the API server is reached by.
    pub further_api_names: Vec<String>,
    /// The address that the API server advertises to nodes.
    pub advertise_address: Option<IpAddr>,
    /// The first address of every service network: what pods reach the API server by.
    pub service_addresses: Vec<IpAddr>,
    /// Where the tunnel is published, a host name or an address.
    pub konnectivity_host: Option<String>,
    /// Where the OAuth server is published.
    pub oauth_host: Option<String>,
    /// Where the ignition server is published.
    pub ignition_host: Option<String>,
    /// The domain of the cluster's own routes, `apps.<name>.<base domain>`.
    pub ingress_domain: Option<String>,
    /// Which parts there are.
    pub parts: Parts,
    /// Whether there is a `kubeadmin` user, who needs a password.
    pub kubeadmin: bool,
    /// Trusted authorities of others in PEM, by the ConfigMap that they go into.
    pub further_trust: BTreeMap<String, String>,
    /// How long certificates live.
    pub lifetimes: Lifetimes,
    /// How fast authorities are replaced.
    pub pace: Pace,
}

impl PlaneNames {
    /// A plane with all parts, nothing published and the usual lifetimes.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, infra_id: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            infra_id: infra_id.into(),
            api: None,
            custom_api: None,
            further_api_names: Vec::new(),
            advertise_address: None,
            service_addresses: Vec::new(),
            konnectivity_host: None,
            oauth_host: None,
            ignition_host: None,
            ingress_domain: None,
            parts: Parts::ALL,
            kubeadmin: true,
            further_trust: BTreeMap::new(),
            lifetimes: Lifetimes::default(),
            pace: Pace::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_read_as_urls() {
        for (host, url) in [
            ("api.demo.example.test", "https://api.demo.example.test:6443"),
            ("192.0.2.1", "https://192.0.2.1:6443"),
            ("2001:db8::1", "https://[2001:db8::1]:6443"),
        ] {
            assert_eq!(Endpoint::new(host, 6443).to_string(), url);
        }
    }
}
