//! Everything but `create cluster` and `create nodepool`: looking, changing, removing.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::values::duration;

/// Which management plane, and which namespace on it.
#[derive(Args)]
pub(crate) struct Plane {
    /// The namespace of the HostedCluster.
    #[arg(short, long, default_value = "clusters")]
    pub(crate) namespace: String,
    /// The kubeconfig of the management plane [default: $KUBECONFIG, else a running `hcp up`, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Which kubeconfig.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp create kubeconfig --name demo > demo.kubeconfig\n  hcp create kubeconfig > all.kubeconfig && kubectl --kubeconfig all.kubeconfig --context clusters-demo get nodes"
)]
pub(crate) struct CreateKubeconfig {
    /// The cluster [default: all of them, merged, each with the context NAMESPACE-NAME].
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// Accepted for existing scripts: the kubeconfig names an address that can be reached, so nothing is forwarded.
    #[arg(long)]
    pub(crate) port_forward: bool,
}

/// Which cluster to remove.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp destroy cluster none --name demo\n  hcp destroy cluster agent --name demo --cluster-grace-period 2m"
)]
pub(crate) struct DestroyCluster {
    #[command(flatten)]
    pub(crate) flags: DestroyFlags,
    #[command(subcommand)]
    pub(crate) platform: DestroyPlatform,
}

/// Flags of every platform.
#[derive(Args)]
pub(crate) struct DestroyFlags {
    /// The cluster. Required.
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// The infrastructure's name, when the HostedCluster is gone already.
    #[arg(long, value_name = "ID")]
    pub(crate) infra_id: Option<String>,
    /// How long to wait until all is gone; the removal goes on after that.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub(crate) cluster_grace_period: Duration,
    /// Whether the cluster also removes what it made outside, such as volumes and load balancers [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", value_parser = super::values::boolean)]
    pub(crate) destroy_cloud_resources: Option<bool>,
    /// Take away the finalizers: what belongs to the cluster may stay behind.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The platform, which must be the cluster's.
#[derive(Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum DestroyPlatform {
    /// A cluster whose nodes are Agents.
    #[command(after_help = "Examples:\n  hcp destroy cluster agent --name demo")]
    Agent,
    /// A cluster whose nodes are machines of yours.
    #[command(after_help = "Examples:\n  hcp destroy cluster none --name demo")]
    None,
    /// A cluster whose nodes are virtual machines.
    #[command(after_help = "Examples:\n  hcp destroy cluster kubevirt --name demo")]
    Kubevirt,
}

/// Which NodePool to remove.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp destroy nodepool --name workers")]
pub(crate) struct DestroyNodePool {
    /// The NodePool. Required.
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// How long to wait until it is gone; 0 is without end.
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// What to list.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp get clusters\n  hcp get nodepools -A -o wide\n  hcp get clusters demo -o json\n  hcp get hosts -n hosts -o name"
)]
pub(crate) struct Get {
    /// The kind.
    #[arg(value_enum)]
    pub(crate) kind: Kind,
    /// Only this one.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// All namespaces.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// HostedClusters.
    #[value(alias = "cluster", alias = "hc", alias = "hostedclusters", alias = "hostedcluster")]
    Clusters,
    /// NodePools.
    #[value(name = "nodepools", alias = "nodepool", alias = "np")]
    NodePools,
    /// Agents: hosts that registered.
    #[value(alias = "host", alias = "agents", alias = "agent")]
    Hosts,
}

/// How data is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people.
    Table,
    /// More columns.
    Wide,
    /// The objects as JSON.
    Json,
    /// The objects as YAML.
    Yaml,
    /// Only kinds and names.
    Name,
}

/// What to look into.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp describe cluster demo")]
pub(crate) struct Describe {
    #[command(subcommand)]
    pub(crate) what: DescribeWhat,
}

#[derive(Subcommand)]
pub(crate) enum DescribeWhat {
    /// A cluster: its control plane, components and node pools as a tree.
    #[command(after_help = "Examples:\n  hcp describe cluster demo\n  hcp describe cluster demo -o json")]
    Cluster {
        /// The cluster.
        name: String,
        #[command(flatten)]
        plane: Plane,
        /// How to print it: table, json or yaml.
        #[arg(short, long, value_enum, default_value_t = Format::Table)]
        output: Format,
    },
}

/// What to upgrade.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp upgrade cluster demo --release-image kubernetes:v1.36.3")]
pub(crate) struct Upgrade {
    #[command(subcommand)]
    pub(crate) what: UpgradeWhat,
}

