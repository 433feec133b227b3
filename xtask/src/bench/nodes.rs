//! Simulated nodes beside what is wanted of them.

use std::time::Duration;

use roost_tests::measurement::{self, NodesEffort};
use roost_tests::ours;

use super::{engine_binary, ran_optimised};
use crate::command_line::BenchNodes;
use crate::task::TaskError;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchNodes) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start_whole(&engine_binary()?).await?;
    let count = arguments.count;
    let effort = NodesEffort { count, rate: arguments.rate, period: Duration::from_secs(arguments.seconds.into()) };
    let found = measurement::nodes(&plane, effort).await.map_err(|error| TaskError::Found(error.to_string()))?;
    let milliseconds = |duration: Duration| format!("{:.0} ms", duration.as_secs_f64() * 1e3);
    let heartbeats = found.heartbeats;
    let expected = f64::from(count) * f64::from(arguments.seconds) / 10.2;
    let kept = format!(
        "{} of about {expected:.0}, {} late, {} failed",
        heartbeats.heartbeats, heartbeats.late, heartbeats.failed
    );
    let each = |mebibytes: f64| format!("{:.0} KiB", mebibytes * 1024.0 / f64::from(count));
    let rate = f64::from(count) / found.joined.as_secs_f64();
    let pace = match arguments.rate {
        0 => ", booted at once".to_owned(),
        rate => format!(", {rate} booted a second"),
    };
    for (what, value, goal) in [
        (format!("{count} nodes joined{pace}"), format!("{:.1} s, {rate:.0}/s", found.joined.as_secs_f64()), "50/s"),
        ("from boot to ready, p50".to_owned(), milliseconds(found.join.median), ""),
        ("from boot to ready, p99".to_owned(), milliseconds(found.join.slow), ""),
        ("request to approval, p50".to_owned(), milliseconds(found.approval.median), ""),
        ("request to approval, p99".to_owned(), milliseconds(found.approval.slow), "1 s"),
        (
            "processor of the plane, a node".to_owned(),
            format!("{:.1} ms", found.joining_processor * 1e3 / f64::from(count)),
            "",
        ),
        (format!("heartbeats in {} s", arguments.seconds), kept, "none late, none failed"),
        ("nodes ready at the end".to_owned(), found.ready_after.to_string(), "all"),
        ("plane, of one processor".to_owned(), format!("{:.1} %", found.plane.processor), ""),
        ("plane, memory a node".to_owned(), each(found.plane.memory - found.memory_before), ""),
        ("simulator, of one processor".to_owned(), format!("{:.1} %", found.simulator.processor), ""),
        ("simulator, memory a node".to_owned(), each(found.simulator.memory), ""),
    ] {
        println!("{what:<42} {value:>40}   {}{goal}", if goal.is_empty() { "" } else { "wanted: " });
    }
    Ok(())
}
