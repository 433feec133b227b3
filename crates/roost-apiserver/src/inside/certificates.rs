//! Signing approved certificate requests: for kubelets, their servers, and API clients.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use roost_object::{Status, Value};
use roost_pki::{KubernetesSigner, SigningProfile};
use serde_json::json;

use super::edit::{self, Object};
use crate::clock;
use crate::cluster::Cluster;
use crate::identity::parse_request;
use crate::write::CONTROLLERS;

/// How long certificates live when the request does not say: a year, as on stock.
const DEFAULT_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Signs a request that is approved, not denied and not yet signed, for a signer of ours.
pub(super) async fn sign(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let Some(request) = cluster.find("certificates.k8s.io", "certificatesigningrequests", "", name) else {
        return Ok(());
    };
    let has = |kind: &str| {
        request["status"]["conditions"].as_array().into_iter().flatten().any(|condition| condition["type"] == kind)
    };
    let signed = request["status"]["certificate"].as_str().is_some_and(|certificate| !certificate.is_empty());
    if signed || !has("Approved") || has("Denied") || has("Failed") {
        return Ok(());
    }
    let Some(signer) = request["spec"]["signerName"].as_str().and_then(KubernetesSigner::from_name) else {
        return Ok(());
    };
    let outcome = issue(cluster, &request, signer);
    let now = clock::now_text();
    let transform = |live: &Value| {
        let mut next = live.clone();
        match &outcome {
            Ok(pem) => next["status"]["certificate"] = STANDARD.encode(pem).into(),
            Err(why) => {
                let failed = json!({"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why, "lastUpdateTime": now, "lastTransitionTime": now});
                match next["status"]["conditions"].as_array_mut() {
                    Some(conditions) => conditions.push(failed),
                    None => next["status"]["conditions"] = json!([failed]),
                }
            }
        }
        Ok(next)
    };
    let object = Object::of_cluster("certificates.k8s.io", "certificatesigningrequests", name);
    edit::change(cluster, object, "status", CONTROLLERS, &transform).await
}

fn issue(cluster: &Cluster, request: &Value, signer: KubernetesSigner) -> Result<String, String> {
    let parsed = parse_request(request).ok_or("the request cannot be read")?;
    let usages: Vec<&str> =
        request["spec"]["usages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    signer.check(&parsed, &usages)?;
    let wanted = request["spec"]["expirationSeconds"].as_i64().and_then(|seconds| i32::try_from(seconds).ok());
    let profile = SigningProfile::for_request(&usages, wanted, DEFAULT_LIFETIME).map_err(|error| error.to_string())?;
    let certificate = cluster
        .config
        .identity
        .authority
        .sign_request(&parsed, &profile, Timestamp::now())
        .map_err(|error| error.to_string())?;
    Ok(certificate.to_pem())
}
