//! `cargo xtask faults`: discovered hosts while everything goes wrong that can.

use std::time::{SystemTime, UNIX_EPOCH};

use roost_tests::hosted::{self, Management};
use roost_tests::random::Random;

use crate::command_line::Faults;
use crate::task::TaskError;

/// Runs the table of faults on a management plane of its own, and kills its service.
pub(crate) async fn run(arguments: &Faults) -> Result<(), TaskError> {
    let seed = arguments
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |elapsed| elapsed.as_secs()));
    let mut management = Management::embedded().await.map_err(|error| TaskError::Found(error.to_string()))?;
    let mut random = Random::new(seed);
    println!("faults of discovered hosts (seed {seed})");
    hosted::fault_hosts(&mut management, arguments.times, &mut random, &mut |step| println!("  {step}"))
        .await
        .map_err(|error| TaskError::Found(format!("seed {seed}: {error}")))
}
