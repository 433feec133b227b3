//! Kubeconfigs, read as far as a kubelet's needs go: where the API is, whom to trust, what to show.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_pki::Secret;
use rustls_pki_types::ServerName;
use serde::Deserialize;

/// The largest kubeconfig that is read; honest ones have a few kilobytes.
const MAX_BYTES: usize = 256 << 10;

/// Why a kubeconfig is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It is larger than any honest one.
    #[error("a kubeconfig must be no more than {MAX_BYTES} bytes")]
    TooLarge,
    /// It is not a kubeconfig.
    #[error("the kubeconfig cannot be read: {0}")]
    Malformed(String),
    /// Something that a node needs is not in it.
    #[error("the kubeconfig has no {0}")]
    Missing(&'static str),
    /// The server's address is not one.
    #[error("the server {0:?} is not an address of the form https://HOST:PORT")]
    Server(String),
}

/// Where an API is, and what to show there.
#[derive(Clone)]
pub struct Access {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) server_name: ServerName<'static>,
    /// The trusted authorities in PEM.
    pub(crate) authorities: String,
    pub(crate) token: Option<Secret<String>>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access(https://{}:{})", self.host, self.port)
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "current-context", default)]
    current: String,
    #[serde(default)]
    contexts: Vec<Named<Context>>,
    #[serde(default)]
    clusters: Vec<Named<Cluster>>,
    #[serde(default)]
    users: Vec<Named<User>>,
}

/// An entry of one of the three lists, which each name their content differently.
#[derive(Deserialize)]
struct Named<T> {
    name: String,
    #[serde(alias = "context", alias = "cluster", alias = "user")]
    content: T,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: Option<String>,
    certificate_authority: Option<String>,
    tls_server_name: Option<String>,
}

#[derive(Deserialize)]
struct User {
    token: Option<String>,
}

impl Access {
    /// Reads a kubeconfig whose authorities are inside it.
    pub fn from_kubeconfig(bytes: &[u8]) -> Result<Self, AccessError> {
        Self::with_files(bytes, |_| None)
    }

    /// Reads a kubeconfig that may name files of the host.
    pub(crate) fn with_files(bytes: &[u8], read: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, AccessError> {
        if bytes.len() > MAX_BYTES {
            return Err(AccessError::TooLarge);
        }
        let malformed = |why: &dyn fmt::Display| AccessError::Malformed(why.to_string());
        let text = std::str::from_utf8(bytes).map_err(|error| malformed(&error))?;
        // The message may quote the file, and the file has a token in it.
        let file: File = serde_saphyr::from_str(text).map_err(|_| malformed(&"it is not the YAML of a kubeconfig"))?;
        let context = find(file.contexts, &file.current).ok_or(AccessError::Missing("current context"))?;
        let cluster = find(file.clusters, &context.cluster).ok_or(AccessError::Missing("cluster of its context"))?;
        let user = find(file.users, &context.user).ok_or(AccessError::Missing("user of its context"))?;
        let authorities = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
            (Some(data), _) => STANDARD.decode(data).map_err(|error| malformed(&error))?,
            (None, Some(path)) => read(path).ok_or(AccessError::Missing("file with its certificate authority"))?,
            (None, None) => return Err(AccessError::Missing("certificate authority")),
        };
        let (host, port) = place(&cluster.server)?;
        let name = cluster.tls_server_name.unwrap_or_else(|| host.clone());
        Ok(Self {
            server_name: ServerName::try_from(name).map_err(|_| AccessError::Server(cluster.server))?,
            host,
            port,
            authorities: String::from_utf8(authorities).map_err(|error| malformed(&error))?,
            token: user.token.map(Secret::new),
        })
    }
}

fn find<T>(entries: Vec<Named<T>>, name: &str) -> Option<T> {
    entries.into_iter().find(|entry| entry.name == name).map(|entry| entry.content)
}

/// Host and port of an address; brackets around an IPv6 address go.
pub(crate) fn place(server: &str) -> Result<(String, u16), AccessError> {
    let wrong = || AccessError::Server(server.to_owned());
    let uri: http::Uri = server.parse().map_err(|_| wrong())?;
    if uri.scheme_str() != Some("https") {
        return Err(wrong());
    }
    let host = uri.host().ok_or_else(wrong)?.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), uri.port_u16().unwrap_or(443)))
}

#[cfg(test)]
mod tests {
    use roost_pki::{Credential, Kubeconfig, Secret};

    use super::{Access, AccessError};

    #[test]
    fn a_kubeconfig_is_read() {
        let token = Credential::Token(Secret::new("abcdef.0123456789abcdef".to_owned()));
        let mut config = Kubeconfig::new("demo", "https://[::1]:6443", "AUTHORITY", "kubelet", token);
        let access = Access::from_kubeconfig(config.to_yaml().expose().as_bytes()).unwrap();
        assert_eq!((access.host.as_str(), access.port), ("::1", 6443));
        assert_eq!(access.authorities, "AUTHORITY");
        assert_eq!(access.token.as_ref().map(|token| token.expose().as_str()), Some("abcdef.0123456789abcdef"));
        assert_eq!(format!("{access:?}"), "Access(https://::1:6443)");
        config.certificate_authority = String::new();
        let error = Access::from_kubeconfig(config.to_yaml().expose().as_bytes()).unwrap_err();
        assert!(matches!(error, AccessError::Missing("certificate authority")), "{error}");
    }

    #[test]
    fn files_of_the_host_are_read() {
        let text = "current-context: c\ncontexts: [{name: c, context: {cluster: a, user: b}}]\n\
                    clusters: [{name: a, cluster: {server: 'https://h', certificate-authority: /ca.crt}}]\n\
                    users: [{name: b, user: {}}]\n";
        let access = Access::with_files(text.as_bytes(), |path| (path == "/ca.crt").then(|| b"PEM".to_vec())).unwrap();
        assert_eq!((access.port, access.authorities.as_str()), (443, "PEM"));
        assert!(access.token.is_none());
        assert!(matches!(Access::from_kubeconfig(text.as_bytes()), Err(AccessError::Missing(_))));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "a: [", "{}", "\0", "current-context: x\ncontexts: 3"] {
            assert!(Access::from_kubeconfig(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(matches!(Access::from_kubeconfig(&vec![b'a'; 300 << 10]), Err(AccessError::TooLarge)));
        assert!(super::place("http://h:1").is_err());
    }
}
