//! Evicting a pod: a delete that asks the disruption budgets first.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use roost_object::field::{Error, Path};
use roost_object::selector::LabelSelector;
use roost_object::status::{Cause, Details};
use roost_object::{GroupKind, GroupResource, Status, Value};
use serde_json::json;

use super::binding::{created, set_condition};
use super::decode_as;
use crate::admission::{self, Action};
use crate::call::Call;
use crate::clock;
use crate::negotiate;
use crate::options::{DeleteOptions, WriteKind, WriteOptions};
use crate::resource::Resource;
use crate::respond::{self, Body};
use crate::write::{self, Change, ChangeKind, Target, metadata_text};

/// Evicts a pod.
pub(super) async fn create(call: &Call, pods: &Arc<Resource>, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let info = &call.info;
    let format = negotiate::negotiate_without_table(&call.headers, &call.query)?;
    let options = WriteOptions::parse(&call.query, WriteKind::Create)?;
    let mut eviction = decode_as(call, bytes, "policy/v1", "Eviction", &options)?;
    let target = Target { call, resource: pods, namespace: &info.namespace, name: &info.name, subresource: "eviction" };
    let action = Action { operation: "CREATE", kind: ["policy", "v1", "Eviction"] };
    write::match_namespace(&target, &mut eviction)?;
    admission::admit(target, &action, &mut eviction, options.dry_run).await?;
    if metadata_text(&eviction, "name") != info.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    if eviction["deleteOptions"]["ignoreStoreReadErrorWithClusterBreakingPotential"] == true {
        let path = Path::new("deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential");
        let error = Error::invalid(&path, true, "can not be set for pod eviction, try after removing the option");
        return Err(Status::invalid(&GroupKind::new("policy", "Eviction"), &info.name, &[error]));
    }
    check_dry_run(call, &eviction)?;
    let nothing = json!({});
    let mut delete = DeleteOptions::parse(&call.query, Some(eviction.get("deleteOptions").unwrap_or(&nothing)))?;
    delete.dry_run |= options.dry_run;
    let (pod, _) = target.read()?.ok_or_else(|| target.not_found())?;
    let guarded = if ignores_budgets(&pod) {
        matches!(pod["status"]["phase"].as_str(), Some("Pending")) && !is_ending(&pod)
    } else {
        match disrupt(&target, &pod, delete.dry_run).await? {
            Verdict::Counted => false,
            Verdict::Unhealthy => true,
            Verdict::Refused(why) => return Ok(respond::object(500, &format, &why)),
        }
    };
    if guarded && delete.resource_version.is_none() {
        delete.resource_version = Some(metadata_text(&pod, "resourceVersion").to_owned());
    }
    evict(target, delete).await?;
    Ok(created(&format))
}

/// An eviction that says itself that it is only tried has to say what its request says.
fn check_dry_run(call: &Call, eviction: &Value) -> Result<(), Status> {
    let asked: Vec<&str> = call.query.all("dryRun").collect();
    let given = eviction["deleteOptions"]["dryRun"].as_array().into_iter().flatten();
    let given: Vec<&str> = given.filter_map(Value::as_str).collect();
    if asked.is_empty() || given.is_empty() || asked == given {
        return Ok(());
    }
    let (asked, given) = (asked.join(" "), given.join(" "));
    let why = format!("Non-matching dry-run options in request and content: [{asked}] and [{given}]");
    Err(Status::failure(500, "", why))
}

/// What the budgets say of an eviction.
enum Verdict {
    /// It is taken from the budget, or there is none.
    Counted,
    /// The pod does no good as it is, so that it may go as long as it stays so.
    Unhealthy,
    /// It is refused, by an answer of its own.
    Refused(Value),
}

/// Whether a pod may go whatever its budgets say: it is not running, or not for long.
fn ignores_budgets(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Succeeded" | "Failed")) || is_ending(pod)
}

