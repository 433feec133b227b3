//! Autoscalers of pods: how many replicas there should be, by what the pods use.

mod limit;
mod measure;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{Action, Event, Pod, value};
pub use limit::Memory;

/// Who the events are from.
pub const COMPONENT: &str = "horizontal-pod-autoscaler";
/// How often each is looked at.
pub const INTERVAL: SignedDuration = SignedDuration::from_secs(15);
/// Over which time kubelets average what is used.
pub const WINDOW: SignedDuration = SignedDuration::from_secs(10);

/// What one container uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUsage {
    /// Its name.
    pub name: String,
    /// Processors, in billionths.
    pub nano_cores: u64,
    /// Memory, in bytes.
    pub memory_bytes: u64,
}

/// What one pod uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodUsage {
    /// When.
    pub time: Timestamp,
    /// Each of its containers.
    pub containers: Vec<ContainerUsage>,
}

/// What is scaled, as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// How many are wanted now.
    pub replicas: i64,
    /// Which pods are meant.
    pub selector: String,
}

/// What a decision looks at.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The pods that the scale selects.
    pub pods: Vec<Arc<Pod>>,
    /// What pods of the namespace use, by name; of those that the scale selects.
    pub usage: HashMap<String, PodUsage>,
    /// All autoscalers that mean these pods, by `namespace/name`, in their order.
    pub claimants: Vec<String>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What people are told at once.
    pub events: Vec<Action>,
    /// The new size and why, where it is another one.
    pub rescale: Option<(i64, String)>,
    original: Value,
    next: Value,
    replicas: i64,
    metrics: Value,
}

/// Says that what is to be scaled cannot be had.
pub fn without_scale(autoscaler: &Value, why: &str, now: Timestamp) -> Vec<Action> {
    let mut next = autoscaler.clone();
    let message = format!("the HPA controller was unable to get the target's current scale: {why}");
    set(&mut next, "AbleToScale", "False", "FailedGetScale", &message, now);
    let event = Event::warning(autoscaler, COMPONENT, "FailedGetScale", why);
    [event].into_iter().chain(update(autoscaler, next)).collect()
}

/// Decides on the number of replicas.
pub fn plan(
    autoscaler: &Value,
    scale: &Scale,
    surroundings: &Surroundings,
    memory: &mut Memory,
    now: Timestamp,
) -> Plan {
    let spec = &autoscaler["spec"];
    let (least, most) =
        (value::number_given(spec, &["minReplicas"]).unwrap_or(1), value::number(spec, &["maxReplicas"]));
    let current = scale.replicas;
    let mut plan = Plan {
        events: Vec::new(),
        rescale: None,
        original: autoscaler.clone(),
        next: autoscaler.clone(),
        replicas: current,
        metrics: Value::Null,
    };
    plan.say(
        "AbleToScale",
        true,
        "SucceededGetScale",
        "the HPA controller was able to get the target's current scale",
        now,
    );
    memory.begin(current, now);
    if current == 0 {
        let message = "scaling is disabled since the replica count of the target is zero";
        plan.say("ScalingActive", false, "ScalingDisabled", message, now);
        return plan;
    }
    if current > most {
        plan.rescale = Some((most, "Current number of replicas above Spec.MaxReplicas".to_owned()));
        return plan;
    }
    if current < least {
        plan.rescale = Some((least, "Current number of replicas below Spec.MinReplicas".to_owned()));
        return plan;
    }
    if let Err((event, reason, message, why)) = check_selector(scale, surroundings) {
        plan.events.push(Event::warning(autoscaler, COMPONENT, event, why.as_str()));
        plan.say("ScalingActive", false, reason, &message, now);
        plan.events.push(Event::warning(autoscaler, COMPONENT, "FailedComputeMetricsReplicas", why));
        return plan;
    }
    let Some((proposed, metric)) = plan.measure(spec, scale, surroundings, now) else { return plan };
    let reason = match proposed.cmp(&current) {
        std::cmp::Ordering::Greater => format!("{metric} above target"),
        std::cmp::Ordering::Less => "All metrics below target".to_owned(),
        std::cmp::Ordering::Equal => String::new(),
    };
    let bounds = limit::Bounds { current, proposed, least, most };
    let limited = limit::apply(spec.get("behavior"), &bounds, memory, now);
    let (reason_stable, message_stable) = limited.stable;
    plan.say("AbleToScale", true, reason_stable, message_stable, now);
    let (reason_limit, message_limit) = limited.range;
    plan.say("ScalingLimited", limited.is_less, reason_limit, message_limit, now);
    if limited.replicas != current {
        plan.rescale = Some((limited.replicas, reason));
    }
    plan
}

/// The reason of an event, the reason and message of a condition, and the error.
type Refusal = (&'static str, &'static str, String, String);

fn check_selector(scale: &Scale, surroundings: &Surroundings) -> Result<(), Refusal> {
    if scale.selector.is_empty() {
        let message = "the HPA target's scale is missing a selector".to_owned();
        return Err(("SelectorRequired", "InvalidSelector", message, "selector is required".to_owned()));
    }
    if surroundings.claimants.len() > 1 {
        let claimants: Vec<String> = surroundings
            .claimants
            .iter()
            .filter_map(|key| key.split_once('/'))
            .map(|(namespace, name)| format!("{{{name} {namespace}}}"))
            .collect();
        let why =
            format!("pods by selector {} are controlled by multiple HPAs: [{}]", scale.selector, claimants.join(" "));
        return Err(("AmbiguousSelector", "AmbiguousSelector", why.clone(), why));
    }
    Ok(())
}

