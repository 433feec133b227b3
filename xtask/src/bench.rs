//! `cargo xtask bench`: measurements, printed as ratios against another part in the same run.

use crate::command_line::Bench;
use crate::task::{self, TaskError};

/// Runs one benchmark.
pub(crate) fn run(benchmark: &Bench) -> Result<(), TaskError> {
    match benchmark {
        Bench::Store => {
            task::run(task::cargo().args(["run", "--release", "--quiet", "--package", "roost-store-bench"]))
        }
    }
}
