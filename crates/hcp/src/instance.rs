//! Running instances: each leaves a small file under the user's state directory, by which other commands find it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
    #[error("cannot tell where data are: name a directory with --data-dir, or set XDG_DATA_HOME or HOME")]
    NoDataHome,
    #[error("cannot tell what runs: set XDG_STATE_HOME or HOME as they were set for hcp up")]
    NoStateHome,
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
    base("XDG_DATA_HOME", ".local/share").map(|base| base.join("roost")).ok_or(InstanceError::NoDataHome)
}

fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| set("HOME").map(|home| home.join(below_home)))
}

fn records() -> Result<PathBuf, InstanceError> {
    let base = base("XDG_STATE_HOME", ".local/state").ok_or(InstanceError::NoStateHome)?;
    Ok(base.join("roost/instances"))
}

/// The record of this process. It is locked as long as the process lives, and goes when this does: the number of a process
/// that is gone may belong to a stranger, whom nobody must take for it.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    _locked: File,
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Instance {
    /// Leaves the record of this process.
    pub(crate) fn register(&self) -> Result<Record, InstanceError> {
        let folder = records()?;
        let path = record(&folder, self.pid);
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        // Under its name only when it is locked: whoever finds it otherwise takes it for one of a dead process.
        let unlocked = path.with_extension("new");
        let write = || {
            fs::create_dir_all(&folder)?;
            let mut file = File::create(&unlocked)?;
            file.lock()?;
            file.write_all(&text)?;
            fs::rename(&unlocked, &path)?;
            Ok(file)
        };
        match write() {
            Ok(locked) => Ok(Record { path, _locked: locked }),
            Err(source) => Err(InstanceError::Write { path, source }),
        }
    }
}

fn record(folder: &Path, pid: i32) -> PathBuf {
    folder.join(format!("{pid}.json"))
}

/// Whether the process that wrote a record still runs.
fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// All running instances; records of dead ones are removed on the way.
pub(crate) fn running() -> Result<Vec<Instance>, InstanceError> {
    let Ok(entries) = fs::read_dir(records()?) else { return Ok(Vec::new()) };
    let mut instances: Vec<Instance> = entries
        .filter_map(|entry| {
            let path = entry.ok().map(|entry| entry.path()).filter(|path| path.extension() == Some("json".as_ref()))?;
            if is_held(&path) {
                return serde_json::from_slice(&fs::read(&path).ok()?).ok();
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
