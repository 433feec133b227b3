//! The hosted cluster as the node sees it: its own Node object, and the pods on it.

use std::time::{Duration, Instant};

use roost_ignition::payload::{Bootstrap, paths};
use serde_json::{Value, json};

use crate::https::{self, Address, AddressError, HttpsError, Identity, Request, Tls, Trust, TrustError};
use crate::root::Root;

/// The largest list of pods that is read.
const LARGEST_ANSWER: u64 = 64 << 20;
/// What the API server speaks with nodes that it cannot reach.
const TUNNEL_PROTOCOL: &str = "roost-tunnel";
/// More than any stream has before the server ends it.
const LARGEST_STREAM: u64 = 1 << 40;
/// How often the cluster is asked while something is waited for.
const PAUSE: Duration = Duration::from_secs(1);

/// Why the cluster could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// There is no credential on this host.
    #[error("this host has no credential for the cluster")]
    NoCredential,
    /// The address makes no sense.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The credential or the authority makes no sense.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The API did not answer.
    #[error("the API server could not be asked")]
    Send(#[from] HttpsError),
    /// The API refused.
    #[error("the API server answered {status}: {words}")]
    Refused {
        /// The status.
        status: u16,
        /// What it said.
        words: String,
    },
}

/// Who is asking.
#[derive(Debug)]
enum Credential {
    Certificate(Identity),
    Token(String),
}

/// A cluster that can be asked.
#[derive(Debug)]
pub struct Cluster {
    server: Address,
    trust: Trust,
    credential: Credential,
}

impl Cluster {
    /// The cluster with the node's own certificate.
    pub fn as_node(root: &Root, bootstrap: &Bootstrap) -> Result<Self, ClusterError> {
        let path = format!("{}/kubelet-client-current.pem", paths::KUBELET_CERTIFICATES);
        let pem = std::fs::read(root.at(&path)).map_err(|_| ClusterError::NoCredential)?;
        Ok(Self {
            server: Address::parse(&bootstrap.server)?,
            trust: Trust::from_pem(bootstrap.certificate_authority.as_bytes())?,
            credential: Credential::Certificate(Identity::from_pem(&pem, &pem)?),
        })
    }

