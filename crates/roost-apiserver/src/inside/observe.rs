//! From changes to tasks: what each kind of object asks for when it comes, changes or goes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roost_store::Event;

use super::graph::ObjectId;
use super::metadata::{Metadata, Purpose};
use super::{Inside, Task, account_tokens, expiry, flow_schemas, namespaces, nodes, workloads};
use crate::cluster::Cluster;
use crate::engine::Engine;

/// The type of Secrets that hold bootstrap tokens.
const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";

/// How often a namespace that is going looks again at what is left in it, while that changes.
const RETELL_INTERVAL: Duration = Duration::from_secs(1);

/// An object of one tenant as it is, or as it was when it went.
struct Change<'a> {
    cluster: &'a Arc<Cluster>,
    id: &'a ObjectId,
    metadata: &'a Metadata,
    value: Option<&'a Bytes>,
    previous: Option<&'a Bytes>,
    /// Whether it happened just now, rather than some time before the reader began.
    fresh: bool,
}

/// Takes in a change from the log.
pub(super) fn event(engine: &Engine, inside: &Inside, event: &Event) {
    let tenant = event.collection.tenant();
    if event.drops_tenant() {
        inside.graph.lock().forget_tenant(tenant);
        inside.nodes.lock().forget_tenant(tenant);
        inside.ending.lock().retain(|(ending, _)| ending != tenant);
        return;
    }
    let Some(cluster) = engine.cluster(tenant) else { return };
    let id = ObjectId { collection: event.collection.clone(), name: Arc::clone(&event.name) };
    observe(&cluster, inside, &id, event.value.as_ref(), event.previous.as_ref(), true);
}

/// Takes in an object that was there already.
pub(super) fn found(cluster: &Arc<Cluster>, inside: &Inside, id: &ObjectId, value: &Bytes) {
    observe(cluster, inside, id, Some(value), None, false);
}

fn observe(
    cluster: &Arc<Cluster>,
    inside: &Inside,
    id: &ObjectId,
    value: Option<&Bytes>,
    previous: Option<&Bytes>,
    fresh: bool,
) {
    let tenant = cluster.tenant.as_str();
    if (id.collection.group(), id.collection.resource()) == ("", "events") {
        // Events own nothing and are owned by nobody; there are many, and all they do is end.
        match (value, fresh) {
            (Some(_), true) => {
                let lifetime = Duration::try_from(expiry::EVENT_LIFETIME).unwrap_or_default();
                inside.timers.after(tenant, Task::ExpireEvents, lifetime);
            }
            (Some(_), false) => inside.queue.add(tenant, Task::ExpireEvents),
            (None, _) => {}
        }
        return;
    }
    let Some(metadata) = value.or(previous).and_then(|bytes| Metadata::read(cluster, id, bytes)) else { return };
    let change = Change { cluster, id, metadata: &metadata, value, previous, fresh };
    hurry_what_waits(inside, &change);
    let owner_tasks = inside.graph.lock().observe(id, &metadata, value.is_some());
    for task in owner_tasks.into_iter().chain(tasks_of(inside, &change)).chain(quota_task(&change)) {
        inside.queue.add(tenant, task);
    }
    let resource = (id.collection.group(), id.collection.resource());
    for (work, wait) in workloads::tasks(cluster, resource, &metadata, value, previous) {
        match wait {
            None => inside.queue.add(tenant, Task::Work(work)),
            Some(wait) => inside.timers.after(tenant, Task::Work(work), wait),
        }
    }
}

/// Wakes what waits for an object that has gone: the end of its namespace, or of its definition. One that changed may
/// wait for less than before, which its namespace tells, but not at once: many objects change while they end.
fn hurry_what_waits(inside: &Inside, change: &Change<'_>) {
    let mut ending = inside.ending.lock();
    if ending.is_empty() {
        return;
    }
    let gone = change.value.is_none();
    let tenant = change.cluster.tenant.as_str();
    let collection = &change.id.collection;
    for task in [
        Task::EndNamespace(change.metadata.namespace.clone()),
        Task::EndDefinition(format!("{}.{}", collection.resource(), collection.group())),
    ] {
        if !ending.contains(&(tenant.to_owned(), task.clone())) {
            continue;
        }
        if gone {
            inside.queue.hurry(tenant, task);
        } else if change.fresh {
            inside.timers.after(tenant, task, RETELL_INTERVAL);
        }
    }
    if !gone {
        return;
    }
    let gone = match (collection.group(), collection.resource()) {
        ("", "namespaces") => Task::EndNamespace(change.metadata.name.clone()),
        ("apiextensions.k8s.io", "customresourcedefinitions") => Task::EndDefinition(change.metadata.name.clone()),
        _ => return,
    };
    ending.remove(&(tenant.to_owned(), gone));
}

