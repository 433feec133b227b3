//! One change to a host, and what was there before it. Both are written down before the change is made.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::root::Owner;
use crate::software::Manager;

/// One change to a host. What a file will hold is not part of it: journals hold no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Step {
    /// A path where others will put things while the host is a node. If nothing is there now, nothing will be after.
    Claim {
        /// The path.
        path: String,
    },
    /// A file that others change while the host is a node, and that is put back.
    Keep {
        /// The path.
        path: String,
    },
    /// A unit that may run now with another configuration; it is put back in its state when that is back.
    Running {
        /// The unit.
        unit: String,
    },
    /// Interfaces and packet filters, which network plugins change.
    Network,
    /// Packages.
    Packages {
        /// How.
        manager: Manager,
        /// Which.
        names: Vec<String>,
    },
    /// A directory.
    Directory {
        /// The path.
        path: String,
        /// Its mode.
        mode: u32,
        /// Its owner.
        owner: Owner,
    },
    /// A file.
    File {
        /// The path.
        path: String,
        /// The SHA-256 of its contents.
        digest: String,
        /// Its mode.
        mode: u32,
        /// Its owner.
        owner: Owner,
    },
    /// A symbolic or hard link.
    Link {
        /// The path.
        path: String,
        /// Where it leads.
        target: String,
        /// Whether it is another name of a file.
        hard: bool,
        /// Its owner.
        owner: Owner,
    },
    /// A kernel module.
    Module {
        /// Its name.
        name: String,
    },
    /// A kernel setting; without a value, one that others change and that is put back.
    Setting {
        /// Its name, with dots.
        key: String,
        /// What it is set to.
        value: Option<String>,
    },
    /// Whether a unit starts at boot.
    Enable {
        /// The unit.
        unit: String,
        /// Whether it does.
        enabled: bool,
    },
    /// Containers, which nobody starts here but the kubelet, and which end with it.
    Containers,
    /// A unit that runs now.
    Start {
        /// The unit.
        unit: String,
    },
}

impl Step {
    /// Whether it changes anything by itself, rather than only remembering how it was.
    pub fn is_change(&self) -> bool {
        !matches!(
            self,
            Self::Claim { .. }
                | Self::Keep { .. }
                | Self::Running { .. }
                | Self::Network
                | Self::Containers
                | Self::Setting { value: None, .. }
        )
    }

    /// The path that it changes, if it changes one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Claim { path }
            | Self::Keep { path }
            | Self::Directory { path, .. }
            | Self::File { path, .. }
            | Self::Link { path, .. } => Some(path),
            _ => None,
        }
    }

    /// What it changes. Two steps with the same subject follow each other; the first one knows what was before.
    pub fn subject(&self) -> String {
        match self {
            Self::Claim { path } => format!("claim {path}"),
            Self::Keep { path } => format!("keep {path}"),
            Self::Running { unit } => format!("running {unit}"),
            Self::Network => "network".to_owned(),
            Self::Packages { .. } => "packages".to_owned(),
            Self::Directory { path, .. } | Self::File { path, .. } | Self::Link { path, .. } => format!("path {path}"),
            Self::Module { name } => format!("module {name}"),
            Self::Setting { key, .. } => format!("setting {key}"),
            Self::Enable { unit, .. } => format!("enable {unit}"),
            Self::Containers => "containers".to_owned(),
            Self::Start { unit } => format!("start {unit}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim { path } => write!(formatter, "watch over {path}"),
            Self::Keep { path } => write!(formatter, "remember {path}"),
            Self::Running { unit } => write!(formatter, "remember whether {unit} runs"),
            Self::Network => formatter.write_str("remember interfaces and packet filters"),
            Self::Packages { names, .. } => write!(formatter, "install {}", names.join(", ")),
            Self::Directory { path, mode, .. } => write!(formatter, "make {path}/ ({mode:04o})"),
            Self::File { path, mode, .. } => write!(formatter, "write {path} ({mode:04o})"),
            Self::Link { path, target, .. } => write!(formatter, "link {path} to {target}"),
            Self::Module { name } => write!(formatter, "load {name}"),
            Self::Setting { key, value: Some(value) } => write!(formatter, "set {key} to {value}"),
            Self::Setting { key, value: None } => write!(formatter, "remember {key}"),
            Self::Enable { unit, enabled: true } => write!(formatter, "enable {unit}"),
            Self::Enable { unit, enabled: false } => write!(formatter, "disable {unit}"),
            Self::Containers => formatter.write_str("let the kubelet run containers"),
            Self::Start { unit } => write!(formatter, "start {unit}"),
        }
    }
}

/// What was there before a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Before {
    /// Nothing, or nothing that matters.
    Nothing,
    /// Something that stays as it is.
    Something,
    /// A file or link; it lies under the step's number among the kept ones.
    Kept,
    /// A directory.
    Directory {
        /// Its mode.
        mode: u32,
        /// Its owner.
        owner: Owner,
    },
    /// A unit.
    Unit {
        /// Whether it starts at boot, in systemd's words.
        enabled: String,
        /// Whether it ran.
        active: bool,
    },
    /// A kernel setting; none where the kernel did not have it.
    Setting {
        /// The value.
        value: Option<String>,
    },
    /// Whether a module was there.
    Module {
        /// Whether it was.
        present: bool,
    },
    /// All packages that were installed.
    Packages {
        /// Their names.
        installed: BTreeSet<String>,
    },
    /// The network.
    Network(NetworkState),
}

/// Interfaces and packet filters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkState {
    /// The names of the interfaces.
    pub interfaces: BTreeSet<String>,
    /// The tables of nftables, as family and name.
    pub tables: BTreeSet<String>,
}
