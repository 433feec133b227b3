//! kube-controller-manager and kube-scheduler, each with its own certificate and otherwise its defaults.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose};

use crate::assets;
use crate::kubeconfig::Kubeconfig;
use crate::pki::{Identity, PkiError};
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
        let key = KeyPair::from_pem(&read(&keys.authority_key)?).map_err(PkiError::from)?;
        let issuer = Issuer::from_ca_cert_pem(&read(&keys.authority)?, key).map_err(PkiError::from)?;
        let mut processes = Vec::new();
        for name in ["kube-controller-manager", "kube-scheduler"] {
            let own = Kubeconfig {
                administrator: client(&issuer, &format!("system:{name}"))?,
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

/// Issues a certificate of a component by the plane's own authority.
fn client(issuer: &Issuer<'_, KeyPair>, user: &str) -> Result<Identity, PkiError> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, user);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.signed_by(&key, issuer)?;
    Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Reads a file of a plane.
pub(super) fn read(path: &Path) -> Result<String, ComponentsError> {
    std::fs::read_to_string(path).map_err(|source| ComponentsError::File { path: path.to_owned(), source })
}

fn flag(name: &str, value: impl std::fmt::Display) -> OsString {
    OsString::from(format!("--{name}={value}"))
}
