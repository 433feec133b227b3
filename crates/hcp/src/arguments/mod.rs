//! The command line as people type it: low arguments, parsed but not yet given a meaning.

#![expect(clippy::doc_markdown, reason = "these comments are what --help prints")]
#![expect(clippy::struct_field_names, reason = "fields are named as the flags are")]

mod cluster;
mod host;
mod kubevirt;
mod network;
mod nodepool;
mod operate;
mod plan;
mod serve;
mod userdata;
mod values;

use clap::builder::ValueParser;
use clap::{ArgAction, Args, Command as Clap, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use cluster::{ClusterFlags, ClusterPlatform, CreateCluster, CreateOutput, KubevirtFlags, Naming};
pub(crate) use host::{Approve, ApproveHost, ApproveWhat, CreateInfraEnv};
pub(crate) use kubevirt::{KubevirtInfra, VirtualMachine};
pub(crate) use network::{Check, CheckEgressIp, CheckWhat, CreateIngress};
pub(crate) use nodepool::{CreateNodePool, NodePoolFlags, NodePoolPlatform};
pub(crate) use operate::{
    Completion, CreateKubeconfig, Describe, DescribeWhat, DestroyCluster, DestroyFlags, DestroyNodePool,
    DestroyPlatform, Format, Get, Kind, Man, Pause, PauseWhat, Plane, Resume, Rotate, RotateWhat, Sleep, Upgrade,
    UpgradeWhat, Version,
};
pub(crate) use plan::{Plan, PlanFlags, PlanWhat};
pub(crate) use serve::{Down, Operator, Output, Status, Up};
pub(crate) use userdata::CreateUserData;
pub(crate) use values::written_duration;

const EXAMPLES: &str = "Examples:
  hcp up --detach                    serve the management plane in the background
  hcp create cluster none --name demo --base-domain example.test --pull-secret pull-secret.json --wait
  hcp create kubeconfig --name demo > demo.kubeconfig
  hcp get clusters                   what there is
  hcp describe cluster demo          what each part waits for
  hcp destroy cluster none --name demo";

/// Hosted control planes: many Kubernetes clusters on one management plane.
#[derive(Parser)]
#[command(name = "hcp", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve the management plane on this machine.
    Up(Up),
    /// Run hosted clusters for a management plane that is served elsewhere.
    Operator(Operator),
    /// Stop a running management plane.
    Down(Down),
    /// Say what runs, and where.
    Status(Status),
    /// Create clusters, node pools, kubeconfigs, user-data, InfraEnvs and ingress.
    Create(Create),
    /// Remove clusters and node pools with all that belongs to them.
    Destroy(Destroy),
    /// List clusters, node pools or hosts.
    Get(Get),
    /// Show what a cluster consists of, and what each part waits for.
    Describe(Describe),
    /// Let node pools use discovered hosts.
    Approve(Approve),
    /// Say whether something would work, before it is done.
    Check(Check),
    /// Say which nodes a change would restart, why, and in which order; change nothing.
    Plan(Plan),
    /// Move a cluster to another release.
    Upgrade(Upgrade),
    /// Leave a cluster or a node pool as it is, whatever changes.
    Pause(Pause),
    /// Take up again what was paused.
    Resume(Resume),
    /// Park a cluster: endpoint and data stay, nothing runs.
    Hibernate(Sleep),
    /// Wake a parked cluster.
    Wake(Sleep),
    /// Replace certificate authorities without an outage.
    Rotate(Rotate),
    /// Say which version this is, and which the operator is.
    Version(Version),
    /// Print a script that completes command lines.
    Completion(Completion),
    /// Write manual pages into a directory.
    Man(Man),
    /// Print the reference of all commands as Markdown.
    #[command(hide = true)]
    Reference,
}

/// What to create.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hcp create cluster none --name demo --pull-secret pull-secret.json\n  hcp create nodepool none --name workers --cluster-name demo --replicas 3\n  hcp create kubeconfig --name demo > demo.kubeconfig"
)]
pub(crate) struct Create {
    #[command(subcommand)]
    pub(crate) what: CreateWhat,
}

#[derive(Subcommand)]
pub(crate) enum CreateWhat {
    /// Create a HostedCluster and its first NodePool.
    Cluster(Box<CreateCluster>),
    /// Create a NodePool of an existing HostedCluster.
    #[command(name = "nodepool")]
    NodePool(Box<CreateNodePool>),
    /// Print the kubeconfig of one cluster, or of all in one file.
    Kubeconfig(CreateKubeconfig),
    /// Print what machines of a NodePool are booted with. It has the pool's token.
    #[command(name = "userdata")]
    UserData(CreateUserData),
    /// Create an InfraEnv: what hosts boot to be discovered.
    #[command(name = "infraenv")]
    InfraEnv(CreateInfraEnv),
    /// Give a cluster's ingress an address, a place, or a shard of its own.
    Ingress(CreateIngress),
}

/// What to remove.
#[derive(Args)]
#[command(after_help = "Examples:\n  hcp destroy cluster none --name demo\n  hcp destroy nodepool --name workers")]
pub(crate) struct Destroy {
    #[command(subcommand)]
    pub(crate) what: DestroyWhat,
}

