//! The status of an InfraEnv: links that change with the image, and before their token expires. Pure.

use jiff::Timestamp;
use roost_api::agent_install::condition::infra_env::{IMAGE_CREATED, reason};
use roost_api::agent_install::names::label;
use serde_json::{Value, json};

use super::links::{Image, discovery_ignition};
use crate::condition::{self, Condition, Truth};
use crate::discovery::Published;

/// What a pass over an InfraEnv came to.
pub(super) enum Outcome<'a> {
    /// Its hosts can boot.
    Available(Reachable<'a>, Image<'a>),
    /// The service is there, and nothing to boot.
    NoImage(Reachable<'a>, String),
    /// It cannot be what it wants to be.
    Refused(String),
}

/// How hosts of an InfraEnv reach the service.
pub(super) struct Reachable<'a> {
    pub(super) published: &'a Published,
    pub(super) token: &'a str,
}

/// The whole status to write.
pub(super) fn status(environment: &Value, outcome: &Outcome<'_>, now: Timestamp) -> Value {
    let earlier = &environment["status"];
    let name = &environment["metadata"]["name"];
    let mut status = json!({"agentLabelSelector": {"matchLabels": {(label::INFRA_ENV): name}}});
    let failed = |problem: &str| {
        Condition::bad(IMAGE_CREATED, reason::IMAGE_CREATION_ERROR, format!("Failed to create image: {problem}"))
    };
    let ignition = |reachable: &Reachable<'_>| discovery_ignition(reachable.published, environment, reachable.token);
    let condition = match outcome {
        Outcome::Refused(problem) => failed(problem),
        Outcome::NoImage(reachable, problem) => {
            status["bootArtifacts"] = json!({"discoveryIgnitionURL": ignition(reachable)});
            failed(problem)
        }
        Outcome::Available(reachable, image) => {
            let iso = image.iso(environment, reachable.token);
            let is_same = earlier["isoDownloadURL"] == iso && earlier["createdTime"].is_string();
            status["createdTime"] = if is_same { earlier["createdTime"].clone() } else { json!(condition::time(now)) };
            status["isoDownloadURL"] = json!(iso);
            status["bootArtifacts"] = image.artifacts(environment, reachable.token);
            status["bootArtifacts"]["discoveryIgnitionURL"] = json!(ignition(reachable));
            Condition::new(
                IMAGE_CREATED,
                Truth::True,
                reason::INFRA_ENV_AVAILABLE,
                "InfraEnv is available: Image has been created",
            )
        }
    };
    status["conditions"] = condition::merge_plain(&earlier["conditions"], now, &[condition]);
    status
}

/// The status while hosts keep an InfraEnv from going.
pub(super) fn waiting(environment: &Value, held: &[&str], now: Timestamp) -> Value {
    let mut status = environment["status"].clone();
    let message = format!(
        "Waits for hosts that belong to clusters: {}; scale their node pools down or delete their machines",
        held.join(", ")
    );
    let condition = Condition::bad(IMAGE_CREATED, "Deleting", message);
    if !status.is_object() {
        status = json!({});
    }
    status["conditions"] = condition::merge_plain(&environment["status"]["conditions"], now, &[condition]);
    status
}
