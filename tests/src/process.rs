//! A child process that writes to a log file and does not outlive its owner.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How many of the last lines of a log a failure shows.
const LOG_TAIL_LINES: usize = 15;

/// Why a process is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The binary could not be started.
    #[error("cannot start {name}")]
    Start {
        /// The name of the process.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended before it was ready; the log says why.
    #[error("{name} ended early ({status}); the end of its log:\n{log}")]
    Ended {
        /// The name of the process.
        name: String,
        /// How it ended.
        status: String,
        /// The last lines it wrote.
        log: String,
    },
    /// It did not become ready in time.
    #[error("{name} was not ready after {seconds} s; the end of its log:\n{log}")]
    NotReady {
        /// The name of the process.
        name: String,
        /// How long it was waited for.
        seconds: u64,
        /// The last lines it wrote.
        log: String,
    },
}

/// A running child; dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `program` with its output in `directory/<name>.log`.
    pub fn start(
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = OsString>,
        directory: &Path,
    ) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start { name: name.to_owned(), source };
        let log = directory.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let mut command = Self::bound_to_this_process(program);
        let child = command
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(errors))
            .spawn()
            .map_err(failed)?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// A command whose process the kernel ends when this one dies, even by a signal that runs no destructor.
    fn bound_to_this_process(program: &Path) -> Command {
        let setpriv = Path::new("/usr/bin/setpriv");
        if setpriv.exists() {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The log file.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Fails when the process has ended.
    pub fn check_running(&mut self) -> Result<(), ProcessError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(ProcessError::Ended { name: self.name.clone(), status: status.to_string(), log: self.log_tail() })
            }
            Err(source) => Err(ProcessError::Start { name: self.name.clone(), source }),
        }
    }

    /// The error for a process that was waited for too long.
    pub fn not_ready(&self, seconds: u64) -> ProcessError {
        ProcessError::NotReady { name: self.name.clone(), seconds, log: self.log_tail() }
    }

    /// Kills the process and waits for its end.
    pub fn kill(&mut self) {
        // Both fail only when the process is gone already, which is what was asked for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
