//! Hosted clusters beside what is wanted of them.

use std::time::Duration;

use roost_tests::{measurement, ours};

use super::{engine_binary, ran_optimised};
use crate::command_line::BenchPlanes;
use crate::task::TaskError;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchPlanes) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start_whole(&engine_binary()?).await?;
    let found = measurement::planes(&plane, arguments.singles, arguments.count)
        .await
        .map_err(|error| TaskError::Found(error.to_string()))?;
    let milliseconds = |duration: Duration| format!("{:.0} ms", duration.as_secs_f64() * 1e3);
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    let count = found.count;
    for (what, value, goal) in [
        ("create to write, p50".to_owned(), milliseconds(found.alone.median), "150 ms"),
        ("create to write, p99".to_owned(), milliseconds(found.alone.slow), "500 ms"),
        ("100 at once, the slowest".to_owned(), seconds(found.slowest_of_hundred), "5 s"),
        (format!("{count} created"), seconds(found.created), "60 s"),
        ("memory each".to_owned(), format!("{:.2} MiB", found.memory_each), "2 MiB"),
        (format!("{count} idle, of one processor"), format!("{:.1} %", found.idle.processor), "5 %"),
        (format!("{count} destroyed"), seconds(found.destroyed), "60 s"),
        (
            "memory afterwards".to_owned(),
            format!("{:.0} MiB, before {:.0} MiB", found.memory_after, found.memory_before),
            "5 % more",
        ),
    ] {
        println!("{what:<34} {value:>26}   wanted: {goal}");
    }
    Ok(())
}
