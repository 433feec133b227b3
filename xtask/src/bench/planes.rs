//! Hosted clusters beside what is wanted of them.

use std::time::Duration;

use roost_tests::measurement::{self, PlanesEffort};
use roost_tests::ours;

use super::{engine_binary, ran_optimised};
use crate::command_line::BenchPlanes;
use crate::task::TaskError;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchPlanes) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let binary = engine_binary()?;
    let mut plane = ours::start_whole(&binary).await?;
    let effort = PlanesEffort { singles: arguments.singles, rounds: arguments.rounds, count: arguments.count };
    let found =
        measurement::planes(&mut plane, &binary, effort).await.map_err(|error| TaskError::Found(error.to_string()))?;
    let milliseconds = |duration: Duration| format!("{:.0} ms", duration.as_secs_f64() * 1e3);
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    let count = found.count;
    let rounds = format!("{:.0} MiB, {:.0} after one", found.rounds.memory_last, found.rounds.memory_first);
    for (what, value, goal) in [
        ("create to write, p50".to_owned(), milliseconds(found.alone.median), "150 ms"),
        ("create to write, p99".to_owned(), milliseconds(found.alone.slow), "500 ms"),
        ("100 at once, the slowest".to_owned(), seconds(found.rounds.slowest), "5 s"),
        (format!("memory after {} rounds of 100", arguments.rounds), rounds, "5 % more"),
        (format!("{count} created"), seconds(found.created), "60 s"),
        ("memory each".to_owned(), format!("{:.2} MiB", found.memory_each), "2 MiB"),
        (format!("{count} idle, of one processor"), format!("{:.1} %", found.idle.processor), "5 %"),
        ("killed, API ready again".to_owned(), milliseconds(found.restart.ready), "1 s"),
        (format!("killed, {count} answering again"), seconds(found.restart.all_answering), "15 s"),
        (format!("{count} destroyed"), seconds(found.destroyed), "60 s"),
    ] {
        println!("{what:<34} {value:>26}   wanted: {goal}");
    }
    Ok(())
}
