//! HostedControlPlane: a Service, keys and a running API, and what they say of themselves.
//!
//! Children name their cluster by an annotation and have no owner, so that a HostedControlPlane that was removed by hand
//! comes back with the same port and the same keys. They go with their namespace.

mod components;
mod dereference;
mod endpoint;
mod guest;
mod ignition;
mod keys;
mod status;
mod validate;
mod version;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_runtime::{Health, Plane, PlaneId, Runtime};
use serde_json::{Value, json};

use dereference::Observed;
use status::Pass;
use validate::Wanted;

use crate::context::{Context, Next, ReconcileError, words};
use crate::names::FINALIZER;
use crate::node_pool::has_default_network;
use crate::object::{Kind, Objects, Reference, has_finalizer, is_deleting, with_finalizer};
use crate::pause::Pause;

/// How soon a plane that does not answer is asked again.
const RETRY: Duration = Duration::from_secs(2);
/// How soon a plane that answers is asked again.
const PROBE: Duration = Duration::from_mins(5);

/// Brings one HostedControlPlane nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(plane) = objects.find(Kind::HostedControlPlane, namespace, name).await? else {
        return Ok(Next::Settled);
    };
    if is_deleting(&plane) {
        return remove(context, &plane).await;
    }
    let mut observed = dereference::dereference(objects, plane).await?;
    let now = Timestamp::now();
    let reference = Reference::new(Kind::HostedControlPlane, namespace, name);
    match Pause::of(observed.plane["spec"]["pausedUntil"].as_str(), now) {
        Pause::Forever => return Ok(Next::Settled),
        Pause::Until(until) => return Ok(Next::At(until)),
        Pause::Active | Pause::Unreadable => {}
    }
    if let Some(finalizers) = with_finalizer(&observed.plane, FINALIZER) {
        let version = &observed.plane["metadata"]["resourceVersion"];
        let change = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
        observed.plane = objects.merge(&reference, &change).await?;
    }
    let mut pass = Pass {
        endpoint: None,
        health: Health::Absent,
        has_keys: false,
        rotations: Vec::new(),
        invalid: None,
        failed: None,
        release: observed.plane["spec"]["releaseImage"].as_str().unwrap_or_default().to_owned(),
        version: context.runtime.version().to_owned(),
    };
    let mut next = Next::After(RETRY);
    match validate::validate(&observed) {
        Err(problem) => pass.invalid = Some(problem),
        Ok(wanted) => match advance(context, &observed, &wanted, &mut pass, now).await {
            Ok(renewal) if pass.is_serving() => next = sooner(renewal, now),
            Ok(_) => {}
            Err(ReconcileError::Object(error)) if error.is_race() => return Err(error.into()),
            Err(error) => pass.failed = Some(error.words()),
        },
    }
    let status = status::status(&observed.plane, &pass, now);
    if status != observed.plane["status"] {
        observed.plane = objects.set_status(&reference, &status).await?;
    }
    report_components(context, &observed, &pass, now).await?;
    match pass.failed {
        Some(problem) => Err(ReconcileError::Refused(problem)),
        None => Ok(next),
    }
}

/// The Service, the keys and the API, each as soon as what it needs is there. Returns when keys have to be looked at
/// again.
async fn advance<R: Runtime>(
    context: &Arc<Context<R>>,
    observed: &Observed,
    wanted: &Wanted,
    pass: &mut Pass,
    now: Timestamp,
) -> Result<Timestamp, ReconcileError> {
    let objects = &context.objects;
    let service = match endpoint::service(&observed.plane, &wanted.publishing, observed.service.as_ref()) {
        Some(document) => Some(objects.apply(&document).await?),
        None => observed.service.clone(),
    };
    let Some((service, port)) = service
        .and_then(|service| Some((endpoint::node_port(&service)?, service)))
        .map(|(port, service)| (service, port))
    else {
        return Ok(now);
    };
    if let Some(balancer) = endpoint::balancer_status(&wanted.publishing, &service, context.front) {
        objects.set_status(&Reference::of(&service), &balancer).await?;
    }
    let published = endpoint::endpoint(&wanted.publishing, port, context.front);
    let ignition = ignition::publish(context, observed, wanted).await?;
    let ignition_host = ignition.as_ref().map(|published| published.host.as_str());
    let ready = keys::ensure(objects, observed, wanted, &published, ignition_host, now)
        .await
        .map_err(|error| ReconcileError::Refused(words(&error)))?;
    pass.has_keys = true;
    pass.rotations = ready.progress;
    let plane = Plane {
        id: wanted.id.clone(),
        namespace: observed.plane["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(),
        service_network: wanted.service_networks[0],
        port,
        advertised: published.host.parse().ok().or(Some(context.front.address)),
        server_names: endpoint::server_names(&wanted.publishing),
        keys: ready.keys,
        encryption_key: wanted.encryption_key.clone(),
        parked: wanted.parked,
    };
    pass.endpoint = Some(published);
    context.runtime.ensure(plane).await.map_err(|error| ReconcileError::Refused(words(&error)))?;
    pass.health = context.runtime.health(&wanted.id).await;
    if let (Some(published), Some(pair)) = (ignition, ready.ignition) {
        ignition::listen(context, observed, wanted, &published, pair).await?;
    }
    Ok(ready.next)
}

/// Tells of the parts, beside the plane and inside the hosted cluster.
async fn report_components<R: Runtime>(
    context: &Arc<Context<R>>,
    observed: &Observed,
    pass: &Pass,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let runtime = &context.runtime;
    components::report(
        &context.objects,
        &observed.plane,
        &observed.components,
        runtime.components(),
        &pass.health,
        &pass.version,
        now,
    )
    .await?;
    let id = observed.plane["spec"]["clusterID"].as_str().unwrap_or_default();
    if pass.health == Health::Ready
        && let Some(client) = id.parse::<PlaneId>().ok().and_then(|id| runtime.client(&id))
    {
        let status = &observed.plane["status"]["versionStatus"];
        let has_network = has_default_network(&observed.plane["spec"]);
        let components = runtime.components();
        guest::report(&Objects::new(client), id, status, components, has_network, &pass.version, now).await?;
    }
    Ok(())
}

/// The sooner of the next probe and the next renewal.
fn sooner(renewal: Timestamp, now: Timestamp) -> Next {
    match Next::At(renewal).wait(now) {
        Some(wait) if wait < PROBE => Next::At(renewal),
        _ => Next::After(PROBE),
    }
}

/// Lets a plane go. Its data go with the cluster; one that was merely removed by hand comes back with them.
async fn remove<R: Runtime>(context: &Arc<Context<R>>, plane: &Value) -> Result<Next, ReconcileError> {
    if !has_finalizer(plane, FINALIZER) {
        return Ok(Next::Settled);
    }
    let is_over = dereference::cluster_of(&context.objects, plane).await?.as_ref().is_none_or(is_deleting);
    if is_over && let Some(id) = plane["spec"]["clusterID"].as_str().and_then(|id| id.parse::<PlaneId>().ok()) {
        let namespace = plane["metadata"]["namespace"].as_str().unwrap_or_default();
        context.nodes.remove(&id);
        context.servers.remove(&roost_ignition_server::PlaneId::new(&id));
        context.runtime.remove(&id, namespace).await.map_err(|error| ReconcileError::Refused(words(&error)))?;
    }
    Ok(Next::after_release(context.objects.release(plane, FINALIZER).await?))
}
