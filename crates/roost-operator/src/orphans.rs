//! What is left when a HostedCluster vanished without its controller: a finalizer removed by hand, a restored backup.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use roost_runtime::{PlaneId, Runtime};
use serde_json::Value;

use crate::context::{Context, Next, ReconcileError, words};
use crate::hosted_cluster::control_plane_namespace;
use crate::names::{CLUSTER, CONTROL_PLANE_LABEL};
use crate::node_pool;
use crate::object::{Kind, Reference, annotation, is_deleting};

/// How soon to look again whether what was asked to go is gone.
const WAIT: Duration = Duration::from_secs(2);

/// Removes what a vanished HostedCluster left; with empty names, what any left.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    if name.is_empty() {
        node_pool::sweep(context).await?;
        of_any(context).await
    } else {
        of_one(context, namespace, name).await
    }
}

/// Reads as little as it can: many clusters may go at once.
async fn of_one<R: Runtime>(context: &Arc<Context<R>>, namespace: &str, name: &str) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    if objects.find(Kind::HostedCluster, namespace, name).await?.is_some() {
        return Ok(Next::Settled);
    }
    let inside = control_plane_namespace(namespace, name);
    let (space, managed) =
        tokio::try_join!(objects.find(Kind::Namespace, "", &inside), objects.find(Kind::ManagedCluster, "", name))?;
    let identity = format!("{namespace}/{name}");
    let left: Vec<Value> = space.into_iter().chain(managed).filter(|object| owner(object) == identity).collect();
    if !left.is_empty() {
        return delete(context, &left).await;
    }
    let runtime = &context.runtime;
    let planes: Vec<(PlaneId, Option<String>)> =
        runtime.planes().into_iter().map(|plane| (plane.clone(), runtime.namespace(&plane))).collect();
    for (plane, space) in &planes {
        if space.as_ref() == Some(&inside) {
            forget(context, plane).await?;
        }
    }
    // Data of which it is not known whose they are may be this cluster's.
    if planes.iter().any(|(_, space)| space.is_none()) { of_any(context).await } else { Ok(Next::Settled) }
}

async fn of_any<R: Runtime>(context: &Arc<Context<R>>) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let clusters = objects.list(Kind::HostedCluster, "").await?;
    let living: HashSet<String> = clusters.iter().map(identity).collect();
    let (spaces, managed) =
        tokio::try_join!(objects.list(Kind::Namespace, ""), objects.list(Kind::ManagedCluster, ""))?;
    let is_orphan = |object: &Value| {
        let owner = owner(object);
        !owner.is_empty() && !living.contains(owner)
    };
    let left: Vec<Value> = spaces.into_iter().chain(managed).filter(is_orphan).collect();
    if !left.is_empty() {
        return delete(context, &left).await;
    }
    // A plane whose namespace is going still has its HostedControlPlane, which removes it.
    let identities: HashSet<PlaneId> =
        clusters.iter().filter_map(|cluster| cluster["spec"]["clusterID"].as_str()?.parse().ok()).collect();
    for plane in context.runtime.planes() {
        if !identities.contains(&plane) {
            forget(context, &plane).await?;
        }
    }
    Ok(Next::Settled)
}

async fn delete<R: Runtime>(context: &Arc<Context<R>>, left: &[Value]) -> Result<Next, ReconcileError> {
    for object in left.iter().filter(|object| !is_deleting(object)) {
        let reference = Reference::of(object);
        tracing::info!(%reference, "removed: its HostedCluster is gone");
        context.objects.delete(&reference).await?;
    }
    Ok(Next::After(WAIT))
}

async fn forget<R: Runtime>(context: &Arc<Context<R>>, plane: &PlaneId) -> Result<(), ReconcileError> {
    tracing::info!(%plane, "data removed: no HostedCluster has this cluster ID");
    let inside = context.runtime.namespace(plane).unwrap_or_default();
    context.runtime.remove(plane, &inside).await.map_err(|error| ReconcileError::Refused(words(&error)))
}

fn identity(cluster: &Value) -> String {
    let text = |field: &str| cluster["metadata"][field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

/// The HostedCluster that an object was made for; empty when it was made by somebody else.
fn owner(object: &Value) -> &str {
    let is_ours = object["kind"] != "Namespace" || object["metadata"]["labels"][CONTROL_PLANE_LABEL] == "true";
    if is_ours { annotation(object, CLUSTER) } else { "" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_made_for_a_cluster_can_be_an_orphan() {
        let space = |owner: &str, label: &str| {
            json!({"kind": "Namespace", "metadata": {"name": "x",
                "labels": {CONTROL_PLANE_LABEL: label}, "annotations": {CLUSTER: owner}}})
        };
        assert_eq!(owner(&space("clusters/gone", "true")), "clusters/gone");
        assert_eq!(owner(&space("clusters/gone", "")), "");
        assert_eq!(owner(&space("", "true")), "");
    }
}
