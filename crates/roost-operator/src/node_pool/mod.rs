//! NodePool: what its cluster and its own spec allow to say about it.

mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_runtime::Runtime;
use serde_json::{Value, json};

use crate::context::{Context, Next, ReconcileError};
use crate::names::FINALIZER;
use crate::object::{Kind, Reference, finalizers, has_finalizer, is_deleting};
use crate::pause::Pause;

/// Brings one NodePool nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(mut pool) = objects.find(Kind::NodePool, namespace, name).await? else { return Ok(Next::Settled) };
    let reference = Reference::new(Kind::NodePool, namespace, name);
    if is_deleting(&pool) {
        return release(context, &reference, &pool).await;
    }
    let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let cluster = objects.find(Kind::HostedCluster, namespace, cluster).await?;
    if let Some(change) = adoption(&pool, cluster.as_ref()) {
        pool = objects.merge(&reference, &change).await?;
    }
    let now = Timestamp::now();
    let status = status::status(&pool, cluster.as_ref(), context.runtime.version(), now);
    if status != pool["status"] {
        objects.set_status(&reference, &status).await?;
    }
    Ok(match Pause::of(pool["spec"]["pausedUntil"].as_str(), now) {
        Pause::Until(until) => Next::At(until),
        _ => Next::Settled,
    })
}

/// A finalizer, and the cluster as owner, so that the pool goes with it.
fn adoption(pool: &Value, cluster: Option<&Value>) -> Option<Value> {
    let mut change = json!({});
    if !has_finalizer(pool, FINALIZER) {
        let mut all: Vec<&str> = finalizers(pool).collect();
        all.push(FINALIZER);
        change["metadata"]["finalizers"] = json!(all);
    }
    if let Some(cluster) = cluster {
        let uid = &cluster["metadata"]["uid"];
        let owners = pool["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        if !owners.iter().any(|owner| owner["uid"] == *uid) {
            let mut owners: Vec<Value> =
                owners.into_iter().filter(|owner| owner["kind"] != Kind::HostedCluster.name()).collect();
            owners.push(json!({
                "apiVersion": Kind::HostedCluster.api_version(), "kind": Kind::HostedCluster.name(),
                "name": cluster["metadata"]["name"], "uid": uid,
            }));
            change["metadata"]["ownerReferences"] = json!(owners);
        }
    }
    if change == json!({}) {
        return None;
    }
    change["metadata"]["resourceVersion"] = pool["metadata"]["resourceVersion"].clone();
    Some(change)
}

/// Lets a pool go: nothing of it runs outside its own object.
async fn release<R: Runtime>(
    context: &Arc<Context<R>>,
    reference: &Reference,
    pool: &Value,
) -> Result<Next, ReconcileError> {
    if !has_finalizer(pool, FINALIZER) {
        return Ok(Next::Settled);
    }
    let rest: Vec<&str> = finalizers(pool).filter(|&finalizer| finalizer != FINALIZER).collect();
    let change = json!({"metadata": {"finalizers": rest, "resourceVersion": pool["metadata"]["resourceVersion"]}});
    match context.objects.merge(reference, &change).await {
        Err(error) if !error.is_race() => Err(error.into()),
        Err(_) => Ok(Next::After(Duration::ZERO)),
        Ok(_) => Ok(Next::Settled),
    }
}