#[derive(Subcommand)]
pub(crate) enum UpgradeWhat {
    /// A cluster: its control plane, and its node pools when asked.
    #[command(
        after_help = "Examples:\n  hcp upgrade cluster demo --release-image kubernetes:v1.36.3\n  hcp upgrade cluster demo --release-image kubernetes:v1.36.3 --node-pools --wait"
    )]
    Cluster {
        /// The cluster.
        name: String,
        #[command(flatten)]
        plane: Plane,
        /// The release to move to.
        #[arg(long, value_name = "IMAGE")]
        release_image: String,
        /// Move the node pools, too.
        #[arg(long)]
        node_pools: bool,
        /// Only the control plane; nodes and what runs on them stay (spec.controlPlaneRelease).
        #[arg(long, conflicts_with = "node_pools")]
        control_plane_only: bool,
        /// Ask the server what it would do, and change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Return when the version is rolled out.
        #[arg(long)]
        wait: bool,
        /// How long --wait waits at most; 0 is without end.
        #[arg(long, default_value = "0s", value_parser = duration)]
        timeout: Duration,
    },
}

/// What to pause.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp pause cluster demo\n  hcp pause nodepool workers --until 2030-01-01T00:00:00Z"
)]
pub(crate) struct Pause {
    #[command(subcommand)]
    pub(crate) what: PauseWhat<Until>,
}

/// What to resume.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp resume cluster demo")]
pub(crate) struct Resume {
    #[command(subcommand)]
    pub(crate) what: PauseWhat<Nothing>,
}

/// What can be paused.
#[derive(Subcommand)]
pub(crate) enum PauseWhat<More: Args> {
    /// A cluster, without its node pools.
    #[command(after_help = "Examples:\n  hcp pause cluster demo\n  hcp resume cluster demo")]
    Cluster {
        /// The cluster.
        name: String,
        #[command(flatten)]
        plane: Plane,
        #[command(flatten)]
        more: More,
    },
    /// A node pool.
    #[command(name = "nodepool", after_help = "Examples:\n  hcp pause nodepool workers\n  hcp resume nodepool workers")]
    NodePool {
        /// The node pool.
        name: String,
        #[command(flatten)]
        plane: Plane,
        #[command(flatten)]
        more: More,
    },
}

/// How long a pause is.
#[derive(Args)]
pub(crate) struct Until {
    /// The end of the pause (RFC 3339) [default: until resumed].
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

/// No more flags.
#[derive(Args)]
pub(crate) struct Nothing {}

/// Which cluster to park or to wake.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp hibernate demo\n  hcp wake demo --wait")]
pub(crate) struct Sleep {
    /// The cluster.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// Return when it is done.
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long --wait waits at most; 0 is without end.
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// What to replace.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp rotate ca demo\n  hcp rotate ca demo --ca root-ca --wait")]
pub(crate) struct Rotate {
    #[command(subcommand)]
    pub(crate) what: RotateWhat,
}

#[derive(Subcommand)]
pub(crate) enum RotateWhat {
    /// Certificate authorities of a cluster: trust both, issue from the new one, drop the old one.
    #[command(after_help = "Examples:\n  hcp rotate ca demo\n  hcp rotate ca demo --ca root-ca --wait")]
    Ca {
        /// The cluster.
        name: String,
        #[command(flatten)]
        plane: Plane,
        /// Which authority; all of them when not given.
        #[arg(long, value_name = "CA", default_value = "all")]
        ca: String,
        /// Return when it is done.
        #[arg(long)]
        wait: bool,
        /// How long --wait waits at most; 0 is without end.
        #[arg(long, default_value = "0s", value_parser = duration)]
        timeout: Duration,
    },
}

/// Which version to print.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp version\n  hcp version --client-only -o json")]
pub(crate) struct Version {
    /// Only this program's.
    #[arg(long)]
    pub(crate) client_only: bool,
    /// Only the commit that this program was built from.
    #[arg(long)]
    pub(crate) commit_only: bool,
    /// The operator's namespace.
    #[arg(long, default_value = "hypershift")]
    pub(crate) namespace: String,
    /// The kubeconfig of the management plane [default: $KUBECONFIG, else a running `hcp up`, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// How to print it: table, json or yaml.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

/// For which shell.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp completion bash > /etc/bash_completion.d/hcp\n  hcp completion zsh > \"${fpath[1]}/_hcp\"\n  hcp completion fish > ~/.config/fish/completions/hcp.fish"
)]
pub(crate) struct Completion {
    /// The shell.
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl Completion {
    /// The shell.
    pub(crate) fn shell(&self) -> Shell {
        match self.shell.as_str() {
            "zsh" => Shell::Zsh,
            "fish" => Shell::Fish,
            _ => Shell::Bash,
        }
    }
}

/// Where manual pages go.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp man ~/.local/share/man/man1 && man hcp-create-cluster")]
pub(crate) struct Man {
    /// The directory; it is made if it is missing.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
