//! The certificates of a control plane that its own authorities sign, as a table.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::authorities::Authority as By;
use super::authorities::Authority;
use super::names::{Part, PlaneNames};
use crate::signer::Usage;
use crate::subject::{AlternativeName, Subject};

/// Which ends of a connection a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A server.
    Server,
    /// A client.
    Client,
    /// Both.
    Both,
}

impl Ends {
    pub(super) fn usages(self) -> &'static [Usage] {
        use Usage::{ClientAuth, DigitalSignature, KeyEncipherment, ServerAuth};
        match self {
            Self::Server => &[DigitalSignature, KeyEncipherment, ServerAuth],
            Self::Client => &[DigitalSignature, KeyEncipherment, ClientAuth],
            Self::Both => &[DigitalSignature, KeyEncipherment, ServerAuth, ClientAuth],
        }
    }
}

/// Where in a Secret a certificate, its key and what it is trusted by are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate.
    pub certificate: &'static str,
    /// Its key.
    pub key: &'static str,
    /// The authorities that its signer is known by.
    pub trust: Option<&'static str>,
}

impl Files {
    /// What most have.
    pub const TLS: Self = Self { certificate: "tls.crt", key: "tls.key", trust: Some("ca.crt") };
    const ETCD_CLIENT: Self = Self { certificate: "etcd-client.crt", key: "etcd-client.key", trust: None };
    const ETCD_SERVER: Self = Self { certificate: "server.crt", key: "server.key", trust: None };
    const ETCD_PEER: Self = Self { certificate: "peer.crt", key: "peer.key", trust: None };
}

/// The names that a certificate is for, besides its subject.
#[derive(Clone, Copy, Debug)]
enum Names {
    /// None.
    Nothing,
    /// Those of a Service of the control plane's namespace.
    Service(&'static str),
    /// Those of a Service of the control plane's namespace, and of its stand-in inside the hosted cluster.
    Extension(&'static str),
    /// What the plane says.
    Plane(fn(&PlaneNames) -> Vec<String>),
    /// What the plane says once something is published; until then there is no certificate.
    Published(fn(&PlaneNames) -> Option<Vec<String>>),
}

/// A row of the table of leaves.
#[derive(Debug)]
pub struct LeafSpec {
    /// The Secret that holds it.
    pub secret: &'static str,
    /// The common name of its subject.
    pub common_name: &'static str,
    /// The organizations of its subject: the groups of a client.
    pub organizations: &'static [&'static str],
    /// Who signs it.
    pub signer: Authority,
    /// What it is for.
    pub ends: Ends,
    /// Where in the Secret its parts are.
    pub files: Files,
    /// What it belongs to.
    pub part: Part,
    names: Names,
}

impl LeafSpec {
    const fn client(
        secret: &'static str,
        common_name: &'static str,
        organizations: &'static [&'static str],
        signer: Authority,
        part: Part,
    ) -> Self {
        let (files, names) = (Files::TLS, Names::Nothing);
        Self { secret, common_name, organizations, signer, ends: Ends::Client, files, part, names }
    }

    const fn server(
        secret: &'static str,
        common_name: &'static str,
        organizations: &'static [&'static str],
        signer: Authority,
        part: Part,
        names: Names,
    ) -> Self {
        Self { secret, common_name, organizations, signer, ends: Ends::Server, files: Files::TLS, part, names }
    }

    const fn openshift(secret: &'static str, common_name: &'static str, names: Names) -> Self {
        Self::server(secret, common_name, OPENSHIFT, By::Root, Part::Openshift, names).both()
    }

    const fn both(mut self) -> Self {
        self.ends = Ends::Both;
        self
    }

    const fn at(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// Its subject.
    pub fn subject(&self) -> Subject {
        Subject::new(self.common_name, self.organizations.iter().copied())
    }

    /// Its names, each once; none when the plane does not know them yet and the certificate has to wait.
    pub fn alternative_names(&self, plane: &PlaneNames) -> Option<Vec<AlternativeName>> {
        let texts = match self.names {
            Names::Nothing => Vec::new(),
            Names::Service(service) => service_names(service, &plane.namespace),
            Names::Extension(service) => {
                let mut names = service_names(service, &plane.namespace);
                names.push(format!("{service}.default.svc"));
                names.push(format!("{service}.default.svc.cluster.local"));
                names
            }
            Names::Plane(names) => names(plane),
            Names::Published(names) => names(plane)?,
        };
        let mut names: Vec<AlternativeName> = Vec::with_capacity(texts.len());
        for text in texts {
            let name = AlternativeName::host(&text);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names)
    }
}

