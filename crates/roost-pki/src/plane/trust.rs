//! Where the authorities that a control plane trusts are published, as a table.

use super::authorities::Authority;
use super::names::Part;

/// A ConfigMap with trusted authorities.
#[derive(Debug)]
pub struct BundleSpec {
    /// Its name.
    pub config_map: &'static str,
    /// Whose certificates it holds.
    pub authorities: &'static [Authority],
    /// What it belongs to.
    pub part: Part,
}

/// The key that every bundle has.
pub const BUNDLE_KEY: &str = "ca.crt";

/// What verifies servers.
pub const ROOT_BUNDLE: &str = "root-ca";
/// What the API server verifies clients with.
pub const CLIENT_BUNDLE: &str = "client-ca";
/// What extension servers verify the API server with.
pub const AGGREGATOR_BUNDLE: &str = "aggregator-client-ca";
/// What kubelets verify the API server with.
pub const KUBELET_BUNDLE: &str = "kubelet-client-ca";

/// All bundles, in the order in which they are written. The authorities of each are in the order of upstream.
pub static BUNDLES: [BundleSpec; 8] = [
    BundleSpec { config_map: ROOT_BUNDLE, authorities: &[Authority::Root], part: Part::ApiServer },
    BundleSpec {
        config_map: CLIENT_BUNDLE,
        authorities: &[
            Authority::ControlPlane,
            Authority::ToKubelet,
            Authority::SystemAdmin,
            Authority::HostedClusterConfig,
            Authority::BootstrapContainer,
            Authority::Requests,
        ],
        part: Part::ApiServer,
    },
    BundleSpec { config_map: AGGREGATOR_BUNDLE, authorities: &[Authority::Aggregator], part: Part::ApiServer },
    BundleSpec {
        config_map: KUBELET_BUNDLE,
        authorities: &[Authority::ToKubelet, Authority::Requests],
        part: Part::ApiServer,
    },
    BundleSpec { config_map: "etcd-ca", authorities: &[Authority::Etcd], part: Part::Etcd },
    BundleSpec { config_map: "etcd-metrics-ca", authorities: &[Authority::EtcdMetrics], part: Part::Etcd },
    BundleSpec {
        config_map: "konnectivity-ca-bundle",
        authorities: &[Authority::Konnectivity],
        part: Part::Konnectivity,
    },
    BundleSpec { config_map: "oauth-master-ca-bundle", authorities: &[Authority::Root], part: Part::Openshift },
];
