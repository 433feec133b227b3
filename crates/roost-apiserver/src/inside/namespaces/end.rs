//! How a namespace ends: its pods first, then everything else, and it says what it waits for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use roost_object::{Status, Value};
use roost_store::{Collection, ListQuery};
use serde_json::json;

use crate::call::Call;
use crate::clock;
use crate::cluster::Cluster;
use crate::inside::collector::split;
use crate::inside::edit::{self, Object};
use crate::inside::{Inside, Task};
use crate::options::{DeleteOptions, Propagation};
use crate::resource::Resource;
use crate::write::{self, CONTROLLERS, Target, finalizers, metadata_text};

/// Deletes of one namespace that are under way at the same time: they share syncs of the disk.
const CONCURRENT_DELETES: usize = 16;
/// How much longer than its own grace a pod may take before that is worth telling. Whoever runs it says that it ended
/// and removes it a moment later, and a stock controller that is told of it in between takes that for a failure.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is left in a namespace that is going.
#[derive(Default)]
struct Remains {
    /// How many objects of each resource.
    resources: BTreeMap<String, usize>,
    /// How many objects wait for each finalizer.
    finalizers: BTreeMap<String, usize>,
    /// What could not be deleted, and why.
    failures: Vec<String>,
    /// Whether a delete was refused and has to be tried again.
    refused: bool,
    /// How long what is left may take before that is worth telling.
    patience: Option<Duration>,
}

/// Deletes everything in a namespace, says what is left, and lets the namespace go when nothing is.
pub(in crate::inside) async fn end(cluster: &Arc<Cluster>, inside: &Inside, name: &str) -> Result<(), Status> {
    let Some(namespace) = cluster.find("", "namespaces", "", name) else { return Ok(()) };
    let held = namespace["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    if namespace["metadata"].get("deletionTimestamp").is_none() || !held {
        return Ok(());
    }
    let mut remains = Remains::default();
    // Pods go first, so that none outlives what guards it, such as network policies.
    delete_all(cluster, &namespace, &Collection::new(&cluster.tenant, "", "pods"), &mut remains).await;
    let pods_left = !remains.resources.is_empty();
    if !pods_left {
        for collection in cluster.store.collections(&cluster.tenant) {
            if (collection.group(), collection.resource()) != ("", "pods") {
                delete_all(cluster, &namespace, &collection, &mut remains).await;
            }
        }
    }
    // Stock tells of nothing that remains as long as pods do; whoever waits for a namespace wants to know.
    report(cluster, name, &remains).await?;
    if remains.refused {
        return Err(Status::internal(format!("namespace {name} still has content")));
    }
    if !remains.resources.is_empty() {
        // What is left wakes this task when it changes or goes, so there is nothing to try until then.
        if let Some(patience) = remains.patience {
            inside.timers.after(&cluster.tenant, Task::EndNamespace(name.to_owned()), patience);
        }
        return Ok(());
    }
    let transform = |live: &Value| {
        let mut next = live.clone();
        let finalizers = live["spec"]["finalizers"].as_array().into_iter().flatten();
        let kept: Vec<Value> = finalizers.filter(|finalizer| *finalizer != "kubernetes").cloned().collect();
        if kept.is_empty() {
            next["spec"] = json!({});
        } else {
            next["spec"]["finalizers"] = kept.into();
        }
        Ok(next)
    };
    edit::change(cluster, Object::of_cluster("", "namespaces", name), "finalize", CONTROLLERS, &transform).await
}

/// Deletes a namespace's objects of one resource.
async fn delete_all(cluster: &Arc<Cluster>, namespace: &Value, collection: &Collection, remains: &mut Remains) {
    let Some(resource) = cluster.storage_resource(collection.group(), collection.resource()) else { return };
    if !resource.namespaced {
        return;
    }
    let name = metadata_text(namespace, "name");
    let prefix = format!("{name}/");
    let query = ListQuery { prefix: Some(&prefix), ..ListQuery::default() };
    let Ok(page) = cluster.store.list(collection, query) else { return };
    let call = Call::internal(cluster);
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let now = Timestamp::now();
    let (mut left, mut held, mut patience) = (0, false, Duration::ZERO);
    let mut failure = None;
    let deletions: Vec<_> = page
        .entries
        .iter()
        .map(|entry| {
            let (namespace, name) = split(&resource, &entry.name);
            let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
            write::delete(target, &options)
        })
        .collect();
    let mut outcomes = stream::iter(deletions).buffered(CONCURRENT_DELETES);
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            Ok(deletion) if deletion.immediate => {}
            Ok(deletion) => {
                left += 1;
                patience = patience.max(grace(&resource, &deletion.object, now));
                for finalizer in finalizers(&deletion.object) {
                    held = true;
                    *remains.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
            Err(status) if status.code == 404 => {}
            Err(status) => {
                left += 1;
                remains.refused = true;
                failure = Some(status.message);
            }
        }
    }
    if left == 0 {
        return;
    }
    remains.resources.insert(format!("{}.{}", resource.plural, resource.group), left);
    if failure.is_none() && !held {
        if patience.is_zero() {
            let (group, version, plural) = (&resource.group, &resource.version, &resource.plural);
            failure = Some(format!(
                "unexpected items still remain in namespace: {name} for gvr: {group}/{version}, Resource={plural}"
            ));
        } else {
            remains.patience = Some(patience);
        }
    }
    remains.failures.extend(failure);
}