fn service_names(service: &str, namespace: &str) -> Vec<String> {
    vec![service.to_owned(), format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")]
}

fn api_server(plane: &PlaneNames) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    for service in ["kubernetes", "openshift"] {
        names.push(service.to_owned());
        names.push(format!("{service}.default"));
        names.push(format!("{service}.default.svc"));
        names.push(format!("{service}.default.svc.cluster.local"));
    }
    names.push(format!("api.{}.hypershift.local", plane.name));
    names.extend(plane.api.iter().chain(&plane.custom_api).map(|endpoint| endpoint.host.clone()));
    names.extend(plane.further_api_names.iter().cloned());
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let addresses = loopback.iter().chain(&plane.service_addresses).chain(&plane.advertise_address);
    names.extend(addresses.map(ToString::to_string));
    names
}

fn etcd_members(plane: &PlaneNames) -> [String; 2] {
    let namespace = &plane.namespace;
    [format!("*.etcd-discovery.{namespace}.svc"), format!("*.etcd-discovery.{namespace}.svc.cluster.local")]
}

fn etcd_server(plane: &PlaneNames) -> Vec<String> {
    let mut names = service_names("etcd-client", &plane.namespace);
    names.extend(etcd_members(plane));
    names.push("localhost".to_owned());
    names
}

fn etcd_peer(plane: &PlaneNames) -> Vec<String> {
    let mut names = Vec::from(etcd_members(plane));
    names.extend(["127.0.0.1".to_owned(), "::1".to_owned()]);
    names
}

fn konnectivity_local(plane: &PlaneNames) -> Vec<String> {
    let mut names = service_names("konnectivity-server-local", &plane.namespace);
    names.extend(["localhost".to_owned(), "127.0.0.1".to_owned()]);
    names
}

fn konnectivity_cluster(plane: &PlaneNames) -> Vec<String> {
    let mut names = service_names("konnectivity-server", &plane.namespace);
    names.extend(plane.konnectivity_host.clone());
    names
}

fn oauth(plane: &PlaneNames) -> Option<Vec<String>> {
    let host = plane.oauth_host.clone()?;
    Some(vec![host, format!("oauth-openshift.{}.svc.cluster.local", plane.namespace)])
}

fn ingress(plane: &PlaneNames) -> Option<Vec<String>> {
    plane.ingress_domain.as_ref().map(|domain| vec![format!("*.{domain}")])
}

fn ignition_published(plane: &PlaneNames) -> Option<Vec<String>> {
    plane.ignition_host.clone().map(|host| vec![host])
}

/// What the API server shows to everyone.
pub const SERVER_LEAF: &str = "kas-server-crt";

const KUBERNETES: &[&str] = &["kubernetes"];
const OPENSHIFT: &[&str] = &["openshift"];

