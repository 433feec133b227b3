//! A certificate signing request as the approver sees it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

/// What begins the user name of a node.
pub(crate) const NODE_PREFIX: &str = "system:node:";
/// The group of all nodes.
pub(crate) const NODES: &str = "system:nodes";
/// The group of everybody who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody with a bootstrap token.
pub(crate) const BOOTSTRAPPERS: &str = "system:bootstrappers";
/// What begins the group of one Machine's bootstrap token.
pub(crate) const MACHINE_GROUP_PREFIX: &str = "system:bootstrappers:roost:";
/// What begins the user name of somebody with a bootstrap token; the token's id follows.
const TOKEN_USER_PREFIX: &str = "system:bootstrap:";

/// The signers that nodes need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Signer {
    /// What a kubelet shows to the API.
    Client,
    /// What a kubelet shows to those who call it.
    Serving,
}

impl Signer {
    fn of(name: &str) -> Option<Self> {
        match name {
            "kubernetes.io/kube-apiserver-client-kubelet" => Some(Self::Client),
            "kubernetes.io/kubelet-serving" => Some(Self::Serving),
            _ => None,
        }
    }
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nobody has answered it.
    Open,
    /// Approved, not issued yet.
    Approved,
    /// Issued.
    Issued,
    /// Denied, or it failed.
    Over,
}

/// A request for a certificate of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) signer: Signer,
    pub(crate) username: String,
    pub(crate) groups: Vec<String>,
    pub(crate) usages: Vec<String>,
    /// The request itself, as text.
    pub(crate) pem: String,
    pub(crate) created: Timestamp,
    pub(crate) progress: Progress,
}

/// Who asks, by the user name and groups that the hosted API gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requester<'a> {
    /// A host with the bootstrap token of a Machine.
    Machine { token_id: &'a str, machine: &'a str },
    /// A node, by its own certificate.
    Node { name: &'a str },
    /// Anybody else.
    Other,
}

impl Request {
    /// Reads a CertificateSigningRequest; none when it is for a signer that is none of the approver's business.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
        let decoded = spec["request"].as_str().and_then(|request| STANDARD.decode(request).ok()).unwrap_or_default();
        Some(Self {
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            signer: Signer::of(spec["signerName"].as_str()?)?,
            username: text(&spec["username"]),
            groups: texts(&spec["groups"]),
            usages: texts(&spec["usages"]),
            pem: String::from_utf8(decoded).unwrap_or_default(),
            created: metadata["creationTimestamp"].as_str().and_then(|time| time.parse().ok()).unwrap_or_default(),
            progress: progress(&object["status"]),
        })
    }

    /// Who asks.
    pub(crate) fn requester(&self) -> Requester<'_> {
        if let Some(name) = self.username.strip_prefix(NODE_PREFIX)
            && self.has_group(NODES)
        {
            return Requester::Node { name };
        }
        let machine = self.groups.iter().find_map(|group| group.strip_prefix(MACHINE_GROUP_PREFIX));
        match (self.username.strip_prefix(TOKEN_USER_PREFIX), machine) {
            (Some(token_id), Some(machine)) => Requester::Machine { token_id, machine },
            _ => Requester::Other,
        }
    }

    pub(crate) fn has_group(&self, wanted: &str) -> bool {
        self.groups.iter().any(|group| group == wanted)
    }
}

fn progress(status: &Value) -> Progress {
    let conditions = || status["conditions"].as_array().into_iter().flatten();
    if conditions().any(|condition| condition["type"] == "Denied" || condition["type"] == "Failed") {
        return Progress::Over;
    }
    if status["certificate"].as_str().is_some_and(|certificate| !certificate.is_empty()) {
        return Progress::Issued;
    }
    if conditions().any(|condition| condition["type"] == "Approved") { Progress::Approved } else { Progress::Open }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_read_and_others_passed_over() {
        let mut object = json!({
            "metadata": {"name": "csr-1", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"signerName": "kubernetes.io/kubelet-serving", "username": "system:node:a",
                "groups": ["system:nodes", "system:authenticated"], "usages": ["server auth"], "request": "aGVsbG8="},
        });
        let request = Request::read(&object).expect("a request");
        assert_eq!(request.pem, "hello");
        assert_eq!(request.requester(), Requester::Node { name: "a" });
        assert_eq!(request.progress, Progress::Open);
        for (status, progress) in [
            (json!({"conditions": [{"type": "Approved"}]}), Progress::Approved),
            (json!({"conditions": [{"type": "Approved"}], "certificate": "eA=="}), Progress::Issued),
            (json!({"conditions": [{"type": "Denied"}]}), Progress::Over),
            (json!({"conditions": [{"type": "Approved"}, {"type": "Failed"}]}), Progress::Over),
        ] {
            object["status"] = status;
            assert_eq!(Request::read(&object).expect("a request").progress, progress);
        }
        object["spec"]["signerName"] = json!("kubernetes.io/kube-apiserver-client");
        assert_eq!(Request::read(&object), None);
    }
}
