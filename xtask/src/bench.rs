//! `cargo xtask bench`: measurements, printed as ratios against another part in the same run.

mod engine;

use crate::command_line::Bench;
use crate::task::{self, TaskError};

/// Runs one benchmark.
pub(crate) async fn run(benchmark: &Bench) -> Result<(), TaskError> {
    match benchmark {
        Bench::Store => {
            task::run(task::cargo().args(["run", "--release", "--quiet", "--package", "roost-store-bench"]))
        }
        Bench::Engine(arguments) => engine::run(arguments).await,
        Bench::Tenants(arguments) => {
            let mut command = task::cargo();
            command.args(["run", "--release", "--quiet", "--package", "roost-apiserver", "--example", "tenants", "--"]);
            task::run(command.arg(arguments.count.to_string()))
        }
    }
}
