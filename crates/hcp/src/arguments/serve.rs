//! `hcp up`, `hcp down` and `hcp status`: the management plane on this machine; `hcp operator`: one elsewhere.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ipnet::IpNet;

use super::values;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp up\n  hcp up --demo\n  hcp up --data-dir /var/lib/roost --listen 0.0.0.0:6443\n  hcp up --detach && kubectl --kubeconfig \"$(hcp status -o kubeconfig)\" get namespaces"
)]
pub(crate) struct Up {
    /// Where everything is kept: objects, keys, the admin kubeconfig.
    #[arg(long, value_name = "DIR", env = "ROOST_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The address and port to serve on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443", value_parser = values::listen_address)]
    pub(crate) listen: SocketAddr,
    /// Run in the background, and return when the API answers.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Show a hosted cluster whose three simulated nodes join, and say what to type next.
    #[arg(long, conflicts_with = "without_operator")]
    pub(crate) demo: bool,
    /// The addresses that Services get.
    #[arg(long, value_name = "CIDR", default_value = "10.96.0.0/16", value_parser = values::service_range)]
    pub(crate) service_cidr: IpNet,
    /// More names or addresses for the server's certificate.
    #[arg(long, value_name = "NAME", value_parser = values::certificate_name)]
    pub(crate) server_name: Vec<String>,
    /// Files for nodes, as RELEASE/ARCHITECTURE/PATH, which they fetch by digest [default: `artifacts` in the data directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,
    /// What discovered hosts boot and are installed with, as VERSION-ARCHITECTURE.iso and .raw.gz [default: `images` in the data directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
    /// Write audit lines to this file, and those of hosted clusters beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Serve the API alone, with nothing that a stock server does not have: for comparisons with one.
    #[arg(long, hide = true)]
    pub(crate) without_operator: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp operator --kubeconfig management.kubeconfig\n  hcp operator --kubeconfig management.kubeconfig --data-dir /var/lib/roost-operator --listen 0.0.0.0:6444\n\nSeveral may run for one management plane: one of them works, and another takes over when it ends. What hosted clusters hold is in the data directory, so all of them need the same one."
)]
pub(crate) struct Operator {
    /// The kubeconfig of the management plane [default: $KUBECONFIG, else a running `hcp up`, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Where the data of hosted clusters are kept [default: `operator` below the data directory of `hcp up`].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The address and port for hosted clusters that are published by name; the others get ports of the same address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6444", value_parser = values::listen_address)]
    pub(crate) listen: SocketAddr,
    /// Files for nodes, as RELEASE/ARCHITECTURE/PATH, which they fetch by digest [default: `artifacts` in the data directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,
    /// What discovered hosts boot and are installed with, as VERSION-ARCHITECTURE.iso and .raw.gz [default: `images` in the data directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
    /// What this process is called among several [default: host name and process].
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  hcp down\n  hcp down --data-dir /var/lib/roost")]
pub(crate) struct Down {
    /// Which one, when several run.
    #[arg(long, value_name = "DIR", env = "ROOST_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  hcp status\n  hcp status -o json")]
pub(crate) struct Status {
    /// Only the one on this data.
    #[arg(long, value_name = "DIR", env = "ROOST_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Columns for people.
    Table,
    /// A JSON list.
    Json,
    /// Only the paths of the admin kubeconfigs.
    Kubeconfig,
}
