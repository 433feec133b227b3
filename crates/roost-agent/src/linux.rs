//! The real host: systemctl, apt and dnf, modprobe, `/proc/sys`, `ip`, `nft` and `iptables`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::software::Manager;
use crate::step::NetworkState;
use crate::system::{System, SystemError, UnitState};

/// How much of a failed program's output is shown.
const LAST_WORDS: usize = 600;

/// The running host.
#[derive(Debug, Default)]
pub struct Linux;

impl Linux {
    fn output(program: &str, arguments: &[&str]) -> Result<Output, SystemError> {
        Command::new(program)
            .args(arguments)
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| SystemError::Start { program: program.to_owned(), source })
    }

    pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, SystemError> {
        let output = Self::output(program, arguments)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let mut words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if words.is_empty() {
            String::from_utf8_lossy(&output.stdout).trim().clone_into(&mut words);
        }
        let start = words.char_indices().rev().nth(LAST_WORDS).map_or(0, |(index, _)| index);
        let command = format!("{program} {}", arguments.join(" "));
        Err(SystemError::Failed { command, words: words[start..].to_owned() })
    }

    fn setting_path(key: &str) -> PathBuf {
        Path::new("/proc/sys").join(key.replace('.', "/"))
    }
}

impl System for Linux {
    fn installed(&mut self, manager: Manager) -> Result<BTreeSet<String>, SystemError> {
        Ok(match manager {
            Manager::Apt => {
                let text = Self::run("dpkg-query", &["-W", "-f", "${binary:Package} ${db:Status-Status}\n"])?;
                let gone = ["not-installed", "config-files"];
                text.lines()
                    .filter_map(|line| line.split_once(' '))
                    .filter(|(_, state)| !gone.contains(state))
                    // Names carry the architecture only where several can be installed at once.
                    .map(|(name, _)| name.split(':').next().unwrap_or(name).to_owned())
                    .collect()
            }
            Manager::Dnf => {
                let text = Self::run("rpm", &["-qa", "--qf", "%{NAME}\n"])?;
                text.lines().map(str::to_owned).collect()
            }
        })
    }

    fn install(&mut self, manager: Manager, names: &[String]) -> Result<(), SystemError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match manager {
            Manager::Apt => {
                // A power cut may have left packages half configured.
                Self::run("dpkg", &["--configure", "-a"])?;
                let mut arguments = vec!["install", "-y", "-q", "--no-install-recommends"];
                arguments.extend(["-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Options::=--force-confold"]);
                arguments.extend(names);
                // Lists may be old or missing; asking for them again needs the network, which may be missing, too.
                if let Err(error) = Self::run("apt-get", &arguments) {
                    let mut update = vec!["update", "-q"];
                    update.extend(["-o", "DPkg::Lock::Timeout=120"]);
                    Self::run("apt-get", &update).map_err(|_| error)?;
                    Self::run("apt-get", &arguments)?;
                }
            }
            Manager::Dnf => {
                let mut arguments = vec!["install", "-y", "-q", "--setopt=install_weak_deps=False"];
                arguments.extend(names);
                Self::run("dnf", &arguments)?;
            }
        }
        Ok(())
    }

    fn uninstall(&mut self, manager: Manager, names: &[String]) -> Result<(), SystemError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match manager {
            Manager::Apt => {
                // What cannot be configured can still be removed.
                let _ = Self::run("dpkg", &["--configure", "-a"]);
                if !names.is_empty() {
                    let mut arguments = vec!["purge", "-y", "-q", "-o", "DPkg::Lock::Timeout=120"];
                    arguments.extend(names);
                    Self::run("apt-get", &arguments)?;
                }
            }
            Manager::Dnf if names.is_empty() => {}
            Manager::Dnf => {
                let mut arguments = vec!["remove", "-y", "-q", "--noautoremove"];
                arguments.extend(names);
                Self::run("dnf", &arguments)?;
            }
        }
        Ok(())
    }

    fn unit(&mut self, unit: &str) -> Result<UnitState, SystemError> {
        let enabled = Self::output("systemctl", &["is-enabled", unit])?;
        let active = Self::output("systemctl", &["is-active", "--quiet", unit])?;
        let enabled = String::from_utf8_lossy(&enabled.stdout).trim().to_owned();
        Ok(UnitState { enabled, active: active.status.success() })
    }

    fn set_enabled(&mut self, unit: &str, enabled: bool) -> Result<(), SystemError> {
        if !enabled && self.unit(unit)?.enabled.is_empty() {
            return Ok(());
        }
        Self::run("systemctl", &[if enabled { "enable" } else { "disable" }, unit]).map(drop)
    }

    fn restart(&mut self, unit: &str) -> Result<(), SystemError> {
        // Units that failed before and are tried too often are not started otherwise.
        let _ = Self::run("systemctl", &["reset-failed", unit]);
        Self::run("systemctl", &["restart", unit]).map(drop)
    }

    fn start(&mut self, unit: &str) -> Result<(), SystemError> {
        Self::run("systemctl", &["start", unit]).map(drop)
    }

    fn stop(&mut self, unit: &str) -> Result<(), SystemError> {
        let load = Self::run("systemctl", &["show", "--property=LoadState", "--value", unit])?;
        if load.trim() != "not-found" {
            Self::run("systemctl", &["stop", unit])?;
            let _ = Self::run("systemctl", &["reset-failed", unit]);
        }
        Ok(())
    }

    fn reload_units(&mut self) -> Result<(), SystemError> {
        Self::run("systemctl", &["daemon-reload"]).map(drop)
    }

    fn has_module(&mut self, name: &str) -> Result<bool, SystemError> {
        let loaded = std::fs::read_to_string("/proc/modules").unwrap_or_default();
        // `modprobe` finds nothing to do for what is built in, and so there is nothing to undo.
        Ok(Path::new("/sys/module").join(name).exists()
            || loaded.lines().any(|line| line.split(' ').next() == Some(name)))
    }

    fn load_module(&mut self, name: &str) -> Result<(), SystemError> {
        if self.has_module(name)? || super::collect::is_built_in(name) {
            return Ok(());
        }
        Self::run("modprobe", &[name]).map(drop)
    }

    fn unload_module(&mut self, name: &str) -> Result<(), SystemError> {
        // Somebody else may use it by now.
        let _ = Self::run("modprobe", &["-r", name]);
        Ok(())
    }

    fn setting(&mut self, key: &str) -> Result<Option<String>, SystemError> {
        let path = Self::setting_path(key);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim_end().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(SystemError::File { path: path.display().to_string(), source }),
        }
    }

    fn set_setting(&mut self, key: &str, value: &str) -> Result<(), SystemError> {
        let path = Self::setting_path(key);
        if self.setting(key)?.is_none_or(|now| now == value) {
            return Ok(());
        }
        std::fs::write(&path, value).map_err(|source| SystemError::File { path: path.display().to_string(), source })
    }

    fn network(&mut self) -> Result<NetworkState, SystemError> {
        Ok(crate::network::state())
    }

    fn restore_network(&mut self, before: &NetworkState) -> Result<(), SystemError> {
        crate::network::restore(before)
    }

    fn end_containers(&mut self) -> Result<(), SystemError> {
        crate::containers::end()
    }

    fn unmount_below(&mut self, path: &str) -> Result<(), SystemError> {
        crate::containers::unmount_below(path)
    }
}