/// All leaves, in the order in which they are written.
pub static LEAVES: [LeafSpec; 43] = [
    LeafSpec::server(SERVER_LEAF, "kubernetes", KUBERNETES, By::Root, Part::ApiServer, Names::Plane(api_server)),
    LeafSpec::server(
        "kas-server-private-crt",
        "kubernetes-private",
        KUBERNETES,
        By::Root,
        Part::ApiServer,
        Names::Service("kube-apiserver"),
    ),
    LeafSpec::client("kas-kubelet-client-crt", "system:kube-apiserver", KUBERNETES, By::ToKubelet, Part::ApiServer),
    LeafSpec::client("kas-aggregator-crt", "system:openshift-aggregator", KUBERNETES, By::Aggregator, Part::ApiServer),
    LeafSpec::client(
        "kas-bootstrap-client",
        "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
        &["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"],
        By::Requests,
        Part::ApiServer,
    ),
    LeafSpec::client("kube-scheduler-client", "system:kube-scheduler", KUBERNETES, By::ControlPlane, Part::ApiServer),
    LeafSpec::client(
        "kube-controller-manager",
        "system:kube-controller-manager",
        KUBERNETES,
        By::ControlPlane,
        Part::ApiServer,
    ),
    LeafSpec::client("system-admin-client", "system:admin", &["system:masters"], By::SystemAdmin, Part::ApiServer),
    LeafSpec::client(
        "hcco-client",
        "system:hosted-cluster-config",
        &["kubernetes", "system:serviceaccounts:openshift"],
        By::HostedClusterConfig,
        Part::ApiServer,
    ),
    LeafSpec::client(
        "kas-bootstrap-container-client",
        "system:kas-bootstrap-container",
        KUBERNETES,
        By::BootstrapContainer,
        Part::ApiServer,
    ),
    LeafSpec::client(
        "metrics-client",
        "system:serviceaccount:hypershift:prometheus",
        &["system:serviceaccounts:hypershift", "system:serviceaccounts"],
        By::Requests,
        Part::ApiServer,
    ),
    LeafSpec::server(
        "kcm-server",
        "kube-controller-manager",
        OPENSHIFT,
        By::Root,
        Part::ApiServer,
        Names::Service("kube-controller-manager"),
    ),
    LeafSpec::server(
        "scheduler-server",
        "kube-scheduler",
        OPENSHIFT,
        By::Root,
        Part::ApiServer,
        Names::Service("kube-scheduler"),
    ),
    LeafSpec::client("etcd-client-tls", "etcd-client", KUBERNETES, By::Etcd, Part::Etcd).at(Files::ETCD_CLIENT),
    LeafSpec::client("etcd-metrics-client-tls", "etcd-metrics-client", KUBERNETES, By::EtcdMetrics, Part::Etcd)
        .at(Files::ETCD_CLIENT),
    LeafSpec::server("etcd-server-tls", "etcd-server", KUBERNETES, By::Etcd, Part::Etcd, Names::Plane(etcd_server))
        .both()
        .at(Files::ETCD_SERVER),
    LeafSpec::server("etcd-peer-tls", "etcd-discovery", KUBERNETES, By::Etcd, Part::Etcd, Names::Plane(etcd_peer))
        .both()
        .at(Files::ETCD_PEER),
    LeafSpec::server(
        "konnectivity-server",
        "konnectivity-server-local",
        KUBERNETES,
        By::Konnectivity,
        Part::Konnectivity,
        Names::Plane(konnectivity_local),
    ),
    LeafSpec::server(
        "konnectivity-cluster",
        "konnectivity-server",
        KUBERNETES,
        By::Konnectivity,
        Part::Konnectivity,
        Names::Plane(konnectivity_cluster),
    ),
    LeafSpec::client("konnectivity-client", "konnectivity-client", KUBERNETES, By::Konnectivity, Part::Konnectivity),
    LeafSpec::client("konnectivity-agent", "konnectivity-agent", KUBERNETES, By::Konnectivity, Part::Konnectivity),
    LeafSpec::server(
        "ignition-server",
        "ignition-server",
        OPENSHIFT,
        By::Root,
        Part::Ignition,
        Names::Service("ignition-server"),
    ),
    LeafSpec::server(
        "ignition-server-serving-cert",
        "ignition-server",
        OPENSHIFT,
        By::Ignition,
        Part::Ignition,
        Names::Published(ignition_published),
    ),
    LeafSpec::openshift("openshift-apiserver-cert", "openshift-apiserver", Names::Extension("openshift-apiserver")),
    LeafSpec::openshift(
        "openshift-oauth-apiserver-cert",
        "openshift-oauth-apiserver",
        Names::Extension("openshift-oauth-apiserver"),
    ),
    LeafSpec::openshift(
        "openshift-controller-manager-cert",
        "openshift-controller-manager",
        Names::Service("openshift-controller-manager"),
    ),
    LeafSpec::openshift(
        "openshift-route-controller-manager-cert",
        "openshift-controller-manager",
        Names::Service("openshift-controller-manager"),
    ),
    LeafSpec::openshift(
        "cluster-policy-controller-cert",
        "openshift-controller-manager",
        Names::Service("openshift-controller-manager"),
    ),
    LeafSpec::client(
        "openshift-authenticator-cert",
        "system:serviceaccount:openshift-oauth-apiserver:openshift-authenticator",
        OPENSHIFT,
        By::Requests,
        Part::Openshift,
    ),
    LeafSpec::openshift("oauth-server-crt", "openshift-oauth", Names::Published(oauth)),
    LeafSpec::openshift("ingress-crt", "openshift-ingress", Names::Published(ingress)),
    LeafSpec::openshift("mcs-crt", "machine-config-server", Names::Service("machine-config-server")),
    LeafSpec::openshift("node-tuning-operator-tls", "node-tuning-operator", Names::Service("node-tuning-operator")),
    LeafSpec::openshift("packageserver-cert", "packageserver", Names::Extension("packageserver")),
    LeafSpec::openshift(
        "catalog-operator-serving-cert",
        "catalog-operator-metrics",
        Names::Service("catalog-operator-metrics"),
    ),
    LeafSpec::openshift("olm-operator-serving-cert", "olm-operator-metrics", Names::Service("olm-operator-metrics")),
    LeafSpec::openshift("cvo-server", "cluster-version-operator", Names::Service("cluster-version-operator")),
    LeafSpec::openshift(
        "image-registry-operator-tls",
        "image-registry-operator",
        Names::Service("image-registry-operator"),
    ),
    LeafSpec::openshift(
        "cluster-storage-operator-serving-cert",
        "cluster-storage-operator-metrics",
        Names::Service("cluster-storage-operator-metrics"),
    ),
    LeafSpec::openshift(
        "csi-snapshot-controller-operator-serving-cert",
        "csi-snapshot-controller-operator-metrics",
        Names::Service("csi-snapshot-controller-operator-metrics"),
    ),
    LeafSpec::openshift(
        "multus-admission-controller-secret",
        "multus-admission-controller",
        Names::Service("multus-admission-controller"),
    ),
    LeafSpec::openshift(
        "network-node-identity-secret",
        "network-node-identity",
        Names::Service("network-node-identity"),
    ),
    LeafSpec::openshift(
        "ovn-control-plane-metrics-cert",
        "ovn-kubernetes-control-plane",
        Names::Service("ovn-kubernetes-control-plane"),
    ),
];

/// The row of a Secret.
pub fn leaf(secret: &str) -> Option<&'static LeafSpec> {
    LEAVES.iter().find(|spec| spec.secret == secret)
}
