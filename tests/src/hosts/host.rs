//! One host: made, booted, cut off from power, looked at and removed by `host.sh`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::HostsError;
use super::shell::output;
use crate::assets::repository;

/// Kernel settings that all hosts share with the machine under them.
pub(super) const SHARED_SETTINGS: [&str; 7] = [
    "fs.inotify.max_user_instances",
    "fs.inotify.max_user_watches",
    "kernel.keys.root_maxbytes",
    "kernel.keys.root_maxkeys",
    "kernel.panic",
    "kernel.panic_on_oops",
    "vm.overcommit_memory",
];

/// The network namespace of the control plane; runs at the same time do not share it.
pub(super) fn namespace() -> String {
    format!("roost-hosts-{}", std::process::id())
}

/// Runs an action of the script.
pub(super) fn script(action: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.env("PLANE", namespace());
    command.arg(repository().join("tests/src/hosts/host.sh")).arg(action).args(arguments);
    command
}

/// A host. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Host {
    /// Its name, which is that of its node.
    pub(super) name: String,
    /// The last number of its address.
    pub(super) number: u8,
    directory: PathBuf,
    shared: PathBuf,
}

impl Host {
    /// Makes a host from a root, which stays off.
    pub(super) fn make(root: &Path, work: &Path, shared: &Path, number: u8) -> Result<Self, HostsError> {
        let name = format!("roost-h{number}");
        let host = Self { directory: work.join(&name), name, number, shared: shared.to_owned() };
        output(&mut script("remove", &[&host.directory(), &host.name]))?;
        output(&mut script("make", &[&root.to_string_lossy(), &host.directory(), &host.name, &number.to_string()]))?;
        Ok(host)
    }

    /// Puts it behind a router that translates addresses, before it boots.
    pub(super) fn hide(&self) -> Result<(), HostsError> {
        output(&mut script("hide", &[&self.directory(), &self.name, &self.number.to_string()])).map(drop)
    }

    /// What the real Ignition does before a first boot: it fetches what user-data leads to, and writes it to the root.
    pub(super) fn ignite(&self, user_data: &Path) -> Result<(), HostsError> {
        output(&mut script("ignite", &[&self.directory(), &self.name, &user_data.to_string_lossy()])).map(drop)
    }

    fn directory(&self) -> String {
        self.directory.to_string_lossy().into_owned()
    }

    /// Boots.
    pub(super) fn power_on(&self) -> Result<(), HostsError> {
        let shared = self.shared.to_string_lossy().into_owned();
        // What the script leaves running must not keep a pipe open.
        let mut command = script("on", &[&self.directory(), &self.name, &shared]);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Err(HostsError::Wrong(format!("{} did not boot; see {}/console.log", self.name, self.directory()))),
        }
    }

    /// The power fails.
    pub(super) fn cut(&self) -> Result<(), HostsError> {
        output(&mut script("cut", &[&self.directory(), &self.name])).map(drop)
    }

    fn command(&self, line: &[&str]) -> Command {
        let mut arguments = vec![self.directory(), self.name.clone()];
        arguments.extend(line.iter().map(|&word| word.to_owned()));
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        script("run", &words)
    }

    /// Runs a command on the host.
    pub(super) fn run(&self, line: &[&str]) -> Result<String, HostsError> {
        output(&mut self.command(line))
    }

    /// Starts a command on the host and does not wait for it.
    pub(super) fn start(&self, line: &[&str], log: &Path) -> Result<Child, HostsError> {
        let unusable = |source| HostsError::File { path: log.to_owned(), source };
        let file = std::fs::File::create(log).map_err(unusable)?;
        let errors = file.try_clone().map_err(unusable)?;
        self.command(line).stdin(Stdio::null()).stdout(file).stderr(errors).spawn().map_err(unusable)
    }

    /// Everything that leaving has to put back.
    pub(super) fn snapshot(&self) -> Result<String, HostsError> {
        output(&mut script("snapshot", &[&self.directory(), &self.name]))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if output(&mut script("remove", &[&self.directory(), &self.name])).is_err() {
            eprintln!("the host {} was not removed", self.name);
        }
    }
}
