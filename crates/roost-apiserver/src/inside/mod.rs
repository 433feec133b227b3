//! The controllers inside: what every cluster needs to be one. One reader of the store's log serves all tenants.
//!
//! The reader turns each change into [`Task`]s: small, repeatable pieces of work that look at the objects as they are
//! now. A task that fails is tried again later; a task that finds nothing to do costs a look. What is due by the clock
//! waits in one set of timers. Nothing is kept between runs: the graph of owners and the health of nodes are read anew
//! from the store at every start.

mod account_tokens;
mod api_services;
mod certificates;
mod collector;
mod definitions;
mod edit;
mod expiry;
mod flow_schemas;
mod graph;
mod metadata;
mod namespaces;
mod nodes;
mod observe;
mod queue;
mod record;
mod roles;
mod timers;
mod workloads;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use roost_object::Status;
use roost_store::ListQuery;

use crate::cluster::Cluster;
use crate::engine::Engine;
use graph::{Graph, ObjectId};
use nodes::Nodes;
use queue::Queue;
use timers::Timers;

pub(crate) use account_tokens::note_use as note_token_use;
pub(crate) use api_services::{built_in as built_in_api_services, foreign_groups, is_foreign};
pub(crate) use flow_schemas::{GROUP as FLOW_GROUP, MANAGER as FLOW_CONSUMER};
pub(crate) use roles::{MANAGER as ROLE_AGGREGATION, gather as gather_rules};
pub(crate) use workloads::Workloads;

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
    /// Look again at the definitions whose names were taken.
    AcceptFreedNames,
    /// Approve a certificate request that needs nobody's consent.
    ApproveCertificate(String),
    /// Sign an approved certificate request.
    SignCertificate(String),
    /// Delete a certificate request that nobody needs any more.
    ExpireRequest(String),
    /// Delete a bootstrap token whose time has come.
    ExpireToken(String),
    /// Delete the events whose time has come.
    ExpireEvents,
    /// Gather the rules of cluster roles that are made of others.
    AggregateRoles,
    /// Say of flow schemas whether their priority levels are there.
    JudgeFlowSchemas,
    /// Count anew what a namespace uses of its quotas.
    RefreshQuotas(String),
    /// Fill a Secret that holds a token of a service account.
    FillAccountToken { namespace: String, name: String },
    /// Delete the tokens of a service account that is gone.
    EndAccountTokens { namespace: String, account: String, uid: String },
    /// Take a Secret that is gone off the list of its service account.
    UnlistAccountToken { namespace: String, account: String, secret: String },
    /// Show the groups that definitions bring.
    RegisterGroups,
    /// Look whether a node answers.
    CheckNode(String),
    /// Tell of a node that came or went.
    AnnounceNode { name: String, uid: String, came: bool },
    /// Say of all pods of a node that they are not ready.
    MarkPods(String),
    /// Look whether a pod has come to a node that does not answer.
    CheckPod { namespace: String, name: String },
    /// Take a workload one step further.
    Work(workloads::Work),
}

/// What the reader of the log and the tasks share.
struct Inside {
    graph: Mutex<Graph>,
    nodes: Mutex<Nodes>,
    queue: Queue,
    timers: Timers,
    /// Namespaces and definitions that wait for their content to go, as the tasks that let them go.
    ending: Mutex<HashSet<(String, Task)>>,
}

/// How long nobody looks at the log after changes from which nothing followed: to be woken up for each write costs as much
/// as to serve it.
const REST: Duration = Duration::from_millis(1);

/// Follows the log and does what follows from it.
pub(crate) async fn run(engine: Arc<Engine>) {
    let inside = Arc::new(Inside {
        graph: Mutex::default(),
        nodes: Mutex::default(),
        queue: Queue::new(),
        timers: Timers::new(),
        ending: Mutex::default(),
    });
    let worker = {
        let (engine, inside) = (Arc::clone(&engine), Arc::clone(&inside));
        inside.queue.clone().work(move |tenant, task| {
            let (engine, inside) = (Arc::clone(&engine), Arc::clone(&inside));
            async move {
                match engine.cluster(&tenant) {
                    Some(cluster) => perform(&cluster, &inside, task).await,
                    None => Ok(()),
                }
            }
        })
    };
    tokio::join!(worker, inside.timers.run(&inside.queue), follow(&engine, &inside));
}

