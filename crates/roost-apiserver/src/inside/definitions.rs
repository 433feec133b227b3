//! Definitions of custom resources that are going, whose objects go first, and those that others' names stood in the way of.

use std::sync::Arc;

use roost_object::{Status, Value};
use roost_store::ListQuery;

use super::collector::split;
use super::edit::{self, Object};
use crate::after::{CLEANUP, accept_names, set_condition};
use crate::call::Call;
use crate::clock;
use crate::cluster::Cluster;
use crate::options::DeleteOptions;
use crate::write::{self, API_SERVER, Target, finalizers, metadata_text};

/// Deletes the objects of a definition, then lets it go.
pub(super) async fn end(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let Some(definition) = cluster.find("apiextensions.k8s.io", "customresourcedefinitions", "", name) else {
        return Ok(());
    };
    if definition["metadata"].get("deletionTimestamp").is_none() || !finalizers(&definition).contains(&CLEANUP) {
        return Ok(());
    }
    let now = clock::now_text();
    let deleting = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
    set_terminating(cluster, name, deleting, &now).await?;
    let left = delete_objects(cluster, &definition).await?;
    if left > 0 {
        // Each of them wakes this task when it goes.
        return Ok(());
    }
    let done = ("False", "InstanceDeletionCompleted", "removed all instances");
    set_terminating(cluster, name, done, &now).await?;
    let transform = |live: &Value| {
        let mut next = live.clone();
        let kept: Vec<Value> = finalizers(live).into_iter().filter(|name| *name != CLEANUP).map(Value::from).collect();
        let metadata = write::metadata_mut(&mut next);
        if kept.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".into(), kept.into());
        }
        Ok(next)
    };
    // As a change of the status, which asks nothing of a spec that may have been let through as it was.
    change(cluster, name, "status", &transform).await
}

/// Accepts what is free by now of the names of definitions that had to wait for others of their group.
pub(super) async fn accept_freed_names(cluster: &Arc<Cluster>) -> Result<(), Status> {
    let all = || cluster.find_all("apiextensions.k8s.io", "customresourcedefinitions", "");
    let now = clock::now_text();
    for definition in all().iter().filter(|definition| waits_for_names(definition)) {
        let name = metadata_text(definition, "name");
        // Read anew each time, so that of two that wait for a name one gets it.
        let others: Vec<Value> = all().into_iter().filter(|other| metadata_text(other, "name") != name).collect();
        let transform = |live: &Value| {
            let mut next = live.clone();
            accept_names(&mut next, &others, &now);
            Ok(next)
        };
        change(cluster, name, "status", &transform).await?;
    }
    Ok(())
}

fn waits_for_names(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "NamesAccepted" && condition["status"] == "False")
}

async fn set_terminating(
    cluster: &Arc<Cluster>,
    name: &str,
    (status, reason, message): (&str, &str, &str),
    now: &str,
) -> Result<(), Status> {
    let transform = |live: &Value| {
        let mut next = live.clone();
        set_condition(&mut next, "Terminating", status, reason, message, now);
        Ok(next)
    };
    change(cluster, name, "status", &transform).await
}

async fn change(
    cluster: &Arc<Cluster>,
    name: &str,
    subresource: &str,
    transform: write::Transform<'_>,
) -> Result<(), Status> {
    let object = Object::of_cluster("apiextensions.k8s.io", "customresourcedefinitions", name);
    edit::change(cluster, object, subresource, API_SERVER, transform).await
}

/// Deletes what can be deleted and counts what stays.
async fn delete_objects(cluster: &Arc<Cluster>, definition: &Value) -> Result<usize, Status> {
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or_default();
    let Some(resource) = cluster.storage_resource(group, plural) else { return Ok(0) };
    let collection = resource.collection(&cluster.tenant);
    let Ok(page) = cluster.store.list(&collection, ListQuery::default()) else { return Ok(0) };
    let call = Call::internal(cluster);
    let mut left = 0;
    for entry in &page.entries {
        let (namespace, name) = split(&resource, &entry.name);
        let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
        match write::delete(target, &DeleteOptions::default()).await {
            Ok(deletion) => left += usize::from(!deletion.immediate),
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    tracing::debug!(definition = metadata_text(definition, "name"), left, "objects of a definition were deleted");
    Ok(left)
}
