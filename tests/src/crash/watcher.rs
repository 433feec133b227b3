//! One watcher: follows all objects and resumes after each kill where it was.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use serde_json::Value;

use super::{NAMESPACE, Shared};
use crate::client::{Call, ClientError};

/// Watches until it is aborted.
pub(super) async fn watch(shared: Arc<Shared>, number: usize) {
    let mut version = loop {
        match start_version(&shared).await {
            Some(version) => break version,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    shared.history.begin(number, version);
    loop {
        if follow(&shared, number, &mut version).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn start_version(shared: &Shared) -> Option<u64> {
    let target = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let answer = shared.client.send(Call::get(target)).await.ok()?;
    answer.json().pointer("/metadata/resourceVersion").and_then(Value::as_str)?.parse().ok()
}

async fn follow(shared: &Shared, number: usize, version: &mut u64) -> Result<(), ClientError> {
    let target = format!("/api/v1/namespaces/{NAMESPACE}/configmaps?watch=true&resourceVersion={version}");
    let mut stream = shared.client.stream(Call::get(target)).await?;
    if stream.status != StatusCode::OK {
        if stream.status == StatusCode::GONE {
            shared.history.violation(format!("watcher {number} could not resume from version {version}"));
        }
        return Err(ClientError::Exchange(stream.status.to_string()));
    }
    let mut buffer = BytesMut::new();
    while let Some(data) = stream.next().await? {
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line = buffer.split_to(end + 1);
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            note(shared, number, version, &event);
        }
    }
    Ok(())
}

fn note(shared: &Shared, number: usize, version: &mut u64, event: &Value) {
    let kind = event["type"].as_str().unwrap_or_default();
    let object = &event["object"];
    let found = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    let Some(found) = found.and_then(|found| found.parse::<u64>().ok()) else {
        shared.history.violation(format!("watcher {number} at version {version} was told {event}"));
        return;
    };
    if kind == "BOOKMARK" {
        *version = (*version).max(found);
        return;
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let value = object.pointer("/data/value").and_then(Value::as_str).unwrap_or_default();
    let life = shared.life.load(Ordering::SeqCst);
    shared.history.see(number, life, found, kind, name, value);
    *version = found;
}
