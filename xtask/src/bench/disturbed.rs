//! The latency of somebody who behaves, beside hostile clients and beside a busy hosted cluster.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use roost_tests::measurement::{self, Disturbance, Disturbed, Reading};
use roost_tests::ours;

use super::{engine_binary, ran_optimised};
use crate::command_line::{BenchDisturb, BenchDisturbed, DisturbanceKind};
use crate::task::TaskError;

/// What a ratio should not exceed.
const WANTED: &str = "wanted: 1.20 x";

/// How long the server reads bodies of each kind.
const READING: Duration = Duration::from_secs(5);

/// Beside hostile clients of the same API, and beside programs that only keep the processors busy.
pub(crate) async fn hostile(arguments: &BenchDisturbed) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start(&engine_binary()?).await?;
    let period = Duration::from_secs(arguments.seconds);
    let found = measurement::beside_another(&plane, period, |kubeconfig| other("hostile", kubeconfig)).await?;
    print("beside hostile clients", &found, WANTED);
    println!("{} hostile requests were answered meanwhile", found.answered);
    println!();
    // What is left is to be compared with this: processors that are never idle are slower to answer anybody.
    let found = measurement::beside_another(&plane, period, |kubeconfig| other("spinning", kubeconfig)).await?;
    print("beside busy processors", &found, "");
    println!();
    print_reading(&measurement::reading(&plane, READING).await?);
    Ok(())
}

/// In one hosted cluster beside another.
pub(crate) async fn neighbours(arguments: &BenchDisturbed) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let plane = ours::start_whole(&engine_binary()?).await?;
    let period = Duration::from_secs(arguments.seconds);
    let found = measurement::beside_a_busy_cluster(&plane, period, |kubeconfig| other("busy", kubeconfig)).await;
    let found = found.map_err(|error| TaskError::Found(error.to_string()))?;
    print("beside a busy cluster", &found, WANTED);
    println!("{} requests of the busy cluster were answered meanwhile", found.answered);
    Ok(())
}

/// The other process.
pub(crate) async fn disturb(arguments: &BenchDisturb) -> Result<(), TaskError> {
    let disturbance = match arguments.kind {
        DisturbanceKind::Hostile => Disturbance::Hostile,
        DisturbanceKind::Busy => Disturbance::Busy,
        DisturbanceKind::Spinning => Disturbance::Spinning,
    };
    Ok(measurement::disturb(&arguments.kubeconfig, disturbance).await?)
}

/// This program again, which runs only where nothing else would: it stands for a machine of its own.
fn other(kind: &str, kubeconfig: &Path) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--idle", "0"]).arg(std::env::current_exe().unwrap_or_else(|_| "xtask".into()));
    command.args(["bench", "disturb", kind, "--kubeconfig"]).arg(kubeconfig);
    command
}

fn print(beside: &str, found: &Disturbed, wanted: &str) {
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1e3;
    let ratio = |beside: Duration, alone: Duration| beside.as_secs_f64() / alone.as_secs_f64().max(f64::EPSILON);
    println!("{:<10} {:<26} {:>9} {:>9}", "", "", "p50", "p99");
    let (one, other) = (&found.alone, &found.beside);
    let kinds = [("all", one.all, other.all), ("reads", one.reads, other.reads), ("writes", one.writes, other.writes)];
    for (kind, alone, besides) in kinds {
        for (name, latency) in [("alone", alone), (beside, besides)] {
            let (median, slow) = (milliseconds(latency.median), milliseconds(latency.slow));
            println!("{kind:<10} {name:<26} {median:>6.2} ms {slow:>6.2} ms");
        }
        let (median, slow) = (ratio(besides.median, alone.median), ratio(besides.slow, alone.slow));
        println!("{kind:<10} {:<26} {median:>6.2} x  {slow:>6.2} x   {wanted}", "ratio");
    }
    let share =
        |spent: Duration, of: Duration| format!("{:.2} s ({:.1} %)", spent.as_secs_f64(), 100.0 * ratio(spent, of));
    for (number, spent) in found.spent.iter().enumerate() {
        println!(
            "processor  turn {}: server alone {}, {beside} {}, {} of it in the first second; the others {}",
            number + 1,
            share(spent.alone, spent.turn),
            share(spent.beside, spent.turn),
            share(spent.first_second, Duration::from_secs(1)),
            share(spent.disturbance, spent.turn)
        );
    }
}

/// To be compared with what the server takes reading to cost (`allowance.rs`).
fn print_reading(reading: &Reading) {
    let megabytes = |bytes: f64| bytes / 1e6;
    let piece = reading.piece.as_secs_f64();
    println!("in a second of its processor time the server reads");
    println!("{:>7.0} MB of large bodies that nobody looks at", megabytes(reading.unseen));
    println!("{:>7.0} MB of large objects, from the first byte to the answer", megabytes(reading.objects));
    println!(
        "{:>7.2} MB of single bytes: {:.2} µs each, as long as {:.0} bytes of a large body",
        1e-6 / piece,
        piece * 1e6,
        piece * reading.unseen
    );
}
