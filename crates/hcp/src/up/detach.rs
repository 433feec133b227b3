//! `hcp up --detach`: a child that outlives its terminal, and a parent that waits until it is ready.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::UpError;
use crate::arguments::Up;

/// Starts the server in the background and passes on its ready line.
pub(super) fn start(arguments: &Up, data_dir: &Path) -> Result<(), UpError> {
    let failed = |what: &str, error: &io::Error| UpError::Detach(format!("{what}: {error}"));
    let log_path = data_dir.join("hcp.log");
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&log_path)
        .map_err(|error| failed("cannot open the log", &error))?;
    let program = std::env::current_exe().map_err(|error| failed("cannot find this program", &error))?;
    let mut command = Command::new(program);
    command
        .arg("up")
        .arg("--data-dir")
        .arg(data_dir)
        .arg("--listen")
        .arg(arguments.listen.to_string())
        .arg("--service-cidr")
        .arg(arguments.service_cidr.to_string());
    for name in &arguments.server_name {
        command.arg("--server-name").arg(name);
    }
    if let Some(path) = &arguments.artifacts {
        command.arg("--artifacts").arg(path);
    }
    if let Some(path) = &arguments.images {
        command.arg("--images").arg(path);
    }
    if let Some(path) = &arguments.audit_log {
        command.arg("--audit-log").arg(path);
    }
    if arguments.demo {
        command.arg("--demo");
    }
    if arguments.without_operator {
        command.arg("--without-operator");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).process_group(0);
    let mut child = command.spawn().map_err(|error| failed("cannot start", &error))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let _ = BufReader::new(output).read_line(&mut line);
    }
    if line.is_empty() {
        let _ = child.wait();
        return Err(UpError::Detach(last_error(&log_path)));
    }
    print!("{line}");
    Ok(())
}

/// The error that the child left in its log.
fn last_error(log: &Path) -> String {
    let lines = File::open(log).map(|file| BufReader::new(file).lines().map_while(Result::ok).collect::<Vec<_>>());
    let found = lines.ok().and_then(|lines| {
        let start = lines.iter().rposition(|line| line.starts_with("error: "))?;
        Some(lines[start..].join("\n").trim_start_matches("error: ").to_owned())
    });
    found.unwrap_or_else(|| format!("the server ended before it was ready; its log is {}", log.display()))
}
