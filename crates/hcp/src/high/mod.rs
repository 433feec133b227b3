//! High arguments: what a command line means, checked as a whole, with defaults in place. No I/O, no clock.

mod cluster;
mod nodepool;
mod usage;
mod userdata;
mod values;
mod virtual_machine;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde_json::Value;

pub(crate) use cluster::resolve as resolve_cluster;
pub(crate) use nodepool::resolve as resolve_node_pool;
pub(crate) use usage::UsageError;
pub(crate) use userdata::{UserDataRequest, resolve as resolve_user_data};
pub(crate) use values::{paused_until, release_image};
pub(crate) use virtual_machine::{HostDevice, Machine};

/// What `hcp create cluster` is asked for.
#[derive(Debug)]
pub(crate) struct HighArguments {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) infra_id: Option<String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) files: Files,
    pub(crate) generate_ssh: bool,
    pub(crate) paused_until: Option<String>,
    pub(crate) release: Release,
    pub(crate) network: Network,
    pub(crate) control_plane: ControlPlane,
    pub(crate) platform: Platform,
    pub(crate) node_pool: Option<NodePool>,
    pub(crate) mode: Mode,
    pub(crate) version_check: bool,
}

/// What the files named on the command line contain.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) pull_secret: Vec<u8>,
    pub(crate) ssh_public_key: Option<Vec<u8>>,
    pub(crate) trust_bundle: Option<String>,
    pub(crate) image_content_sources: Option<Value>,
    pub(crate) infra_kubeconfig: Option<Vec<u8>>,
}

/// What runs.
#[derive(Debug)]
pub(crate) struct Release {
    /// None asks the operator.
    pub(crate) image: Option<String>,
    pub(crate) feature_set: Option<String>,
    pub(crate) disabled_capabilities: Vec<String>,
    pub(crate) enabled_capabilities: Vec<String>,
    pub(crate) catalog_placement: String,
    pub(crate) disable_default_catalogs: bool,
}

/// Names and addresses.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) base_domain: String,
    pub(crate) base_domain_prefix: Option<String>,
    pub(crate) api_dns_name: Option<String>,
    pub(crate) provider: String,
    pub(crate) service: Vec<IpNet>,
    pub(crate) cluster: Vec<IpNet>,
    pub(crate) machine: Vec<IpNet>,
    pub(crate) without_secondary: bool,
    pub(crate) allocate_node_networks: bool,
    pub(crate) mtu: Option<u32>,
    pub(crate) publishing: Publishing,
}

/// How the cluster's services are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Publishing {
    /// On a port of an address.
    NodePort(String),
    /// On a port of the address of the management plane, which must be asked for it.
    NodePortOfPlane,
    /// The API through a load balancer, the rest through routes.
    LoadBalancer,
    /// All through routes.
    Route,
}

/// How the control plane runs.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    pub(crate) availability: String,
    pub(crate) infra_availability: Option<String>,
    pub(crate) etcd_storage_class: Option<String>,
    pub(crate) etcd_storage_size: String,
    pub(crate) fips: bool,
    pub(crate) node_selector: BTreeMap<String, String>,
    pub(crate) pod_labels: BTreeMap<String, String>,
    pub(crate) tolerations: Vec<Value>,
}

/// Where the nodes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformType {
    Agent,
    None,
    KubeVirt,
}

impl PlatformType {
    /// As the API spells it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "Agent",
            Self::None => "None",
            Self::KubeVirt => "KubeVirt",
        }
    }

    /// As the command line spells it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::None => "none",
            Self::KubeVirt => "kubevirt",
        }
    }

    fn default_upgrade_type(self) -> &'static str {
        if self == Self::KubeVirt { "Replace" } else { "InPlace" }
    }
}

/// The platform of the cluster, with what only it has.
#[derive(Debug)]
pub(crate) enum Platform {
    Agent { agent_namespace: String },
    None,
    KubeVirt(KubeVirt),
}

impl Platform {
    pub(crate) fn kind(&self) -> PlatformType {
        match self {
            Self::Agent { .. } => PlatformType::Agent,
            Self::None => PlatformType::None,
            Self::KubeVirt(_) => PlatformType::KubeVirt,
        }
    }
}

/// Where virtual machines run.
#[derive(Debug, Default)]
pub(crate) struct KubeVirt {
    pub(crate) infra_namespace: Option<String>,
    pub(crate) storage_classes: Vec<ClassMapping>,
    pub(crate) snapshot_classes: Vec<ClassMapping>,
}

/// A class of the infrastructure and its name inside the cluster.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClassMapping {
    pub(crate) infra: String,
    pub(crate) guest: String,
    pub(crate) group: Option<String>,
}

/// A NodePool.
#[derive(Debug)]
pub(crate) struct NodePool {
    pub(crate) replicas: i32,
    pub(crate) arch: String,
    pub(crate) auto_repair: bool,
    pub(crate) upgrade_type: String,
    /// Only `create cluster` writes the timeouts, as upstream does.
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) platform: NodePlatform,
}

/// How long parting with a node may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) drain: Duration,
    pub(crate) volume_detach: Duration,
}

/// The platform of a NodePool, with what only it has.
#[derive(Debug)]
pub(crate) enum NodePlatform {
    Agent { selector: Option<Value> },
    None,
    KubeVirt(Box<Machine>),
}

impl NodePlatform {
    pub(crate) fn kind(&self) -> PlatformType {
        match self {
            Self::Agent { .. } => PlatformType::Agent,
            Self::None => PlatformType::None,
            Self::KubeVirt(_) => PlatformType::KubeVirt,
        }
    }
}

/// What `hcp create nodepool` is asked for.
#[derive(Debug)]
pub(crate) struct NodePoolRequest {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) cluster_name: String,
    /// None takes the cluster's.
    pub(crate) release_image: Option<String>,
    pub(crate) node_pool: NodePool,
    pub(crate) mode: Mode,
}

/// What to do with the objects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Print them.
    Render { into: Option<PathBuf>, sensitive: bool },
    /// Have the server check them.
    DryRun,
    /// Create them, and wait until they are usable if asked.
    Create { wait: Option<Patience> },
}

/// How long to wait; `None` is without end.
pub(crate) type Patience = Option<Duration>;

/// The patience that a flag asks for, where 0 means without end.
pub(crate) fn patience(timeout: Duration) -> Patience {
    (!timeout.is_zero()).then_some(timeout)
}
