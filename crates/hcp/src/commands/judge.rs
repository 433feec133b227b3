//! How far a cluster is, from what its objects say. Pure.

use serde_json::Value;

use crate::conditions::{Condition, condition};
use crate::progress::{State, Step};

use super::wait::{Judgement, Verdict};

/// The parts that come up one after another, by condition.
const PARTS: &[(&str, &str)] = &[
    ("InfrastructureReady", "endpoints"),
    ("EtcdAvailable", "etcd"),
    ("KubeAPIServerAvailable", "API server"),
    ("Available", "control plane"),
];
/// Conditions that name a mistake in the objects: no waiting heals them.
const MISTAKES: &[&str] = &["ValidConfiguration", "ValidReleaseImage", "SupportedHostedCluster"];

/// Whether the API of a new cluster can be used.
pub(crate) fn usable(cluster: Option<&Value>) -> Judgement {
    let Some(cluster) = cluster else { return Judgement { steps: Vec::new(), verdict: Verdict::Gone } };
    let paused = condition(cluster, "ReconciliationActive").filter(Condition::is_false);
    let mut steps: Vec<Step> = paused.iter().map(|found| Step::new("operator", State::Waiting, said(found))).collect();
    steps.extend(PARTS.iter().map(|(kind, name)| part(cluster, kind, name)));
    let kubeconfig = cluster["status"]["kubeconfig"]["name"].as_str().filter(|name| !name.is_empty());
    let state = if kubeconfig.is_some() { State::Done } else { State::Waiting };
    steps.push(Step::new("kubeconfig", state, ""));
    let available = condition(cluster, "Available").is_some_and(|condition| condition.is_true());
    let verdict = match mistake(cluster) {
        Some(cause) => {
            steps.insert(0, Step::new("configuration", State::Failed, cause.clone()));
            Verdict::Blocked(cause)
        }
        None if available && kubeconfig.is_some() => Verdict::Done,
        None => Verdict::Waiting,
    };
    Judgement { steps, verdict }
}

/// Whether the version that is asked for is rolled out.
pub(crate) fn rolled_out(cluster: Option<&Value>, image: &str) -> Judgement {
    let Judgement { mut steps, verdict } = usable(cluster);
    let Some(cluster) = cluster else { return Judgement { steps, verdict } };
    let newest = &cluster["status"]["version"]["history"][0];
    let completed = newest["state"] == "Completed" && (image.is_empty() || newest["image"] == image);
    let detail = condition(cluster, "ClusterVersionProgressing").map(|found| found.message).unwrap_or_default();
    let state = if completed { State::Done } else { State::Waiting };
    steps.push(Step::new("rollout", state, if completed { "" } else { detail }));
    let verdict = match verdict {
        Verdict::Done if !completed => Verdict::Waiting,
        verdict => verdict,
    };
    Judgement { steps, verdict }
}

/// Whether the control plane runs a release; nodes may still follow.
pub(crate) fn control_plane_rolled_out(cluster: Option<&Value>, image: &str) -> Judgement {
    let Judgement { mut steps, verdict } = usable(cluster);
    let Some(cluster) = cluster else { return Judgement { steps, verdict } };
    let newest = &cluster["status"]["controlPlaneVersion"]["history"][0];
    let completed = newest["state"] == "Completed" && newest["image"] == image;
    let detail = condition(cluster, "Progressing").map(|found| found.message).unwrap_or_default();
    let state = if completed { State::Done } else { State::Waiting };
    steps.push(Step::new("control plane at the release", state, if completed { "" } else { detail }));
    let verdict = match verdict {
        Verdict::Done if !completed => Verdict::Waiting,
        verdict => verdict,
    };
    Judgement { steps, verdict }
}

/// Whether something that is being removed is gone.
pub(crate) fn gone(object: Option<&Value>, name: &str) -> Judgement {
    let Some(object) = object else {
        return Judgement { steps: vec![Step::new(name, State::Done, "gone")], verdict: Verdict::Done };
    };
    let steps = vec![Step::new(name, State::Waiting, removal_waits_for(object))];
    Judgement { steps, verdict: Verdict::Waiting }
}

/// What keeps an object that is being removed: a condition that says so, else the finalizers.
pub(crate) fn removal_waits_for(object: &Value) -> String {
    for kind in ["HostedClusterDestroyed", "CloudResourcesDestroyed", "Deleting", "ReconciliationSucceeded"] {
        if let Some(found) = condition(object, kind)
            && !found.message.is_empty()
            && !(found.is_true() && kind != "Deleting" && kind != "HostedClusterDestroyed")
        {
            return found.message.to_owned();
        }
    }
    let finalizers: Vec<&str> =
        object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if finalizers.is_empty() { String::new() } else { format!("held by {}", finalizers.join(", ")) }
}

