//! kube-controller-manager and kube-scheduler, each with its own certificate and otherwise its defaults.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::assets;
use crate::kubeconfig::Kubeconfig;
use crate::pki::{Authority, Identity};
use crate::plane::{Plane, free_port};
use crate::process::Process;

use super::ComponentsError;

/// The running components; dropping them ends them.
pub(super) struct Parts {
    processes: Vec<Process>,
}

/// Where a plane keeps the keys that its components need.
struct Keys {
    authority: PathBuf,
    authority_key: PathBuf,
    token_key: PathBuf,
}

impl Keys {
    fn find(directory: &Path) -> Self {
        let ours = directory.join("data").join("pki");
        let (folder, token_key) = if ours.is_dir() {
            (ours.clone(), "service-accounts.key")
        } else {
            (directory.to_owned(), "service-account.key")
        };
        Self {
            authority: folder.join("ca.crt"),
            authority_key: folder.join("ca.key"),
            token_key: folder.join(token_key),
        }
    }
}

impl Parts {
    /// Starts both components.
    pub(super) fn start(plane: &Plane, directory: &Path) -> Result<Self, ComponentsError> {
        let keys = Keys::find(directory);
        let authority =
            Authority::from_pem(Identity { certificate: read(&keys.authority)?, key: read(&keys.authority_key)? })?;
        let mut processes = Vec::new();
        for name in ["kube-controller-manager", "kube-scheduler"] {
            let own = Kubeconfig {
                administrator: authority.client(&format!("system:{name}"), &[])?,
                ..Kubeconfig::read(&plane.kubeconfig)?
            };
            let kubeconfig = directory.join(format!("{name}.kubeconfig"));
            own.write(&kubeconfig)?;
            let mut arguments: Vec<OsString> = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
                .map(|option| flag(option, kubeconfig.display()))
                .into();
            arguments.push(flag("bind-address", "127.0.0.1"));
            arguments.push(flag("secure-port", free_port().map_err(crate::plane::PlaneError::from)?));
            if name == "kube-controller-manager" {
                arguments.extend([
                    flag("use-service-account-credentials", true),
                    flag("cluster-signing-cert-file", keys.authority.display()),
                    flag("cluster-signing-key-file", keys.authority_key.display()),
                    flag("root-ca-file", keys.authority.display()),
                    flag("service-account-private-key-file", keys.token_key.display()),
                    flag("controllers", "*,bootstrap-signer-controller,token-cleaner-controller"),
                ]);
            }
            processes.push(Process::start(name, &assets::binary(name)?, arguments, directory)?);
        }
        Ok(Self { processes })
    }

    /// Fails when one of them has ended.
    pub(super) fn check_running(&mut self) -> Result<(), ComponentsError> {
        for process in &mut self.processes {
            process.check_running()?;
        }
        Ok(())
    }

    /// Where they complain.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        self.processes.iter().map(|process| process.log().to_owned()).collect()
    }
}

/// Reads a file of a plane.
pub(super) fn read(path: &Path) -> Result<String, ComponentsError> {
    std::fs::read_to_string(path).map_err(|source| ComponentsError::File { path: path.to_owned(), source })
}

fn flag(name: &str, value: impl std::fmt::Display) -> OsString {
    OsString::from(format!("--{name}={value}"))
}
