//! Garbage collection: dependents follow their owners, in the way the deleter asked for.

use std::sync::Arc;

use parking_lot::Mutex;
use roost_object::{Status, Value};
use roost_store::ListQuery;

use super::graph::{FOREGROUND, Graph, ORPHAN, ObjectId};
use super::metadata::{Metadata, OwnerReference};
use super::record::{self, Subject};
use super::{Inside, Task};
use crate::call::Call;
use crate::cluster::Cluster;
use crate::options::{DeleteOptions, Propagation};
use crate::resource::Resource;
use crate::write::{self, CONTROLLERS, Change, ChangeKind, Target, finalizers, internal_options, metadata_text};

/// The component that the events name.
const COMPONENT: &str = "garbage-collector-controller";

/// What has become of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It is there.
    Solid,
    /// It waits for this dependent to go first.
    Waiting,
    /// It is gone, or was never there.
    Absent,
    /// It is of a kind that nobody serves: nothing can be said.
    Unresolved,
    /// It lives in a namespace and the dependent in none: nothing can be said, and never will.
    OutOfReach,
}

/// Deletes an object whose owners are all gone or waiting; drops references to those that are gone when others stay.
pub(super) async fn check_owners(cluster: &Arc<Cluster>, inside: &Inside, id: &ObjectId) -> Result<(), Status> {
    let Some(resource) = cluster.storage_resource(id.collection.group(), id.collection.resource()) else {
        return Ok(());
    };
    let call = Call::internal(cluster);
    let (namespace, name) = split(&resource, &id.name);
    let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
    let Some((object, entry)) = target.read()? else { return Ok(()) };
    if object["metadata"].get("deletionTimestamp").is_some() {
        if finalizers(&object).contains(&FOREGROUND) {
            inside.queue.add(&cluster.tenant, Task::ReleaseDependents(id.clone()));
        }
        return Ok(());
    }
    let owners = references(&object);
    let states: Vec<Owner> = owners.iter().map(|owner| state_of(cluster, &inside.graph, owner, namespace)).collect();
    for (owner, state) in owners.iter().zip(&states) {
        if matches!(state, Owner::Absent | Owner::OutOfReach) {
            report_foreign_owner(cluster, inside, &target, &object, owner).await;
        }
    }
    let any = |wanted: Owner| states.contains(&wanted);
    if any(Owner::Unresolved) {
        inside.graph.lock().set_unresolved(id);
        return Ok(());
    }
    if any(Owner::OutOfReach) || !(any(Owner::Absent) || any(Owner::Waiting)) {
        return Ok(());
    }
    if any(Owner::Solid) {
        return drop_references(target, cluster, &inside.graph).await;
    }
    let (has_dependents, one_waits) = inside.graph.lock().dependents_of(metadata_text(&object, "uid"));
    let own = finalizers(&object);
    let propagation = if any(Owner::Waiting) && has_dependents {
        if one_waits {
            // Each would wait for the other.
            unblock_owners(target).await?;
        }
        Propagation::Foreground
    } else if own.contains(&ORPHAN) {
        Propagation::Orphan
    } else if own.contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    let unblocked = any(Owner::Waiting) && has_dependents && one_waits;
    let options = DeleteOptions {
        uid: Some(metadata_text(&object, "uid").to_owned()),
        // The owners that were judged must be those it has when it goes.
        resource_version: (!unblocked).then(|| entry.modified.to_string()),
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    match write::delete(target, &options).await {
        Ok(_) => Ok(()),
        Err(status) if status.code == 404 => Ok(()),
        Err(status) => Err(status),
    }
}

/// Tells of an owner that is there, but in another namespace than its dependent says.
async fn report_foreign_owner(
    cluster: &Arc<Cluster>,
    inside: &Inside,
    target: &Target<'_>,
    object: &Value,
    owner: &OwnerReference,
) {
    if inside.graph.lock().is_gone(&owner.uid) || !lives_elsewhere(cluster, owner) {
        return;
    }
    let namespace = target.namespace;
    let subject = Subject {
        api_version: &target.resource.api_version,
        kind: &target.resource.kind,
        namespace,
        name: target.name,
        uid: metadata_text(object, "uid"),
    };
    let OwnerReference { api_version, kind, name, uid, .. } = owner;
    let message = format!(
        "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}] does not exist in namespace {}",
        roost_object::field::quote(namespace)
    );
    record::event(cluster, &subject, record::WARNING, "OwnerRefInvalidNamespace", &message, COMPONENT).await;
}

/// Whether an owner is found in some namespace.
fn lives_elsewhere(cluster: &Cluster, owner: &OwnerReference) -> bool {
    let Some(resource) = cluster.resource_of_kind(&owner.api_version, &owner.kind) else { return false };
    if !resource.namespaced {
        return false;
    }
    let collection = resource.collection(&cluster.tenant);
    let Ok(page) = cluster.store.list(&collection, ListQuery::default()) else { return false };
    page.entries.iter().filter(|entry| split(&resource, &entry.name).1 == owner.name).any(|entry| {
        let id = ObjectId { collection: collection.clone(), name: Arc::clone(&entry.name) };
        Metadata::read(cluster, &id, &entry.value).is_some_and(|metadata| metadata.uid == owner.uid)
    })
}

/// Lets an object's owners go before it.
async fn unblock_owners(target: Target<'_>) -> Result<(), Status> {
    let transform = |live: &Value| {
        let mut next = live.clone();
        for reference in next["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
            if reference["blockOwnerDeletion"] == true {
                reference["blockOwnerDeletion"] = false.into();
            }
        }
        Ok(next)
    };
    update(target, &transform).await
}

/// Removes the references to owners that are not solid.
async fn drop_references(target: Target<'_>, cluster: &Arc<Cluster>, graph: &Mutex<Graph>) -> Result<(), Status> {
    let transform = |live: &Value| {
        let state = |reference| state_of(cluster, graph, &read_reference(reference), target.namespace);
        let mut next = live.clone();
        let kept: Vec<Value> = live["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|reference| !matches!(state(reference), Owner::Absent | Owner::Waiting))
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
pub(super) async fn release_dependents(cluster: &Arc<Cluster>, inside: &Inside, id: &ObjectId) -> Result<(), Status> {
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
    let dependents = inside.graph.lock().dependents(&uid);
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
        inside.queue.add(&cluster.tenant, Task::CheckOwners(dependent));
    }
    Ok(())
}

/// Whether a dependent is there and holds up its owner.
fn blocks(cluster: &Cluster, id: &ObjectId, owner: &str) -> bool {
    let Some(entry) = cluster.store.get(&id.collection, &id.name) else { return false };
    Metadata::read(cluster, id, &entry.value).is_some_and(|metadata| {
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
fn state_of(cluster: &Cluster, graph: &Mutex<Graph>, owner: &OwnerReference, namespace: &str) -> Owner {
    let Some(resource) = cluster.resource_of_kind(&owner.api_version, &owner.kind) else {
        return if graph.lock().is_gone(&owner.uid) { Owner::Absent } else { Owner::Unresolved };
    };
    if resource.namespaced && namespace.is_empty() {
        return Owner::OutOfReach;
    }
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
