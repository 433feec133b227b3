//! Garbage collection: dependents follow their owners, in the way the deleter asked for.

use std::sync::Arc;

use parking_lot::Mutex;
use roost_object::{Status, Value};

use super::graph::{FOREGROUND, Graph, ORPHAN, ObjectId};
use super::queue::Queue;
use super::{Task, metadata::OwnerReference};
use crate::call::Call;
use crate::cluster::Cluster;
use crate::options::{DeleteOptions, Propagation};
use crate::resource::Resource;
use crate::write::{self, CONTROLLERS, Change, ChangeKind, Target, finalizers, internal_options, metadata_text};

/// What has become of an owner.
enum Owner {
    /// It is there.
    Solid,
    /// It waits for this dependent to go first.
    Waiting,
    /// It is gone, or was never there.
    Absent,
}

/// Deletes an object whose owners are all gone or waiting; drops references to those that are gone when others stay.
pub(super) async fn check_owners(cluster: &Arc<Cluster>, graph: &Mutex<Graph>, id: &ObjectId) -> Result<(), Status> {
    let Some(resource) = cluster.storage_resource(id.collection.group(), id.collection.resource()) else {
        return Ok(());
    };
    let call = Call::internal(cluster);
    let (namespace, name) = split(&resource, &id.name);
    let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
    let Some((object, _)) = target.read()? else { return Ok(()) };
    if object["metadata"].get("deletionTimestamp").is_some() && !finalizers(&object).contains(&FOREGROUND) {
        return Ok(());
    }
    let owners = references(&object);
    if owners.is_empty() {
        return Ok(());
    }
    let (mut solid, mut waiting, mut absent) = (0, 0, Vec::new());
    for owner in &owners {
        match state_of(cluster, owner, namespace) {
            Owner::Solid => solid += 1,
            Owner::Waiting => waiting += 1,
            Owner::Absent => absent.push(owner.uid.clone()),
        }
    }
    if solid > 0 {
        if absent.is_empty() && waiting == 0 {
            return Ok(());
        }
        return drop_references(target, cluster, namespace).await;
    }
    if waiting == 0 && absent.is_empty() {
        return Ok(());
    }
    let has_dependents = !graph.lock().dependents(metadata_text(&object, "uid")).is_empty();
    let own = finalizers(&object);
    let propagation = if waiting > 0 && has_dependents {
        Propagation::Foreground
    } else if own.contains(&ORPHAN) {
        Propagation::Orphan
    } else if own.contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    let options = DeleteOptions {
        uid: Some(metadata_text(&object, "uid").to_owned()),
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    match write::delete(target, &options).await {
        Ok(_) => Ok(()),
        Err(status) if status.code == 404 || status.code == 409 => Ok(()),
        Err(status) => Err(status),
    }
}

/// Removes the references to owners that are not solid.
async fn drop_references(target: Target<'_>, cluster: &Arc<Cluster>, namespace: &str) -> Result<(), Status> {
    let transform = |live: &Value| {
        let mut next = live.clone();
        let kept: Vec<Value> = live["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|reference| matches!(state_of(cluster, &read_reference(reference), namespace), Owner::Solid))
            .cloned()
            .collect();
        set_references(&mut next, kept);
        Ok(next)
    };
    update(target, &transform).await
}

/// Removes one owner's reference from a dependent.
async fn forget_owner(cluster: &Arc<Cluster>, id: &ObjectId, uid: &str) -> Result<(), Status> {
    let Some(resource) = cluster.storage_resource(id.collection.group(), id.collection.resource()) else {
        return Ok(());
    };
    let call = Call::internal(cluster);
    let (namespace, name) = split(&resource, &id.name);
    let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
    let transform = |live: &Value| {
        let mut next = live.clone();
        let references = live["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        set_references(&mut next, references.filter(|reference| reference["uid"] != uid).cloned().collect());
        Ok(next)
    };
    update(target, &transform).await
}

/// Lets an object go that waits for its dependents, once none stands in its way.
pub(super) async fn release_dependents(
    cluster: &Arc<Cluster>,
    graph: &Mutex<Graph>,
    queue: &Queue,
    id: &ObjectId,
) -> Result<(), Status> {
    let Some(resource) = cluster.storage_resource(id.collection.group(), id.collection.resource()) else {
        return Ok(());
    };
    let call = Call::internal(cluster);
    let (namespace, name) = split(&resource, &id.name);
    let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
    let Some((object, _)) = target.read()? else { return Ok(()) };
    if object["metadata"].get("deletionTimestamp").is_none() {
        return Ok(());
    }
    let own = finalizers(&object);
    let uid = metadata_text(&object, "uid").to_owned();
    let dependents = graph.lock().dependents(&uid);
    if own.contains(&ORPHAN) {
        for dependent in &dependents {
            forget_owner(cluster, dependent, &uid).await?;
        }
        return remove_finalizer(target, ORPHAN).await;
    }
    if !own.contains(&FOREGROUND) {
        return Ok(());
    }
    let blocking = dependents.iter().any(|dependent| blocks(cluster, dependent, &uid));
    if !blocking {
        return remove_finalizer(target, FOREGROUND).await;
    }
    for dependent in dependents {
        queue.add(&cluster.tenant, Task::CheckOwners(dependent));
    }
    Ok(())
}

/// Whether a dependent is there and holds up its owner.
fn blocks(cluster: &Cluster, id: &ObjectId, owner: &str) -> bool {
    let Some(entry) = cluster.store.get(&id.collection, &id.name) else { return false };
    super::metadata::Metadata::read(cluster, id, &entry.value).is_some_and(|metadata| {
        metadata
            .owner_references
            .iter()
            .any(|reference| reference.uid == owner && reference.block_owner_deletion == Some(true))
    })
}

async fn remove_finalizer(target: Target<'_>, finalizer: &str) -> Result<(), Status> {
    let transform = |live: &Value| {
        let mut next = live.clone();
        let kept: Vec<Value> =
            finalizers(live).into_iter().filter(|name| *name != finalizer).map(Value::from).collect();
        let metadata = write::metadata_mut(&mut next);
        if kept.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".into(), kept.into());
        }
        Ok(next)
    };
    update(target, &transform).await
}

async fn update(target: Target<'_>, transform: write::Transform<'_>) -> Result<(), Status> {
    let change = Change { kind: ChangeKind::Patch, transform, create: false };
    match write::update(target, change, &internal_options(CONTROLLERS)).await {
        Ok(_) => Ok(()),
        Err(status) if status.code == 404 => Ok(()),
        Err(status) => Err(status),
    }
}

/// What has become of an owner: looked up by name, known by uid.
fn state_of(cluster: &Cluster, owner: &OwnerReference, namespace: &str) -> Owner {
    let Some(resource) = cluster.resource_of_kind(&owner.api_version, &owner.kind) else {
        // A kind that nobody serves any more cannot be looked up: its objects are not declared dead.
        return Owner::Solid;
    };
    let Some(object) = cluster.find(&resource.group, &resource.plural, namespace, &owner.name) else {
        return Owner::Absent;
    };
    if metadata_text(&object, "uid") != owner.uid {
        return Owner::Absent;
    }
    let waits = object["metadata"].get("deletionTimestamp").is_some() && finalizers(&object).contains(&FOREGROUND);
    if waits { Owner::Waiting } else { Owner::Solid }
}

fn references(object: &Value) -> Vec<OwnerReference> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten().map(read_reference).collect()
}

fn read_reference(reference: &Value) -> OwnerReference {
    let text = |name: &str| reference[name].as_str().unwrap_or_default().to_owned();
    OwnerReference {
        api_version: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        uid: text("uid"),
        block_owner_deletion: reference["blockOwnerDeletion"].as_bool(),
    }
}

fn set_references(object: &mut Value, references: Vec<Value>) {
    let metadata = write::metadata_mut(object);
    if references.is_empty() {
        metadata.remove("ownerReferences");
    } else {
        metadata.insert("ownerReferences".into(), references.into());
    }
}

/// A stored name as namespace and name.
pub(super) fn split<'a>(resource: &Resource, name: &'a str) -> (&'a str, &'a str) {
    if resource.namespaced { name.split_once('/').unwrap_or(("", name)) } else { ("", name) }
}
