//! `hcp up --detach`: a child that outlives its terminal, and a parent that waits until it is ready.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::UpError;
use crate::arguments::Up;

/// Starts the server in the background and passes on its ready line.
pub(super) fn start(arguments: &Up, data_dir: &Path) -> Result<(), UpError> {
    let log_path = data_dir.join("hcp.log");
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| UpError::Detach { action, path, source }
    };
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&log_path)
        .map_err(failed("open the log", &log_path))?;
    let old = log.metadata().map_err(failed("read the log", &log_path))?.len();
    let program = std::env::current_exe().map_err(failed("find the program of", Path::new("hcp")))?;
    let mut command = Command::new(&program);
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
    let mut child = command.spawn().map_err(failed("start", &program))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let _ = BufReader::new(output).read_line(&mut line);
    }
    if line.is_empty() {
        let _ = child.wait();
        return Err(UpError::Background(last_error(&log_path, old)));
    }
    print!("{line}");
    Ok(())
}

/// The error that the child left in its log, behind what was there before, and with its causes and its hint.
fn last_error(log: &Path, old: u64) -> String {
    let lines = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(old))?;
        Ok(BufReader::new(file).lines().map_while(Result::ok).collect::<Vec<_>>())
    });
    let found = lines.ok().and_then(|lines| {
        let start = lines.iter().rposition(|line| line.starts_with("error: "))?;
        Some(lines[start..].join("\n").trim_start_matches("error: ").to_owned())
    });
    found.unwrap_or_else(|| format!("the server ended before it was ready; its log is {}", log.display()))
}
