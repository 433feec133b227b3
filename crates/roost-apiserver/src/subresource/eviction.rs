//! Evicting a pod: a delete that asks the disruption budgets first.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use roost_object::selector::LabelSelector;
use roost_object::status::{Cause, Details};
use roost_object::{Status, Value};
use serde_json::json;

use super::binding::created;
use super::decode_as;
use crate::admission::{self, Action};
use crate::call::Call;
use crate::clock;
use crate::negotiate::{self, BUILT_IN};
use crate::options::{DeleteOptions, WriteKind, WriteOptions};
use crate::resource::Resource;
use crate::respond::Body;
use crate::write::{self, Change, ChangeKind, Target, metadata_text};

/// Evicts a pod.
pub(super) async fn create(call: &Call, pods: &Arc<Resource>, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let info = &call.info;
    let format = negotiate::negotiate(&call.headers, &call.query, BUILT_IN)?;
    let options = WriteOptions::parse(&call.query, WriteKind::Create)?;
    let mut eviction = decode_as(call, bytes, "policy/v1", "Eviction", &options)?;
    let target = Target { call, resource: pods, namespace: &info.namespace, name: &info.name, subresource: "eviction" };
    let action = Action { operation: "CREATE", kind: ["policy", "v1", "Eviction"] };
    admission::admit(target, &action, &mut eviction, options.dry_run).await?;
    let name = metadata_text(&eviction, "name");
    if !name.is_empty() && name != info.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let (pod, _) = target.read()?.ok_or_else(|| target.not_found())?;
    let mut delete = DeleteOptions::parse(&call.query, eviction.get("deleteOptions"))?;
    delete.dry_run |= options.dry_run;
    let exempt = matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Succeeded" | "Failed"))
        || pod["metadata"].get("deletionTimestamp").is_some();
    if !exempt {
        disrupt(&target, &pod, delete.dry_run).await?;
    }
    write::delete(target, &delete).await?;
    Ok(created(&format))
}

/// Takes one disruption from the pod's budget, or says why there is none.
async fn disrupt(target: &Target<'_>, pod: &Value, dry_run: bool) -> Result<(), Status> {
    let call = target.call;
    let budgets: Vec<Value> = call
        .cluster
        .find_all("policy", "poddisruptionbudgets", target.namespace)
        .into_iter()
        .filter(|budget| selects(budget, pod))
        .collect();
    let budget = match budgets.as_slice() {
        [] => return Ok(()),
        [budget] => budget,
        _ => {
            return Err(Status::internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ));
        }
    };
    let ready = pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    if !ready {
        let status = &budget["status"];
        let healthy = status["currentHealthy"].as_i64().unwrap_or(0) >= status["desiredHealthy"].as_i64().unwrap_or(0)
            && status["desiredHealthy"].as_i64().unwrap_or(0) > 0;
        if budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || healthy {
            return Ok(());
        }
    }
    let resource = call.cluster.resource("policy", "v1", "poddisruptionbudgets").ok_or_else(Status::unknown_path)?;
    let name = metadata_text(budget, "name").to_owned();
    let internal = Call::internal(&call.cluster);
    let budget_target = Target {
        call: &internal,
        resource: &resource,
        namespace: target.namespace,
        name: &name,
        subresource: "status",
    };
    let pod_name = target.name;
    let transform = |live: &Value| take_disruption(live, pod_name);
    let options = WriteOptions { dry_run, ..write::internal_options(write::API_SERVER) };
    write::update(budget_target, Change { kind: ChangeKind::Patch, transform: &transform, create: false }, &options)
        .await?;
    Ok(())
}

fn take_disruption(budget: &Value, pod: &str) -> Result<Value, Status> {
    let status = &budget["status"];
    let name = metadata_text(budget, "name");
    let observed = status["observedGeneration"].as_i64().unwrap_or(0);
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    if observed < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refusal(why, 10));
    }
    let allowed = status["disruptionsAllowed"].as_i64().unwrap_or(0);
    if allowed <= 0 {
        let why = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            status["desiredHealthy"].as_i64().unwrap_or(0),
            status["currentHealthy"].as_i64().unwrap_or(0)
        );
        return Err(refusal(why, 0));
    }
    let mut next = budget.clone();
    next["status"]["disruptionsAllowed"] = (allowed - 1).into();
    if !next["status"]["disruptedPods"].is_object() {
        next["status"]["disruptedPods"] = json!({});
    }
    next["status"]["disruptedPods"][pod] = clock::now_text().into();
    Ok(next)
}

fn refusal(why: String, retry_after_seconds: u32) -> Status {
    let cause = Cause { reason: "DisruptionBudget".into(), message: why, field: String::new() };
    Status::failure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
        .with_details(Details { causes: vec![cause], retry_after_seconds, ..Details::default() })
}

fn selects(budget: &Value, pod: &Value) -> bool {
    budget["spec"]
        .get("selector")
        .is_some_and(|selector| LabelSelector::from_object(selector).is_ok_and(|selector| selector.matches_object(pod)))
}
