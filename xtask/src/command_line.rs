//! What can be asked of `cargo xtask`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The one door for developers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
pub(crate) struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub(crate) task: Task,
}

/// The tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// The stock parts that Roost is measured against.
    Kube {
        /// What to do with them.
        #[command(subcommand)]
        command: KubeCommand,
    },
    /// Builds `hcp-agent` as one file that needs no library of a host, checks that it is one, and prints where it is.
    Agent(Agent),
    /// Checks the sources: format, lints, the direction of dependencies, licences, lengths of files.
    Tidy,
    /// Runs every check that CI runs.
    Test,
    /// Writes what is generated: the tables of the built-in kinds, the reference of the command line.
    Gen(Generate),
    /// Measures, in ratios against another part in the same run.
    Bench {
        /// What to measure.
        #[command(subcommand)]
        benchmark: Bench,
    },
    /// Kills the engine at random moments under concurrent writes and checks what it remembers.
    Crash(Crash),
    /// Feeds everything that reads outside input with what libFuzzer makes up; needs a nightly compiler and cargo-fuzz.
    Fuzz(Fuzz),
    /// Takes hosted clusters from creation to removal, on our engine and on a stock kube-apiserver, and breaks things.
    Hosted(Hosted),
    /// Kills the operator, its ignition servers or the host at random moments of joins; lets many boot at once.
    Joins(Joins),
    /// Lets discovered hosts die at every stage, lie and fail, and kills their service at random moments.
    Faults(Faults),
    /// Has the real Ignition fetch and apply what our server hands out; needs root and the package `ignition`.
    Ignition,
    /// Runs stock's controllers, scheduler and kubelet on our engine and on a stock kube-apiserver; needs root.
    Components(Components),
    /// Boots real hosts, lets them join a hosted cluster by `hcp-agent`, cuts their power, and lets them leave; needs root.
    Hosts(Hosts),
    /// Boots two real hosts whose pods find each other, and cuts one of them off for a while; needs root.
    Network,
    /// Lets simulated hosts of a far site join, behind a router and a bad line, and cuts that line; needs root.
    Remote(Remote),
    /// Builds our live image from Debian's packages, and boots it in an emulated machine.
    Image(Image),
    /// Takes the computer of an emulated management controller (sushy-tools) through all that is asked of one.
    Redfish,
    /// Takes empty machines from power-on to Ready nodes and back: emulated by QEMU, installed from our images.
    Metal(Metal),
    /// Plays the same scenarios to our controllers and scheduler and to stock's and compares how they end.
    Workloads(Workloads),
    /// Serves clusters on a socket until it is killed.
    #[command(hide = true)]
    WorkloadsPlane(WorkloadsPlane),
    /// Runs those of Kubernetes' own conformance tests that need no running container.
    Conformance(Conformance),
    /// Runs the same command lines of real clients against our engine and a stock kube-apiserver and compares.
    Kubectl(Kubectl),
    /// Sends the same requests to our engine and to a stock kube-apiserver and compares the answers.
    Differential(Differential),
    /// Compares our custom resource definitions with the upstream ones, field by field.
    Parity(Parity),
}

/// What to do with the stock parts.
#[derive(Debug, Subcommand)]
pub(crate) enum KubeCommand {
    /// Builds the stock binaries from their Go modules into the cache, where they are missing.
    Fetch(KubeFetch),
    /// Runs a stock etcd and kube-apiserver until interrupted.
    Up(KubeUp),
}

