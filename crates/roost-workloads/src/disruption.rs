//! PodDisruptionBudgets: how many pods may be taken away just now.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{Action, Event, Pod, condition, value};

/// Who the events are from.
pub const COMPONENT: &str = "controllermanager";

/// How long a pod that was let go counts as going before it is believed to stay.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);

/// The status that a budget gets. `expected` is how many pods there should be by those who make them, where the budget
/// is a share of that.
pub fn plan(budget: &Value, pods: &[Arc<Pod>], expected: i64, now: Timestamp) -> Vec<Action> {
    let spec = &budget["spec"];
    let (expected, desired) = if spec["minAvailable"].is_number() {
        (pods.len() as i64, value::number(spec, &["minAvailable"]))
    } else if spec["minAvailable"].is_string() {
        (expected, value::scaled(&spec["minAvailable"], expected, true).unwrap_or_default())
    } else if spec.get("maxUnavailable").is_some() {
        let most = value::scaled(&spec["maxUnavailable"], expected, true).unwrap_or_default();
        (expected, (expected - most).max(0))
    } else {
        (pods.len() as i64, 0)
    };
    let mut actions = Vec::new();
    let mut disrupted = json!({});
    for (name, since) in budget["status"]["disruptedPods"].as_object().into_iter().flatten() {
        let there = pods.iter().any(|pod| pod.metadata.name == *name && !pod.metadata.is_going());
        let left = since
            .as_str()
            .and_then(|since| since.parse::<Timestamp>().ok())
            .map(|since| (since + PATIENCE).duration_since(now));
        if let Some(left) = left.filter(|left| there && *left > SignedDuration::ZERO) {
            disrupted[name.as_str()] = since.clone();
            actions.push(Action::LookAgain(left));
        }
    }
    let healthy = pods
        .iter()
        .filter(|pod| !pod.metadata.is_going() && disrupted.get(&pod.metadata.name).is_none() && pod.is_ready())
        .count() as i64;
    let allowed = if expected <= 0 { 0 } else { (healthy - desired).max(0) };
    let mut next = budget.clone();
    let status = value::object_mut(&mut next, &["status"]);
    for (name, count) in [
        ("currentHealthy", healthy),
        ("desiredHealthy", desired),
        ("expectedPods", expected),
        ("disruptionsAllowed", allowed),
        ("observedGeneration", value::number(budget, &["metadata", "generation"])),
    ] {
        status.insert(name.to_owned(), count.into());
    }
    if disrupted == json!({}) {
        status.remove("disruptedPods");
    } else {
        status.insert("disruptedPods".to_owned(), disrupted);
    }
    let (state, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let current = condition::find(budget, "DisruptionAllowed");
    let same = current.is_some_and(|current| current["status"] == state && current["reason"] == reason);
    if !same {
        let since = match current.filter(|current| current["status"] == state) {
            Some(current) => current["lastTransitionTime"].clone(),
            None => value::seconds(now).into(),
        };
        let generation = budget["metadata"]["generation"].clone();
        condition::replace(
            &mut next["status"],
            json!({"type": "DisruptionAllowed", "status": state, "reason": reason, "message": "",
                "lastTransitionTime": since, "observedGeneration": generation}),
        );
    }
    if next != *budget {
        actions.push(Action::UpdateStatus(next));
        if pods.is_empty() {
            actions.push(Event::normal(budget, COMPONENT, "NoPods", "No matching pods found"));
        }
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_may_go_as_are_healthy_beyond_those_needed() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let pods: Vec<Arc<Pod>> = (0..3)
            .map(|number| {
                let ready = if number == 0 { "False" } else { "True" };
                let value = json!({"metadata": {"name": format!("p{number}")},
                    "status": {"conditions": [{"type": "Ready", "status": ready}]}});
                Arc::new(serde_json::from_value(value).expect("a pod"))
            })
            .collect();
        for (spec, desired, allowed) in [
            (json!({"minAvailable": 1}), 1, 1),
            (json!({"minAvailable": "50%"}), 2, 0),
            (json!({"maxUnavailable": 2}), 2, 0),
            (json!({"maxUnavailable": "100%"}), 0, 2),
        ] {
            let actions = plan(&json!({"spec": spec, "metadata": {"generation": 1}}), &pods, 4, now);
            let Some(Action::UpdateStatus(next)) = actions.last() else { panic!("a status") };
            assert_eq!(
                (&next["status"]["desiredHealthy"], &next["status"]["disruptionsAllowed"]),
                (&json!(desired), &json!(allowed)),
                "{spec}"
            );
            assert_eq!(plan(next, &pods, 4, now), []);
        }
    }
}
