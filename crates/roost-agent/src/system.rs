//! What a host does besides holding files: packages, units, modules, settings, network, containers. The real one is
//! [`crate::linux::Linux`]; tests have one in memory.

use std::collections::BTreeSet;

use crate::software::Manager;
use crate::step::NetworkState;

/// Why the host did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// A program is missing or could not be started.
    #[error("cannot run {program}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program failed; its last words say why.
    #[error("`{command}` failed: {words}")]
    Failed {
        /// The command.
        command: String,
        /// The end of what it said.
        words: String,
    },
    /// A file of the kernel could not be read or written.
    #[error("cannot use {path}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// How a unit is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// What `systemctl is-enabled` says; empty when there is no such unit.
    pub enabled: String,
    /// Whether it runs.
    pub active: bool,
}

/// What a host does. Every method can be repeated after a power cut in its middle.
pub trait System {
    /// The names of all installed packages.
    fn installed(&mut self, manager: Manager) -> Result<BTreeSet<String>, SystemError>;
    /// Installs packages and what they need.
    fn install(&mut self, manager: Manager, names: &[String]) -> Result<(), SystemError>;
    /// Removes packages with their configuration; names that are not installed do not matter.
    fn uninstall(&mut self, manager: Manager, names: &[String]) -> Result<(), SystemError>;
    /// How a unit is.
    fn unit(&mut self, unit: &str) -> Result<UnitState, SystemError>;
    /// Has a unit start at boot, or not.
    fn set_enabled(&mut self, unit: &str, enabled: bool) -> Result<(), SystemError>;
    /// Starts a unit, or starts it again so that it reads its configuration.
    fn restart(&mut self, unit: &str) -> Result<(), SystemError>;
    /// Starts a unit that does not run.
    fn start(&mut self, unit: &str) -> Result<(), SystemError>;
    /// Stops a unit; one that is not there is stopped.
    fn stop(&mut self, unit: &str) -> Result<(), SystemError>;
    /// Has the service manager read its files again.
    fn reload_units(&mut self) -> Result<(), SystemError>;
    /// Whether a module is loaded or built in.
    fn has_module(&mut self, name: &str) -> Result<bool, SystemError>;
    /// Loads a module.
    fn load_module(&mut self, name: &str) -> Result<(), SystemError>;
    /// Unloads a module, unless somebody uses it.
    fn unload_module(&mut self, name: &str) -> Result<(), SystemError>;
    /// The value of a kernel setting, if there is one of this name.
    fn setting(&mut self, key: &str) -> Result<Option<String>, SystemError>;
    /// Changes a kernel setting.
    fn set_setting(&mut self, key: &str, value: &str) -> Result<(), SystemError>;
    /// Interfaces and packet filters.
    fn network(&mut self) -> Result<NetworkState, SystemError>;
    /// Removes interfaces and packet filters that network plugins and the kubelet made since.
    fn restore_network(&mut self, before: &NetworkState) -> Result<(), SystemError>;
    /// Ends all containers and what holds them.
    fn end_containers(&mut self) -> Result<(), SystemError>;
    /// Takes away what is mounted on or under a path.
    fn unmount_below(&mut self, path: &str) -> Result<(), SystemError>;
}
