//! `hcp create cluster`: flags that all platforms share, and those of each.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::kubevirt::{KubevirtInfra, VirtualMachine};
use super::values::duration;

const EXAMPLES: &str = "Examples:
  hcp create cluster none --name demo --base-domain example.test --pull-secret pull-secret.json --wait
  hcp create cluster agent --name demo --agent-namespace hosts --pull-secret pull-secret.json --node-pool-replicas 3
  hcp create cluster kubevirt --name demo --pull-secret pull-secret.json --memory 8Gi --cores 4 --render > demo.yaml";

/// Create a HostedCluster and its NodePool.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CreateCluster {
    #[command(flatten)]
    pub(crate) flags: ClusterFlags,
    #[command(subcommand)]
    pub(crate) platform: ClusterPlatform,
}

/// Where the nodes come from.
#[derive(Subcommand)]
pub(crate) enum ClusterPlatform {
    /// Nodes are hosts that registered as Agents.
    #[command(
        after_help = "Examples:\n  hcp create cluster agent --name demo --agent-namespace hosts --pull-secret pull-secret.json --base-domain example.test\n  hcp create cluster agent --name demo --agent-namespace hosts --pull-secret pull-secret.json --agentLabelSelector 'size=large,zone notin (a,b)' --render"
    )]
    Agent(AgentFlags),
    /// Nodes are machines that you boot and join yourself.
    #[command(
        after_help = "Examples:\n  hcp create cluster none --name demo --base-domain example.test --pull-secret pull-secret.json --wait\n  hcp create cluster none --name demo --pull-secret pull-secret.json --external-api-server-address api.demo.example.test"
    )]
    None(NoneFlags),
    /// Nodes are virtual machines on KubeVirt.
    #[command(
        after_help = "Examples:\n  hcp create cluster kubevirt --name demo --pull-secret pull-secret.json --node-pool-replicas 2 --memory 6Gi --cores 2"
    )]
    Kubevirt(Box<KubevirtFlags>),
}

/// Flags of every platform.
#[derive(Args)]
pub(crate) struct ClusterFlags {
    #[command(flatten)]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) output: CreateOutput,
    #[command(flatten)]
    pub(crate) release: Release,
    #[command(flatten)]
    pub(crate) network: Network,
    #[command(flatten)]
    pub(crate) control_plane: ControlPlane,
    #[command(flatten)]
    pub(crate) nodes: Nodes,
}

#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Naming {
    /// The cluster's name: at most 63 of a-z, 0-9 and '-'. Required.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The namespace of the HostedCluster.
    #[arg(long, default_value = "clusters")]
    pub(crate) namespace: String,
    /// The kubeconfig of the management plane [default: $KUBECONFIG, else a running `hcp up`, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The file with the pull secret, as JSON with registries under "auths". Required.
    #[arg(long, value_name = "FILE")]
    pub(crate) pull_secret: Option<PathBuf>,
    /// The infrastructure's name [default: the cluster's name with five random characters].
    #[arg(long, value_name = "ID")]
    pub(crate) infra_id: Option<String>,
    /// An annotation for the HostedCluster; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) annotations: Vec<String>,
    /// A label for the HostedCluster; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<String>,
    /// The public SSH key for the nodes.
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_key: Option<PathBuf>,
    /// Make a new SSH key; both halves go to the Secret NAME-ssh-key.
    #[arg(long)]
    pub(crate) generate_ssh: bool,
    /// A file with certificates of authorities that the cluster is to trust.
    #[arg(long, value_name = "FILE")]
    pub(crate) additional_trust_bundle: Option<PathBuf>,
    /// A YAML file with mirrors: a list of source and mirrors.
    #[arg(long, value_name = "FILE")]
    pub(crate) image_content_sources: Option<PathBuf>,
    /// Do nothing until that time (RFC 3339), or until told otherwise (true).
    #[arg(long = "pausedUntil", alias = "paused-until", value_name = "TIME")]
    pub(crate) paused_until: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "What to do")]
