//! The controllers inside: what every cluster needs to be one. One reader of the store's log serves all tenants.
//!
//! The reader turns each change into [`Task`]s: small, repeatable pieces of work that look at the objects as they are
//! now. A task that fails is tried again later; a task that finds nothing to do costs a look. Nothing is kept between
//! runs but the graph of owners, which is read anew from the store at every start.

mod certificates;
mod collector;
mod definitions;
mod graph;
mod metadata;
mod namespaces;
mod queue;
mod roles;

use std::sync::Arc;

use parking_lot::Mutex;
use roost_object::Status;
use roost_store::{Event, ListQuery};

use crate::cluster::Cluster;
use crate::engine::Engine;
use graph::{Graph, ObjectId};
use metadata::Metadata;
use queue::Queue;

/// Work on one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// Give a namespace what every namespace has.
    FillNamespace(String),
    /// Empty a namespace that is going, then let it go.
    EndNamespace(String),
    /// Delete an object whose owners are all gone, or drop the references to those that are.
    CheckOwners(ObjectId),
    /// Deal with the dependents of an object that waits for them.
    ReleaseDependents(ObjectId),
    /// Delete the objects of a definition that is going.
    EndDefinition(String),
    /// Sign an approved certificate request.
    SignCertificate(String),
    /// Gather the rules of cluster roles that are made of others.
    AggregateRoles,
    /// Count anew what a namespace uses of its quotas.
    RefreshQuotas(String),
}

/// Follows the log and does what follows from it.
pub(crate) async fn run(engine: Arc<Engine>) {
    let graph = Arc::new(Mutex::new(Graph::default()));
    let queue = Queue::new();
    let worker = {
        let (engine, graph, queue) = (Arc::clone(&engine), Arc::clone(&graph), queue.clone());
        queue.clone().work(move |tenant, task| {
            let (engine, graph, queue) = (Arc::clone(&engine), Arc::clone(&graph), queue.clone());
            async move {
                match engine.cluster(&tenant) {
                    Some(cluster) => perform(&cluster, &graph, &queue, task).await,
                    None => Ok(()),
                }
            }
        })
    };
    tokio::join!(worker, follow(&engine, &graph, &queue));
}

/// Reads the state once, then every change; starts over when the log has run ahead.
async fn follow(engine: &Arc<Engine>, graph: &Mutex<Graph>, queue: &Queue) {
    loop {
        let start = engine.store.revision();
        let Ok(mut cursor) = engine.store.watch_all(start) else { continue };
        *graph.lock() = Graph::default();
        for tenant in engine.store.tenants() {
            for collection in engine.store.collections(&tenant) {
                let Ok(page) = engine.store.list(&collection, ListQuery::default()) else { continue };
                for entry in &page.entries {
                    let id = ObjectId { collection: collection.clone(), name: Arc::clone(&entry.name) };
                    observe(engine, graph, queue, id, Some(&entry.value), None);
                }
                tokio::task::yield_now().await;
            }
        }
        while let Ok(events) = cursor.next().await {
            for event in events {
                follow_event(engine, graph, queue, &event);
            }
        }
        tracing::warn!("the log ran ahead of the inside controllers; they start over");
    }
}

fn follow_event(engine: &Arc<Engine>, graph: &Mutex<Graph>, queue: &Queue, event: &Event) {
    if event.drops_tenant() {
        graph.lock().forget_tenant(event.collection.tenant());
        return;
    }
    let id = ObjectId { collection: event.collection.clone(), name: Arc::clone(&event.name) };
    observe(engine, graph, queue, id, event.value.as_ref(), event.previous.as_ref());
}

/// Turns one object, as it is or was, into tasks.
fn observe(
    engine: &Arc<Engine>,
    graph: &Mutex<Graph>,
    queue: &Queue,
    id: ObjectId,
    value: Option<&bytes::Bytes>,
    previous: Option<&bytes::Bytes>,
) {
    let tenant = id.collection.tenant().to_owned();
    let Some(cluster) = engine.cluster(&tenant) else { return };
    let Some(metadata) = value.or(previous).and_then(|bytes| Metadata::read(&cluster, &id, bytes)) else { return };
    let alive = value.is_some();
    let owner_tasks = graph.lock().observe(&id, &metadata, alive);
    let kind_tasks = tasks_of(&id, &metadata, alive);
    let quota_tasks = quota_task(&cluster, &id, &metadata, alive);
    for task in owner_tasks.into_iter().chain(kind_tasks).chain(quota_tasks) {
        queue.add(&tenant, task);
    }
}

/// The tasks that come from what kind of object it is.
fn tasks_of(id: &ObjectId, metadata: &Metadata, alive: bool) -> Option<Task> {
    let name = || metadata.name.clone();
    match (id.collection.group(), id.collection.resource()) {
        ("", "namespaces") if alive && metadata.deletion_timestamp.is_some() => Some(Task::EndNamespace(name())),
        ("", "namespaces") if alive => Some(Task::FillNamespace(name())),
        ("", "serviceaccounts") if !alive && metadata.name == "default" => {
            Some(Task::FillNamespace(metadata.namespace.clone()))
        }
        ("", "configmaps") if metadata.name == namespaces::ROOT_AUTHORITY => {
            Some(Task::FillNamespace(metadata.namespace.clone()))
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") if alive && metadata.deletion_timestamp.is_some() => {
            Some(Task::EndDefinition(name()))
        }
        ("certificates.k8s.io", "certificatesigningrequests") if alive => Some(Task::SignCertificate(name())),
        ("rbac.authorization.k8s.io", "clusterroles") => Some(Task::AggregateRoles),
        _ => None,
    }
}

/// What changes without a charge: a quota itself, objects that went, pods that ended, claims that grew.
fn quota_task(cluster: &Cluster, id: &ObjectId, metadata: &Metadata, alive: bool) -> Option<Task> {
    let changes = match (id.collection.group(), id.collection.resource()) {
        ("", "resourcequotas" | "pods" | "services" | "persistentvolumeclaims") => true,
        ("", "events") => false,
        _ => !alive,
    };
    (changes && !metadata.namespace.is_empty() && cluster.has_quotas(&metadata.namespace))
        .then(|| Task::RefreshQuotas(metadata.namespace.clone()))
}

async fn perform(cluster: &Arc<Cluster>, graph: &Mutex<Graph>, queue: &Queue, task: Task) -> Result<(), Status> {
    match task {
        Task::FillNamespace(name) => namespaces::fill(cluster, &name).await,
        Task::EndNamespace(name) => namespaces::end(cluster, &name).await,
        Task::CheckOwners(id) => collector::check_owners(cluster, graph, &id).await,
        Task::ReleaseDependents(id) => collector::release_dependents(cluster, graph, queue, &id).await,
        Task::EndDefinition(name) => definitions::end(cluster, &name).await,
        Task::SignCertificate(name) => certificates::sign(cluster, &name).await,
        Task::AggregateRoles => roles::aggregate(cluster).await,
        Task::RefreshQuotas(namespace) => crate::admission::refresh_quotas(cluster, &namespace).await,
    }
}
