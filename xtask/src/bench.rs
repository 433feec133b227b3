//! `cargo xtask bench`: measurements, printed as ratios against another part in the same run.

mod agents;
mod disturbed;
mod engine;
mod hosts;
mod nodes;
mod planes;
mod workloads;

use std::path::PathBuf;

use roost_tests::assets::repository;
use roost_tests::ours;

use crate::command_line::Bench;
use crate::task::{self, TaskError};

/// Runs one benchmark.
pub(crate) async fn run(benchmark: &Bench) -> Result<(), TaskError> {
    match benchmark {
        Bench::Store => {
            task::run(task::cargo().args(["run", "--release", "--quiet", "--package", "roost-store-bench"]))
        }
        Bench::Engine(arguments) => engine::run(arguments).await,
        Bench::Hostile(arguments) => disturbed::hostile(arguments).await,
        Bench::Neighbours(arguments) => disturbed::neighbours(arguments).await,
        Bench::Disturb(arguments) => disturbed::disturb(arguments).await,
        Bench::Agents(arguments) => agents::run(arguments).await,
        Bench::Hosts(arguments) => hosts::run(arguments).await,
        Bench::Nodes(arguments) => nodes::run(arguments).await,
        Bench::Planes(arguments) => planes::run(arguments).await,
        Bench::Workloads(arguments) => workloads::run(arguments).await,
        Bench::Ignition => {
            let mut command = task::cargo();
            command.args(["run", "--release", "--quiet", "--package", "roost-ignition-server"]);
            task::run(command.args(["--example", "throughput"]))
        }
        Bench::Image => {
            let mut command = task::cargo();
            command.args(["run", "--release", "--quiet", "--package", "roost-image-server"]);
            task::run(command.args(["--example", "streaming"]))
        }
        Bench::Tenants(arguments) => {
            let mut command = task::cargo();
            command.args(["run", "--release", "--quiet", "--package", "roost-apiserver", "--example", "tenants", "--"]);
            task::run(command.arg(arguments.count.to_string()))
        }
    }
}

/// The optimised engine: built, unless the environment names another.
fn engine_binary() -> Result<PathBuf, TaskError> {
    if std::env::var_os(ours::BINARY_VARIABLE).is_some() {
        return Ok(ours::binary()?);
    }
    task::run(task::cargo().args(["build", "--release", "--quiet", "--package", "hcp"]))?;
    Ok(repository().join("target").join("release").join("hcp"))
}

/// How busy the machine was in the last minute: a measurement means little without.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

/// Runs the same task without the weight of debugging, unless that is what runs: an unoptimised client would be the
/// slowest part of a measurement. True when it was run.
fn ran_optimised() -> Result<bool, TaskError> {
    if !cfg!(debug_assertions) {
        return Ok(false);
    }
    let mut command = task::cargo();
    command.args(["run", "--release", "--quiet", "--package", "xtask", "--"]).args(std::env::args_os().skip(1));
    task::run(&mut command)?;
    Ok(true)
}
