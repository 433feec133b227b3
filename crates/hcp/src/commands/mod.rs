//! What each command does with the management plane.

mod approve;
mod change;
mod check;
mod create_cluster;
mod create_infra_env;
mod create_ingress;
mod create_kubeconfig;
mod create_nodepool;
mod create_userdata;
mod describe;
mod destroy;
mod error;
mod files;
mod get;
mod judge;
mod plan;
mod printed;
mod random;
mod reference;
mod release;
mod shell;
mod version;
mod wait;

use crate::arguments::{Command, CreateWhat, DestroyWhat};
use crate::flavour::Flavour;

pub(crate) use create_cluster::ensure as ensure_cluster;
pub(crate) use create_kubeconfig::kubeconfig_of;
pub(crate) use create_userdata::newest as newest_user_data;
pub(crate) use error::CommandError;
pub(crate) use judge::usable;
pub(crate) use wait::Verdict;

/// Runs a command of the client side.
///
/// One thread is enough for a few requests, and starting it takes no time.
pub(crate) fn run(command: Command, flavour: Flavour) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(dispatch(command, flavour));
    // Connections that are still open are nobody's concern any more.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(command: Command, flavour: Flavour) -> Result<(), CommandError> {
    match command {
        Command::Create(create) => match create.what {
            CreateWhat::Cluster(arguments) => create_cluster::run(&arguments, flavour).await,
            CreateWhat::NodePool(arguments) => create_nodepool::run(&arguments, flavour).await,
            CreateWhat::Kubeconfig(arguments) => create_kubeconfig::run(&arguments).await,
            CreateWhat::UserData(arguments) => create_userdata::run(&arguments).await,
            CreateWhat::InfraEnv(arguments) => create_infra_env::run(&arguments).await,
            CreateWhat::Ingress(arguments) => create_ingress::run(&arguments).await,
        },
        Command::Destroy(destroy) => match destroy.what {
            DestroyWhat::Cluster(arguments) => destroy::cluster(&arguments, flavour).await,
            DestroyWhat::NodePool(arguments) => destroy::node_pool(&arguments).await,
        },
        Command::Get(arguments) => get::run(&arguments).await,
        Command::Describe(arguments) => describe::run(&arguments).await,
        Command::Approve(arguments) => approve::run(&arguments).await,
        Command::Check(arguments) => check::run(&arguments).await,
        Command::Plan(arguments) => plan::run(&arguments).await,
        Command::Upgrade(arguments) => change::upgrade(&arguments).await,
        Command::Pause(arguments) => change::pause(&arguments).await,
        Command::Resume(arguments) => change::resume(&arguments).await,
        Command::Hibernate(arguments) => change::hibernate(&arguments).await,
        Command::Wake(arguments) => change::wake(&arguments).await,
        Command::Rotate(arguments) => change::rotate(&arguments).await,
        Command::Version(arguments) => version::run(&arguments).await,
        Command::Completion(arguments) => shell::completion(&arguments, flavour),
        Command::Man(arguments) => shell::manual(&arguments),
        Command::Reference => reference::print(),
        // The serving side has a runtime of its own.
        Command::Up(_) | Command::Operator(_) | Command::Down(_) | Command::Status(_) => Ok(()),
    }
}
