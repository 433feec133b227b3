//! A pool's payload, ready to be personalised.

use std::fmt;

use roost_pki::{Credential, Kubeconfig};

use super::labels::registered_by_kubelet;
use super::pool::{Node, Pool};
use super::{env, paths};
use crate::config::Config;

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
        let credential = Credential::Token(node.bootstrap_token.clone());
        let kubeconfig = Kubeconfig::new(&self.cluster_name, &self.server, &self.api_trust, BOOTSTRAP_USER, credential);
        config.put_file(paths::BOOTSTRAP_KUBECONFIG, 0o600, kubeconfig.to_yaml().expose().as_bytes());
        config.put_file(paths::KUBELET_ENV, 0o644, self.environment(node).as_bytes());
        config
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

impl fmt::Debug for Rendered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rendered").field("shared", &self.shared).finish_non_exhaustive()
    }
}
