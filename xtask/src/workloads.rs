//! `cargo xtask workloads`: our controllers and scheduler beside stock's, and under fire.

use roost_tests::workloads::{self, Serving};

use crate::command_line::{Workloads, WorkloadsPlane};
use crate::task::TaskError;

/// What this program calls itself with to be an engine.
pub(crate) const PLANE: &str = "workloads-plane";

/// Plays the scenarios and prints where they end differently, or kills the engine while it works.
pub(crate) async fn run(arguments: &Workloads) -> Result<(), TaskError> {
    match arguments.kills {
        Some(times) => kill(times, arguments.seed).await,
        None => compare(arguments).await,
    }
}

async fn compare(arguments: &Workloads) -> Result<(), TaskError> {
    let outcome = workloads::compare(arguments.filter.as_deref(), arguments.one_in)
        .await
        .map_err(|error| TaskError::Found(error.to_string()))?;
    for difference in &outcome.differences {
        println!("{difference}\n");
    }
    println!(
        "workloads: {} scenarios, {} end differently, in {} s",
        outcome.played,
        outcome.differences.len(),
        outcome.seconds
    );
    if outcome.differences.is_empty() {
        Ok(())
    } else {
        Err(TaskError::Found("scenarios end differently on our plane".to_owned()))
    }
}

async fn kill(times: usize, seed: u64) -> Result<(), TaskError> {
    let outcome = workloads::kill(&[PLANE], times, seed).await.map_err(|error| TaskError::Found(error.to_string()))?;
    for violation in &outcome.violations {
        println!("{violation}");
    }
    println!(
        "workloads: killed {} times in {} rollouts of {} pods, {} violations, in {} s",
        outcome.kills,
        outcome.rounds,
        outcome.pods,
        outcome.violations.len(),
        outcome.seconds
    );
    if outcome.violations.is_empty() { Ok(()) } else { Err(TaskError::Found("something was done twice".to_owned())) }
}

/// Is an engine, until somebody kills it.
pub(crate) async fn serve(arguments: &WorkloadsPlane) -> Result<(), TaskError> {
    let serving = Serving {
        directory: arguments.directory.clone(),
        clusters: arguments.clusters.max(1),
        workloads: !arguments.without_controllers,
    };
    workloads::serve(&serving).await.map_err(|error| TaskError::Found(error.to_string()))
}
