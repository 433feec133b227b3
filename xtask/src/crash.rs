//! `cargo xtask crash`: kills the engine at random moments and checks that it forgets nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use roost_tests::{crash, ours};

use crate::command_line::Crash;
use crate::task::{self, TaskError};

/// Kills the engine as often as asked and prints what was found.
pub(crate) async fn run(arguments: &Crash) -> Result<(), TaskError> {
    if std::env::var_os(ours::BINARY_VARIABLE).is_none() {
        task::run(task::cargo().args(["build", "--quiet", "--package", "hcp"]))?;
    }
    let seed = arguments
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |elapsed| elapsed.as_secs()));
    eprintln!("seed {seed}");
    let outcome = crash::run(&ours::binary()?, arguments.times, seed).await?;
    for violation in &outcome.violations {
        println!("{violation}");
    }
    println!(
        "{} kills, {} acknowledged writes, {} events, slowest start {} ms, {} violations (seed {seed})",
        outcome.kills,
        outcome.acknowledged,
        outcome.events,
        outcome.slowest_start.as_millis(),
        outcome.violations.len(),
    );
    if outcome.violations.is_empty() {
        Ok(())
    } else {
        Err(TaskError::Found("the engine forgot or repeated something".to_owned()))
    }
}
