//! The registration of a node.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

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
    let wanted = facts.own_labels();
    let labels = &node["metadata"]["labels"];
    if wanted.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return Ok(node);
    }
    client.patch(&path, &json!({"metadata": {"labels": wanted}})).await
}
