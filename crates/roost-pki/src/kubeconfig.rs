//! Kubeconfigs: how a client finds a cluster and shows who it is.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Secret;

/// What a client shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A certificate and its key, both in PEM.
    Certificate {
        /// The certificate, with intermediates if any.
        certificate: String,
        /// The key.
        key: Secret<String>,
    },
    /// A bearer token.
    Token(Secret<String>),
    /// Paths of files that the client reads itself and again when they change.
    Files {
        /// The certificate's path.
        certificate: String,
        /// The key's path.
        key: String,
    },
}

/// A kubeconfig with one cluster, one user and one context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeconfig {
    /// What the cluster is called in the file.
    pub cluster: String,
    /// The URL of the API server.
    pub server: String,
    /// The trusted authorities in PEM; empty for those of the system.
    pub certificate_authority: String,
    /// The name that the server's certificate must have, when it is not the URL's.
    pub tls_server_name: Option<String>,
    /// What the user is called in the file.
    pub user: String,
    /// What the user shows.
    pub credential: Credential,
    /// The context's name.
    pub context: String,
    /// The namespace that commands mean when they name none.
    pub namespace: Option<String>,
}

impl Kubeconfig {
    /// The usual names: context `<user>@<cluster>`, no namespace.
    pub fn new(cluster: &str, server: &str, certificate_authority: &str, user: &str, credential: Credential) -> Self {
        Self {
            cluster: cluster.to_owned(),
            server: server.to_owned(),
            certificate_authority: certificate_authority.to_owned(),
            tls_server_name: None,
            user: user.to_owned(),
            credential,
            context: format!("{user}@{cluster}"),
            namespace: None,
        }
    }

    /// The file's text.
    pub fn to_yaml(&self) -> Secret<String> {
        let mut yaml = String::from("apiVersion: v1\nclusters:\n- cluster:\n");
        if !self.certificate_authority.is_empty() {
            entry(&mut yaml, 4, "certificate-authority-data", &STANDARD.encode(&self.certificate_authority));
        }
        entry(&mut yaml, 4, "server", &self.server);
        if let Some(name) = &self.tls_server_name {
            entry(&mut yaml, 4, "tls-server-name", name);
        }
        entry(&mut yaml, 2, "name", &self.cluster);
        yaml.push_str("contexts:\n- context:\n");
        entry(&mut yaml, 4, "cluster", &self.cluster);
        if let Some(namespace) = &self.namespace {
            entry(&mut yaml, 4, "namespace", namespace);
        }
        entry(&mut yaml, 4, "user", &self.user);
        entry(&mut yaml, 2, "name", &self.context);
        entry(&mut yaml, 0, "current-context", &self.context);
        yaml.push_str("kind: Config\nusers:\n");
        let _ = writeln!(yaml, "- name: {}", scalar(&self.user));
        yaml.push_str("  user:\n");
        match &self.credential {
            Credential::Certificate { certificate, key } => {
                entry(&mut yaml, 4, "client-certificate-data", &STANDARD.encode(certificate));
                entry(&mut yaml, 4, "client-key-data", &STANDARD.encode(key.expose()));
            }
            Credential::Token(token) => entry(&mut yaml, 4, "token", token.expose()),
            Credential::Files { certificate, key } => {
                entry(&mut yaml, 4, "client-certificate", certificate);
                entry(&mut yaml, 4, "client-key", key);
            }
        }
        Secret::new(yaml)
    }
}

fn entry(yaml: &mut String, indent: usize, key: &str, value: &str) {
    let _ = writeln!(yaml, "{:indent$}{key}: {}", "", scalar(value));
}

/// Plain where nothing can be misread, in JSON quotes otherwise, which YAML reads the same.
fn scalar(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@+=".contains(&byte);
    let starts_plain = value.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'/');
    let is_word =
        matches!(&*value.to_ascii_lowercase(), "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if starts_plain && value.bytes().all(is_plain) && !value.ends_with(':') && !is_word {
        value.to_owned()
    } else {
        serde_json::Value::from(value).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_what_kubectl_writes() {
        let key = Secret::new("KEY".to_owned());
        let credential = Credential::Certificate { certificate: "CERT".into(), key };
        let mut config = Kubeconfig::new("demo", "https://127.0.0.1:6443", "CA", "admin", credential);
        config.namespace = Some("123".into());
        assert_eq!(
            config.to_yaml().expose(),
            "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: \
             https://127.0.0.1:6443\n  name: demo\ncontexts:\n- context:\n    cluster: demo\n    namespace: \"123\"\n    \
             user: admin\n  name: admin@demo\ncurrent-context: admin@demo\nkind: Config\nusers:\n- name: admin\n  \
             user:\n    client-certificate-data: Q0VSVA==\n    client-key-data: S0VZ\n"
        );
        assert!(!format!("{config:?}").contains("KEY"));
    }

    #[test]
    fn odd_texts_are_quoted() {
        for (text, written) in [
            ("a b", "\"a b\""),
            ("", "\"\""),
            ("yes", "\"yes\""),
            ("a: b", "\"a: b\""),
            ("x:", "\"x:\""),
            ("# x", "\"# x\""),
            ("1e3", "\"1e3\""),
            ("a\nb", "\"a\\nb\""),
            ("https://x:1", "https://x:1"),
        ] {
            assert_eq!(scalar(text), written);
        }
    }
}