fn is_ending(pod: &Value) -> bool {
    pod["metadata"].get("deletionTimestamp").is_some()
}

/// Says in the pod's conditions why it goes, and deletes it.
async fn evict(target: Target<'_>, mut delete: DeleteOptions) -> Result<(), Status> {
    if !delete.dry_run {
        let now = clock::now_text();
        let transform = |live: &Value| {
            write::check_preconditions(&target, live, &delete)?;
            let mut next = live.clone();
            let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"});
            set_condition(&mut next, condition, &now);
            Ok(next)
        };
        let change = Change { kind: ChangeKind::Bare, transform: &transform, create: false };
        let updated = write::update(target, change, &write::internal_options(write::API_SERVER)).await?;
        if delete.resource_version.is_some() {
            delete.resource_version = Some(metadata_text(&updated.object, "resourceVersion").to_owned());
        }
    }
    write::delete(target, &delete).await?;
    Ok(())
}

/// Takes one disruption from the pod's budget, or says why there is none.
async fn disrupt(target: &Target<'_>, pod: &Value, dry_run: bool) -> Result<Verdict, Status> {
    let call = target.call;
    let budgets: Vec<Value> = call
        .cluster
        .find_all("policy", "poddisruptionbudgets", target.namespace)
        .into_iter()
        .filter(|budget| selects(budget, pod))
        .collect();
    let budget = match budgets.as_slice() {
        [] => return Ok(Verdict::Counted),
        [budget] => budget,
        _ => {
            let why =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Ok(Verdict::Refused(
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": why, "code": 500}),
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
            return Ok(Verdict::Unhealthy);
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
    Ok(Verdict::Counted)
}

/// The most evictions that a budget keeps in mind until its controller has seen them.
const MAX_DISRUPTED_PODS: usize = 2000;

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
    let forbidden = |why: &str| Status::forbidden(&GroupResource::new("policy", "poddisruptionbudget"), name, why);
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    if status["disruptedPods"].as_object().is_some_and(|pods| pods.len() > MAX_DISRUPTED_PODS) {
        return Err(forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
    }
    if allowed == 0 {
        return Err(refusal(why_none(budget), 0));
    }
    let mut next = budget.clone();
    next["status"]["disruptionsAllowed"] = (allowed - 1).into();
    if allowed == 1 {
        let generation = next["status"]["observedGeneration"].clone();
        set_disallowed(&mut next["status"], &generation);
    }
    if !next["status"]["disruptedPods"].is_object() {
        next["status"]["disruptedPods"] = json!({});
    }
    next["status"]["disruptedPods"][pod] = clock::now_text().into();
    Ok(next)
}

/// Why a budget has no disruptions left.
fn why_none(budget: &Value) -> String {
    let status = &budget["status"];
    let name = metadata_text(budget, "name");
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    let condition =
        status["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "DisruptionAllowed");
    let text = |field: &str| condition.and_then(|one| one[field].as_str()).unwrap_or_default();
    let told = text("status") == "False" && !text("message").is_empty();
    let (current, desired) = (number("currentHealthy"), number("desiredHealthy"));
    if told && text("reason") == "SyncFailed" {
        let why = text("message");
        format!("The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}")
    } else if current <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
    } else if told {
        let (reason, why) = (text("reason"), text("message"));
        format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {why}")
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    }
}

/// Says in a budget's conditions that its last disruption is taken.
fn set_disallowed(status: &mut Value, generation: &Value) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    let mut condition = json!({"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "", "lastTransitionTime": clock::now_text()});
    if generation.as_i64().is_some_and(|generation| generation != 0) {
        condition["observedGeneration"] = generation.clone();
    }
    match conditions.iter_mut().find(|present| present["type"] == condition["type"]) {
        Some(present) => {
            if present["status"] == condition["status"] {
                condition["lastTransitionTime"] = present["lastTransitionTime"].take();
            }
            *present = condition;
        }
        None => conditions.push(condition),
    }
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
