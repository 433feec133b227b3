//! NodePool: the configuration of its nodes, the tokens that open it, and how its machines are.

mod dereference;
mod plan;
mod preview;
mod release;
mod rights;
mod rollout;
mod status;
mod validate;
mod version;

#[cfg(test)]
mod noops;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

pub(crate) use dereference::config_names;
pub use preview::{Pending, PlannedNode, Preview, PreviewError, preview};
pub(crate) use release::sweep;
pub(crate) use rollout::{CURRENT_CONFIG, UPDATE_FAILED};
pub(crate) use validate::has_default_network;

use crate::approver::Networks;
use crate::context::{Context, Next, ReconcileError};
use crate::enrolment::Offer;
use crate::names::{FINALIZER, HIBERNATE, JOINS_NODES, OPENED};
use crate::nodes::{self, Settings};
use crate::object::{Kind, Objects, Reference, annotation, is_deleting, with_finalizer};
use crate::pause::Pause;
use dereference::Observed;
use rollout::{Report, State};
use status::Pass;
use validate::{Block, Wanted};

/// How soon a pool that waits for its cluster is looked at again, beside when that changes.
const WAIT: Duration = Duration::from_secs(5);
/// How soon a pool whose nodes are being changed is looked at again, beside when one of them changes.
const STEP: Duration = Duration::from_millis(500);

/// Brings one NodePool nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(mut pool) = objects.find(Kind::NodePool, namespace, name).await? else {
        return release::leftovers(context, namespace, name).await;
    };
    let reference = Reference::new(Kind::NodePool, namespace, name);
    if is_deleting(&pool) {
        return release::release(context, &reference, &pool).await;
    }
    let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let cluster = objects.find(Kind::HostedCluster, namespace, cluster).await?;
    if let Some(change) = adoption(&pool, cluster.as_ref()) {
        pool = objects.merge(&reference, &change).await?;
    }
    let now = Timestamp::now();
    let Some(cluster) = cluster else {
        let status = status::without_cluster(&pool, now);
        if status != pool["status"] {
            objects.set_status(&reference, &status).await?;
        }
        return Ok(Next::Settled);
    };
    let is_closed = !validate::wants_machines(&pool["spec"]) && annotation(&pool, OPENED).is_empty();
    let mut observed = if is_closed { Observed::idle(pool) } else { dereference::dereference(objects, pool).await? };
    observed.artifacts = Arc::clone(&context.artifacts);
    let pause = Pause::of(observed.pool["spec"]["pausedUntil"].as_str(), now);
    let verdict = validate::validate(&observed, &cluster, context.runtime.version(), now);
    let is_active = matches!(pause, Pause::Active | Pause::Unreadable) && !is_deleting(&cluster);
    let mut next = Next::Settled;
    let (mut failed, mut is_reached, mut rollout) = (None, false, None);
    if is_active {
        match advance(context, &observed, &cluster, &verdict.outcome, now).await {
            Ok(advanced) => {
                next = advanced.next;
                is_reached = advanced.is_reached;
                rollout = advanced.rollout;
            }
            Err(error) if error.is_race() => return Err(error),
            Err(error) => failed = Some(error.words()),
        }
    } else if let Pause::Until(until) = pause {
        next = Next::At(until);
    }
    let pass = Pass {
        observed: &observed,
        verdict: &verdict,
        failed: failed.as_deref(),
        is_reached,
        rollout: rollout.as_ref(),
        now,
    };
    let status = status::status(&pass);
    if status != observed.pool["status"] {
        objects.set_status(&reference, &status).await?;
    }
    if let Some(change) = status::annotations(&pass).filter(|_| is_active) {
        objects.merge(&reference, &change).await?;
    }
    if let Some(repair) = status::next_repair(&observed, now) {
        next = match next {
            Next::At(at) => Next::At(at.min(repair)),
            Next::Settled => Next::At(repair),
            Next::After(wait) => Next::After(wait),
        };
    }
    match failed {
        Some(problem) => Err(ReconcileError::Refused(problem)),
        None => Ok(next),
    }
}

/// What became of a pass.
struct Advanced {
    /// When to look again.
    next: Next,
    /// Whether a host came.
    is_reached: bool,
    rollout: Option<Report>,
}

/// Brings what is around a pool nearer to what is wanted.
async fn advance<R: Runtime>(
    context: &Arc<Context<R>>,
    observed: &Observed,
    cluster: &Value,
    outcome: &Result<Wanted, Block>,
    now: Timestamp,
) -> Result<Advanced, ReconcileError> {
    let waiting = |next| Advanced { next, is_reached: false, rollout: None };
    match outcome {
        Err(Block::Idle) => {
            if !annotation(&observed.pool, OPENED).is_empty() {
                release::clear(context, &observed.pool).await?;
            }
            Ok(waiting(Next::Settled))
        }
        Err(Block::Waiting(_)) => {
            open(context, observed, cluster).await?;
            Ok(waiting(Next::After(WAIT)))
        }
        Ok(wanted) => {
            open(context, observed, cluster).await?;
            let (at, is_reached) = offer(context, observed, wanted, now).await?;
            let rollout = rollout::advance(context, observed, wanted, false, now).await?;
            let is_going = rollout.as_ref().is_some_and(|report| report.plan.state == State::Going);
            Ok(Advanced { next: if is_going { Next::After(STEP) } else { Next::At(at) }, is_reached, rollout })
        }
    }
}

