//! Simulated hosts that are discovered, beside what is wanted of them.

use std::time::Duration;

use roost_tests::{measurement, ours};

use super::{engine_binary, load_average, ran_optimised};
use crate::command_line::BenchHosts;
use crate::task::TaskError;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchHosts) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start_whole(&engine_binary()?).await?;
    let count = arguments.count;
    let found = measurement::hosts(&plane, count).await.map_err(|error| TaskError::Found(error.to_string()))?;
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    let total = found.registered + found.ready;
    println!("with a load average of {} in the last minute", load_average());
    for (what, value, goal) in [
        (format!("{count} hosts registered"), seconds(found.registered), ""),
        ("from approval to bound, p50".to_owned(), seconds(found.bound.median), ""),
        ("from approval to bound, p99".to_owned(), seconds(found.bound.slow), "10 s"),
        ("from the first approval to all Ready".to_owned(), seconds(found.ready), ""),
        ("registered, bound and Ready".to_owned(), seconds(total), "300 s"),
        ("all given back and free".to_owned(), seconds(found.given_back), ""),
    ] {
        println!("{what:<38} {value:>12}   {}{goal}", if goal.is_empty() { "" } else { "wanted: " });
    }
    Ok(())
}
