//! Objects that end by the clock: events, bootstrap tokens and certificate requests.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use roost_access::token::{bootstrap_expiration, is_expired_bootstrap_secret};
use roost_object::{Status, Value};
use roost_pki::Certificate;
use roost_store::{CommitError, Expect, ListQuery, Operation, Write};
use serde::Deserialize;

use super::edit::{self, Object};
use super::{Inside, Task};
use crate::clock;
use crate::cluster::Cluster;
use crate::stored::Stored;
use crate::write::{metadata_text, storage_error};

/// How long an event stays after it was last written.
pub(super) const EVENT_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// The most events that one commit removes, so that others get their turn.
const EVENT_BATCH: usize = 500;
/// How long a certificate request stays once it was signed, denied, or failed.
const ANSWERED_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// How long a certificate request stays while nobody has answered or signed it.
const PENDING_LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// The times in an event that tell when it was last written.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    metadata: Times,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Times {
    creation_timestamp: String,
    managed_fields: Vec<Managed>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Managed {
    time: String,
}

/// When an event was last written; none for what cannot be read.
fn last_written(bytes: &Bytes) -> Option<Timestamp> {
    let stored = Stored::new(bytes.clone()).ok()?;
    let times = serde_json::from_slice::<Event>(stored.json()).ok()?.metadata;
    let written = times.managed_fields.iter().map(|managed| &managed.time);
    written.chain([&times.creation_timestamp]).filter_map(|time| clock::parse(time)).max()
}

/// Removes the events whose time has come, and comes back for the next ones.
pub(super) async fn expire_events(cluster: &Arc<Cluster>, inside: &Inside) -> Result<(), Status> {
    let Some(resource) = cluster.storage_resource("", "events") else { return Ok(()) };
    let collection = resource.collection(&cluster.tenant);
    let Ok(page) = cluster.store.list(&collection, ListQuery::default()) else { return Ok(()) };
    let now = Timestamp::now();
    let mut next: Option<Timestamp> = None;
    let mut writes = Vec::new();
    for entry in &page.entries {
        let end = last_written(&entry.value).unwrap_or(now).saturating_add(EVENT_LIFETIME).unwrap_or(Timestamp::MAX);
        if end > now || writes.len() == EVENT_BATCH {
            next = Some(next.map_or(end, |next| next.min(end)));
            continue;
        }
        writes.push(Write {
            collection: collection.clone(),
            name: Arc::clone(&entry.name),
            expect: Expect::Revision(entry.modified),
            operation: Operation::Delete,
        });
    }
    if let Some(next) = next {
        inside.timers.at(&cluster.tenant, Task::ExpireEvents, next);
    }
    if writes.is_empty() {
        return Ok(());
    }
    match cluster.store.commit(writes).await {
        Ok(_) => Ok(()),
        // One of them was written just now, and lives on: look again.
        Err(CommitError::Conflict { .. }) => Err(Status::internal("an event changed while it expired")),
        Err(error) => Err(storage_error(&error)),
    }
}

/// Removes a bootstrap token whose time has come, or comes back when it does.
pub(super) async fn expire_token(cluster: &Arc<Cluster>, inside: &Inside, name: &str) -> Result<(), Status> {
    let object = Object { group: "", plural: "secrets", namespace: "kube-system", name };
    let Some(secret) = object.find(cluster) else { return Ok(()) };
    if is_expired_bootstrap_secret(&secret, Timestamp::now()) {
        return edit::remove(cluster, object, metadata_text(&secret, "uid")).await;
    }
    if let Some(end) = bootstrap_expiration(&secret) {
        inside.timers.at(&cluster.tenant, Task::ExpireToken(name.to_owned()), end);
    }
    Ok(())
}

