//! The API with ever more Agents in it: a curve, and the load of the machine beside each of its points.

use std::time::Duration;

use roost_tests::{measurement, ours};

use super::{engine_binary, load_average, ran_optimised};
use crate::command_line::BenchAgents;
use crate::task::TaskError;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchAgents) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start_whole(&engine_binary()?).await?;
    let milliseconds = |duration: Duration| format!("{:.1}", duration.as_secs_f64() * 1000.0);
    let row = |cells: [String; 6]| println!("{}", cells.map(|cell| format!("{cell:>18}")).join(" "));
    println!("p50 / p99 in milliseconds");
    row(["Agents", "first page of 500", "any page of 500", "spec to condition", "approval to pool", "MiB, load"]
        .map(str::to_owned));
    let measured = measurement::agents(&plane, &arguments.counts, |found| {
        let both = |latency: &measurement::Latency| {
            format!("{} / {}", milliseconds(latency.median), milliseconds(latency.slow))
        };
        row([
            found.count.to_string(),
            both(&found.page),
            both(&found.walk),
            both(&found.condition),
            both(&found.bound),
            format!("{:.0}, {}", found.memory, load_average()),
        ]);
    });
    measured.await.map_err(|error| TaskError::Found(error.to_string()))
}
