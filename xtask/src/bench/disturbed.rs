//! The others' latency beside hostile clients, on our engine.

use std::time::Duration;

use roost_tests::{measurement, ours};

use super::{engine_binary, ran_optimised};
use crate::command_line::BenchHostile;
use crate::task::TaskError;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchHostile) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start(&engine_binary()?).await?;
    let found = measurement::hostility(&plane, Duration::from_secs(arguments.seconds)).await?;
    for (name, latency) in [("alone", found.alone), ("beside hostile clients", found.beside)] {
        let milliseconds = |duration: Duration| duration.as_secs_f64() * 1e3;
        println!(
            "{name:<26} p50 {:>7.2} ms   p99 {:>7.2} ms",
            milliseconds(latency.median),
            milliseconds(latency.slow)
        );
    }
    println!("{:<26} {}", "hostile requests answered", found.attacks);
    Ok(())
}