/// Reads the state once, then every change; starts over when the log has run ahead.
async fn follow(engine: &Arc<Engine>, inside: &Inside) {
    loop {
        let start = engine.store.revision();
        let Ok(mut cursor) = engine.store.watch_all(start) else { continue };
        *inside.graph.lock() = Graph::default();
        inside.ending.lock().clear();
        for tenant in engine.store.tenants() {
            scan(engine, inside, &tenant).await;
        }
        loop {
            tokio::select! {
                events = cursor.next() => {
                    let Ok(events) = events else { break };
                    for event in events {
                        observe::event(engine, inside, &event);
                    }
                    if inside.queue.is_empty() {
                        tokio::time::sleep(REST).await;
                    }
                }
                tenants = engine.arrivals() => {
                    for tenant in tenants {
                        scan(engine, inside, &tenant).await;
                    }
                }
            }
        }
        tracing::warn!("the log ran ahead of the inside controllers; they start over");
    }
}

/// Takes in all objects of a tenant.
async fn scan(engine: &Arc<Engine>, inside: &Inside, tenant: &str) {
    let Some(cluster) = engine.cluster(tenant) else { return };
    for collection in engine.store.collections(tenant) {
        let Ok(page) = engine.store.list(&collection, ListQuery::default()) else { continue };
        for entry in &page.entries {
            let id = ObjectId { collection: collection.clone(), name: Arc::clone(&entry.name) };
            observe::found(&cluster, inside, &id, &entry.value);
        }
        tokio::task::yield_now().await;
    }
}

async fn perform(cluster: &Arc<Cluster>, inside: &Inside, task: Task) -> Result<(), Status> {
    match task {
        Task::FillNamespace(name) => namespaces::fill(cluster, &name).await,
        Task::EndNamespace(name) => namespaces::end(cluster, inside, &name).await,
        Task::CheckOwners(id) => collector::check_owners(cluster, inside, &id).await,
        Task::ReleaseDependents(id) => collector::release_dependents(cluster, inside, &id).await,
        Task::EndDefinition(name) => definitions::end(cluster, &name).await,
        Task::AcceptFreedNames => definitions::accept_freed_names(cluster).await,
        Task::ApproveCertificate(name) => certificates::approve(cluster, &name).await,
        Task::SignCertificate(name) => certificates::sign(cluster, &name).await,
        Task::ExpireRequest(name) => expiry::expire_request(cluster, inside, &name).await,
        Task::ExpireToken(name) => expiry::expire_token(cluster, inside, &name).await,
        Task::ExpireEvents => expiry::expire_events(cluster, inside).await,
        Task::AggregateRoles => roles::aggregate(cluster).await,
        Task::JudgeFlowSchemas => flow_schemas::judge(cluster).await,
        Task::RefreshQuotas(namespace) => crate::admission::refresh_quotas(cluster, &namespace).await,
        Task::FillAccountToken { namespace, name } => account_tokens::fill(cluster, &namespace, &name).await,
        Task::EndAccountTokens { namespace, account, uid } => {
            account_tokens::end(cluster, &namespace, &account, &uid).await
        }
        Task::UnlistAccountToken { namespace, account, secret } => {
            account_tokens::unlist(cluster, &namespace, &account, &secret).await
        }
        Task::RegisterGroups => api_services::register(cluster, inside).await,
        Task::CheckNode(name) => nodes::check(cluster, inside, &name).await,
        Task::AnnounceNode { name, uid, came } => {
            nodes::announce(cluster, &name, &uid, came).await;
            Ok(())
        }
        Task::MarkPods(node) => nodes::mark_pods(cluster, &node).await,
        Task::CheckPod { namespace, name } => nodes::check_pod(cluster, &namespace, &name).await,
        Task::Work(work) => workloads::perform(cluster, inside, work).await,
    }
}
