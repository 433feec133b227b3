//! What can be asked of `hcp-agent`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Makes this host a node of a hosted cluster, and the host that it was again.
#[derive(Debug, Parser)]
#[command(name = "hcp-agent", version, disable_help_subcommand = true)]
pub(crate) struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Checks whether this host can become a node; changes nothing.
    Preflight(Preflight),
    /// Makes this host a node. Can be repeated, and goes on where it was cut off.
    Join(Join),
    /// Says how this host stands.
    Status(Status),
    /// Keeps this node as its pool wants it; the host's service manager runs it.
    Serve(Change),
    /// Brings this node to the configuration that its pool wants now, also after that failed.
    Upgrade(Change),
    /// Takes this host out of its cluster and puts it back as it was.
    Leave(Leave),
    /// Shows this host to a discovery service, and does what that says for as long as it runs.
    Discover(Discover),
}

/// Where the host is shown.
#[derive(Debug, Args)]
pub(crate) struct Discover {
    /// A file that says where and with which token, as discovery images have it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "infra_env_id", "token", "token_file", "ca_file"])]
    pub(crate) settings: Option<PathBuf>,
    /// The partition in which the installation of this host left its settings.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["settings", "url", "infra_env_id", "token", "token_file", "ca_file"])]
    pub(crate) installed: Option<PathBuf>,
    /// The discovery service, as https://HOST:PORT.
    #[arg(long, value_name = "URL", required_unless_present_any = ["settings", "installed", "show"])]
    pub(crate) url: Option<String>,
    /// The id of the InfraEnv.
    #[arg(long, value_name = "ID", requires = "url")]
    pub(crate) infra_env_id: Option<String>,
    /// The token of the InfraEnv; --token-file keeps it out of the process list.
    #[arg(long, value_name = "TOKEN", env = "PULL_SECRET_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// A file with the token.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// The CA of the discovery service, in PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Prints what the host would say of itself, and does nothing else.
    #[arg(long)]
    pub(crate) show: bool,
}

/// How the host joins.
#[derive(Debug, Args)]
pub(crate) struct Join {
    /// Where the payload comes from.
    #[command(flatten)]
    pub(crate) source: Source,
    /// Goes on with a join that was cut off; nothing else has to be said.
    #[arg(long, conflicts_with_all = ["user_data", "endpoint"])]
    pub(crate) resume: bool,
    /// The name that the node will have; the host's own when left out.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Checks that shall not stop the join, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    pub(crate) waive: Vec<String>,
    /// Packages are installed by someone else.
    #[arg(long)]
    pub(crate) no_packages: bool,
    /// A kubelet on this host that is used instead of a packaged one.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubelet: Option<PathBuf>,
    /// How many seconds the ignition server may need.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) payload_timeout: u64,
    /// How many seconds the node may need to be ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) ready_timeout: u64,
}

/// How a node is changed in place.
#[derive(Debug, Args)]
pub(crate) struct Change {
    /// How many seconds the node may need to be ready again, before it is put back.
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    pub(crate) ready_timeout: u64,
}

/// How the state is printed.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// How the result is printed.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// How the host leaves.
#[derive(Debug, Args)]
pub(crate) struct Leave {
    /// How many seconds pods may need to go; 0 does not wait for them.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) drain_timeout: u64,
    /// A kubeconfig that may remove the Node object.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

/// Where the ignition server is, and whom to trust there.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Source {
    /// The pool's user-data: the pointer config that names the server, the token and the CA.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["endpoint", "token", "token_file"])]
    pub(crate) user_data: Option<PathBuf>,
    /// The ignition server, as https://HOST:PORT.
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// The pool's token; --token-file keeps it out of the process list.
    #[arg(long, value_name = "TOKEN", env = "HCP_AGENT_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// A file with the pool's token.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// The pool that the token is for, as NAMESPACE/NAME.
    #[arg(long, value_name = "POOL", requires = "endpoint")]
    pub(crate) node_pool: Option<String>,
    /// The CA of the ignition server, in PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// The public key of the ignition server or its CA, as sha256:HEX.
    #[arg(long, value_name = "PIN", conflicts_with = "ca_file")]
    pub(crate) ca_pin: Option<String>,
}

/// What the host is checked for.
#[derive(Debug, Args)]
pub(crate) struct Preflight {
    /// The server to reach.
    #[command(flatten)]
    pub(crate) source: Source,
    /// The name that the node will have.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Checks that shall not stop a join, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    pub(crate) waive: Vec<String>,
    /// Packages are installed by someone else.
    #[arg(long)]
    pub(crate) no_packages: bool,
    /// How the result is printed.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}
