//! Events that the controllers inside leave for people to read.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::edit;
use crate::clock;
use crate::cluster::Cluster;
use crate::write::CONTROLLERS;

/// Something to know.
pub(super) const NORMAL: &str = "Normal";
/// Something to look at.
pub(super) const WARNING: &str = "Warning";

/// The object that an event is about.
pub(super) struct Subject<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// Writes an event. One that cannot be written is not worth failing for.
pub(super) async fn event(
    cluster: &Arc<Cluster>,
    subject: &Subject<'_>,
    kind: &str,
    reason: &str,
    message: &str,
    component: &str,
) {
    let time = Timestamp::now();
    let now = clock::text(time);
    let mut involved = json!({
        "apiVersion": subject.api_version, "kind": subject.kind, "name": subject.name, "uid": subject.uid,
    });
    if !subject.namespace.is_empty() {
        involved["namespace"] = subject.namespace.into();
    }
    let namespace = if subject.namespace.is_empty() { "default" } else { subject.namespace };
    let object = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{:x}", subject.name, time.as_nanosecond()), "namespace": namespace},
        "involvedObject": involved, "reason": reason, "message": message, "type": kind, "count": 1,
        "firstTimestamp": now, "lastTimestamp": now,
        "source": {"component": component}, "reportingComponent": component, "reportingInstance": "",
    });
    if let Err(status) = edit::make(cluster, object, CONTROLLERS).await {
        tracing::debug!(%status, reason, "an event could not be written");
    }
}
