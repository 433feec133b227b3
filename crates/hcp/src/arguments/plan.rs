//! `hcp plan`: what a change would do to nodes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::operate::{Format, Plane};

/// What to look at.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp plan nodepool workers\n  hcp plan nodepool workers -f kubelet-config.yaml\n  hcp plan cluster demo --set-release kubernetes:v1.36.3 -o json"
)]
pub(crate) struct Plan {
    #[command(subcommand)]
    pub(crate) what: PlanWhat,
}

#[derive(Subcommand)]
pub(crate) enum PlanWhat {
    /// The nodes of one node pool.
    #[command(
        name = "nodepool",
        after_help = "Examples:\n  hcp plan nodepool workers\n  hcp plan nodepool workers --set-release kubernetes:v1.36.3\n  hcp plan nodepool workers -f pool.yaml -f config.yaml -o yaml"
    )]
    NodePool(PlanFlags),
    /// The nodes of all node pools of a cluster.
    #[command(
        after_help = "Examples:\n  hcp plan cluster demo --set-release kubernetes:v1.36.3\n  hcp plan cluster demo -f cluster.yaml"
    )]
    Cluster(PlanFlags),
}

/// Which, and with which change.
#[derive(Args)]
pub(crate) struct PlanFlags {
    /// Its name.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// As if the node pools had this release.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) set_release: Option<String>,
    /// As if these objects were applied: NodePools, HostedClusters and ConfigMaps in a YAML or JSON file. May be given
    /// several times.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to print it: table, json or yaml.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}
