//! `cargo xtask joins`: hosts that join while what they need is killed.

use std::time::{SystemTime, UNIX_EPOCH};

use roost_tests::hosted::{self, Management};
use roost_tests::random::Random;

use crate::command_line::Joins;
use crate::task::TaskError;

/// Cuts joins short on a management plane of its own.
pub(crate) async fn run(arguments: &Joins) -> Result<(), TaskError> {
    let seed = arguments
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |elapsed| elapsed.as_secs()));
    let mut management = Management::embedded().await.map_err(|error| TaskError::Found(error.to_string()))?;
    let mut random = Random::new(seed);
    println!("joins that are cut short");
    let joins = hosted::join_at_random(&mut management, arguments.runs, &mut random, &mut |step| println!("  {step}"))
        .await
        .map_err(|error| TaskError::Found(format!("seed {seed}: {error}")))?;
    println!(
        "{} hosts joined, the slowest {} ms after its last kill (seed {seed})",
        joins.joined,
        joins.slowest.as_millis()
    );
    Ok(())
}
