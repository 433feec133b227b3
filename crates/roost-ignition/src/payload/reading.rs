//! A payload as the host's side reads it: how to join, and as whom.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_pki::Secret;
use serde_json::Value;

use super::pool::{Taint, TaintEffect};
use super::{env, paths};
use crate::config::Config;
use crate::data_url::DataUrlError;

/// Why a payload does not say how to join.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadPayloadError {
    /// A file is not part of it.
    #[error("the payload has no {0}")]
    Missing(&'static str),
    /// A file's contents are not in the payload or cannot be unpacked.
    #[error("{path} cannot be read")]
    Contents {
        /// The file.
        path: &'static str,
        /// Why.
        source: DataUrlError,
    },
    /// A file is not what it has to be.
    #[error("{path}: {problem}")]
    Malformed {
        /// The file.
        path: &'static str,
        /// What is wrong with it; never its contents.
        problem: &'static str,
    },
}

/// The bootstrap kubeconfig, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// The URL of the API.
    pub server: String,
    /// Whose certificate it shows, in PEM.
    pub certificate_authority: String,
    /// The token.
    pub token: Secret<String>,
}

/// As whom and how a node joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    /// The node's name.
    pub node_name: String,
    /// The labels that it registers with.
    pub labels: BTreeMap<String, String>,
    /// The taints that it registers with.
    pub taints: Vec<Taint>,
    /// What its Machine is known by.
    pub provider_id: Option<String>,
    /// Where it asks for its certificate.
    pub bootstrap: Bootstrap,
    /// The kubelet's whole configuration.
    pub kubelet: Value,
    /// The content hash of the configuration, which the node reports as its own.
    pub config_hash: Option<String>,
}

/// The content hash that a payload says it has.
pub fn config_hash(payload: &Config) -> Option<String> {
    let hash = text(payload, paths::CONFIG_HASH).ok()?.trim().to_owned();
    (!hash.is_empty()).then_some(hash)
}

impl Joining {
    /// Reads a payload.
    pub fn read(payload: &Config) -> Result<Self, ReadPayloadError> {
        let environment = text(payload, paths::KUBELET_ENV)?;
        let kubelet = yaml(payload, paths::KUBELET_CONFIG)?;
        let filled = |name| env::value(&environment, name).filter(|value| !value.is_empty());
        let node_name = filled("KUBELET_NODE_NAME")
            .ok_or(ReadPayloadError::Malformed { path: paths::KUBELET_ENV, problem: "it names no node" })?;
        let labels = filled("KUBELET_NODE_LABELS").unwrap_or_default();
        Ok(Self {
            node_name: node_name.to_owned(),
            labels: labels
                .split(',')
                .filter_map(|label| label.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            taints: kubelet["registerWithTaints"].as_array().into_iter().flatten().filter_map(taint).collect(),
            provider_id: filled("KUBELET_PROVIDER_ID").map(str::to_owned),
            bootstrap: Bootstrap::read(payload)?,
            kubelet,
            config_hash: config_hash(payload),
        })
    }
}

impl Bootstrap {
    /// Reads the bootstrap kubeconfig of a payload.
    pub fn read(payload: &Config) -> Result<Self, ReadPayloadError> {
        let path = paths::BOOTSTRAP_KUBECONFIG;
        let kubeconfig = yaml(payload, path)?;
        let field = |pointer: &str, problem| {
            let value = kubeconfig.pointer(pointer).and_then(Value::as_str);
            value.ok_or(ReadPayloadError::Malformed { path, problem })
        };
        let authority = field("/clusters/0/cluster/certificate-authority-data", "it names no authority")?;
        let authority = STANDARD.decode(authority).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(Self {
            server: field("/clusters/0/cluster/server", "it names no server")?.to_owned(),
            certificate_authority: authority
                .ok_or(ReadPayloadError::Malformed { path, problem: "the authority is not base64" })?,
            token: Secret::new(field("/users/0/user/token", "it has no token")?.to_owned()),
        })
    }
}

fn taint(value: &Value) -> Option<Taint> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    Some(Taint {
        key: text("key")?.to_owned(),
        value: text("value").unwrap_or_default().to_owned(),
        effect: TaintEffect::ALL.into_iter().find(|effect| Some(effect.name()) == text("effect"))?,
    })
}

fn text(payload: &Config, path: &'static str) -> Result<String, ReadPayloadError> {
    let file = payload.file(path).ok_or(ReadPayloadError::Missing(path))?;
    let bytes = file.contents().map_err(|source| ReadPayloadError::Contents { path, source })?;
    String::from_utf8(bytes).map_err(|_| ReadPayloadError::Malformed { path, problem: "it is no text" })
}

fn yaml(payload: &Config, path: &'static str) -> Result<Value, ReadPayloadError> {
    let text = text(payload, path)?;
    let document = roost_object::yaml::read(text.as_bytes());
    document.map(|document| document.value).map_err(|_| ReadPayloadError::Malformed { path, problem: "it is no YAML" })
}