pub(crate) struct CreateOutput {
    /// Print the objects as YAML instead of creating them; Secrets are left out.
    #[arg(long)]
    pub(crate) render: bool,
    /// Write that YAML to a file instead; implies --render.
    #[arg(long, value_name = "FILE")]
    pub(crate) render_into: Option<PathBuf>,
    /// Print Secrets, too.
    #[arg(long)]
    pub(crate) render_sensitive: bool,
    /// Ask the server what it would do with each object, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Return when the cluster can be used: without nodes, when its API is available and its kubeconfig is there; with
    /// nodes, when the version is rolled out.
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long --wait waits at most; 0 is without end.
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Refuse when this program and the operator are of different versions.
    #[arg(long)]
    pub(crate) version_check: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Release")]
pub(crate) struct Release {
    /// The release to run [default: what the operator names].
    #[arg(long, value_name = "IMAGE")]
    pub(crate) release_image: Option<String>,
    /// Accepted for existing scripts; needs a public service, so --release-image is asked for instead.
    #[arg(long, value_name = "STREAM")]
    pub(crate) release_stream: Option<String>,
    /// The features of the cluster: Default, TechPreviewNoUpgrade, DevPreviewNoUpgrade, CustomNoUpgrade or OKD.
    #[arg(long, value_name = "SET")]
    pub(crate) feature_set: Option<String>,
    /// Optional components to leave out: ImageRegistry, openshift-samples, Insights, baremetal, Console, NodeTuning, Ingress.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) disable_cluster_capabilities: Vec<String>,
    /// Optional components to have.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) enable_cluster_capabilities: Vec<String>,
    /// Where the catalogs of operators run: management or guest.
    #[arg(long, value_name = "PLACE", default_value = "management")]
    pub(crate) olm_catalog_placement: String,
    /// Do without the default catalogs.
    #[arg(long)]
    pub(crate) olm_disable_default_sources: bool,
    /// Another image of the control plane operator.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) control_plane_operator_image: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct Network {
    /// The domain below which the cluster's names are.
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) base_domain: Option<String>,
    /// What stands before the base domain [default: the cluster's name]; "none" for nothing.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) base_domain_prefix: Option<String>,
    /// The domain for names of published services.
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) external_dns_domain: Option<String>,
    /// A second name for the API, with a kubeconfig of its own.
    #[arg(long, value_name = "NAME")]
    pub(crate) kas_dns_name: Option<String>,
    /// The network between pods: OVNKubernetes, OpenShiftSDN, Calico or Other.
    #[arg(long, value_name = "TYPE", default_value = "OVNKubernetes")]
    pub(crate) network_type: String,
    /// Addresses of Services; twice for two address families [default: 172.31.0.0/16].
    #[arg(long, value_name = "CIDR")]
    pub(crate) service_cidr: Vec<String>,
    /// Addresses of pods; twice for two address families [default: 10.132.0.0/14].
    #[arg(long, value_name = "CIDR")]
    pub(crate) cluster_cidr: Vec<String>,
    /// Addresses of nodes.
    #[arg(long, value_name = "CIDR")]
    pub(crate) machine_cidr: Vec<String>,
    /// Both address families with default addresses; only on Agent.
    #[arg(long)]
    pub(crate) default_dual: bool,
    /// Do without secondary networks; only with --network-type Other.
    #[arg(long)]
    pub(crate) disable_multi_network: bool,
    /// Give each node a range of pod addresses; only with --network-type Other.
    #[arg(long)]
    pub(crate) allocate_node_cidrs: bool,
    /// The largest packet of OVNKubernetes, 576 to 9216; 0 leaves it to the network.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) ovn_kubernetes_mtu: u32,
}

#[derive(Args)]
#[command(next_help_heading = "Control plane")]
pub(crate) struct ControlPlane {
    /// SingleReplica or HighlyAvailable [default: HighlyAvailable; SingleReplica when called as hypershift].
    #[arg(long, value_name = "POLICY")]
    pub(crate) control_plane_availability_policy: Option<String>,
    /// The same for infrastructure inside the cluster.
    #[arg(long, value_name = "POLICY")]
    pub(crate) infra_availability_policy: Option<String>,
    /// The storage class of etcd's volumes.
    #[arg(long, value_name = "CLASS")]
    pub(crate) etcd_storage_class: Option<String>,
    /// The size of etcd's volumes [default: 8Gi].
    #[arg(long, value_name = "SIZE")]
    pub(crate) etcd_storage_size: Option<String>,
    /// Only cryptography that FIPS 140 approves.
    #[arg(long)]
    pub(crate) fips: bool,
    /// Labels of the management nodes that run the control plane.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) node_selector: Vec<String>,
    /// Labels for the pods of the control plane.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) pods_labels: Vec<String>,
    /// A toleration of those pods: key=..,value=..,operator=..,effect=..,tolerationSeconds=..; may be given several times.
    #[arg(long, value_name = "TOLERATION")]
    pub(crate) toleration: Vec<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Nodes")]
pub(crate) struct Nodes {
    /// How many nodes the NodePool gets; -1 makes no NodePool.
    #[arg(long, value_name = "COUNT", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) node_pool_replicas: i32,
    /// How long draining a node may take; 0 is without end.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub(crate) node_drain_timeout: Duration,
    /// How long detaching a node's volumes may take; 0 is without end.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub(crate) node_volume_detach_timeout: Duration,
    /// How nodes get a new version: Replace or InPlace [default: Replace on KubeVirt, else InPlace].
    #[arg(long, value_name = "TYPE")]
    pub(crate) node_upgrade_type: Option<String>,
    /// Replace nodes that are not healthy.
    #[arg(long)]
    pub(crate) auto_repair: bool,
    /// The processors of the nodes: amd64, arm64, ppc64le or s390x.
    #[arg(long, default_value = "amd64")]
    pub(crate) arch: String,
}

/// Flags of hosts.
#[derive(Args)]
#[command(next_help_heading = "Agent")]
pub(crate) struct AgentFlags {
    /// The namespace of the Agents. Required.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) agent_namespace: Option<String>,
    /// The address where the API is published [default: the first management node's, else the management server's].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) api_server_address: Option<String>,
    /// Which Agents the NodePool may take, such as 'size=large,zone notin (a,b)'.
    #[arg(long = "agentLabelSelector", alias = "agent-label-selector", value_name = "SELECTOR")]
    pub(crate) agent_label_selector: Option<String>,
}

/// Flags of machines that are brought along.
#[derive(Args)]
#[command(next_help_heading = "None")]
pub(crate) struct NoneFlags {
    /// The address where the API is published [default: the first management node's, else the management server's].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) external_api_server_address: Option<String>,
    /// Publish the API through a load balancer.
    #[arg(long)]
    pub(crate) expose_through_load_balancer: bool,
}

/// Flags of virtual machines.
#[derive(Args)]
pub(crate) struct KubevirtFlags {
    #[command(flatten)]
    pub(crate) machine: VirtualMachine,
    #[command(flatten)]
    pub(crate) infra: KubevirtInfra,
}