/// Opens a cluster for nodes: its ignition endpoint, its approver, and the right to ask for a certificate.
async fn open<R: Runtime>(
    context: &Arc<Context<R>>,
    observed: &Observed,
    cluster: &Value,
) -> Result<(), ReconcileError> {
    let Some(plane) = &observed.plane else { return Ok(()) };
    if annotation(&observed.pool, OPENED).is_empty() {
        let change = json!({"metadata": {"annotations": {(OPENED): "true"}}});
        context.objects.merge(&Reference::of(&observed.pool), &change).await?;
    }
    if annotation(plane, JOINS_NODES) != "true" {
        let change = json!({"metadata": {"annotations": {(JOINS_NODES): "true"}}});
        context.objects.merge(&Reference::of(plane), &change).await?;
    }
    let Some(id) = cluster["spec"]["clusterID"].as_str().and_then(|id| id.parse::<PlaneId>().ok()) else {
        return Ok(());
    };
    if annotation(cluster, HIBERNATE) == "true" {
        // Whoever follows a cluster keeps it awake.
        context.nodes.remove(&id);
        return Ok(());
    }
    let Some(client) = context.runtime.client(&id) else { return Ok(()) };
    rights::grant(&Objects::new(client), has_default_network(&cluster["spec"])).await?;
    context.nodes.ensure(&id, &observed.namespace, settings(cluster));
    Ok(())
}

/// What of a cluster matters to its nodes.
fn settings(cluster: &Value) -> Settings {
    let spec = &cluster["spec"];
    let networks = |field: &str| {
        let entries = spec["networking"][field].as_array().into_iter().flatten();
        entries.filter_map(|entry| entry["cidr"].as_str()?.parse().ok()).collect()
    };
    let endpoints = [
        cluster["status"]["controlPlaneEndpoint"]["host"].as_str(),
        cluster["status"]["ignitionEndpoint"].as_str().map(|text| text.rsplit_once(':').map_or(text, |(host, _)| host)),
    ];
    Settings {
        networks: Networks {
            pods: networks("clusterNetwork"),
            services: networks("serviceNetwork"),
            machines: networks("machineNetwork"),
            endpoints: endpoints.into_iter().flatten().filter_map(|host| host.parse().ok()).collect(),
        },
        pods: nodes::pod_networks(spec),
    }
}

/// Writes the pool's Secrets and offers its payload. Returns when to look again, and whether a host came.
async fn offer<R: Runtime>(
    context: &Arc<Context<R>>,
    observed: &Observed,
    wanted: &Wanted,
    now: Timestamp,
) -> Result<(Timestamp, bool), ReconcileError> {
    let plan = plan::plan(observed, wanted, &uuid::Uuid::new_v4().to_string(), now);
    context.objects.apply_all(&plan.apply).await?;
    let text = |field: &str| observed.pool["metadata"][field].as_str().unwrap_or_default().to_owned();
    context.offers.put(Offer {
        pool: (text("namespace"), text("name")),
        namespace: observed.namespace.clone(),
        cluster_id: wanted.cluster_id.clone(),
        infra_id: wanted.infra_id.clone(),
        version: format!("v{}", wanted.version),
        hash: wanted.hash.clone(),
        token_secret: plan.token_secret,
        user_data_secret: plan.user_data_secret,
        written: Arc::clone(&wanted.written),
        tokens: plan.tokens,
        is_reached: AtomicBool::new(plan.is_reached),
    });
    for secret in &plan.delete {
        context.objects.delete(secret).await?;
    }
    Ok((plan.next, plan.is_reached))
}

/// A finalizer, and the cluster as owner, so that the pool goes with it.
fn adoption(pool: &Value, cluster: Option<&Value>) -> Option<Value> {
    let mut change = json!({});
    if let Some(finalizers) = with_finalizer(pool, FINALIZER) {
        change["metadata"]["finalizers"] = finalizers;
    }
    if let Some(cluster) = cluster {
        let uid = &cluster["metadata"]["uid"];
        let owners = pool["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        if !owners.iter().any(|owner| owner["uid"] == *uid) {
            let mut owners: Vec<Value> =
                owners.into_iter().filter(|owner| owner["kind"] != Kind::HostedCluster.name()).collect();
            owners.push(json!({
                "apiVersion": Kind::HostedCluster.api_version(), "kind": Kind::HostedCluster.name(),
                "name": cluster["metadata"]["name"], "uid": uid,
            }));
            change["metadata"]["ownerReferences"] = json!(owners);
        }
    }
    if change == json!({}) {
        return None;
    }
    change["metadata"]["resourceVersion"] = pool["metadata"]["resourceVersion"].clone();
    Some(change)
}
