//! `hcp create ingress` and `hcp check egressip`: the network of a cluster that runs.

use clap::{Args, Subcommand};

use super::operate::{Format, Plane};

/// Give a cluster's ingress an address, a place, or a shard of its own.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp create ingress --name demo --address 192.168.4.224/29\n  hcp create ingress --name demo --nodes '!node.openshift.io/remotenode'\n  hcp create ingress --name demo --shard edge --domain apps-edge.example.test --nodes site=edge --routes type=edge-route\n  hcp create ingress --name demo --address 10.0.0.10-10.0.0.12 --service-namespace ingress-nginx --service-selector app.kubernetes.io/name=ingress-nginx --render"
)]
pub(crate) struct CreateIngress {
    /// The hosted cluster.
    #[arg(long)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// Addresses for it, which MetalLB in the hosted cluster announces: an address, a network, or FIRST-LAST. May be given
    /// several times.
    #[arg(long = "address", value_name = "RANGE")]
    pub(crate) addresses: Vec<String>,
    /// The nodes that its routers run on, as a selector of kubectl. Nodes that match are labelled, because ingress
    /// controllers know plain labels only.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) nodes: Option<String>,
    /// A controller of its own instead of the cluster's default, such as for remote nodes.
    #[arg(long, value_name = "NAME", requires_all = ["domain", "nodes"])]
    pub(crate) shard: Option<String>,
    /// The domain that the shard serves.
    #[arg(long, value_name = "DOMAIN", requires = "shard")]
    pub(crate) domain: Option<String>,
    /// Which routes the shard serves, as KEY=VALUE of their labels. May be given several times.
    #[arg(long, value_name = "KEY=VALUE", requires = "shard")]
    pub(crate) routes: Vec<String>,
    /// Where the Service with the address is made.
    #[arg(long, value_name = "NAMESPACE", default_value = "openshift-ingress", requires = "addresses")]
    pub(crate) service_namespace: String,
    /// The pods that the Service leads to, as KEY=VALUE of their labels [default: the routers of the controller]. May be
    /// given several times.
    #[arg(long, value_name = "KEY=VALUE", requires = "addresses")]
    pub(crate) service_selector: Vec<String>,
    /// Print the objects as YAML instead of applying them.
    #[arg(long)]
    pub(crate) render: bool,
}

/// What to check.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp check egressip --name demo --address 10.19.3.50")]
pub(crate) struct Check {
    #[command(subcommand)]
    pub(crate) what: CheckWhat,
}

#[derive(Subcommand)]
pub(crate) enum CheckWhat {
    /// Say which nodes can host an egress address, and why the others cannot.
    #[command(
        name = "egressip",
        after_help = "Examples:\n  hcp check egressip --name demo --address 10.19.3.50\n  hcp check egressip --name demo --address 10.19.3.50 --address 10.19.142.253 -o json"
    )]
    EgressIp(CheckEgressIp),
}

#[derive(Args)]
pub(crate) struct CheckEgressIp {
    /// The hosted cluster.
    #[arg(long)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) plane: Plane,
    /// An address that pods shall be seen with outside. May be given several times.
    #[arg(long = "address", value_name = "ADDRESS", required = true)]
    pub(crate) addresses: Vec<std::net::IpAddr>,
    /// How to print it: table, json or yaml.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}
