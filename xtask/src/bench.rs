//! `cargo xtask bench`: measurements, printed as ratios against another part in the same run.

use std::time::Duration;

use roost_tests::assets::repository;
use roost_tests::measurement::{self, Effort, Measured};
use roost_tests::ours;
use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::{Bench, BenchEngine};
use crate::task::{self, TaskError};

/// Runs one benchmark.
pub(crate) async fn run(benchmark: &Bench) -> Result<(), TaskError> {
    match benchmark {
        Bench::Store => {
            task::run(task::cargo().args(["run", "--release", "--quiet", "--package", "roost-store-bench"]))
        }
        Bench::Engine(arguments) => engine(arguments).await,
    }
}

/// Measures stock and ours one after the other, both with writes that wait for the disk.
async fn engine(arguments: &BenchEngine) -> Result<(), TaskError> {
    if cfg!(debug_assertions) {
        // A client without optimisations would be the slowest part of the measurement.
        let mut command = task::cargo();
        command.args(["run", "--release", "--quiet", "--package", "xtask", "--", "bench", "engine"]);
        command.arg(format!("--seconds={}", arguments.seconds)).arg(format!("--clients={}", arguments.clients));
        return task::run(&mut command);
    }
    let binary = if std::env::var_os(ours::BINARY_VARIABLE).is_some() {
        ours::binary()?
    } else {
        task::run(task::cargo().args(["build", "--release", "--quiet", "--package", "hcp"]))?;
        repository().join("target").join("release").join("hcp")
    };
    let effort =
        Effort { period: Duration::from_secs(arguments.seconds), clients: arguments.clients, watchers: [25, 1000] };
    let plane = stock::start(Durability::Durable, Controllers::None).await?;
    let stock = measurement::measure(&plane, effort).await?;
    drop(plane);
    let plane = ours::start(&binary).await?;
    let ours = measurement::measure(&plane, effort).await?;
    drop(plane);
    print(&stock, &ours);
    Ok(())
}

fn print(stock: &Measured, ours: &Measured) {
    println!(
        "{:<26} {:>12} {:>12} {:>7}   {:>19} {:>19}",
        "", "stock", "ours", "ratio", "stock p50 / p99", "ours p50 / p99"
    );
    for (left, right) in stock.measures.iter().zip(&ours.measures) {
        let times = |latency: measurement::Latency| {
            format!("{:.1} / {:.1} ms", latency.median.as_secs_f64() * 1e3, latency.slow.as_secs_f64() * 1e3)
        };
        println!(
            "{:<26} {:>10.1}/s {:>10.1}/s {:>6.1}x   {:>19} {:>19}",
            left.name,
            left.rate,
            right.rate,
            right.rate / left.rate,
            times(left.latency),
            times(right.latency),
        );
    }
    for (name, left, right) in [
        ("memory, idle", stock.idle.memory, ours.idle.memory),
        ("memory, after the load", stock.loaded.memory, ours.loaded.memory),
    ] {
        println!("{name:<26} {left:>8.1} MiB {right:>8.1} MiB {:>6.2}x", right / left);
    }
    println!("{:<26} {:>10.2} % {:>10.2} %", "processor, idle", stock.idle.processor, ours.idle.processor);
}