#[derive(Subcommand)]
pub(crate) enum DestroyWhat {
    /// Remove a HostedCluster with all that belongs to it.
    Cluster(DestroyCluster),
    /// Remove a NodePool and its nodes.
    #[command(name = "nodepool")]
    NodePool(DestroyNodePool),
}

impl Arguments {
    /// Reads the command line, or ends the process with help or a word about what is wrong.
    pub(crate) fn read() -> Self {
        let matches = Self::complete_command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Reads the words given.
    pub(crate) fn read_from(words: &[&str]) -> Result<Self, clap::Error> {
        let matches = Self::complete_command().try_get_matches_from(words)?;
        Self::from_arg_matches(&matches)
    }

    /// All commands with all flags as upstream takes them: a switch also takes `=true` or `=false`, and the flags of
    /// `create cluster`, `create nodepool` and `destroy cluster` may stand before or after the platform.
    pub(crate) fn complete_command() -> Clap {
        let with_global_flags = |command: Clap| match command.get_name() {
            "cluster" | "nodepool" if command.has_subcommands() => command.mut_args(|argument| argument.global(true)),
            _ => command,
        };
        with_upstream_switches(Self::command()).mut_subcommands(|command| match command.get_name() {
            "create" | "destroy" => command.mut_subcommands(with_global_flags),
            _ => command,
        })
    }
}

fn with_upstream_switches(command: Clap) -> Clap {
    command
        .mut_args(|argument| {
            let argument = argument.hide_env_values(true);
            if !matches!(argument.get_action(), ArgAction::SetTrue) {
                return argument;
            }
            argument
                .action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .value_name("BOOL")
                .value_parser(ValueParser::new(values::boolean))
                .default_missing_value("true")
                .default_value("false")
                .hide_default_value(true)
        })
        .mut_subcommands(with_upstream_switches)
}

#[cfg(test)]
mod tests {
    use super::{Arguments, ClusterPlatform, Command, CreateCluster, CreateWhat};

    fn create_cluster(words: &[&str]) -> CreateCluster {
        match Arguments::read_from(words).unwrap_or_else(|error| panic!("{error}")).command {
            Command::Create(create) => match create.what {
                CreateWhat::Cluster(cluster) => *cluster,
                _ => panic!("another command"),
            },
            _ => panic!("another command"),
        }
    }

    #[test]
    fn the_commands_are_consistent() {
        Arguments::complete_command().debug_assert();
    }

    #[test]
    fn flags_stand_before_or_after_the_platform() {
        for words in [
            &["hcp", "create", "cluster", "none", "--name", "demo", "--render"][..],
            &["hcp", "create", "cluster", "--name=demo", "--render=true", "none"],
            &["hcp", "create", "cluster", "--name", "demo", "none", "--render=1"],
        ] {
            let arguments = create_cluster(words);
            assert_eq!(arguments.flags.naming.name.as_deref(), Some("demo"), "{words:?}");
            assert!(arguments.flags.output.render, "{words:?}");
            assert!(!arguments.flags.output.wait, "{words:?}");
            assert_eq!(arguments.flags.naming.namespace, "clusters");
            assert!(matches!(arguments.platform, ClusterPlatform::None(_)));
        }
        let arguments = create_cluster(&["hcp", "create", "cluster", "none", "--namespace", "other", "--wait=false"]);
        assert_eq!(arguments.flags.naming.namespace, "other");
        assert!(!arguments.flags.output.wait);
    }

    #[test]
    fn what_the_seeds_of_the_trade_type_is_understood() {
        let arguments = create_cluster(&[
            "hypershift",
            "create",
            "cluster",
            "kubevirt",
            "--name",
            "example",
            "--node-pool-replicas=2",
            "--pull-secret",
            "pull-secret.json",
            "--memory",
            "6Gi",
            "--cores",
            "2",
            "--attach-default-network=false",
        ]);
        assert_eq!(arguments.flags.nodes.node_pool_replicas, 2);
        let ClusterPlatform::Kubevirt(flags) = arguments.platform else { panic!("another platform") };
        assert_eq!(flags.machine.memory, "6Gi");
        assert_eq!(flags.machine.attach_default_network, Some(false));
        let arguments = create_cluster(&["hcp", "create", "cluster", "none", "--node-pool-replicas", "-1"]);
        assert_eq!(arguments.flags.nodes.node_pool_replicas, -1);
    }

    /// What people read when they ask: a change here is a change for them.
    #[test]
    fn every_help_is_as_it_was() {
        fn add(command: &clap::Command, text: &mut String) {
            let mut shown = command.clone().term_width(100);
            let words = command.get_bin_name().unwrap_or("hcp");
            text.push_str(&["$ ", words, " --help\n", &shown.render_long_help().to_string(), "\n"].concat());
            assert!(
                command.get_after_help().is_some_and(|examples| examples.to_string().starts_with("Examples:")),
                "{words} has no examples"
            );
            for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
                add(below, text);
            }
        }
        let mut root = Arguments::complete_command();
        root.build();
        let mut text = String::new();
        add(&root, &mut text);
        let text = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!("help", text);
    }
}