/// Whether a condition has the status that is waited for.
pub(crate) fn has_status(cluster: Option<&Value>, kind: &str, name: &str, wanted: bool) -> Judgement {
    let Some(cluster) = cluster else { return Judgement { steps: Vec::new(), verdict: Verdict::Gone } };
    let found = condition(cluster, kind);
    let reached = match &found {
        Some(found) if wanted => found.is_true(),
        Some(found) => found.is_false(),
        // A condition that was taken away says no more.
        None => !wanted,
    };
    let (state, verdict) = if reached { (State::Done, Verdict::Done) } else { (State::Waiting, Verdict::Waiting) };
    let detail = found.map(|found| found.message.to_owned()).unwrap_or_default();
    Judgement { steps: vec![Step::new(name, state, detail)], verdict }
}

fn part(cluster: &Value, kind: &str, name: &str) -> Step {
    match condition(cluster, kind) {
        Some(found) if found.is_true() => Step::new(name, State::Done, ""),
        Some(found) => Step::new(name, State::Waiting, said(&found)),
        None => Step::new(name, State::Waiting, ""),
    }
}

fn said(condition: &Condition<'_>) -> String {
    if condition.message.is_empty() { condition.reason.to_owned() } else { condition.message.to_owned() }
}

/// What is wrong with the objects, as far as the operator has looked at their present form.
fn mistake(cluster: &Value) -> Option<String> {
    let generation = cluster["metadata"]["generation"].as_i64().unwrap_or(0);
    let current = |kind: &str| {
        cluster["status"]["conditions"].as_array().into_iter().flatten().any(|condition| {
            condition["type"] == kind && condition["observedGeneration"].as_i64().is_none_or(|seen| seen >= generation)
        })
    };
    MISTAKES.iter().find_map(|kind| {
        let found = condition(cluster, kind).filter(Condition::is_false)?;
        // A Secret that is missing may still be made by somebody else.
        (current(kind) && found.reason != "SecretNotFound").then(|| said(&found))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Verdict, gone, has_status, rolled_out, usable};

    fn cluster(conditions: &Value, status: &Value) -> Value {
        let mut status = status.clone();
        status["conditions"] = conditions.clone();
        json!({"metadata": {"generation": 1}, "status": status})
    }

    #[test]
    fn a_cluster_is_usable_with_an_available_api_and_a_kubeconfig() {
        let available = json!([{"type": "Available", "status": "True"}]);
        let both = cluster(&available, &json!({"kubeconfig": {"name": "demo-admin-kubeconfig"}}));
        assert!(matches!(usable(Some(&both)).verdict, Verdict::Done));
        assert!(matches!(usable(Some(&cluster(&available, &json!({})))).verdict, Verdict::Waiting));
        assert!(matches!(usable(Some(&json!({}))).verdict, Verdict::Waiting));
        assert!(matches!(usable(None).verdict, Verdict::Gone));
        assert!(matches!(rolled_out(Some(&both), "").verdict, Verdict::Waiting));
        let mut complete = both;
        complete["status"]["version"] = json!({"history": [{"state": "Completed", "image": "a"}]});
        assert!(matches!(rolled_out(Some(&complete), "a").verdict, Verdict::Done));
        assert!(matches!(rolled_out(Some(&complete), "b").verdict, Verdict::Waiting));
    }

    #[test]
    fn mistakes_end_the_wait_with_their_message() {
        let wrong = json!([{"type": "ValidReleaseImage", "status": "False", "reason": "InvalidImage",
                            "message": "no such release", "observedGeneration": 1}]);
        let Verdict::Blocked(cause) = usable(Some(&cluster(&wrong, &json!({})))).verdict else { panic!() };
        assert_eq!(cause, "no such release");
        let mut stale = wrong;
        stale[0]["observedGeneration"] = json!(0);
        assert!(matches!(usable(Some(&cluster(&stale, &json!({})))).verdict, Verdict::Waiting));
    }

    #[test]
    fn what_goes_says_what_it_waits_for() {
        let object = json!({"metadata": {"finalizers": ["a/b"]}});
        assert_eq!(gone(Some(&object), "demo").steps[0].detail, "held by a/b");
        assert!(matches!(gone(None, "demo").verdict, Verdict::Done));
    }

    #[test]
    fn a_missing_condition_is_only_no() {
        assert!(matches!(has_status(Some(&json!({})), "Hibernating", "x", true).verdict, Verdict::Waiting));
        assert!(matches!(has_status(Some(&json!({})), "Hibernating", "x", false).verdict, Verdict::Done));
    }
}
