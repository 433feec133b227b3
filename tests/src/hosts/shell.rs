//! Running commands and waiting for what they bring about.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::HostsError;

/// How often a state is looked at.
const PAUSE: Duration = Duration::from_millis(700);

/// Runs a command to its end and returns what it printed.
pub(super) fn output(command: &mut Command) -> Result<String, HostsError> {
    let words = format!("{command:?}").replace('"', "");
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| HostsError::Command { command: words.clone(), output: error.to_string() })?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        return Ok(text);
    }
    Err(HostsError::Command { command: words, output: format!("{text}{}", String::from_utf8_lossy(&done.stderr)) })
}

/// Looks until something is there.
pub(super) fn until<T>(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> Result<T, String>,
) -> Result<T, HostsError> {
    let begin = Instant::now();
    loop {
        match look() {
            Ok(found) => return Ok(found),
            Err(seen) if begin.elapsed() > patience => {
                return Err(HostsError::Late { what: what.to_owned(), seconds: patience.as_secs(), seen });
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}
