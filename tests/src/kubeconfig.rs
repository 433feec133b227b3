//! Kubeconfig files: reading the current context's server and identity, and writing one for a stock plane.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::pki::Identity;

/// Why a kubeconfig is of no use.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file could not be read or written.
    #[error("cannot open {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a kubeconfig.
    #[error("{} is not a kubeconfig: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// A server and the administrator's way into it.
#[derive(Debug, Clone)]
pub struct Kubeconfig {
    /// The server's address, as `https://host:port`.
    pub server: String,
    /// The certificates that vouch for the server, as PEM.
    pub authority: String,
    /// The administrator's certificate.
    pub administrator: Identity,
}

impl Kubeconfig {
    /// Reads the current context of a file with embedded certificates.
    pub fn read(path: &Path) -> Result<Self, KubeconfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| KubeconfigError::File { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Reads the current context of a text; the path is for what is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, KubeconfigError> {
        let wrong = |reason: &str| KubeconfigError::Content { path: path.to_owned(), reason: reason.to_owned() };
        let document: Value = serde_saphyr::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        let current = document["current-context"].as_str().ok_or_else(|| wrong("no current-context"))?;
        let context = named(&document, "contexts", current, "context").ok_or_else(|| wrong("no such context"))?;
        let cluster = context["cluster"].as_str().and_then(|name| named(&document, "clusters", name, "cluster"));
        let cluster = cluster.ok_or_else(|| wrong("no such cluster"))?;
        let user = context["user"].as_str().and_then(|name| named(&document, "users", name, "user"));
        let user = user.ok_or_else(|| wrong("no such user"))?;
        let field = |object: &Value, name: &str| -> Result<String, KubeconfigError> {
            let encoded = object[name].as_str().ok_or_else(|| wrong(&format!("no {name}")))?;
            let bytes = STANDARD.decode(encoded).map_err(|error| wrong(&format!("{name}: {error}")))?;
            String::from_utf8(bytes).map_err(|error| wrong(&format!("{name}: {error}")))
        };
        Ok(Self {
            server: cluster["server"].as_str().ok_or_else(|| wrong("no server"))?.to_owned(),
            authority: field(cluster, "certificate-authority-data")?,
            administrator: Identity {
                certificate: field(user, "client-certificate-data")?,
                key: field(user, "client-key-data")?,
            },
        })
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<(), KubeconfigError> {
        self.write_for(path, "default")
    }

    /// Writes the file with a namespace; JSON is YAML, and every client reads it.
    pub fn write_for(&self, path: &Path, namespace: &str) -> Result<(), KubeconfigError> {
        let document = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "plane",
            "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "admin", "namespace": namespace}}],
            "clusters": [{"name": "plane", "cluster": {
                "server": self.server,
                "certificate-authority-data": STANDARD.encode(&self.authority),
            }}],
            "users": [{"name": "admin", "user": {
                "client-certificate-data": STANDARD.encode(&self.administrator.certificate),
                "client-key-data": STANDARD.encode(&self.administrator.key),
            }}],
        });
        std::fs::write(path, format!("{document:#}\n"))
            .map_err(|source| KubeconfigError::File { path: path.to_owned(), source })
    }
}

fn named<'a>(document: &'a Value, list: &str, name: &str, field: &str) -> Option<&'a Value> {
    document[list].as_array()?.iter().find(|entry| entry["name"] == name).map(|entry| &entry[field])
}