/// How long an object may still take to end by itself: only pods do.
fn grace(resource: &Resource, object: &Value, now: Timestamp) -> Duration {
    let until = clock::parse(metadata_text(object, "deletionTimestamp")).filter(|_| resource.is("", "pods"));
    let left = until.map(|until| Duration::try_from((until + PATIENCE).duration_since(now)).unwrap_or_default());
    left.unwrap_or_default()
}

/// Writes what is left into the namespace's conditions. As long as pods merely take their time, only what turned is
/// written, not every count on the way.
async fn report(cluster: &Arc<Cluster>, name: &str, remains: &Remains) -> Result<(), Status> {
    let now = clock::now_text();
    let conditions = conditions(remains);
    let transform = |live: &Value| {
        let mut next = live.clone();
        for (kind, status, reason, message) in &conditions {
            if remains.patience.is_none() || !has_condition(live, kind, status, reason) {
                crate::after::set_condition(&mut next, kind, status, reason, message, &now);
            }
        }
        Ok(next)
    };
    edit::change(cluster, Object::of_cluster("", "namespaces", name), "status", CONTROLLERS, &transform).await
}

fn has_condition(object: &Value, kind: &str, status: &str, reason: &str) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|live| live["type"] == kind && live["status"] == status && live["reason"] == reason)
}

/// The conditions of a namespace that is going: type, status, reason and message.
fn conditions(remains: &Remains) -> [(&'static str, &'static str, &'static str, String); 5] {
    let listing = |counts: &BTreeMap<String, usize>, word: &str| {
        let parts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {word} {count} resource instances")).collect();
        parts.join(", ")
    };
    let failed = match remains.failures.as_slice() {
        [] => {
            ("False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization".to_owned())
        }
        failures => {
            let mut sorted = failures.to_vec();
            sorted.sort();
            let words =
                format!("Failed to delete all resource types, {} remaining: {}", sorted.len(), sorted.join(", "));
            ("True", "ContentDeletionFailed", words)
        }
    };
    let content = match listing(&remains.resources, "has") {
        listing if listing.is_empty() => ("False", "ContentRemoved", "All content successfully removed".to_owned()),
        listing => ("True", "SomeResourcesRemain", format!("Some resources are remaining: {listing}")),
    };
    let held = match listing(&remains.finalizers, "in") {
        listing if listing.is_empty() => {
            ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished".to_owned())
        }
        listing => (
            "True",
            "SomeFinalizersRemain",
            format!("Some content in the namespace has finalizers remaining: {listing}"),
        ),
    };
    let with = |kind, (status, reason, message)| (kind, status, reason, message);
    [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered".to_owned(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        with("NamespaceDeletionContentFailure", failed),
        with("NamespaceContentRemaining", content),
        with("NamespaceFinalizersRemaining", held),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_may_take_their_grace_and_a_little_more() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let left = |plural, deleted: &str| {
            let resource = Resource::built_in("", "v1", plural).expect("a built-in resource");
            grace(resource, &json!({"metadata": {"deletionTimestamp": deleted}}), now).as_secs()
        };
        assert_eq!(left("pods", "2026-01-01T00:00:30Z"), 35);
        assert_eq!(left("pods", "2025-12-31T23:59:57Z"), 2);
        assert_eq!(left("pods", "2025-12-31T23:59:00Z"), 0);
        assert_eq!(left("configmaps", "2026-01-01T00:00:30Z"), 0);
    }

    #[test]
    fn a_namespace_says_what_it_waits_for() {
        let counts = |list: &[(&str, usize)]| list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let remains = Remains {
            resources: counts(&[("pods.", 2), ("deployments.apps", 1)]),
            finalizers: counts(&[("example.com/b", 1), ("example.com/a", 2)]),
            failures: vec!["second".to_owned(), "first".to_owned()],
            ..Remains::default()
        };
        let messages = conditions(&remains).map(|(_, status, _, message)| format!("{status}: {message}"));
        assert_eq!(messages[2], "True: Failed to delete all resource types, 2 remaining: first, second");
        assert_eq!(
            messages[3],
            "True: Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances"
        );
        assert_eq!(
            messages[4],
            "True: Some content in the namespace has finalizers remaining: example.com/a in 2 resource instances, example.com/b in 1 resource instances"
        );
        assert!(conditions(&Remains::default()).iter().all(|condition| condition.1 == "False"));
    }
}