/// The tasks that come from what kind of object it is.
fn tasks_of(inside: &Inside, change: &Change<'_>) -> Vec<Task> {
    let Change { cluster, id, metadata, fresh, .. } = change;
    let tenant = cluster.tenant.as_str();
    let (alive, going) = (change.value.is_some(), metadata.deletion_timestamp.is_some());
    let name = || metadata.name.clone();
    let namespace = || metadata.namespace.clone();
    let begin_end = |task: Task| {
        inside.ending.lock().insert((tenant.to_owned(), task.clone()));
        task
    };
    match (id.collection.group(), id.collection.resource()) {
        ("", "namespaces") if alive && going => vec![begin_end(Task::EndNamespace(name()))],
        ("", "namespaces") if alive => vec![Task::FillNamespace(name())],
        ("", "serviceaccounts") if !alive => {
            let tokens = Task::EndAccountTokens { namespace: namespace(), account: name(), uid: metadata.uid.clone() };
            let refill = (metadata.name == "default").then(|| Task::FillNamespace(namespace()));
            refill.into_iter().chain([tokens]).collect()
        }
        ("", "configmaps") if metadata.name == namespaces::ROOT_AUTHORITY => vec![Task::FillNamespace(namespace())],
        ("", "secrets") => secret_tasks(change),
        ("", "nodes") => {
            if !alive {
                inside.nodes.lock().forget(tenant, &metadata.name);
            }
            let announced = *fresh && (!alive || change.previous.is_none());
            let announce = Task::AnnounceNode { name: name(), uid: metadata.uid.clone(), came: alive };
            let check = alive.then(|| Task::CheckNode(name()));
            check.into_iter().chain(announced.then_some(announce)).collect()
        }
        ("", "pods") => match change.value {
            Some(value) if inside.nodes.lock().any_down(tenant) && nodes::came_to_node(value, change.previous) => {
                vec![Task::CheckPod { namespace: namespace(), name: name() }]
            }
            _ => Vec::new(),
        },
        ("coordination.k8s.io", "leases") if metadata.namespace == nodes::LEASES => {
            if let Some(value) = change.value {
                inside.nodes.lock().renew(tenant, &metadata.name, value);
            }
            Vec::new()
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            let end = (alive && going).then(|| begin_end(Task::EndDefinition(name())));
            let found = inside.graph.lock().take_unresolved(tenant);
            end.into_iter().chain([Task::AcceptFreedNames, Task::RegisterGroups]).chain(found).collect()
        }
        ("apiregistration.k8s.io", "apiservices") if !is_built_in(&metadata.name) => vec![Task::RegisterGroups],
        ("certificates.k8s.io", "certificatesigningrequests") if alive => {
            vec![Task::ApproveCertificate(name()), Task::SignCertificate(name()), Task::ExpireRequest(name())]
        }
        ("rbac.authorization.k8s.io", "clusterroles") => vec![Task::AggregateRoles],
        (flow_schemas::GROUP, _) if change.previous.is_some() || !flow_schemas::is_built_in(&metadata.name) => {
            vec![Task::JudgeFlowSchemas]
        }
        _ => Vec::new(),
    }
}

/// Secrets that hold tokens: of service accounts, or for nodes that join.
fn secret_tasks(change: &Change<'_>) -> Vec<Task> {
    let Some(bytes) = change.value.or(change.previous) else { return Vec::new() };
    let Some(purpose) = Purpose::read(change.cluster, change.id, bytes) else { return Vec::new() };
    let (namespace, name) = (change.metadata.namespace.clone(), change.metadata.name.clone());
    let account = purpose.annotation(account_tokens::ACCOUNT_NAME);
    match (&*purpose.kind, change.value.is_some()) {
        (account_tokens::TYPE, true) => vec![Task::FillAccountToken { namespace, name }],
        (account_tokens::TYPE, false) => {
            vec![Task::UnlistAccountToken { namespace, account: account.to_owned(), secret: name }]
        }
        (BOOTSTRAP_TOKEN, true) if namespace == "kube-system" => vec![Task::ExpireToken(name)],
        _ => Vec::new(),
    }
}

fn is_built_in(service: &str) -> bool {
    service.split_once('.').is_some_and(|(version, group)| {
        roost_kinds::versions().iter().any(|known| known.version == version && known.group == group)
    })
}

/// What changes without a charge: a quota itself, objects that went, pods that ended, claims that grew.
fn quota_task(change: &Change<'_>) -> Option<Task> {
    let changes = match (change.id.collection.group(), change.id.collection.resource()) {
        ("", "resourcequotas" | "pods" | "services" | "persistentvolumeclaims") => true,
        _ => change.value.is_none(),
    };
    let namespace = &change.metadata.namespace;
    (changes && !namespace.is_empty() && change.cluster.has_quotas(namespace))
        .then(|| Task::RefreshQuotas(namespace.clone()))
}