impl Plan {
    fn say(&mut self, kind: &str, is: bool, reason: &str, message: &str, now: Timestamp) {
        set(&mut self.next, kind, if is { "True" } else { "False" }, reason, message, now);
    }

    /// The highest of what the metrics propose, and which one does; none when they cannot say.
    fn measure(
        &mut self,
        spec: &Value,
        scale: &Scale,
        surroundings: &Surroundings,
        now: Timestamp,
    ) -> Option<(i64, String)> {
        let metrics = value::list(spec, &["metrics"]);
        let tolerance = measure::Tolerance::of(&spec["behavior"]);
        let mut best: Option<(i64, String)> = None;
        let (mut failures, mut first_failure) = (0, None);
        let mut statuses = Vec::new();
        for metric in metrics {
            match measure::measure(metric, scale.replicas, surroundings, tolerance, now) {
                Ok(measured) => {
                    statuses.push(measured.status);
                    if best.as_ref().is_none_or(|(replicas, _)| *replicas == 0 || measured.replicas > *replicas) {
                        best = Some((measured.replicas, measured.name));
                    }
                }
                Err(failure) => {
                    statuses.push(json!({"type": ""}));
                    self.events.push(Event::warning(&self.original, COMPONENT, failure.reason, failure.why.as_str()));
                    failures += 1;
                    first_failure.get_or_insert(failure);
                }
            }
        }
        self.metrics = statuses.into();
        let would_shrink = best.as_ref().map_or(0, |(replicas, _)| *replicas) < scale.replicas;
        if let Some(failure) = first_failure.filter(|_| failures >= metrics.len() || would_shrink) {
            let message = format!("the HPA was unable to compute the replica count: {}", failure.why);
            self.say("ScalingActive", false, failure.reason, &message, now);
            let why = format!(
                "invalid metrics ({failures} invalid out of {}), first error is: {}",
                metrics.len(),
                failure.error()
            );
            self.events.push(Event::warning(&self.original, COMPONENT, "FailedComputeMetricsReplicas", why));
            return None;
        }
        let (replicas, name) = best?;
        let message = format!("the HPA was able to successfully calculate a replica count from {name}");
        self.say("ScalingActive", true, "ValidMetricFound", &message, now);
        Some((replicas, name))
    }

    /// What follows when the number of replicas was set, or stays as it is.
    pub fn succeeded(mut self, memory: &mut Memory, now: Timestamp) -> Vec<Action> {
        let active = value::list(&self.next, &["status", "conditions"]);
        // A number that could not be found stays what it was said to be before.
        let unknown = active.iter().any(|one| one["type"] == "ScalingActive" && one["status"] == "False")
            && self.replicas != 0
            && self.rescale.is_none();
        let kept = value::number(&self.original, &["status", "desiredReplicas"]);
        let mut desired = if unknown { kept } else { self.replicas };
        let mut actions = Vec::new();
        if let Some((replicas, reason)) = self.rescale.take() {
            let message = format!("the HPA controller was able to update the target scale to {replicas}");
            self.say("AbleToScale", true, "SucceededRescale", &message, now);
            let told = format!("New size: {replicas}; reason: {reason}");
            actions.push(Event::normal(&self.original, COMPONENT, "SuccessfulRescale", told));
            if let Some(behavior) = self.original["spec"].get("behavior") {
                memory.rescaled(behavior, self.replicas, replicas, now);
            }
            value::set(&mut self.next, &["status", "lastScaleTime"], value::seconds(now));
            desired = replicas;
        }
        actions.extend(self.finish(desired));
        actions
    }

    /// What follows when the number of replicas could not be set.
    pub fn failed(mut self, why: &str, now: Timestamp) -> Vec<Action> {
        let (replicas, reason) = self.rescale.take().unwrap_or_default();
        let told = format!("New size: {replicas}; reason: {reason}; error: {why}");
        let event = Event::warning(&self.original, COMPONENT, "FailedRescale", told);
        let message = format!("the HPA controller was unable to update the target scale: {why}");
        self.say("AbleToScale", false, "FailedUpdateScale", &message, now);
        let desired = value::number(&self.original, &["status", "desiredReplicas"]);
        [event].into_iter().chain(self.finish(desired)).collect()
    }

    fn finish(mut self, desired: i64) -> Option<Action> {
        value::set_count(&mut self.next, &["status", "currentReplicas"], self.replicas);
        value::set(&mut self.next, &["status", "desiredReplicas"], desired);
        value::set(&mut self.next, &["status", "currentMetrics"], self.metrics);
        update(&self.original, self.next)
    }
}

fn update(before: &Value, next: Value) -> Option<Action> {
    (next["status"] != before["status"]).then_some(Action::UpdateStatus(next))
}

/// Sets a condition in its place, or as the last one.
fn set(autoscaler: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
    let own = value::object_mut(autoscaler, &["status"]);
    let conditions = own.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let mut condition = json!({"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": value::seconds(now)});
    match conditions.iter_mut().find(|one| one["type"] == kind) {
        Some(found) => {
            if found["status"] == status {
                condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = condition;
        }
        None => conditions.push(condition),
    }
}