    /// The cluster of a node whose kubelet has its certificate.
    pub fn of_node(root: &Root) -> Result<Self, ClusterError> {
        let text = std::fs::read(root.at(paths::KUBECONFIG)).map_err(|_| ClusterError::NoCredential)?;
        let value = roost_object::yaml::read(&text).map_err(|_| ClusterError::NoCredential)?.value;
        let path = format!("{}/kubelet-client-current.pem", paths::KUBELET_CERTIFICATES);
        let pem = std::fs::read(root.at(&path)).map_err(|_| ClusterError::NoCredential)?;
        let field = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).ok_or(ClusterError::NoCredential);
        let authority = field("/clusters/0/cluster/certificate-authority-data")?;
        let authority = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, authority);
        Ok(Self {
            server: Address::parse(field("/clusters/0/cluster/server")?)?,
            trust: Trust::from_pem(&authority.map_err(|_| ClusterError::NoCredential)?)?,
            credential: Credential::Certificate(Identity::from_pem(&pem, &pem)?),
        })
    }

    /// The cluster with somebody's kubeconfig, whose certificates are inside it.
    pub fn from_kubeconfig(text: &[u8]) -> Result<Self, ClusterError> {
        use base64::Engine as _;
        let value = roost_object::yaml::read(text).map_err(|_| ClusterError::NoCredential)?.value;
        let field = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let decoded = |pointer: &str| {
            let bytes = field(pointer).and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
            bytes.ok_or(ClusterError::NoCredential)
        };
        let credential = match field("/users/0/user/token") {
            Some(token) => Credential::Token(token.to_owned()),
            None => Credential::Certificate(Identity::from_pem(
                &decoded("/users/0/user/client-certificate-data")?,
                &decoded("/users/0/user/client-key-data")?,
            )?),
        };
        Ok(Self {
            server: Address::parse(field("/clusters/0/cluster/server").ok_or(ClusterError::NoCredential)?)?,
            trust: Trust::from_pem(&decoded("/clusters/0/cluster/certificate-authority-data")?)?,
            credential,
        })
    }

    /// The headers of every request, and the certificate that is shown.
    fn credentials(&self) -> (Vec<(String, String)>, Option<&Identity>) {
        let mut headers = vec![("Accept".to_owned(), "application/json".to_owned())];
        let mut identity = None;
        match &self.credential {
            Credential::Certificate(certificate) => identity = Some(certificate),
            Credential::Token(token) => headers.push(("Authorization".to_owned(), format!("Bearer {token}"))),
        }
        (headers, identity)
    }

    /// Reads an object or a list.
    pub fn get(&self, path: &str) -> Result<Value, ClusterError> {
        self.ask("GET", path, None)
    }

    /// Follows what changes, until the server ends it or falls silent; whoever takes the bytes may end it with an error.
    pub fn follow(&self, path: &str, silence: Duration, events: &mut dyn std::io::Write) -> Result<(), ClusterError> {
        let address = self.server.with_path(path);
        let (headers, identity) = self.credentials();
        let request =
            Request { method: "GET", address: &address, headers: &headers, body: b"", largest: LARGEST_STREAM };
        let answer = https::follow_into(&request, &self.trust, identity, silence, events)?;
        if answer.status == 200 {
            return Ok(());
        }
        Err(ClusterError::Refused { status: answer.status, words: "what changes cannot be followed".to_owned() })
    }

    /// A connection on which something else than HTTP is spoken from now on.
    pub fn switch(&self, path: &str) -> Result<Tls, ClusterError> {
        let address = self.server.with_path(path);
        let (mut headers, identity) = self.credentials();
        headers.push(("Upgrade".to_owned(), TUNNEL_PROTOCOL.to_owned()));
        let request =
            Request { method: "GET", address: &address, headers: &headers, body: b"", largest: LARGEST_ANSWER };
        https::switch(&request, &self.trust, identity)?.map_err(|status| {
            let words = "no other protocol is spoken there".to_owned();
            ClusterError::Refused { status, words }
        })
    }

    /// Sets a condition of the Node.
    pub fn set_node_condition(&self, name: &str, condition: &Value) -> Result<(), ClusterError> {
        let patch = json!({"status": {"conditions": [condition]}});
        let kind = "application/strategic-merge-patch+json";
        self.ask("PATCH", &format!("/api/v1/nodes/{name}/status"), Some(&(kind, patch))).map(drop)
    }

    fn ask(&self, method: &'static str, path: &str, body: Option<&(&str, Value)>) -> Result<Value, ClusterError> {
        let address = self.server.with_path(path);
        let (mut headers, identity) = self.credentials();
        let bytes = match body {
            Some((kind, value)) => {
                headers.push(("Content-Type".to_owned(), (*kind).to_owned()));
                value.to_string().into_bytes()
            }
            None => Vec::new(),
        };
        let request = Request { method, address: &address, headers: &headers, body: &bytes, largest: LARGEST_ANSWER };
        let answer = https::send(&request, &self.trust, identity)?;
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return Ok(value);
        }
        let words = value["message"].as_str().unwrap_or("it gave no reason").to_owned();
        Err(ClusterError::Refused { status: answer.status, words })
    }

    /// The Node object.
    pub fn node(&self, name: &str) -> Result<Value, ClusterError> {
        self.ask("GET", &format!("/api/v1/nodes/{name}"), None)
    }

    /// Sets annotations of the Node; null takes one away.
    pub fn annotate_node(&self, name: &str, annotations: &Value) -> Result<(), ClusterError> {
        let patch = json!({"metadata": {"annotations": annotations}});
        let kind = "application/merge-patch+json";
        self.ask("PATCH", &format!("/api/v1/nodes/{name}"), Some(&(kind, patch))).map(drop)
    }

    /// Keeps new pods away, or no longer.
    pub fn set_unschedulable(&self, name: &str, unschedulable: bool) -> Result<(), ClusterError> {
        let patch = json!({"spec": {"unschedulable": unschedulable}});
        let kind = "application/merge-patch+json";
        self.ask("PATCH", &format!("/api/v1/nodes/{name}"), Some(&(kind, patch))).map(drop)
    }

    /// Removes the Node object; one that is gone is removed.
    pub fn delete_node(&self, name: &str) -> Result<(), ClusterError> {
        match self.ask("DELETE", &format!("/api/v1/nodes/{name}"), None) {
            Err(ClusterError::Refused { status: 404, .. }) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Has pods leave the node, as far as their budgets allow. Returns those that are still there.
    pub fn drain(
        &self,
        name: &str,
        patience: Duration,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>, ClusterError> {
        let end = Instant::now() + patience;
        let mut told = String::new();
        loop {
            let list = self.ask("GET", &format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"), None)?;
            let pods: Vec<&Value> = list["items"].as_array().into_iter().flatten().filter(|pod| must_go(pod)).collect();
            let names: Vec<String> = pods.iter().map(|pod| name_of(pod)).collect();
            if names.is_empty() || Instant::now() > end {
                return Ok(names);
            }
            let mut reason = String::new();
            for pod in pods.iter().filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_none()) {
                if let Err(error) = self.evict(pod) {
                    reason = format!("; {} stays for now: {error}", name_of(pod));
                }
            }
            let words = format!("waiting for {} to end{reason}", names.join(", "));
            if words != told {
                tell(&words);
                told = words;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn evict(&self, pod: &Value) -> Result<(), ClusterError> {
        let metadata = &pod["metadata"];
        let (namespace, name) =
            (metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str().unwrap_or_default());
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"namespace": namespace, "name": name},
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        match self.ask("POST", &path, Some(&("application/json", eviction))) {
            Err(ClusterError::Refused { status: 404, .. }) => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Static pods and those of a `DaemonSet` come back at once, and those that ended do no harm.
fn must_go(pod: &Value) -> bool {
    let ended = matches!(pod.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"));
    let mirrored = pod.pointer("/metadata/annotations/kubernetes.io~1config.mirror").is_some();
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let of_daemon_set = owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet");
    !ended && !mirrored && !of_daemon_set
}

fn name_of(pod: &Value) -> String {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// Whether a Node is ready, and what it says if not.
pub fn readiness(node: &Value) -> Result<(), String> {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    match ready {
        None => Err("the kubelet has not reported yet".to_owned()),
        Some(ready) if ready["status"] == "True" => Ok(()),
        Some(ready) => Err(ready["message"].as_str().unwrap_or("it gives no reason").to_owned()),
    }
}

/// The taints of a Node, as kubectl writes them.
pub fn taints(node: &Value) -> Vec<String> {
    let list = node.pointer("/spec/taints").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|taint| {
            let text = |field: &str| taint[field].as_str().unwrap_or_default();
            match text("value") {
                "" => format!("{}:{}", text("key"), text("effect")),
                value => format!("{}={value}:{}", text("key"), text("effect")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{must_go, readiness, taints};

    #[test]
    fn pods_that_come_back_at_once_stay() {
        assert!(must_go(&json!({"metadata": {"name": "a"}})));
        assert!(!must_go(&json!({"status": {"phase": "Succeeded"}})));
        assert!(!must_go(&json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}})));
        assert!(!must_go(&json!({"metadata": {"ownerReferences": [{"kind": "DaemonSet"}]}})));
        assert!(must_go(&json!({"metadata": {"ownerReferences": [{"kind": "ReplicaSet"}]}})));
    }

    #[test]
    fn a_node_says_whether_it_is_ready_and_why_not() {
        assert_eq!(readiness(&json!({})), Err("the kubelet has not reported yet".to_owned()));
        let node = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "message": "cni plugin not initialized"}]}});
        assert_eq!(readiness(&node("True")), Ok(()));
        assert_eq!(readiness(&node("False")), Err("cni plugin not initialized".to_owned()));
    }

    #[test]
    fn taints_are_written_as_kubectl_writes_them() {
        let node = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "NoExecute"}]}});
        assert_eq!(taints(&node), ["a:NoSchedule", "b=c:NoExecute"]);
    }
}
