//! The status of an InfraEnv: links that change with the image, and before their token expires. Pure.

use jiff::Timestamp;
use roost_api::agent_install::condition::infra_env::{IMAGE_CREATED, reason};
use roost_api::agent_install::names::label;
use serde_json::{Value, json};

use super::links::{Links, revision, token_of};
use crate::condition::{self, Condition, Truth};
use crate::discovery::{Published, TOKEN_ROTATION};

/// What a pass over an InfraEnv came to.
pub(super) enum Outcome {
    Available(Published),
    Refused(String),
}

/// The whole status to write.
pub(super) fn status(environment: &Value, outcome: &Outcome, os_version: &str, now: Timestamp) -> Value {
    let earlier = &environment["status"];
    let name = &environment["metadata"]["name"];
    let mut status = json!({"agentLabelSelector": {"matchLabels": {(label::INFRA_ENV): name}}});
    let condition = match outcome {
        Outcome::Refused(problem) => {
            Condition::bad(IMAGE_CREATED, reason::IMAGE_CREATION_ERROR, format!("Failed to create image: {problem}"))
        }
        Outcome::Available(published) => {
            links(&mut status, environment, published, os_version, now);
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

/// Links with the token that is shown already, while that is good for long enough and of the same image.
fn links(status: &mut Value, environment: &Value, published: &Published, os_version: &str, now: Timestamp) {
    let earlier = &environment["status"];
    let revision = revision(environment);
    let shown = earlier["isoDownloadURL"].as_str().unwrap_or_default();
    let is_good = |token: &&str| {
        published
            .read(token, now)
            .is_some_and(|claims| claims.revision == revision && now.duration_since(claims.issued) < TOKEN_ROTATION)
    };
    let kept = token_of(shown).filter(is_good).map(str::to_owned);
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    let token = kept.or_else(|| published.token(id, &revision, now).map(roost_pki::Secret::into_exposed));
    let token = token.unwrap_or_default();
    let links = Links::new(&published.url, environment, os_version, &token);
    status["isoDownloadURL"] = json!(links.image());
    let is_same = shown == links.image() && earlier["createdTime"].is_string();
    status["createdTime"] = if is_same { earlier["createdTime"].clone() } else { json!(condition::time(now)) };
    status["bootArtifacts"] = json!({
        "initrd": links.initrd(), "kernel": links.kernel(), "rootfs": links.rootfs(),
        "ipxeScript": links.script(), "discoveryIgnitionURL": links.ignition(),
    });
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
