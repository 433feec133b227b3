//! The keys of the management plane, in `<data-dir>/pki`: made on the first start, kept ever after.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use roost_apiserver::Identity;
use roost_pki::{CertificateAuthority, Credential, Issued, Kubeconfig, PrivateKey, Secret};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The authority outlives the machine.
const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365 * 10);
/// Certificates of the server and of the administrator are made anew at every start, so this only bounds one run.
const LEAF_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{path} is not what hcp up wrote there; restore it from a backup, or move the data directory away to start afresh"
    )]
    Damaged { path: PathBuf },
    #[error("the system gave no random bytes for a key")]
    Random,
    #[error("a key or certificate could not be made")]
    Make(#[from] roost_pki::Error),
}

/// All keys of one management plane.
pub(crate) struct Keys {
    authority: CertificateAuthority,
    token_key: PrivateKey,
    encryption_key: [u8; 32],
    server: Issued,
    admin: Issued,
}

impl Keys {
    /// Reads the keys, or makes them.
    pub(crate) fn load_or_make(
        data_dir: &Path,
        address: SocketAddr,
        names: &[String],
        services: &IpNet,
    ) -> Result<Keys, KeysError> {
        let folder = data_dir.join("pki");
        fs::create_dir_all(&folder).map_err(|source| KeysError::Write { path: folder.clone(), source })?;
        let now = Timestamp::now();
        let authority = load_authority(&folder, now)?;
        let token_key = load_token_key(&folder)?;
        let encryption_key = load_encryption_key(&folder)?;
        let mut sans: Vec<String> = [
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "127.0.0.1",
            "::1",
        ]
        .map(str::to_owned)
        .into();
        let own = [Some(address.ip()), services.hosts().next()]
            .into_iter()
            .flatten()
            .filter(|ip: &IpAddr| !ip.is_unspecified());
        sans.extend(own.map(|ip| ip.to_string()));
        sans.extend(names.iter().cloned());
        let server = authority.issue_server("kube-apiserver", &sans, now, LEAF_LIFETIME)?;
        let admin = authority.issue_client("kubernetes-admin", &["system:masters"], now, LEAF_LIFETIME)?;
        Ok(Keys { authority, token_key, encryption_key, server, admin })
    }

    /// The server's certificate for TLS.
    pub(crate) fn server_certificates(&self) -> Vec<CertificateDer<'static>> {
        vec![self.server.certificate.to_tls(), self.authority.certificate().to_tls()]
    }

    /// The server's key for TLS.
    pub(crate) fn server_key(&self) -> Result<PrivateKeyDer<'static>, KeysError> {
        let der = self.server.key.to_pkcs8_der()?;
        Ok(PrivateKeyDer::Pkcs8(der.expose().clone().into()))
    }

    /// The key that Secrets are sealed with.
    pub(crate) fn encryption_key(&self) -> [u8; 32] {
        self.encryption_key
    }

    /// What the API server trusts and signs with.
    pub(crate) fn into_identity(self) -> Identity {
        Identity::from_parts(self.authority, self.token_key, "https://kubernetes.default.svc.cluster.local")
    }

    /// Writes `<data-dir>/admin.kubeconfig`, readable by its owner only.
    pub(crate) fn write_kubeconfig(&self, data_dir: &Path, address: SocketAddr) -> Result<PathBuf, KeysError> {
        let host = super::reachable(address.ip());
        let server = format!("https://{}", SocketAddr::new(host, address.port()));
        let credential =
            Credential::Certificate { certificate: self.admin.certificate.to_pem(), key: self.admin.key_pem()? };
        let authority = self.authority.certificate().to_pem();
        let kubeconfig = Kubeconfig::new("roost", &server, &authority, "kubernetes-admin", credential);
        let path = data_dir.join("admin.kubeconfig");
        write_private(&path, kubeconfig.to_yaml().expose().as_bytes())?;
        Ok(path)
    }
}

fn load_authority(folder: &Path, now: Timestamp) -> Result<CertificateAuthority, KeysError> {
    let (certificate_path, key_path) = (folder.join("ca.crt"), folder.join("ca.key"));
    if let Some(key) = read(&key_path)? {
        let certificate =
            read(&certificate_path)?.ok_or_else(|| KeysError::Damaged { path: certificate_path.clone() })?;
        return CertificateAuthority::from_pem(&certificate, &Secret::new(key))
            .map_err(|_| KeysError::Damaged { path: key_path });
    }
    let authority = CertificateAuthority::new("kubernetes", now, AUTHORITY_LIFETIME)?;
    // The key comes last: a start that is cut short before it is done again from the beginning.
    write_private(&certificate_path, authority.certificate().to_pem().as_bytes())?;
    write_private(&key_path, authority.key().to_pkcs8_pem()?.expose().as_bytes())?;
    Ok(authority)
}

fn load_token_key(folder: &Path) -> Result<PrivateKey, KeysError> {
    let path = folder.join("service-accounts.key");
    if let Some(text) = read(&path)? {
        return PrivateKey::from_pem(&text).map_err(|_| KeysError::Damaged { path });
    }
    let key = PrivateKey::generate()?;
    write_private(&path, key.to_pkcs8_pem()?.expose().as_bytes())?;
    Ok(key)
}

fn load_encryption_key(folder: &Path) -> Result<[u8; 32], KeysError> {
    let path = folder.join("encryption.key");
    match fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| KeysError::Damaged { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = [0; 32];
            aws_lc_rs::rand::fill(&mut key).map_err(|_| KeysError::Random)?;
            write_private(&path, &key)?;
            Ok(key)
        }
        Err(source) => Err(KeysError::Read { path, source }),
    }
}

fn read(path: &Path) -> Result<Option<String>, KeysError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(KeysError::Read { path: path.to_owned(), source }),
    }
}

/// Writes a file that only its owner can read, whole or not at all.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), KeysError> {
    let temporary = path.with_extension("new");
    let write = || -> io::Result<()> {
        let _ = fs::remove_file(&temporary);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| KeysError::Write { path: path.to_owned(), source })
}
