//! What all tasks share: running a command and saying why a task failed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use roost_tests::assets::{AssetError, repository};
use roost_tests::components::ComponentsError;
use roost_tests::conformance::ConformanceError;
use roost_tests::differential::suite::SuiteError;
use roost_tests::hosts::HostsError;
use roost_tests::ignition::IgnitionError;
use roost_tests::journey::JourneyError;
use roost_tests::plane::PlaneError;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// A command could not be started; install it.
    #[error("cannot run {program}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A command failed; its output says why.
    #[error("`{command}` failed ({status})")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
    },
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A plane did not start.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// A binary is missing.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// The differential suite did not run.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The components did not do their work.
    #[error(transparent)]
    Components(#[from] ComponentsError),
    /// The conformance tests did not run.
    #[error(transparent)]
    Conformance(#[from] ConformanceError),
    /// The journeys did not happen.
    #[error(transparent)]
    Journey(#[from] JourneyError),
    /// The real Ignition did not do what it should.
    #[error(transparent)]
    Ignition(#[from] IgnitionError),
    /// The hosts did not do what they should.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The task ran and found something wrong.
    #[error("{0}")]
    Found(String),
}

/// A command in the repository's root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(repository());
    command
}

/// Cargo, the one that runs this task.
pub(crate) fn cargo() -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Cargo tells its children which package runs them; a nested cargo would rebuild for that alone.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to its end and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<(), TaskError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| TaskError::Start { program, source })?;
    if status.success() {
        Ok(())
    } else {
        Err(TaskError::Failed { command: describe(command), status: status.to_string() })
    }
}

fn describe(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    command.get_args().fold(name, |text, argument| format!("{text} {}", argument.to_string_lossy()))
}
