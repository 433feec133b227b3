//! `cargo xtask workloads`: our controllers and scheduler beside stock's.

use roost_tests::workloads;

use crate::command_line::Workloads;
use crate::task::TaskError;

/// Plays the scenarios and prints where they end differently.
pub(crate) async fn run(arguments: &Workloads) -> Result<(), TaskError> {
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
