//! `cargo xtask faults`: discovered hosts while everything goes wrong that can.

use std::time::{SystemTime, UNIX_EPOCH};

use roost_tests::hosted::{self, HostedError, Management};
use roost_tests::random::Random;

use crate::command_line::Faults;
use crate::hosts;
use crate::task::TaskError;

/// Runs the table of faults on a management plane of its own, and kills its service; then whole processes.
pub(crate) async fn run(arguments: &Faults) -> Result<(), TaskError> {
    let seed = arguments
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |elapsed| elapsed.as_secs()));
    let mut management = Management::embedded().await.map_err(|error| TaskError::Found(error.to_string()))?;
    let mut random = Random::new(seed);
    println!("faults of discovered hosts (seed {seed})");
    let failed = |error: HostedError| TaskError::Found(format!("seed {seed}: {error}"));
    let tell = &mut |step: &str| println!("  {step}");
    hosted::fault_hosts(&mut management, arguments.times, &mut random, tell).await.map_err(failed)?;
    drop(management);
    if arguments.processes == 0 {
        return Ok(());
    }
    hosted::kill_processes(&hosts::server()?, arguments.processes, &mut random, tell).await.map_err(failed)
}
