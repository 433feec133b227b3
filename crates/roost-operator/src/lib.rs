//! The controllers that turn HostedClusters and NodePools into running clusters.
//!
//! Every controller has the same five steps, one module each: *dereference* reads, *validate* and *plan* decide and
//! are pure, *apply* writes, *status* says how it is. What is read and written goes through a Kubernetes client and
//! nothing else, so the same controllers run on the embedded engine and on any Kubernetes.

mod agent;
mod agent_classification;
mod agent_machine;
mod agent_pool;
mod agent_service_config;
mod approver;
mod bare_metal_host;
mod condition;
mod context;
mod discovery;
mod enrolment;
mod event;
mod fleet;
mod hosted_cluster;
mod hosted_control_plane;
mod hosts;
mod images;
mod infra_env;
mod install;
mod leader;
mod machine;
mod names;
mod node_pool;
mod nodes;
mod object;
mod orphans;
mod pause;
mod pools;
mod publishing;
mod queue;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_discovery::Logs;
use roost_ignition_server::{Artifacts, Limits, Servers};
use roost_runtime::Runtime;

use context::Context;
pub use context::Front;
use discovery::{Discovery, Listener};
use enrolment::{Enrolment, Offers};
use fleet::Fleet;
use hosts::Hosts;
pub use images::BaseImages;
use images::{ImageListener, ImageService};
pub use leader::{Candidate, lead};
pub use node_pool::{Pending, PlannedNode, Preview, PreviewError, preview};
use nodes::Nodes;
use object::Objects;
use pools::Pools;
use queue::{Controller, Done, Key, Queue};

/// Passes that are under way at the same time.
const CONCURRENCY: usize = 16;
/// How soon a management plane that could not be prepared is tried again.
const INSTALL_RETRY: Duration = Duration::from_secs(1);

/// Brings the kinds and what else the controllers need to a management plane; false when it refused, which is logged.
/// Repeating it is cheap.
pub async fn prepare<R: Runtime>(client: &kube::Client, runtime: &R) -> bool {
    match install::install(&Objects::new(client.clone()), runtime).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(error = context::words(&error), "the management plane could not be prepared; trying again");
            false
        }
    }
}

/// What hosts and nodes are given.
#[derive(Clone, Default)]
pub struct Supplies {
    /// The large files of nodes.
    pub artifacts: Arc<Artifacts>,
    /// What hosts boot.
    pub images: BaseImages,
    /// Where the logs of hosts are kept.
    pub host_logs: PathBuf,
}

/// Runs all controllers on a management plane until the future is dropped.
pub async fn run<R: Runtime>(client: kube::Client, runtime: Arc<R>, front: Front, supplies: Supplies) {
    let Supplies { artifacts, images, host_logs } = supplies;
    while !prepare(&client, &*runtime).await {
        tokio::time::sleep(INSTALL_RETRY).await;
    }
    let objects = Objects::new(client);
    let queue = Arc::new(Queue::default());
    let (fleet, offers) = (Arc::new(Fleet::default()), Arc::new(Offers::default()));
    let enrolment = Enrolment {
        objects: objects.clone(),
        runtime: Arc::clone(&runtime),
        fleet: Arc::clone(&fleet),
        offers: Arc::clone(&offers),
    };
    let hosts = Arc::new(Hosts::default());
    let (images, logs) = (ImageService::new(images), Logs::new(host_logs));
    let discovery = Arc::new(Discovery::new(objects.clone(), Arc::clone(&queue), Arc::clone(&hosts), images, logs));
    let nodes = Nodes::new(Arc::clone(&runtime), objects.clone(), Arc::clone(&queue), Arc::clone(&fleet));
    let context = Arc::new(Context {
        objects: objects.clone(),
        runtime,
        front,
        pools: Pools::default(),
        offers,
        servers: Servers::new(Arc::new(enrolment), Limits::default(), Arc::clone(&artifacts)),
        artifacts,
        nodes,
        queue: Arc::clone(&queue),
        hosts: Arc::clone(&hosts),
        discovery: Arc::clone(&discovery),
        discovery_listener: Listener::default(),
        attempts: Arc::default(),
        image_listener: ImageListener::default(),
    });
    let passes = {
        let context = Arc::clone(&context);
        Arc::clone(&queue).run(CONCURRENCY, move |key| {
            let context = Arc::clone(&context);
            async move { pass(&context, &key).await }
        })
    };
    let watches = watch::run(objects.clone(), Arc::clone(&queue), &context.pools, &fleet, &hosts);
    let host_watches = discovery::watch(&objects, &queue, &discovery);
    tokio::join!(passes, watches, host_watches, wakes(&context));
}

/// One pass over one object.
async fn pass<R: Runtime>(context: &Arc<Context<R>>, key: &Key) -> Done {
    let Key { controller, namespace, name } = key;
    let outcome = match controller {
        Controller::HostedCluster => hosted_cluster::reconcile(context, namespace, name).await,
        Controller::HostedControlPlane => hosted_control_plane::reconcile(context, namespace, name).await,
        Controller::NodePool => node_pool::reconcile(context, namespace, name).await,
        Controller::Machine => machine::reconcile(context, namespace, name).await,
        Controller::Orphans => orphans::reconcile(context, namespace, name).await,
        Controller::AgentServiceConfig => agent_service_config::reconcile(context, namespace, name).await,
        Controller::InfraEnv => infra_env::reconcile(context, namespace, name).await,
        Controller::Agent => agent::reconcile(context, namespace, name).await,
        Controller::AgentClassification => agent_classification::reconcile(context, namespace, name).await,
        Controller::BareMetalHost => bare_metal_host::reconcile(context, namespace, name).await,
        Controller::AgentMachine => agent_machine::reconcile(context, namespace, name).await,
        Controller::AgentPool => agent_pool::reconcile(context, namespace, name).await,
    };
    match outcome {
        Ok(next) => next.wait(Timestamp::now()).map_or(Done::Settled, Done::After),
        Err(error) => {
            if error.is_race() {
                tracing::debug!(?key, error = error.words(), "looked at again");
            } else {
                tracing::warn!(?key, error = error.words(), "tried again later");
            }
            Done::Failed
        }
    }
}

/// A plane that woke because somebody called is no longer asked to sleep.
async fn wakes<R: Runtime>(context: &Arc<Context<R>>) {
    loop {
        let id = context.runtime.woken().await;
        if let Err(error) = hosted_cluster::wake(context, &id).await {
            tracing::warn!(%id, error = error.words(), "the cluster woke, but could not be marked as awake");
        }
    }
}
