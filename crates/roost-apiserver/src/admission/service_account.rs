//! `ServiceAccount`: every pod runs as an account and carries a short-lived token for it.

use roost_object::{Status, Value};
use serde_json::json;

use super::{Attributes, Verb};

/// Where the token is mounted.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";
/// How long a mounted token lives: an hour and a little, as on stock; kubelets renew it in time.
const TOKEN_SECONDS: i64 = 3607;

pub(super) fn complete(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    if attributes.verb != Verb::Create || !attributes.is("", "pods") {
        return Ok(());
    }
    if pod["metadata"]["annotations"].get(MIRROR_ANNOTATION).is_some() {
        return check_mirror(attributes, pod);
    }
    let name = match pod["spec"]["serviceAccountName"].as_str() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => "default".to_owned(),
    };
    pod["spec"]["serviceAccountName"] = name.as_str().into();
    pod["spec"]["serviceAccount"] = name.as_str().into();
    let target = &attributes.target;
    let Some(account) = target.call.cluster.find("", "serviceaccounts", target.namespace, &name) else {
        let why = format!(
            "error looking up service account {}/{name}: serviceaccount {} not found",
            target.namespace,
            roost_object::field::quote(&name)
        );
        return Err(attributes.forbidden(pod, &why));
    };
    if mounts_token(pod, &account) {
        mount_token(pod);
    }
    let secrets = pod["spec"]["imagePullSecrets"].as_array().is_none_or(Vec::is_empty);
    if let (true, Some(inherited)) = (secrets, account["imagePullSecrets"].as_array().filter(|list| !list.is_empty())) {
        pod["spec"]["imagePullSecrets"] = inherited.clone().into();
    }
    Ok(())
}

fn check_mirror(attributes: &Attributes<'_>, pod: &Value) -> Result<(), Status> {
    let spec = &pod["spec"];
    if !spec["serviceAccountName"].as_str().unwrap_or_default().is_empty() {
        return Err(attributes.forbidden(pod, "a mirror pod may not reference service accounts"));
    }
    Ok(())
}

fn mounts_token(pod: &Value, account: &Value) -> bool {
    pod["spec"]["automountServiceAccountToken"]
        .as_bool()
        .or_else(|| account["automountServiceAccountToken"].as_bool())
        .unwrap_or(true)
}

/// Adds the volume with token, CA and namespace, and mounts it where nothing else is mounted.
fn mount_token(pod: &mut Value) {
    let existing = pod["spec"]["volumes"].as_array().into_iter().flatten().find_map(|volume| {
        volume["name"].as_str().filter(|name| name.starts_with("kube-api-access-")).map(str::to_owned)
    });
    let volume = existing.clone().unwrap_or_else(|| format!("kube-api-access-{}", crate::write::random_suffix()));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        let Some(containers) = pod["spec"].get_mut(list).and_then(Value::as_array_mut) else { continue };
        for container in containers {
            let mounts = &mut container["volumeMounts"];
            if !mounts.is_array() {
                *mounts = json!([]);
            }
            let Some(mounts) = mounts.as_array_mut() else { continue };
            if mounts.iter().any(|mount| mount["mountPath"] == MOUNT_PATH) {
                continue;
            }
            mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH}));
            needed = true;
        }
    }
    if !needed || existing.is_some() {
        return;
    }
    let volumes = &mut pod["spec"]["volumes"];
    if !volumes.is_array() {
        *volumes = json!([]);
    }
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(json!({"name": volume, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]}}));
    }
}
