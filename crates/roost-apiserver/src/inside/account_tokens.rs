//! Secrets that hold a token of a service account: filled when they come, gone when the account goes.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_access::token::{LegacyClaims, is_token_of};
use roost_object::{Status, Value};
use serde_json::json;

use super::edit::{self, Object};
use crate::cluster::Cluster;
use crate::write::{CONTROLLERS, metadata_mut, metadata_text};

/// The type of these Secrets.
pub(super) const TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation that names the account.
pub(super) const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Fills a Secret with a token of its account, or deletes it when there is no such account.
pub(super) async fn fill(cluster: &Arc<Cluster>, namespace: &str, name: &str) -> Result<(), Status> {
    let object = Object { group: "", plural: "secrets", namespace, name };
    let Some(secret) = object.find(cluster) else { return Ok(()) };
    let annotation = |name: &str| secret["metadata"]["annotations"][name].as_str().unwrap_or_default();
    if secret["type"] != TYPE || annotation(ACCOUNT_NAME).is_empty() {
        return Ok(());
    }
    let account = cluster
        .find("", "serviceaccounts", namespace, annotation(ACCOUNT_NAME))
        .filter(|account| is_token_of(&secret, account));
    let Some(account) = account else {
        return edit::remove(cluster, object, metadata_text(&secret, "uid")).await;
    };
    let authority = STANDARD.encode(cluster.identity().serving_trust.to_pem());
    if is_filled(&secret, &authority) {
        return Ok(());
    }
    let token = cluster
        .identity()
        .token_issuer
        .mint_legacy(&LegacyClaims::of(&account, &secret))
        .map_err(|error| Status::internal(error.to_string()))?;
    let token = STANDARD.encode(token.expose());
    let transform = |live: &Value| Ok(filled(live, &account, &authority, &token));
    edit::change(cluster, object, "", CONTROLLERS, &transform).await
}

fn has(secret: &Value, key: &str) -> bool {
    secret["data"][key].as_str().is_some_and(|text| !text.is_empty())
}

fn is_filled(secret: &Value, authority: &str) -> bool {
    secret["data"]["ca.crt"] == authority && has(secret, "namespace") && has(secret, "token")
}

/// The Secret with what it lacks; a token that it has stays.
fn filled(secret: &Value, account: &Value, authority: &str, token: &str) -> Value {
    let mut next = secret.clone();
    if is_filled(secret, authority) || !is_token_of(secret, account) {
        return next;
    }
    if !next["data"].is_object() {
        next["data"] = json!({});
    }
    next["data"]["ca.crt"] = authority.into();
    if !has(secret, "namespace") {
        next["data"]["namespace"] = STANDARD.encode(metadata_text(secret, "namespace")).into();
    }
    if !has(secret, "token") {
        next["data"]["token"] = token.into();
    }
    let annotations = metadata_mut(&mut next).entry("annotations").or_insert_with(|| json!({}));
    annotations[ACCOUNT_NAME] = metadata_text(account, "name").into();
    annotations[ACCOUNT_UID] = metadata_text(account, "uid").into();
    next
}

/// Deletes the tokens of an account that is gone.
pub(super) async fn end(cluster: &Arc<Cluster>, namespace: &str, name: &str, uid: &str) -> Result<(), Status> {
    let gone = json!({"metadata": {"namespace": namespace, "name": name, "uid": uid}});
    if cluster.find("", "serviceaccounts", namespace, name).is_some_and(|now| metadata_text(&now, "uid") == uid) {
        return Ok(());
    }
    for secret in cluster.find_all("", "secrets", namespace).iter().filter(|secret| is_token_of(secret, &gone)) {
        let object = Object { group: "", plural: "secrets", namespace, name: metadata_text(secret, "name") };
        edit::remove(cluster, object, metadata_text(secret, "uid")).await?;
    }
    Ok(())
}

/// Takes a Secret that is gone off the list of its account.
pub(super) async fn unlist(cluster: &Arc<Cluster>, namespace: &str, account: &str, secret: &str) -> Result<(), Status> {
    let object = Object { group: "", plural: "serviceaccounts", namespace, name: account };
    let lists = |account: &Value| {
        account["secrets"].as_array().is_some_and(|list| list.iter().any(|entry| entry["name"] == secret))
    };
    let is_back = cluster.find("", "secrets", namespace, secret).is_some();
    if is_back || !object.find(cluster).as_ref().is_some_and(lists) {
        return Ok(());
    }
    let transform = |live: &Value| {
        let mut next = live.clone();
        if let Some(list) = next["secrets"].as_array_mut() {
            list.retain(|entry| entry["name"] != secret);
        }
        if next["secrets"].as_array().is_some_and(Vec::is_empty) {
            next.as_object_mut().and_then(|next| next.remove("secrets"));
        }
        Ok(next)
    };
    edit::change(cluster, object, "", CONTROLLERS, &transform).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_gets_what_it_lacks_and_keeps_its_token() {
        let account = json!({"metadata": {"namespace": "n", "name": "robot", "uid": "u"}});
        let metadata = json!({"namespace": "n", "name": "s", "annotations": {ACCOUNT_NAME: "robot"}});
        let empty = json!({"type": TYPE, "metadata": metadata});
        let first = filled(&empty, &account, "Y2E=", "dG9rZW4=");
        assert_eq!(first["data"], json!({"ca.crt": "Y2E=", "namespace": "bg==", "token": "dG9rZW4="}));
        assert_eq!(first["metadata"]["annotations"][ACCOUNT_UID], "u");
        assert!(is_filled(&first, "Y2E="));
        let second = filled(&first, &account, "bmV3", "b3RoZXI=");
        assert_eq!(second["data"], json!({"ca.crt": "bmV3", "namespace": "bg==", "token": "dG9rZW4="}));
    }
}