/// Which binaries to fetch.
#[derive(Debug, Args)]
pub(crate) struct KubeFetch {
    /// Only these, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Builds them even if they are there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What runs beside the stock server.
#[derive(Debug, Args)]
pub(crate) struct KubeUp {
    /// Starts all of stock's controllers, not only those that Roost has inside.
    #[arg(long)]
    pub(crate) all_controllers: bool,
    /// Starts no controller at all.
    #[arg(long, conflicts_with = "all_controllers")]
    pub(crate) no_controllers: bool,
}

/// Which planes are compared.
#[derive(Debug, Args)]
pub(crate) struct PlaneChoice {
    /// Ours: `hcp` to build and start it, `stock` for a second stock plane, or the kubeconfig of a running one.
    #[arg(long, default_value = "hcp", value_name = "PLANE")]
    pub(crate) ours: String,
    /// The kubeconfig of a running stock plane, to save its start.
    #[arg(long, value_name = "KUBECONFIG")]
    pub(crate) stock: Option<std::path::PathBuf>,
}

/// Which sequences to run.
#[derive(Debug, Args)]
pub(crate) struct Differential {
    /// The planes.
    #[command(flatten)]
    pub(crate) planes: PlaneChoice,
    /// Only sequences whose name or file contains one of these, separated by commas.
    #[arg(long)]
    pub(crate) filter: Option<String>,
    /// Prints a line for each exchange; twice, also what was compared.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Prints only the numbers, not the differences.
    #[arg(long)]
    pub(crate) summary: bool,
    /// Instead of the sequences: so many random objects of each kind, and as many updates of each way.
    #[arg(long, value_name = "COUNT", conflicts_with = "filter")]
    pub(crate) random: Option<u64>,
    /// The seed of the first random objects; the next ones have the next seeds.
    #[arg(long, default_value_t = 1, requires = "random")]
    pub(crate) seed: u64,
    /// Only random objects of this kind: `Pod`, `v1/Pod`, or `custom` for custom resources.
    #[arg(long, requires = "random")]
    pub(crate) kind: Option<String>,
}

/// How long the components run.
#[derive(Debug, Args)]
pub(crate) struct Components {
    /// For at least so many minutes.
    #[arg(long, default_value_t = 10)]
    pub(crate) minutes: u64,
    /// Only pretends that there is a node; needs no root.
    #[arg(long)]
    pub(crate) no_kubelet: bool,
}

/// How the agent is built.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// Small and fast, as it is handed out.
    #[arg(long)]
    pub(crate) release: bool,
}

/// How many hosts there are, and when their power fails.
#[derive(Debug, Args)]
pub(crate) struct Hosts {
    /// Hosts that join by `hcp-agent`, at once.
    #[arg(long, default_value_t = 2)]
    pub(crate) count: u8,
    /// Hosts that boot with the real Ignition and know nothing but their pool's user-data, at the same time.
    #[arg(long, default_value_t = 1)]
    pub(crate) ignition: u8,
    /// After how many seconds of a join the power fails, for each host, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "3,6", value_name = "SECONDS")]
    pub(crate) cuts: Vec<f64>,
}

/// A far site.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// Hosts that become nodes; one more waits while the line is cut.
    #[arg(long, default_value_t = 3)]
    pub(crate) hosts: u8,
    /// How long the line is cut.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub(crate) cut: u64,
}

/// How a machine gets the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// From a disc, by BIOS.
    Bios,
    /// From a disc, by UEFI.
    Uefi,
    /// From a disc, by BIOS, with addresses that were written into the image.
    Static,
    /// Over the network, by iPXE.
    Network,
}

/// What is done with the live image.
#[derive(Debug, Args)]
pub(crate) struct Image {
    /// Boots it in these ways, separated by commas; needs QEMU.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WAY")]
    pub(crate) boot: Vec<Way>,
    /// An `hcp-agent` that was built already.
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// Has this coreos-installer read what we embed, and take it out again.
    #[arg(long, value_name = "FILE")]
    pub(crate) coreos_installer: Option<PathBuf>,
    /// Makes the disk, too, that its hosts are installed with; needs root, debootstrap and extlinux.
    #[arg(long)]
    pub(crate) disk: bool,
}

/// From which the machines of `metal` boot first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetalWay {
    /// From the disc that the InfraEnv links to.
    Iso,
    /// From the network, by the script that it links to.
    Ipxe,
    /// From virtual media, by a management controller that a BareMetalHost names.
    Redfish,
}

/// How machines become nodes.
#[derive(Debug, Args)]
pub(crate) struct Metal {
    /// The ways, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "iso,ipxe,redfish", value_name = "WAY")]
    pub(crate) ways: Vec<MetalWay>,
    /// A directory with a live image and a disk that were made already.
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
    /// A static `hcp-agent` that was built already.
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
}

