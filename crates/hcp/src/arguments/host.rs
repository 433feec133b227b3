//! `hcp create infraenv` and `hcp approve host`: hosts that are discovered.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::operate::Plane;

/// Create an InfraEnv: what hosts boot to be discovered.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp create infraenv --name pool-a -n hardware --pull-secret pull-secret.json --ssh-key ~/.ssh/id_ed25519.pub\n  hcp create infraenv --name edge -n hardware --pull-secret pull-secret.json --agent-label site=edge --render"
)]
pub(crate) struct CreateInfraEnv {
    /// The InfraEnv's name.
    #[arg(long)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// The pull secret, as a registry login writes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) pull_secret: PathBuf,
    /// The public key of whoever may log in to a host that runs the image.
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_key: Option<PathBuf>,
    /// The processors of the hosts: x86_64, aarch64, ppc64le or s390x.
    #[arg(long, default_value = "x86_64", value_parser = ["x86_64", "aarch64", "arm64", "ppc64le", "s390x"])]
    pub(crate) arch: String,
    /// A label that every host of this InfraEnv gets, as KEY=VALUE. May be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) agent_label: Vec<String>,
    /// A time server beside those that hosts find by themselves. May be given several times.
    #[arg(long, value_name = "SERVER")]
    pub(crate) ntp_source: Vec<String>,
    /// An argument for the kernel of the image. May be given several times.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(crate) kernel_argument: Vec<String>,
    /// Approve every host that boots the image.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Print the objects as YAML instead of creating them, without the pull secret.
    #[arg(long)]
    pub(crate) render: bool,
}

/// What to approve.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp approve host 234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f -n hardware\n  hcp approve host --all -n hardware"
)]
pub(crate) struct Approve {
    #[command(subcommand)]
    pub(crate) what: ApproveWhat,
}

#[derive(Subcommand)]
pub(crate) enum ApproveWhat {
    /// Let node pools use discovered hosts.
    #[command(
        after_help = "Examples:\n  hcp approve host 234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f -n hardware --hostname node-07\n  hcp approve host --all -n hardware"
    )]
    Host(ApproveHost),
}

#[derive(Args)]
pub(crate) struct ApproveHost {
    /// The hosts, as `hcp get hosts` names them.
    #[arg(required_unless_present = "all", value_name = "HOST")]
    pub(crate) names: Vec<String>,
    /// All hosts of the namespace that are not approved yet.
    #[arg(long, conflicts_with_all = ["names", "hostname"])]
    pub(crate) all: bool,
    /// The name that the host gets as a node; for one host.
    #[arg(long, value_name = "NAME")]
    pub(crate) hostname: Option<String>,
    #[command(flatten)]
    pub(crate) plane: Plane,
}
