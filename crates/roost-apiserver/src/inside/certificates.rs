//! Certificate requests: approving those of kubelets, and signing what is approved.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use roost_access::{Attributes, Decision, ResourceAttributes, User};
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

const GROUP: &str = "certificates.k8s.io";
const PLURAL: &str = "certificatesigningrequests";

/// Approves a request for a kubelet's client certificate, when whoever made it may have one.
pub(super) async fn approve(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let object = Object::of_cluster(GROUP, PLURAL, name);
    let Some(request) = object.find(cluster) else { return Ok(()) };
    let Some(message) = approval(cluster, &request) else { return Ok(()) };
    let approved = json!({"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message});
    let transform = |live: &Value| {
        let mut next = live.clone();
        if is_open(live) {
            match next["status"]["conditions"].as_array_mut() {
                Some(conditions) => conditions.push(approved.clone()),
                None => next["status"]["conditions"] = json!([approved]),
            }
        }
        Ok(next)
    };
    edit::change(cluster, object, "approval", CONTROLLERS, &transform).await
}

/// Whether nobody has answered a request yet.
fn is_open(request: &Value) -> bool {
    let signed = request["status"]["certificate"].as_str().is_some_and(|certificate| !certificate.is_empty());
    let conditions = request["status"]["conditions"].as_array().into_iter().flatten();
    let mut answers = conditions.filter(|condition| condition["type"] == "Approved" || condition["type"] == "Denied");
    !signed && answers.next().is_none()
}

/// Why a request is approved without anyone looking at it; none when it is not.
fn approval(cluster: &Cluster, request: &Value) -> Option<&'static str> {
    let spec = &request["spec"];
    let signer = spec["signerName"].as_str().and_then(KubernetesSigner::from_name)?;
    if signer != KubernetesSigner::KubeletClient || !is_open(request) {
        return None;
    }
    let parsed = parse_request(request)?;
    signer.check(&parsed, &usages(request)).ok()?;
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let user = User {
        name: spec["username"].as_str().unwrap_or_default().to_owned(),
        uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
        groups: texts(&spec["groups"]),
        extra: spec["extra"].as_object().into_iter().flatten().map(|(key, list)| (key.clone(), texts(list))).collect(),
    };
    let may = |subresource: &str| {
        let wanted =
            ResourceAttributes { group: GROUP, version: "*", resource: PLURAL, subresource, ..Default::default() };
        let attributes = Attributes::resource(&user, "create", wanted);
        matches!(cluster.authorizer.decide(cluster, &attributes), Decision::Allow(_))
    };
    if parsed.subject().common_name == user.name && may("selfnodeclient") {
        return Some("Auto approving self kubelet client certificate after SubjectAccessReview.");
    }
    may("nodeclient").then_some("Auto approving kubelet client certificate after SubjectAccessReview.")
}

fn usages(request: &Value) -> Vec<&str> {
    request["spec"]["usages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Signs a request that is approved, not denied and not yet signed, for a signer of ours.
pub(super) async fn sign(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let Some(request) = cluster.find(GROUP, PLURAL, "", name) else {
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
    let object = Object::of_cluster(GROUP, PLURAL, name);
    edit::change(cluster, object, "status", CONTROLLERS, &transform).await
}

fn issue(cluster: &Cluster, request: &Value, signer: KubernetesSigner) -> Result<String, String> {
    let parsed = parse_request(request).ok_or("the request cannot be read")?;
    let usages = usages(request);
    signer.check(&parsed, &usages)?;
    let wanted = request["spec"]["expirationSeconds"].as_i64().and_then(|seconds| i32::try_from(seconds).ok());
    let profile = SigningProfile::for_request(&usages, wanted, DEFAULT_LIFETIME).map_err(|error| error.to_string())?;
    let certificate = cluster
        .identity()
        .authority
        .sign_request(&parsed, &profile, Timestamp::now())
        .map_err(|error| error.to_string())?;
    Ok(certificate.to_pem())
}