/// Which plane the conformance tests run on.
#[derive(Debug, Args)]
pub(crate) struct Conformance {
    /// `hcp` to build and start it, or `stock`.
    #[arg(long, default_value = "hcp", value_name = "PLANE")]
    pub(crate) on: String,
    /// Finds the list anew: tries every test on a stock plane and writes down those that pass.
    #[arg(long)]
    pub(crate) search: bool,
    /// Only tests whose name contains this.
    #[arg(long)]
    pub(crate) filter: Option<String>,
    /// With nodes that pretend to run pods, on a hosted cluster: the tests that controllers and a scheduler are enough for.
    #[arg(long)]
    pub(crate) nodes: bool,
}

/// Which journeys to run.
#[derive(Debug, Args)]
pub(crate) struct Kubectl {
    /// The planes.
    #[command(flatten)]
    pub(crate) planes: PlaneChoice,
    /// Only journeys whose name contains one of these, separated by commas.
    #[arg(long)]
    pub(crate) filter: Option<String>,
    /// Prints what was equal, too.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generated {
    /// The tables of the built-in kinds.
    Tables,
    /// The reference of the command line.
    Cli,
}

/// How the tables are written.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Only this; without it, everything.
    #[arg(value_enum)]
    pub(crate) only: Option<Generated>,
    /// Only checks that the committed tables are what would be written.
    #[arg(long)]
    pub(crate) check: bool,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The store's log against redb and `SQLite`.
    Store,
    /// The engine against kube-apiserver with etcd.
    Engine(BenchEngine),
    /// How much hostile clients slow down the others.
    Hostile(BenchDisturbed),
    /// How much a busy hosted cluster slows down another.
    Neighbours(BenchDisturbed),
    /// What the two above run beside what they measure.
    #[command(hide = true)]
    Disturb(BenchDisturb),
    /// Discovered hosts: how fast they register, are bound and become nodes.
    Hosts(BenchHosts),
    /// Ever more Agents in the API: pages of lists, passes and pools.
    Agents(BenchAgents),
    /// Simulated nodes: how fast they join, and what they cost.
    Nodes(BenchNodes),
    /// Hosted clusters: how soon they take writes, how many fit, how soon they are gone.
    Planes(BenchPlanes),
    /// Payloads over TLS, beside a server that only sends bytes.
    Ignition,
    /// Images of hosts, beside the plain file that they are made of.
    Image,
    /// What an empty tenant needs.
    Tenants(BenchTenants),
    /// Pods placed and rolled beside stock, and what clusters cost that run something or nothing.
    Workloads(BenchWorkloads),
}

/// How much is placed, rolled and kept.
#[derive(Debug, Args)]
pub(crate) struct BenchWorkloads {
    /// Nodes.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) nodes: usize,
    /// Pods.
    #[arg(long, default_value_t = 5000, value_name = "N")]
    pub(crate) pods: usize,
    /// Replicas of the Deployment that is rolled.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) replicas: usize,
    /// Clusters.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) clusters: usize,
}

/// How hard both planes are tried.
#[derive(Debug, Args)]
pub(crate) struct BenchEngine {
    /// How long each kind of request is sent.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) seconds: u64,
    /// Clients that send at once, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64", value_name = "N")]
    pub(crate) clients: Vec<usize>,
    /// Watchers at once, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "25,1000", value_name = "N")]
    pub(crate) watchers: Vec<usize>,
    /// Objects in the engine for the time of a start; zero leaves the starts out.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub(crate) objects: usize,
    /// Only a look, in less than a minute.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only our engine, without stock beside it.
    #[arg(long)]
    pub(crate) ours_only: bool,
}

/// How long somebody is disturbed.
#[derive(Debug, Args)]
pub(crate) struct BenchDisturbed {
    /// How long, with the disturbance and without.
    #[arg(long, default_value_t = 45, value_name = "N")]
    pub(crate) seconds: u64,
}

/// Who is disturbed, and how.
#[derive(Debug, Args)]
pub(crate) struct BenchDisturb {
    /// The kind.
    #[arg(value_enum)]
    pub(crate) kind: DisturbanceKind,
    /// The administrator's kubeconfig of the plane.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: PathBuf,
}

/// The kinds of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DisturbanceKind {
    /// Clients that mean harm.
    Hostile,
    /// A cluster that is used as fast as it goes.
    Busy,
    /// Programs that want every processor and nothing of the server.
    Spinning,
}

