//! `hcp create userdata`: for which pool, for which platform, and how machines reach the server.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::operate::Plane;

/// What machines of a pool are booted with.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp create userdata --nodepool workers > workers.ign\n  hcp create userdata --nodepool workers --format cloud-init > user-data\n  hcp create userdata --nodepool workers --format gcp --address 203.0.113.7\n  hcp create userdata --nodepool workers --format cloud-init --address 203.0.113.7 --host-name ignition.example.com --ca-file proxy-ca.pem"
)]
pub(crate) struct CreateUserData {
    /// The NodePool. Required.
    #[arg(long, visible_alias = "node-pool", value_name = "NAME")]
    pub(crate) nodepool: Option<String>,
    /// The cluster that the NodePool must belong to [default: whichever it belongs to].
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// How the platform wants it: ignition, gcp, aws, azure, openstack, libvirt or cloud-init.
    #[arg(long, default_value = "ignition")]
    pub(crate) format: String,
    /// The address of the ignition server, for machines that cannot look its name up. Its certificate must name the
    /// address, except with cloud-init, where the host keeps the name and gets the address in /etc/hosts.
    #[arg(long, value_name = "IP")]
    pub(crate) address: Option<IpAddr>,
    /// The name of the ignition server, where machines know it by another one than the cluster says.
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Option<String>,
    /// Whom machines trust instead of the cluster's own CA, and nobody else: for a server behind a proxy that shows
    /// another certificate.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Where cloud-init fetches hcp-agent from, by https; without it the host must have hcp-agent already.
    #[arg(long, value_name = "URL", requires = "agent_hash")]
    pub(crate) agent_url: Option<String>,
    /// The digest of that hcp-agent, as sha256-… or sha512-….
    #[arg(long, value_name = "HASH", requires = "agent_url")]
    pub(crate) agent_hash: Option<String>,
}
