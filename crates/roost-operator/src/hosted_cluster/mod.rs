//! HostedCluster: a namespace with a control plane in it, and away again.

mod apply;
mod dereference;
mod destroy;
mod names;
mod plan;
mod status;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

pub(crate) use names::{control_plane_namespace, references};
use status::Outcome;

use crate::condition::{self, Condition};
use crate::context::{Context, Next, ReconcileError};
use crate::names::{FINALIZER, HAS_BEEN_AVAILABLE, HIBERNATE, SEALED_BY};
use crate::object::{Kind, Reference, annotation, has_finalizer, is_deleting, with_finalizer};
use crate::pause::Pause;

/// How often something is looked at that another program removes and that tells nobody.
const WAIT: Duration = Duration::from_secs(5);
/// Letters and digits that make an infrastructure's name its own.
const INFRA_SUFFIX: usize = 5;
/// The longest part of a cluster's name that fits into the infrastructure's.
const INFRA_PREFIX: usize = 21;

/// Brings one HostedCluster nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(mut observed) = dereference::dereference(objects, namespace, name).await? else {
        return Ok(Next::Settled);
    };
    if is_deleting(&observed.cluster) {
        return remove(context, &observed.cluster).await;
    }
    let now = Timestamp::now();
    let reference = Reference::new(Kind::HostedCluster, namespace, name);
    let pause = Pause::of(observed.cluster["spec"]["pausedUntil"].as_str(), now);
    if let Some(change) = adoption(&observed) {
        observed.cluster = objects.merge(&reference, &change).await?;
    }
    let verdict = validate::validate(&observed, context.runtime.version());
    let outcome = if verdict.blocked.is_some() {
        Outcome::Done
    } else {
        let plan = plan::plan(&observed, pause);
        match apply::apply(objects, &plan).await {
            Ok(applied) => {
                take_over(&mut observed, applied);
                plan.waiting.map_or(Outcome::Done, Outcome::Waiting)
            }
            Err(error) if error.is_race() => return Err(error.into()),
            Err(error) => Outcome::Failed(crate::context::words(&error)),
        }
    };
    let status = status::status(&observed, &verdict, &outcome, pause, now);
    if status != observed.cluster["status"] {
        observed.cluster = objects.set_status(&reference, &status).await?;
    }
    if condition::is_true(&observed.cluster, "Available")
        && annotation(&observed.cluster, HAS_BEEN_AVAILABLE).is_empty()
    {
        objects.merge(&reference, &json!({"metadata": {"annotations": {(HAS_BEEN_AVAILABLE): "true"}}})).await?;
    }
    Ok(match (outcome, pause) {
        (Outcome::Failed(problem), _) => return Err(ReconcileError::Refused(problem)),
        (Outcome::Waiting(_), _) => Next::After(WAIT),
        (_, Pause::Until(until)) => Next::At(until),
        _ => Next::Settled,
    })
}

/// What a HostedCluster gets once: a finalizer, and names that never change.
fn adoption(observed: &dereference::Observed) -> Option<Value> {
    let cluster = &observed.cluster;
    let mut change = json!({});
    if annotation(cluster, SEALED_BY).is_empty()
        && let Some(fingerprint) = validate::key_fingerprint(observed)
    {
        change["metadata"]["annotations"][SEALED_BY] = json!(fingerprint);
    }
    if let Some(finalizers) = with_finalizer(cluster, FINALIZER) {
        change["metadata"]["finalizers"] = finalizers;
        // Somebody else may be adding theirs at this moment.
        change["metadata"]["resourceVersion"] = cluster["metadata"]["resourceVersion"].clone();
    }
    if cluster["spec"]["clusterID"].as_str().unwrap_or_default().is_empty() {
        change["spec"]["clusterID"] = json!(uuid::Uuid::new_v4().to_string());
    }
    if cluster["spec"]["infraID"].as_str().unwrap_or_default().is_empty() {
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
        let prefix = &name[..name.len().min(INFRA_PREFIX)];
        let random = uuid::Uuid::new_v4().simple().to_string();
        let infra = format!("{}-{}", prefix.replace('.', "-").trim_end_matches('-'), &random[..INFRA_SUFFIX]);
        change["spec"]["infraID"] = json!(infra);
    }
    (change != json!({})).then_some(change)
}

/// Counts what was just written as there, so that the status speaks of it.
fn take_over(observed: &mut dereference::Observed, applied: Vec<Value>) {
    for object in applied {
        if Reference::of(&object).kind == Kind::HostedControlPlane {
            observed.control_plane = Some(object);
        }
    }
}

/// Marks a cluster whose plane woke by itself as awake.
pub(crate) async fn wake<R: Runtime>(context: &Arc<Context<R>>, id: &PlaneId) -> Result<(), ReconcileError> {
    let id = id.to_string();
    for cluster in context.objects.list(Kind::HostedCluster, "").await? {
        if cluster["spec"]["clusterID"] == id && !annotation(&cluster, HIBERNATE).is_empty() {
            let change = json!({"metadata": {"annotations": {(HIBERNATE): null}}});
            context.objects.merge(&Reference::of(&cluster), &change).await?;
        }
    }
    Ok(())
}

/// Takes a cluster away, one step a pass.
async fn remove<R: Runtime>(context: &Arc<Context<R>>, cluster: &Value) -> Result<Next, ReconcileError> {
    if !has_finalizer(cluster, FINALIZER) {
        return Ok(Next::Settled);
    }
    let objects = &context.objects;
    let reference = Reference::of(cluster);
    let remains = destroy::dereference(objects, &context.pools, cluster).await?;
    if let Some(step) = destroy::plan(cluster, &remains) {
        report(context, cluster, step.reason, &step.message).await?;
        for object in &step.delete {
            objects.delete(object).await?;
        }
        // Everything else that is waited for tells when it is gone.
        let is_untold = !step.delete.is_empty() && step.delete.iter().all(|gone| gone.kind == Kind::ManagedCluster);
        return Ok(Next::After(if is_untold { Duration::ZERO } else { WAIT }));
    }
    if let Some(id) = cluster["spec"]["clusterID"].as_str().and_then(|id| id.parse::<PlaneId>().ok())
        && let Err(error) =
            context.runtime.remove(&id, &control_plane_namespace(&reference.namespace, &reference.name)).await
    {
        let problem = crate::context::words(&error);
        report(context, cluster, "WaitingForData", &problem).await?;
        return Err(ReconcileError::Refused(problem));
    }
    Ok(Next::after_release(objects.release(cluster, FINALIZER).await?))
}

/// Says on the object what its deletion waits for.
async fn report<R: Runtime>(
    context: &Arc<Context<R>>,
    cluster: &Value,
    reason: &'static str,
    message: &str,
) -> Result<(), ReconcileError> {
    let now = Timestamp::now();
    let generation = cluster["metadata"]["generation"].as_i64().unwrap_or_default();
    let wanted = Condition::bad("HostedClusterDestroyed", reason, message);
    let mut status = cluster["status"].clone();
    status["conditions"] = condition::set(&cluster["status"]["conditions"], now, generation, wanted);
    if status["controlPlaneEndpoint"].is_null() {
        status["controlPlaneEndpoint"] = json!({"host": "", "port": 0});
    }
    if status != cluster["status"] {
        context.objects.set_status(&Reference::of(cluster), &status).await?;
    }
    Ok(())
}
