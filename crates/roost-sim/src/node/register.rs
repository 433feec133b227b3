//! The registration of a node.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::Facts;
use crate::client::{Client, ClientError};

/// Makes the Node object, or takes the one that is there, and returns it.
pub(crate) async fn register(client: &Client, facts: &Facts, now: Timestamp) -> Result<Value, ClientError> {
    match client.create("/api/v1/nodes", &facts.registration(now)).await {
        Err(error) if error.is(StatusCode::CONFLICT) => {}
        outcome => return outcome,
    }
    let path = format!("/api/v1/nodes/{}", facts.name);
    let node = client.get(&path).await?;
    let (labels, annotations) = (facts.own_labels(), facts.annotations());
    let has = |field: &str, wanted: &Map<String, Value>| {
        wanted.iter().all(|(key, value)| node["metadata"][field].get(key) == Some(value))
    };
    if has("labels", &labels) && has("annotations", &annotations) {
        return Ok(node);
    }
    client.patch(&path, &json!({"metadata": {"labels": labels, "annotations": annotations}})).await
}
