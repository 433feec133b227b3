//! A pool's payload, ready to be personalised.

use std::fmt;

use roost_pki::{Credential, Kubeconfig, Secret};

use super::labels::registered_by_kubelet;
use super::pool::{Node, Pool};
use super::{env, paths};
use crate::config::Config;
use crate::data_url;
use crate::finding::ConfigError;
use crate::version::SpecVersion;

/// What the bootstrap user is called in the kubeconfig.
const BOOTSTRAP_USER: &str = "kubelet-bootstrap";

/// What all nodes of a pool get, and what is needed to add what only one gets.
#[derive(Clone)]
pub struct Rendered {
    shared: Config,
    cluster_name: String,
    server: String,
    api_trust: String,
    node_labels: String,
}

impl Rendered {
    pub(super) fn new(pool: &Pool, shared: Config) -> Self {
        let mut node_labels = String::new();
        for (key, value) in registered_by_kubelet(&pool.labels) {
            if !node_labels.is_empty() {
                node_labels.push(',');
            }
            node_labels.push_str(key);
            node_labels.push('=');
            node_labels.push_str(value);
        }
        Self {
            shared,
            cluster_name: if pool.cluster_name.is_empty() { "cluster".to_owned() } else { pool.cluster_name.clone() },
            server: pool.api.url(),
            api_trust: pool.api_trust.clone(),
            node_labels,
        }
    }

    /// What all nodes get alike; nothing in it identifies a host.
    pub fn shared(&self) -> &Config {
        &self.shared
    }

    /// The whole payload of one node.
    pub fn for_node(&self, node: &Node) -> Config {
        let mut config = self.shared.clone();
        config.put_file(paths::BOOTSTRAP_KUBECONFIG, 0o600, self.kubeconfig(node).expose().as_bytes());
        config.put_file(paths::KUBELET_ENV, 0o644, self.environment(node).as_bytes());
        config
    }

    /// The payload of a node that has joined: as the first one, but for the credential, which it no longer needs.
    pub fn for_update(&self, node: &Node) -> Config {
        let mut config = self.shared.clone();
        config.put_file(paths::KUBELET_ENV, 0o644, self.environment(node).as_bytes());
        config
    }

    /// The payload in the words of a version, written out but for what only one node gets.
    pub fn written(&self, version: SpecVersion) -> Result<Written, ConfigError> {
        let mut config = self.shared.clone();
        for (path, mode) in [(paths::BOOTSTRAP_KUBECONFIG, 0o600), (paths::KUBELET_ENV, 0o644)] {
            config.put_file(path, mode, path.as_bytes());
        }
        let text = String::from_utf8(config.translate(version)?.to_bytes()).unwrap_or_default();
        let gap = |path: &str| data_url::encode(path.as_bytes());
        let pieces = text.rsplit_once(&gap(paths::KUBELET_ENV)).and_then(|(rest, after)| {
            let (before, between) = rest.rsplit_once(&gap(paths::BOOTSTRAP_KUBECONFIG))?;
            Some([before, between, after].map(str::to_owned))
        });
        let pieces = pieces.ok_or(ConfigError::NotAConfig)?;
        Ok(Written { rendered: self.clone(), version, pieces })
    }

    fn kubeconfig(&self, node: &Node) -> Secret<String> {
        let credential = Credential::Token(node.bootstrap_token.clone());
        Kubeconfig::new(&self.cluster_name, &self.server, &self.api_trust, BOOTSTRAP_USER, credential).to_yaml()
    }

    fn environment(&self, node: &Node) -> String {
        let mut text = String::new();
        for (name, value) in [
            ("KUBELET_NODE_NAME", node.name.as_str()),
            ("KUBELET_NODE_LABELS", &self.node_labels),
            ("KUBELET_PROVIDER_ID", node.provider_id.as_deref().unwrap_or_default()),
        ] {
            // A name that could break out of its line is nobody's node name; the kubelet refuses the empty one.
            env::line(&mut text, name, if env::is_plain(value) { value } else { "" });
        }
        text
    }
}

/// A pool's payload as text with two gaps: personalising it is copying. For servers that hand out thousands.
#[derive(Clone)]
pub struct Written {
    rendered: Rendered,
    version: SpecVersion,
    pieces: [String; 3],
}

impl Written {
    /// The version that it is written in.
    pub fn version(&self) -> SpecVersion {
        self.version
    }

    /// The payload of a node that has joined: [`Rendered::for_update`] in this version.
    pub fn for_update(&self, node: &Node) -> Result<Config, ConfigError> {
        self.rendered.for_update(node).translate(self.version)
    }

    /// The whole payload of one node: the bytes of [`Rendered::for_node`].
    pub fn for_node(&self, node: &Node) -> Vec<u8> {
        let [before, between, after] = &self.pieces;
        let kubeconfig = data_url::encode(self.rendered.kubeconfig(node).expose().as_bytes());
        let environment = data_url::encode(self.rendered.environment(node).as_bytes());
        [before.as_str(), &kubeconfig, between, &environment, after].concat().into_bytes()
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Written").field("version", &self.version).finish_non_exhaustive()
    }
}

impl fmt::Debug for Rendered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rendered").field("shared", &self.shared).finish_non_exhaustive()
    }
}
