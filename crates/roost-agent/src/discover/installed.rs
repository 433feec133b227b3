//! A host that was installed by its discovery image: takes what that left for it, once, and keeps it in files.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{DiscoverError, Settings, record};
use crate::root::Root;

const DIRECTORY: &str = "/etc/roost";
const SETTINGS: &str = "/etc/roost/discovery.json";
const AUTHORITY: &str = "/etc/roost/ca.pem";
const USER_DATA: &str = "/etc/roost/user-data.ign";
const HOSTNAME: &str = "/etc/hostname";

/// What an installed host knows from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Handover {
    pub(super) url: String,
    pub(super) infra_env_id: String,
    pub(super) token: String,
    /// Who vouches for the service, in PEM.
    pub(super) authority: Option<String>,
    /// What it joins its cluster with.
    pub(super) user_data: String,
    /// What it is called.
    pub(super) hostname: Option<String>,
}

/// The settings of an installed host. What the installation left in `partition` is taken over first.
pub fn settings(root: &Root, partition: &Path) -> Result<Settings, DiscoverError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| DiscoverError::Installed { path, source }
    };
    let mut bytes = Vec::new();
    let opened = OpenOptions::new().read(true).write(true).open(partition).map_err(failed(partition))?;
    opened.try_clone().and_then(|file| file.take(record::MOST).read_to_end(&mut bytes)).map_err(failed(partition))?;
    let left = record::read(&bytes).and_then(|content| serde_json::from_slice::<Handover>(&content).ok());
    if let Some(left) = left {
        take_over(root, &left).map_err(failed(&root.at(DIRECTORY)))?;
        // Only when all of it is on the disk: until then it is taken over again.
        let length = bytes.len();
        opened.write_all_at(&vec![0; length], 0).and_then(|()| opened.sync_all()).map_err(failed(partition))?;
    }
    let path = root.at(SETTINGS);
    let kept = Settings::read(&path).map_err(failed(&path))?;
    // The paths in it are those of the host's own tree.
    let own = |path: Option<PathBuf>| path.map(|path| root.at(&path.to_string_lossy()));
    Ok(Settings { certificate_authority: own(kept.certificate_authority), user_data: own(kept.user_data), ..kept })
}

fn take_over(root: &Root, left: &Handover) -> io::Result<()> {
    std::fs::create_dir_all(root.at(DIRECTORY))?;
    if let Some(authority) = &left.authority {
        keep(&root.at(AUTHORITY), 0o644, authority)?;
    }
    if let Some(hostname) = &left.hostname {
        keep(&root.at(HOSTNAME), 0o644, &format!("{hostname}\n"))?;
    }
    keep(&root.at(USER_DATA), 0o600, &left.user_data)?;
    let settings = Settings {
        url: left.url.clone(),
        infra_env_id: left.infra_env_id.clone(),
        token: left.token.clone(),
        certificate_authority: left.authority.as_ref().map(|_| PathBuf::from(AUTHORITY)),
        user_data: Some(PathBuf::from(USER_DATA)),
        file: None,
    };
    keep(&root.at(SETTINGS), 0o600, &serde_json::to_string(&settings)?)
}

/// Writes a file that is whole or not there.
pub(super) fn keep(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".part");
    let partial = PathBuf::from(partial);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    std::fs::rename(&partial, path)?;
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_taken_over_once() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("etc")).unwrap();
        let root = Root::new(directory.path());
        let partition = directory.path().join("partition");
        let left = Handover {
            url: "https://h:1".to_owned(),
            infra_env_id: "e".to_owned(),
            token: "t".to_owned(),
            authority: Some("PEM".to_owned()),
            user_data: "{}".to_owned(),
            hostname: Some("node-1".to_owned()),
        };
        let (_, bytes) = record::place(&record::tests::table(), &serde_json::to_vec(&left).unwrap()).unwrap();
        std::fs::write(&partition, &bytes).unwrap();
        let first = settings(&root, &partition).unwrap();
        assert_eq!((first.url.as_str(), first.token.as_str()), ("https://h:1", "t"));
        assert_eq!(std::fs::read_to_string(first.user_data.clone().unwrap()).unwrap(), "{}");
        assert_eq!(std::fs::read_to_string(root.at(HOSTNAME)).unwrap(), "node-1\n");
        assert!(std::fs::read(&partition).unwrap().iter().all(|byte| *byte == 0), "the secret is in one place");
        std::fs::remove_file(first.user_data.unwrap()).unwrap();
        let again = settings(&root, &partition).unwrap();
        assert!(!again.user_data.unwrap().exists(), "nothing comes back");
        Settings::keep_token(&again.file.unwrap(), "another").unwrap();
        let renewed = settings(&root, &partition).unwrap();
        assert_eq!((renewed.url.as_str(), renewed.token.as_str()), ("https://h:1", "another"));
        assert_eq!(renewed.certificate_authority, again.certificate_authority);
    }

    #[test]
    fn a_disk_without_settings_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let partition = directory.path().join("partition");
        std::fs::write(&partition, [0; 512]).unwrap();
        assert!(settings(&Root::new(directory.path()), &partition).is_err());
    }
}