/// Removes a certificate request that nobody needs any more, or comes back when that is so.
pub(super) async fn expire_request(cluster: &Arc<Cluster>, inside: &Inside, name: &str) -> Result<(), Status> {
    let object = Object::of_cluster("certificates.k8s.io", "certificatesigningrequests", name);
    let Some(request) = object.find(cluster) else { return Ok(()) };
    let Some(end) = request_end(&request) else { return Ok(()) };
    if end < Timestamp::now() {
        return edit::remove(cluster, object, metadata_text(&request, "uid")).await;
    }
    let after = end.saturating_add(SignedDuration::from_secs(1)).unwrap_or(end);
    inside.timers.at(&cluster.tenant, Task::ExpireRequest(name.to_owned()), after);
    Ok(())
}

/// When a certificate request ends, as it is; none when it does not.
fn request_end(request: &Value) -> Option<Timestamp> {
    let certificate = request["status"]["certificate"].as_str().filter(|text| !text.is_empty());
    let conditions = request["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let after = |time: &str, lifetime| clock::parse(time)?.saturating_add(lifetime).ok();
    if conditions.is_empty() {
        return after(metadata_text(request, "creationTimestamp"), PENDING_LIFETIME);
    }
    let deadlines = conditions.iter().filter_map(|condition| {
        let updated = condition["lastUpdateTime"].as_str().unwrap_or_default();
        match (condition["type"].as_str()?, certificate) {
            ("Denied" | "Failed", _) | ("Approved", Some(_)) => after(updated, ANSWERED_LIFETIME),
            ("Approved", None) => after(updated, PENDING_LIFETIME),
            _ => None,
        }
    });
    let approved = conditions.iter().any(|condition| condition["type"] == "Approved");
    deadlines.chain(certificate.filter(|_| approved).and_then(not_after)).min()
}

/// The end of a certificate that a request carries.
fn not_after(encoded: &str) -> Option<Timestamp> {
    let pem = STANDARD.decode(encoded).ok()?;
    Certificate::from_pem(std::str::from_utf8(&pem).ok()?).ok().map(|certificate| certificate.not_after())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn certificate_requests_end_by_what_became_of_them() {
        let created = "2026-01-01T00:00:00Z";
        let condition = |kind: &str, updated: &str| json!({"type": kind, "status": "True", "lastUpdateTime": updated});
        let cases = [
            ("pending", json!({}), Some("2026-01-02T00:00:00Z")),
            (
                "denied",
                json!({"conditions": [condition("Denied", "2026-01-01T02:00:00Z")]}),
                Some("2026-01-01T03:00:00Z"),
            ),
            (
                "failed",
                json!({"conditions": [condition("Failed", "2026-01-01T02:00:00Z")]}),
                Some("2026-01-01T03:00:00Z"),
            ),
            (
                "approved, not signed",
                json!({"conditions": [condition("Approved", "2026-01-01T02:00:00Z")]}),
                Some("2026-01-02T02:00:00Z"),
            ),
            (
                "signed",
                json!({"certificate": "eA==", "conditions": [condition("Approved", "2026-01-01T02:00:00Z")]}),
                Some("2026-01-01T03:00:00Z"),
            ),
            ("unknown condition", json!({"conditions": [condition("Odd", "2026-01-01T02:00:00Z")]}), None),
            ("no time", json!({"conditions": [{"type": "Denied"}]}), None),
        ];
        for (what, status, expected) in cases {
            let request = json!({"metadata": {"creationTimestamp": created}, "status": status});
            assert_eq!(request_end(&request).map(clock::text).as_deref(), expected, "{what}");
        }
    }

    #[test]
    fn an_event_ages_from_its_last_write() {
        let event = json!({"metadata": {
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "a", "time": "2026-01-01T00:00:00Z"}, {"manager": "b", "time": "2026-01-01T00:30:00Z"}],
        }});
        let bytes = Stored::encode(&event, "v1", None).into_bytes();
        assert_eq!(last_written(&bytes).map(clock::text).as_deref(), Some("2026-01-01T00:30:00Z"));
    }
}
