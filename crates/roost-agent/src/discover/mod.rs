//! `hcp-agent discover`: shows this host to a discovery service, does what it is told, and stays for as long as it is on.

mod disk_number;
mod disk_writer;
mod hardware;
mod install;
mod installed;
mod logs;
mod measure;
mod network;
mod newcomer;
mod record;
mod service;
mod session;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use disk_writer::WriteError;
pub use hardware::{identity, inventory};
pub use install::InstallError;
pub use installed::settings as installed_settings;
pub use record::RecordError;
pub use service::CallError;
pub use session::{End, Session};

use crate::root::Root;

/// What the discovery image says, or a person on the command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Where the service is, as `https://host:port`.
    pub url: String,
    /// The environment that the host is discovered in.
    pub infra_env_id: String,
    /// What it shows there.
    pub token: String,
    /// Whose certificate the service shows: a file in PEM.
    #[serde(default)]
    pub certificate_authority: Option<PathBuf>,
    /// What a host that was installed joins its cluster with, while that is to be done.
    #[serde(default)]
    pub user_data: Option<PathBuf>,
    /// The file that all this stands in, if there is one: what becomes of the token is written there.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

impl Settings {
    /// Reads what an image, an installation or a person wrote into a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let settings: Self = serde_json::from_slice(&std::fs::read(path)?)?;
        Ok(Self { file: Some(path.to_owned()), ..settings })
    }

    /// Keeps another token in the file. Whatever else stands there stays.
    fn keep_token(path: &Path, token: &str) -> io::Result<()> {
        let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(path)?)?;
        kept["token"] = token.into();
        installed::keep(path, 0o600, &kept.to_string())
    }
}

/// Why a host cannot be shown at all. Whatever may pass is tried again instead.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The certificate authority cannot be read.
    #[error("cannot read {}", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What the installation left cannot be read or kept.
    #[error("the settings of this host cannot be taken from {}", path.display())]
    Installed {
        /// The partition or the file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It cannot be used.
    #[error(transparent)]
    Trust(#[from] crate::https::TrustError),
    /// The address of the service is none.
    #[error(transparent)]
    Address(#[from] crate::https::AddressError),
}

/// The first wait after something failed; it doubles up to the longest, after which a host whose network is back is heard
/// of within five seconds.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));

/// Shows this host for as long as the program runs, or until it has to restart because its disk was written. Nothing that the service answers ends it: what is refused today may
/// be allowed tomorrow, and nobody wants to visit a host for that.
pub fn discover(root: &Root, settings: &Settings, tell: &mut dyn FnMut(&str)) -> Result<(), DiscoverError> {
    let mut session = Session::new(root, settings)?;
    let mut pause = PAUSES.0;
    loop {
        match session.run(tell) {
            Ok(End::Restart) => return Ok(()),
            Ok(End::Register) => pause = PAUSES.0,
            Err(error) => {
                tell(&format!("{}; trying again in {} s", crate::words::with_causes(&error), pause.as_secs()));
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}
