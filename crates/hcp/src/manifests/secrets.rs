//! The Secrets of a new cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::high::HighArguments;

use super::{DELETE_WITH_CLUSTER_LABEL, SshKey};

fn secret(request: &HighArguments, suffix: &str, data: &[(&str, &[u8])]) -> Value {
    let data: Map<String, Value> =
        data.iter().map(|(key, bytes)| ((*key).to_owned(), json!(STANDARD.encode(bytes)))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": format!("{}-{suffix}", request.name),
            "namespace": request.namespace,
            "labels": {DELETE_WITH_CLUSTER_LABEL: "true"},
        },
        "data": data,
    })
}

fn opaque(mut secret: Value) -> Value {
    secret["type"] = json!("Opaque");
    secret
}

pub(super) fn pull_secret(request: &HighArguments) -> Value {
    secret(request, "pull-secret", &[(".dockerconfigjson", &request.files.pull_secret)])
}

pub(super) fn ssh_key(request: &HighArguments, generated: Option<&SshKey>) -> Option<Value> {
    if let Some(key) = generated {
        return Some(secret(request, "ssh-key", &[("id_rsa", &key.private), ("id_rsa.pub", &key.public)]));
    }
    let public = request.files.ssh_public_key.as_ref()?;
    Some(secret(request, "ssh-key", &[("id_rsa.pub", public)]))
}

pub(super) fn infra_credentials(request: &HighArguments) -> Option<Value> {
    let kubeconfig = request.files.infra_kubeconfig.as_ref()?;
    Some(opaque(secret(request, "infra-credentials", &[("kubeconfig", kubeconfig)])))
}

pub(super) fn encryption_key(request: &HighArguments, key: &[u8; 32]) -> Value {
    opaque(secret(request, "etcd-encryption-key", &[("key", key)]))
}
