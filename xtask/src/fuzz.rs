//! `cargo xtask fuzz`: every target under libFuzzer, one after another, starting from the requests of the differential suite.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use roost_tests::assets::repository;
use roost_tests::differential::suite;

use crate::command_line::Fuzz;
use crate::task::{self, TaskError};

/// An input that takes longer is a finding, in seconds: the slowest honest one takes a tenth of that.
const TIMEOUT: u32 = 10;

/// An input that takes more memory is a finding, in MiB.
const MEMORY_LIMIT: u32 = 1024;

/// Longer inputs find nothing that shorter ones do not, later.
const LONGEST_INPUT: u32 = 4096;

/// Runs the targets. The first finding ends it; its input is kept, and named on the last lines.
pub(crate) fn run(arguments: &Fuzz) -> Result<(), TaskError> {
    let is_wanted = |name: &str| arguments.target.as_deref().is_none_or(|wanted| wanted == name);
    let targets: Vec<&str> =
        roost_fuzzing::TARGETS.iter().map(|(name, _)| *name).filter(|name| is_wanted(name)).collect();
    if targets.is_empty() {
        return Err(TaskError::Found(format!(
            "there is no target {}",
            arguments.target.as_deref().unwrap_or_default()
        )));
    }
    let directory = directory();
    write_seeds(&directory)?;
    // What is fuzzed is what is shipped: the same versions of everything.
    let (ours, theirs) = (repository().join("Cargo.lock"), repository().join("fuzz/Cargo.lock"));
    std::fs::copy(ours, &theirs).map_err(|source| TaskError::File { path: theirs, source })?;
    for target in targets {
        eprintln!("== {target}");
        task::run(&mut program(&directory, target, arguments.minutes)?)?;
    }
    Ok(())
}

/// Where programs, inputs and findings lie.
fn directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from).join("fuzz")
}

/// One target as a command, with the inputs that it knows so far.
fn program(directory: &Path, target: &str, minutes: u32) -> Result<Command, TaskError> {
    let (corpus, found) = (directory.join("corpus").join(target), directory.join("found").join(target));
    for path in [&corpus, &found] {
        std::fs::create_dir_all(path).map_err(|source| TaskError::File { path: path.clone(), source })?;
    }
    let mut command = task::command("rustup");
    // Our own code has no unsafe parts for a sanitizer to watch over, and is twice as fast without one.
    command.args([
        "run",
        "nightly",
        "cargo",
        "fuzz",
        "run",
        "--sanitizer",
        "none",
        "--fuzz-dir",
        "fuzz",
        "--target-dir",
    ]);
    command.arg(directory).arg(target).arg(corpus).arg("--");
    command.args([
        format!("-max_total_time={}", minutes * 60),
        format!("-timeout={TIMEOUT}"),
        format!("-rss_limit_mb={MEMORY_LIMIT}"),
        format!("-max_len={LONGEST_INPUT}"),
        "-print_final_stats=1".to_owned(),
    ]);
    let mut prefix = OsString::from("-artifact_prefix=");
    prefix.push(found.join(""));
    command.arg(prefix);
    Ok(command)
}

/// Writes what the targets begin with beside what earlier runs found worth keeping.
fn write_seeds(directory: &Path) -> Result<(), TaskError> {
    let table = suite::directory();
    let seeds = roost_fuzzing::seeds(&table).map_err(|source| TaskError::File { path: table, source })?;
    for (target, inputs) in seeds {
        let corpus = directory.join("corpus").join(target);
        let failed = |source| TaskError::File { path: corpus.clone(), source };
        std::fs::create_dir_all(&corpus).map_err(failed)?;
        for (index, input) in inputs.iter().enumerate() {
            std::fs::write(corpus.join(format!("seed-{index}")), input).map_err(failed)?;
        }
    }
    Ok(())
}
