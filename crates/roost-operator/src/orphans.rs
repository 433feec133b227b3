//! What is left when a HostedCluster vanished without its controller: a finalizer removed by hand, a restored backup.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use roost_runtime::{PlaneId, Runtime};
use serde_json::Value;

use crate::context::{Context, Next, ReconcileError, words};
use crate::hosted_cluster::control_plane_namespace;
use crate::names::{CLUSTER, CONTROL_PLANE_LABEL};
use crate::object::{Kind, Reference, annotation, is_deleting};

/// How soon to look again whether what was asked to go is gone.
const WAIT: Duration = Duration::from_secs(2);

/// Removes what a vanished HostedCluster left; with empty names, what any left.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let clusters = context.objects.list(Kind::HostedCluster, "").await?;
    let living: HashSet<String> = clusters.iter().map(identity).collect();
    let mut left: Vec<Value> = Vec::new();
    if name.is_empty() {
        let spaces = context.objects.list(Kind::Namespace, "").await?;
        left.extend(spaces.into_iter().filter(|space| is_orphan(space, &living)));
        let managed = context.objects.list(Kind::ManagedCluster, "").await?;
        left.extend(managed.into_iter().filter(|managed| is_orphan(managed, &living)));
    } else if !living.contains(&format!("{namespace}/{name}")) {
        let inside = control_plane_namespace(namespace, name);
        let space = context.objects.find(Kind::Namespace, "", &inside).await?;
        left.extend(space.filter(|space| is_orphan(space, &living)));
        let managed = context.objects.find(Kind::ManagedCluster, "", name).await?;
        left.extend(managed.filter(|managed| is_orphan(managed, &living)));
    }
    for object in left.iter().filter(|object| !is_deleting(object)) {
        let reference = Reference::of(object);
        tracing::info!(%reference, "removed: its HostedCluster is gone");
        context.objects.delete(&reference).await?;
    }
    if !left.is_empty() {
        return Ok(Next::After(WAIT));
    }
    // A plane whose namespace is going still has its HostedControlPlane, which removes it.
    let identities: HashSet<PlaneId> =
        clusters.iter().filter_map(|cluster| cluster["spec"]["clusterID"].as_str()?.parse().ok()).collect();
    for plane in context.runtime.planes() {
        if !identities.contains(&plane) {
            tracing::info!(%plane, "data removed: no HostedCluster has this cluster ID");
            let inside = context.runtime.namespace(&plane).unwrap_or_default();
            context.runtime.remove(&plane, &inside).await.map_err(|error| ReconcileError::Refused(words(&error)))?;
        }
    }
    Ok(Next::Settled)
}

fn identity(cluster: &Value) -> String {
    let text = |field: &str| cluster["metadata"][field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

/// Whether an object names a HostedCluster that does not exist.
fn is_orphan(object: &Value, living: &HashSet<String>) -> bool {
    let owner = annotation(object, CLUSTER);
    let is_ours = object["kind"] != "Namespace" || object["metadata"]["labels"][CONTROL_PLANE_LABEL] == "true";
    is_ours && !owner.is_empty() && !living.contains(owner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_names_a_missing_cluster_is_an_orphan() {
        let living = HashSet::from(["clusters/demo".to_owned()]);
        let space = |owner: &str, label: &str| {
            json!({"kind": "Namespace", "metadata": {"name": "x",
                "labels": {CONTROL_PLANE_LABEL: label}, "annotations": {CLUSTER: owner}}})
        };
        assert!(!is_orphan(&space("clusters/demo", "true"), &living));
        assert!(is_orphan(&space("clusters/gone", "true"), &living));
        assert!(!is_orphan(&space("clusters/gone", ""), &living));
        assert!(!is_orphan(&space("", "true"), &living));
    }
}
