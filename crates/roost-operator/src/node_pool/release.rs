//! A NodePool's end: its machines, nodes, credentials and Secrets go before it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use roost_api::hypershift::names::annotation::NODE_POOL;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

use crate::context::{Context, Next, ReconcileError};
use crate::hosted_cluster::control_plane_namespace;
use crate::machine::pool_label;
use crate::names::{FINALIZER, JOINS_NODES, OPENED, POOL_LABEL};
use crate::object::{Kind, Reference, annotation, has_finalizer, is_deleting};

/// How soon to look again whether the machines are gone, beside when one goes.
const WAIT: Duration = Duration::from_secs(2);

/// Takes a pool away.
pub(super) async fn release<R: Runtime>(
    context: &Arc<Context<R>>,
    reference: &Reference,
    pool: &Value,
) -> Result<Next, ReconcileError> {
    if !has_finalizer(pool, FINALIZER) {
        return Ok(Next::Settled);
    }
    if !annotation(pool, OPENED).is_empty() && !clear(context, pool).await? {
        return Ok(Next::After(WAIT));
    }
    let Some(pool) = context.objects.find(Kind::NodePool, &reference.namespace, &reference.name).await? else {
        return Ok(Next::Settled);
    };
    Ok(Next::after_release(context.objects.release(&pool, FINALIZER).await?))
}

/// Removes all that a pool had; false while Machines are left.
pub(super) async fn clear<R: Runtime>(context: &Arc<Context<R>>, pool: &Value) -> Result<bool, ReconcileError> {
    let Reference { namespace, name, .. } = &Reference::of(pool);
    // Nobody joins what goes.
    context.offers.remove(namespace, name);
    let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let inside = control_plane_namespace(namespace, cluster);
    let left = remove_all(context, &inside, &format!("{POOL_LABEL}={}", pool_label(namespace, name))).await?;
    if left > 0 {
        return Ok(false);
    }
    close(context, namespace, cluster, name).await?;
    let change = json!({"metadata": {"annotations": {(OPENED): null}}});
    context.objects.merge(&Reference::of(pool), &change).await?;
    Ok(true)
}

/// Asks the Machines of a pool to go, and then its Secrets. Returns how many Machines are left.
async fn remove_all<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    selector: &str,
) -> Result<usize, ReconcileError> {
    let objects = &context.objects;
    let machines = objects.list_labelled(Kind::Machine, namespace, selector).await?;
    for machine in machines.iter().filter(|machine| !is_deleting(machine)) {
        objects.delete(&Reference::of(machine)).await?;
    }
    for secret in objects.list_labelled(Kind::Secret, namespace, selector).await? {
        objects.delete(&Reference::of(&secret)).await?;
    }
    Ok(machines.len())
}

/// The last open pool of a cluster closes what the first one opened.
async fn close<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    cluster: &str,
    pool: &str,
) -> Result<(), ReconcileError> {
    let objects = &context.objects;
    let Some(others) = context.pools.all_of(namespace, cluster) else { return Ok(()) };
    for other in others.iter().filter(|other| *other != pool) {
        let other = objects.find(Kind::NodePool, namespace, other).await?;
        if other.is_some_and(|other| !annotation(&other, OPENED).is_empty()) {
            return Ok(());
        }
    }
    let inside = control_plane_namespace(namespace, cluster);
    let Some(plane) = objects.find(Kind::HostedControlPlane, &inside, cluster).await? else { return Ok(()) };
    if let Some(id) = plane["spec"]["clusterID"].as_str().and_then(|id| id.parse::<PlaneId>().ok()) {
        context.nodes.remove(&id);
    }
    if !annotation(&plane, JOINS_NODES).is_empty() {
        let change = json!({"metadata": {"annotations": {(JOINS_NODES): null}}});
        objects.merge(&Reference::of(&plane), &change).await?;
    }
    Ok(())
}

/// What is left of a pool that went without its controller.
pub(super) async fn leftovers<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    context.offers.remove(namespace, name);
    let selector = format!("{POOL_LABEL}={}", pool_label(namespace, name));
    let left = remove_all(context, "", &selector).await?;
    Ok(if left > 0 { Next::After(WAIT) } else { Next::Settled })
}

/// Removes the Secrets and Machines of all pools that do not exist.
pub(crate) async fn sweep<R: Runtime>(context: &Arc<Context<R>>) -> Result<(), ReconcileError> {
    let objects = &context.objects;
    let (machines, secrets) = tokio::try_join!(
        objects.list_labelled(Kind::Machine, "", POOL_LABEL),
        objects.list_labelled(Kind::Secret, "", POOL_LABEL)
    )?;
    if machines.is_empty() && secrets.is_empty() {
        return Ok(());
    }
    let pools = objects.list(Kind::NodePool, "").await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let living: HashSet<String> = pools
        .iter()
        .map(|pool| format!("{}/{}", text(&pool["metadata"]["namespace"]), text(&pool["metadata"]["name"])))
        .collect();
    let is_stray = |object: &&Value| !is_deleting(object) && !living.contains(annotation(object, NODE_POOL));
    for stray in machines.iter().chain(&secrets).filter(is_stray) {
        let reference = Reference::of(stray);
        tracing::info!(%reference, "removed: its NodePool is gone");
        objects.delete(&reference).await?;
    }
    Ok(())
}
