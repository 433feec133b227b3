//! `hcp create nodepool`: flags that all platforms share, and those of each.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::kubevirt::VirtualMachine;

/// Create a NodePool of an existing HostedCluster.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp create nodepool none --name workers --cluster-name demo --replicas 3\n  hcp create nodepool agent --name large --cluster-name demo --agentLabelSelector size=large --render"
)]
pub(crate) struct CreateNodePool {
    #[command(flatten)]
    pub(crate) flags: NodePoolFlags,
    #[command(subcommand)]
    pub(crate) platform: NodePoolPlatform,
}

/// Where the nodes come from.
#[derive(Subcommand)]
pub(crate) enum NodePoolPlatform {
    /// Nodes are hosts that registered as Agents.
    #[command(
        after_help = "Examples:\n  hcp create nodepool agent --name large --cluster-name demo --replicas 3 --agentLabelSelector size=large"
    )]
    Agent(NodePoolAgentFlags),
    /// Nodes are machines that you boot and join yourself.
    #[command(after_help = "Examples:\n  hcp create nodepool none --name workers --cluster-name demo --replicas 3")]
    None,
    /// Nodes are virtual machines on KubeVirt.
    #[command(
        after_help = "Examples:\n  hcp create nodepool kubevirt --name large --cluster-name demo --memory 16Gi --cores 8"
    )]
    Kubevirt(Box<VirtualMachine>),
}

/// Flags of every platform.
#[derive(Args)]
pub(crate) struct NodePoolFlags {
    /// The NodePool's name. Required (when called as hypershift: example).
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The namespace of the HostedCluster and of the NodePool.
    #[arg(long, default_value = "clusters")]
    pub(crate) namespace: String,
    /// The HostedCluster that the nodes belong to.
    #[arg(long, value_name = "NAME", default_value = "example")]
    pub(crate) cluster_name: String,
    /// How many nodes.
    #[arg(
        long,
        value_name = "COUNT",
        visible_alias = "node-count",
        default_value_t = 2,
        allow_negative_numbers = true
    )]
    pub(crate) replicas: i32,
    /// The release of the nodes [default: the cluster's].
    #[arg(long, value_name = "IMAGE")]
    pub(crate) release_image: Option<String>,
    /// How nodes get a new version: Replace or InPlace [default: the platform's; Replace when called as hypershift].
    #[arg(long, value_name = "TYPE")]
    pub(crate) node_upgrade_type: Option<String>,
    /// The processors of the nodes: amd64, arm64, ppc64le or s390x.
    #[arg(long, default_value = "amd64")]
    pub(crate) arch: String,
    /// Replace nodes that are not healthy.
    #[arg(long)]
    pub(crate) auto_repair: bool,
    /// Print the NodePool as YAML instead of creating it.
    #[arg(long)]
    pub(crate) render: bool,
    /// Ask the server what it would do, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The kubeconfig of the management plane [default: $KUBECONFIG, else a running `hcp up`, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Flags of hosts.
#[derive(Args)]
pub(crate) struct NodePoolAgentFlags {
    /// Which Agents the NodePool may take, such as 'size=large,zone notin (a,b)'.
    #[arg(long = "agentLabelSelector", alias = "agent-label-selector", value_name = "SELECTOR")]
    pub(crate) agent_label_selector: Option<String>,
}
