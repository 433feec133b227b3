//! The authorities of a control plane, as a table.

use std::fmt;

use super::names::Part;
use crate::subject::Subject;

/// One authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// Signs what servers show.
    Root,
    /// Signs for etcd, its peers and its clients.
    Etcd,
    /// Signs for those who read etcd's metrics.
    EtcdMetrics,
    /// Signs for the API server when it calls extension servers.
    Aggregator,
    /// Signs for the scheduler and the controller manager.
    ControlPlane,
    /// Signs for the API server when it calls kubelets.
    ToKubelet,
    /// Signs for the administrator.
    SystemAdmin,
    /// Signs for the operator that configures the hosted cluster.
    HostedClusterConfig,
    /// Signs for what prepares the API server.
    BootstrapContainer,
    /// Signs requests: for kubelets, service accounts and whoever else is approved.
    Requests,
    /// Signs for both ends of the tunnel to the nodes.
    Konnectivity,
    /// Signs what the ignition server shows.
    Ignition,
}

/// A row of the table of authorities.
#[derive(Debug)]
pub struct AuthoritySpec {
    /// Which one.
    pub authority: Authority,
    /// The Secret that holds it.
    pub secret: &'static str,
    /// The common name of its subject.
    pub common_name: &'static str,
    /// The organizational unit of its subject.
    pub unit: &'static str,
    /// What it belongs to.
    pub part: Part,
    /// Whether it signs for others than the plane itself, whose certificates cannot be renewed from here.
    pub signs_for_others: bool,
    /// Whether readers take it from `tls.crt` and `tls.key` only; then `tls.crt` holds all that is trusted.
    pub is_tls_secret: bool,
}

impl AuthoritySpec {
    const fn new(authority: Authority, secret: &'static str, common_name: &'static str, part: Part) -> Self {
        let unit = if matches!(part, Part::Konnectivity) { "kubernetes" } else { "openshift" };
        let signs_for_others = matches!(authority, Authority::Requests);
        let is_tls_secret = matches!(authority, Authority::Ignition);
        Self { authority, secret, common_name, unit, part, signs_for_others, is_tls_secret }
    }

    /// Its subject.
    pub fn subject(&self) -> Subject {
        Subject::new(self.common_name, [""; 0]).with_units([self.unit])
    }
}

/// All authorities, in the order in which they are written.
pub static AUTHORITIES: [AuthoritySpec; 12] = [
    AuthoritySpec::new(Authority::Root, "root-ca", "root-ca", Part::ApiServer),
    AuthoritySpec::new(Authority::Etcd, "etcd-signer", "etcd-signer", Part::Etcd),
    AuthoritySpec::new(Authority::EtcdMetrics, "etcd-metrics-signer", "etcd-metrics-signer", Part::Etcd),
    AuthoritySpec::new(Authority::Aggregator, "kas-aggregator-client-signer", "aggregator-signer", Part::ApiServer),
    AuthoritySpec::new(
        Authority::ControlPlane,
        "kube-control-plane-signer",
        "kube-control-plane-signer",
        Part::ApiServer,
    ),
    AuthoritySpec::new(
        Authority::ToKubelet,
        "kube-apiserver-to-kubelet-signer",
        "kube-apiserver-to-kubelet-signer",
        Part::ApiServer,
    ),
    AuthoritySpec::new(Authority::SystemAdmin, "system-admin-signer", "admin-kubeconfig-signer", Part::ApiServer),
    AuthoritySpec::new(Authority::HostedClusterConfig, "hcco-signer", "hcco-signer", Part::ApiServer),
    AuthoritySpec::new(
        Authority::BootstrapContainer,
        "kas-bootstrap-container-signer",
        "kas-bootstrap-container-signer",
        Part::ApiServer,
    ),
    AuthoritySpec::new(Authority::Requests, "cluster-signer-ca", "kube-csr-signer", Part::ApiServer),
    AuthoritySpec::new(Authority::Konnectivity, "konnectivity-signer", "konnectivity-signer", Part::Konnectivity),
    AuthoritySpec::new(Authority::Ignition, "ignition-server-ca-cert", "ignition-root-ca", Part::Ignition),
];

impl Authority {
    /// Its row in the table.
    pub fn spec(self) -> &'static AuthoritySpec {
        &AUTHORITIES[self as usize]
    }

    /// The authority that a Secret holds; this is how people name one.
    pub fn from_secret(name: &str) -> Option<Self> {
        AUTHORITIES.iter().find(|spec| spec.secret == name).map(|spec| spec.authority)
    }
}

/// The name of its Secret.
impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_names() {
        for (place, spec) in AUTHORITIES.iter().enumerate() {
            assert_eq!(spec.authority as usize, place);
            assert_eq!(Authority::from_secret(spec.secret), Some(spec.authority));
        }
        assert_eq!(Authority::SystemAdmin.spec().common_name, "admin-kubeconfig-signer");
        assert_eq!(Authority::from_secret("kas-server-crt"), None);
    }
}
