//! Running instances: each leaves a small file under the user's state directory, by which other commands find it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// What is known of a running `hcp up`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instance {
    pub(crate) pid: i32,
    pub(crate) data_dir: PathBuf,
    pub(crate) server: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) started: String,
    pub(crate) version: String,
}

/// Why the record of instances cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceError {
    #[error("cannot tell where to keep state: set HOME, XDG_STATE_HOME or --data-dir")]
    NoHome,
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    #[error("no hcp up is running; start one with: hcp up --detach")]
    NoneRunning,
    #[error("no hcp up is running on {0}; see what runs with: hcp status")]
    NotRunningOn(PathBuf),
    #[error("several are running; say which with --data-dir, one of: {0}")]
    Several(String),
}

/// Where data goes when nobody says.
pub(crate) fn default_data_dir() -> Result<PathBuf, InstanceError> {
    base("XDG_DATA_HOME", ".local/share").map(|base| base.join("roost"))
}

fn base(variable: &str, below_home: &str) -> Result<PathBuf, InstanceError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| set("HOME").map(|home| home.join(below_home))).ok_or(InstanceError::NoHome)
}

fn records() -> Result<PathBuf, InstanceError> {
    base("XDG_STATE_HOME", ".local/state").map(|base| base.join("roost/instances"))
}

impl Instance {
    /// Leaves the record of this process.
    pub(crate) fn register(&self) -> Result<(), InstanceError> {
        let folder = records()?;
        let path = folder.join(format!("{}.json", self.pid));
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        let write = || fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
        write().map_err(|source| InstanceError::Write { path: path.clone(), source })
    }

    /// Removes the record of this process.
    pub(crate) fn unregister(&self) {
        if let Ok(folder) = records() {
            let _ = fs::remove_file(folder.join(format!("{}.json", self.pid)));
        }
    }

    /// Whether its process still runs.
    pub(crate) fn is_alive(&self) -> bool {
        Pid::from_raw(self.pid).is_some_and(|pid| test_kill_process(pid).is_ok())
    }
}

/// All running instances; records of dead ones are removed on the way.
pub(crate) fn running() -> Result<Vec<Instance>, InstanceError> {
    let Ok(entries) = fs::read_dir(records()?) else { return Ok(Vec::new()) };
    let mut instances: Vec<Instance> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let instance: Instance = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            if instance.is_alive() {
                return Some(instance);
            }
            let _ = fs::remove_file(path);
            None
        })
        .collect();
    instances.sort_by(|a, b| a.started.cmp(&b.started));
    Ok(instances)
}

/// The one instance that is meant.
pub(crate) fn find(data_dir: Option<&Path>) -> Result<Instance, InstanceError> {
    let mut instances = running()?;
    if let Some(data_dir) = data_dir {
        let wanted = fs::canonicalize(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        return instances
            .into_iter()
            .find(|instance| instance.data_dir == wanted)
            .ok_or(InstanceError::NotRunningOn(wanted));
    }
    match instances.len() {
        0 => Err(InstanceError::NoneRunning),
        1 => Ok(instances.swap_remove(0)),
        _ => {
            let folders: Vec<_> = instances.iter().map(|instance| instance.data_dir.display().to_string()).collect();
            Err(InstanceError::Several(folders.join(", ")))
        }
    }
}
