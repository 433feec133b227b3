//! Namespaces: what each one starts with, and how it ends.

use std::sync::Arc;

use roost_object::{Status, Value};
use roost_store::ListQuery;
use serde_json::json;

use super::collector::split;
use crate::bootstrap;
use crate::call::Call;
use crate::clock;
use crate::cluster::Cluster;
use crate::options::{DeleteOptions, Propagation};
use crate::write::{self, CONTROLLERS, Change, ChangeKind, Target, finalizers, internal_options};

/// The ConfigMap with the bundle that pods verify the API server with.
pub(super) const ROOT_AUTHORITY: &str = "kube-root-ca.crt";

/// Makes the default account and the root CA bundle where they are missing or wrong.
pub(super) async fn fill(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let Some(namespace) = cluster.find("", "namespaces", "", name) else { return Ok(()) };
    if namespace["metadata"].get("deletionTimestamp").is_some() {
        return Ok(());
    }
    if cluster.find("", "serviceaccounts", name, "default").is_none() {
        make(cluster, bootstrap::default_account(name)).await?;
    }
    let wanted = bootstrap::root_authority(cluster, name);
    match cluster.find("", "configmaps", name, ROOT_AUTHORITY) {
        None => make(cluster, wanted).await,
        Some(found) if found["data"] == wanted["data"] => Ok(()),
        Some(_) => {
            let transform = |live: &Value| {
                let mut next = live.clone();
                next["data"] = wanted["data"].clone();
                Ok(next)
            };
            change(cluster, "configmaps", name, ROOT_AUTHORITY, "", &transform).await
        }
    }
}

async fn make(cluster: &Arc<Cluster>, object: Value) -> Result<(), Status> {
    let call = Call::internal(cluster);
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let Some(resource) = cluster.resource_of_kind(&text("apiVersion"), &text("kind")) else { return Ok(()) };
    let namespace = write::metadata_text(&object, "namespace").to_owned();
    let name = write::metadata_text(&object, "name").to_owned();
    let target = Target { call: &call, resource: &resource, namespace: &namespace, name: &name, subresource: "" };
    match write::create(target, object, &internal_options(CONTROLLERS)).await {
        Ok(_) => Ok(()),
        // The namespace went, or someone else was faster.
        Err(status) if matches!(status.code, 403 | 404 | 409) => Ok(()),
        Err(status) => Err(status),
    }
}

async fn change(
    cluster: &Arc<Cluster>,
    plural: &str,
    namespace: &str,
    name: &str,
    subresource: &str,
    transform: write::Transform<'_>,
) -> Result<(), Status> {
    let call = Call::internal(cluster);
    let Some(resource) = cluster.storage_resource("", plural) else { return Ok(()) };
    let target = Target { call: &call, resource: &resource, namespace, name, subresource };
    match write::update(target, Change { kind: ChangeKind::Patch, transform, create: false }, &internal_options(CONTROLLERS)).await {
        Ok(_) => Ok(()),
        Err(status) if status.code == 404 => Ok(()),
        Err(status) => Err(status),
    }
}

/// What is left in a namespace that is going.
#[derive(Default)]
struct Remains {
    /// How many objects of each resource.
    resources: Vec<(String, usize)>,
    /// How many objects wait for each finalizer.
    finalizers: Vec<(String, usize)>,
}

/// Deletes everything in a namespace, says what is left, and lets the namespace go when nothing is.
pub(super) async fn end(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let Some(namespace) = cluster.find("", "namespaces", "", name) else { return Ok(()) };
    if namespace["metadata"].get("deletionTimestamp").is_none() {
        return Ok(());
    }
    let remains = delete_content(cluster, name).await?;
    let done = remains.resources.is_empty();
    report(cluster, name, &remains).await?;
    if !done {
        return Err(Status::internal(format!("namespace {name} still has content")));
    }
    let transform = |live: &Value| {
        let mut next = live.clone();
        let kept: Vec<Value> = live["spec"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|finalizer| *finalizer != "kubernetes")
            .cloned()
            .collect();
        if kept.is_empty() {
            next["spec"] = json!({});
        } else {
            next["spec"]["finalizers"] = kept.into();
        }
        Ok(next)
    };
    change(cluster, "namespaces", "", name, "finalize", &transform).await
}

async fn delete_content(cluster: &Arc<Cluster>, namespace: &str) -> Result<Remains, Status> {
    let mut remains = Remains::default();
    let call = Call::internal(cluster);
    let prefix = format!("{namespace}/");
    for collection in cluster.store.collections(&cluster.tenant) {
        let Some(resource) = cluster.storage_resource(collection.group(), collection.resource()) else { continue };
        if !resource.namespaced {
            continue;
        }
        let query = ListQuery { prefix: Some(&prefix), ..ListQuery::default() };
        let Ok(page) = cluster.store.list(&collection, query) else { continue };
        let mut left = 0;
        for entry in &page.entries {
            let (namespace, name) = split(&resource, &entry.name);
            let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
            let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
            match write::delete(target, &options).await {
                Ok(deletion) if deletion.immediate => {}
                Ok(deletion) => {
                    left += 1;
                    for finalizer in finalizers(&deletion.object) {
                        count(&mut remains.finalizers, finalizer);
                    }
                }
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        if left > 0 {
            remains.resources.push((resource.group_resource().to_string() + ".", left));
        }
    }
    Ok(remains)
}

fn count(counts: &mut Vec<(String, usize)>, name: &str) {
    match counts.iter_mut().find(|(known, _)| known == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name.to_owned(), 1)),
    }
}

/// Writes what is left into the namespace's conditions, in stock's words.
async fn report(cluster: &Arc<Cluster>, name: &str, remains: &Remains) -> Result<(), Status> {
    let now = clock::now_text();
    let listing = |counts: &[(String, usize)], word: &str| {
        let mut parts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} has {count} {word}")).collect();
        parts.sort();
        parts.join(", ")
    };
    let content = if remains.resources.is_empty() {
        ("False", "ContentRemoved", "All content successfully removed".to_owned())
    } else {
        (
            "True",
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", listing(&remains.resources, "resource instances")),
        )
    };
    let held = if remains.finalizers.is_empty() {
        ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished".to_owned())
    } else {
        (
            "True",
            "SomeFinalizersRemain",
            format!(
                "Some content in the namespace has finalizers remaining: {}",
                listing(&remains.finalizers, "resource instances").replace(" has ", " in ")
            ),
        )
    };
    let transform = |live: &Value| {
        let mut next = live.clone();
        for (kind, (status, reason, message)) in [
            (
                "NamespaceDeletionDiscoveryFailure",
                ("False", "ResourcesDiscovered", "All resources successfully discovered".to_owned()),
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed".to_owned()),
            ),
            (
                "NamespaceDeletionContentFailure",
                (
                    "False",
                    "ContentDeleted",
                    "All content successfully deleted, may be waiting on finalization".to_owned(),
                ),
            ),
            ("NamespaceContentRemaining", content.clone()),
            ("NamespaceFinalizersRemaining", held.clone()),
        ] {
            crate::after::set_condition(&mut next, kind, status, reason, &message, &now);
        }
        Ok(next)
    };
    change(cluster, "namespaces", "", name, "status", &transform).await
}
