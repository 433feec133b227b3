//! A root directory that the real Ignition provisions, as it would a machine's disk.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roost_ignition::Config;
use tokio::process::Command;

use super::{IGNITION, IgnitionError, below, differs, write};

/// How long a stage may take. Ignition itself tries forever where it hopes.
pub(super) const STAGE_TIMEOUT: Duration = Duration::from_mins(1);

/// What a root needs before it can be provisioned: accounts, and a word on labels.
const BEFORE: &[(&str, &str, u32)] = &[
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/sh\n", 0o644),
    ("/etc/group", "root:x:0:\ncore:x:1000:\n", 0o644),
    ("/etc/shadow", "root:*:19000::::::\ncore:*:19000::::::\n", 0o600),
    ("/etc/selinux/config", "SELINUX=disabled\nSELINUXTYPE=targeted\n", 0o644),
];

/// What is said of a stage that was stopped.
pub(super) const STILL_TRYING: &str = "it still tried when it was stopped";

pub(super) struct Machine {
    folder: PathBuf,
    root: PathBuf,
}

impl Machine {
    pub(super) fn new(folder: &Path) -> Result<Self, IgnitionError> {
        let root = folder.join("root");
        let failed = |source| IgnitionError::Use { what: folder.display().to_string(), source };
        for (path, text, mode) in BEFORE {
            let path = below(&root, path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(failed)?;
            }
            write(&path, text.as_bytes())?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(*mode)).map_err(failed)?;
        }
        let home = root.join("home/core");
        std::fs::create_dir_all(&home).map_err(failed)?;
        std::os::unix::fs::chown(&home, Some(1000), Some(1000)).map_err(failed)?;
        // The packaged program ends by labelling files, for which this machine need not have the tool.
        let tools = folder.join("tools");
        std::fs::create_dir_all(&tools).map_err(failed)?;
        let stand_in = tools.join("setfiles");
        write(&stand_in, b"#!/bin/sh\nexit 0\n")?;
        std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
        Ok(Self { folder: folder.to_owned(), root })
    }

    /// Boots with user-data: fetches, then writes. Whoever still tries after `patience` is stopped.
    pub(super) async fn boot(&self, variant: &str, user_data: &[u8], patience: Duration) -> Result<(), IgnitionError> {
        let config = self.folder.join("user-data.ign");
        write(&config, user_data)?;
        let cache = self.folder.join("ignition.json");
        let _ = std::fs::remove_file(&cache);
        let mut path = self.folder.join("tools").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        for stage in ["fetch", "files"] {
            let run = Command::new(IGNITION)
                .args(["--platform=file", "--log-to-stdout"])
                .arg(format!("--stage={stage}"))
                .arg(format!("--root={}", self.root.display()))
                .arg(format!("--config-cache={}", cache.display()))
                .arg(format!("--neednet={}", self.folder.join("neednet").display()))
                .env("IGNITION_CONFIG_FILE", &config)
                .env("PATH", &path)
                .kill_on_drop(true)
                .output();
            let output = tokio::time::timeout(patience, run)
                .await
                .map_err(|_| differs(variant, format!("stage {stage}: {STILL_TRYING}")))?
                .map_err(|source| IgnitionError::Use { what: IGNITION.to_owned(), source })?;
            if !output.status.success() {
                let words = String::from_utf8_lossy(&output.stdout).into_owned();
                let last: Vec<&str> = words.lines().rev().take(8).collect();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
                return Err(differs(variant, format!("stage {stage}: {last}")));
            }
        }
        Ok(())
    }

    /// Whether the root is what a config says. Returns how many files were compared.
    pub(super) fn holds(&self, variant: &str, config: &Config) -> Result<usize, IgnitionError> {
        let mut files = 0;
        for file in config.files() {
            let path = file.path();
            let written = self.read(variant, path)?;
            self.has_mode(variant, path, file.mode().unwrap_or(0o644))?;
            let is_same = match file.contents() {
                Ok(contents) => contents == written,
                // A fetched file was checked with its hash by Ignition itself.
                Err(_) => written.len() > 1 << 20,
            };
            if !is_same {
                return Err(differs(variant, format!("{path} holds something else")));
            }
            files += 1;
        }
        for directory in config.directories() {
            self.has_mode(variant, directory.path(), directory.mode().unwrap_or(0o755))?;
        }
        let presets = self.read(variant, "/etc/systemd/system-preset/20-ignition.preset")?;
        let presets = String::from_utf8_lossy(&presets).into_owned();
        for unit in config.units() {
            let path = format!("/etc/systemd/system/{}", unit.name());
            if let Some(contents) = unit.contents()
                && self.read(variant, &path)? != contents.as_bytes()
            {
                return Err(differs(variant, format!("{path} holds something else")));
            }
            for dropin in unit.dropins() {
                let path = format!("{path}.d/{}", dropin.name);
                if self.read(variant, &path)? != dropin.contents.unwrap_or_default().as_bytes() {
                    return Err(differs(variant, format!("{path} holds something else")));
                }
            }
            if unit.enabled() == Some(true) && !presets.contains(&format!("enable {}\n", unit.name())) {
                return Err(differs(variant, format!("{} is not enabled", unit.name())));
            }
        }
        for user in config.users() {
            let path = format!("/home/{}/.ssh/authorized_keys.d/ignition", user.name());
            let keys = self.read(variant, &path)?;
            let keys = String::from_utf8_lossy(&keys);
            if !user.ssh_keys().all(|key| keys.contains(key)) {
                return Err(differs(variant, format!("{path} lacks a key")));
            }
        }
        Ok(files)
    }

    fn read(&self, variant: &str, path: &str) -> Result<Vec<u8>, IgnitionError> {
        std::fs::read(below(&self.root, path)).map_err(|error| differs(variant, format!("{path}: {error}")))
    }

    fn has_mode(&self, variant: &str, path: &str, mode: u32) -> Result<(), IgnitionError> {
        let metadata =
            std::fs::metadata(below(&self.root, path)).map_err(|error| differs(variant, format!("{path}: {error}")))?;
        let found = metadata.permissions().mode() & 0o7777;
        if found == mode { Ok(()) } else { Err(differs(variant, format!("{path} has mode {found:o}, not {mode:o}"))) }
    }
}