/// How many hosts are discovered.
#[derive(Debug, Args)]
pub(crate) struct BenchHosts {
    /// How many.
    #[arg(long, default_value_t = 500, value_name = "N")]
    pub(crate) count: u16,
}

/// How many Agents there are.
#[derive(Debug, Args)]
pub(crate) struct BenchAgents {
    /// The numbers to measure at, each at least as large as the one before, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000", value_name = "N")]
    pub(crate) counts: Vec<usize>,
}

/// How many nodes join.
#[derive(Debug, Args)]
pub(crate) struct BenchNodes {
    /// How many.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) count: u16,
    /// How many boot in a second; zero for all at once.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) rate: u16,
    /// How long they are watched once they are there.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) seconds: u32,
}

/// How many hosted clusters are made.
#[derive(Debug, Args)]
pub(crate) struct BenchPlanes {
    /// How many one after the other.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub(crate) singles: usize,
    /// How often a hundred are made and removed.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) rounds: usize,
    /// How many at the same time.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) count: usize,
}

/// How many tenants are made.
#[derive(Debug, Args)]
pub(crate) struct BenchTenants {
    /// How many.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) count: usize,
}

/// How often the engine is killed.
#[derive(Debug, Args)]
pub(crate) struct Crash {
    /// How many times.
    #[arg(long, alias = "count", default_value_t = 1000)]
    pub(crate) times: usize,
    /// Repeats the moments and choices of an earlier run.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// How long which targets are fuzzed.
#[derive(Debug, Args)]
pub(crate) struct Fuzz {
    /// How long each target runs.
    #[arg(long, default_value_t = 10)]
    pub(crate) minutes: u32,
    /// The only target to run.
    #[arg(long)]
    pub(crate) target: Option<String>,
}

/// How many joins are cut short.
#[derive(Debug, Args)]
pub(crate) struct Joins {
    /// How many.
    #[arg(long, default_value_t = 500)]
    pub(crate) runs: usize,
    /// Repeats the choices of an earlier run.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// How often the service of discovered hosts is killed.
#[derive(Debug, Args)]
pub(crate) struct Faults {
    /// How often the controllers with their service.
    #[arg(long, default_value_t = 500)]
    pub(crate) times: usize,
    /// How often the whole of `hcp up`.
    #[arg(long, default_value_t = 100)]
    pub(crate) processes: usize,
    /// Repeats the choices of an earlier run.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// How often hosted clusters are destroyed with something broken.
#[derive(Debug, Args)]
pub(crate) struct Hosted {
    /// How many clusters are destroyed.
    #[arg(long, default_value_t = 500)]
    pub(crate) runs: usize,
    /// Repeats the choices of an earlier run.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Only on our own engine.
    #[arg(long)]
    pub(crate) no_stock: bool,
}

/// What our definitions are compared with.
#[derive(Debug, Args)]
pub(crate) struct Parity {
    /// The directory with the upstream definitions, in `hypershift/crds` and `assisted`.
    #[arg(value_name = "DIRECTORY")]
    pub(crate) reference: PathBuf,
    /// Only this kind.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only the numbers.
    #[arg(long)]
    pub(crate) summary: bool,
    /// Shows the differences that have a reason, too.
    #[arg(long, conflicts_with = "summary")]
    pub(crate) explained: bool,
}

/// Which scenarios to play.
#[derive(Debug, Args)]
pub(crate) struct Workloads {
    /// Only scenarios whose name contains this.
    #[arg(long)]
    pub(crate) filter: Option<String>,
    /// Only one scenario in so many, spread over the tables: for a quick look.
    #[arg(long, default_value_t = 1)]
    pub(crate) one_in: usize,
    /// Instead of playing scenarios, kill the engine so often in the midst of rollouts, and look that nothing happens twice.
    #[arg(long)]
    pub(crate) kills: Option<usize>,
    /// Which moments the kills come at.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// An engine of its own, for those who kill or weigh it.
#[derive(Debug, Args)]
pub(crate) struct WorkloadsPlane {
    /// How many clusters it has.
    #[arg(long, default_value_t = 1)]
    pub(crate) clusters: usize,
    /// Leaves the controllers of workloads off.
    #[arg(long)]
    pub(crate) without_controllers: bool,
    /// Where its store and its socket are.
    pub(crate) directory: std::path::PathBuf,
}
