//! Which InfraEnv an Agent belongs to: the one whose image its host was started from. Pure.

use roost_api::agent_install::names::{finalizer, label};
use serde_json::{Value, json};

use super::{Place, REPORT, Report};
use crate::object::{Kind, with_finalizer};

/// The Agent of a host that is seen for the first time.
pub(super) fn new_agent(place: &Place, environment: &Value, report: &Report) -> Value {
    let mut agent_labels = environment["spec"]["agentLabels"].as_object().cloned().unwrap_or_default();
    agent_labels.insert(label::INFRA_ENV.to_owned(), environment["metadata"]["name"].clone());
    agent_labels.insert(label::CLUSTER_NAMESPACE.to_owned(), json!(""));
    json!({
        "apiVersion": Kind::Agent.api_version(), "kind": Kind::Agent.name(),
        "metadata": {
            "namespace": place.0, "name": place.1,
            "labels": agent_labels,
            "annotations": {(REPORT): report.to_text()},
            "finalizers": [finalizer::AGENT],
            "ownerReferences": [owner(environment)],
        },
        "spec": {"approved": is_approved_by(environment), "role": "auto-assign"},
    })
}

fn owner(environment: &Value) -> Value {
    json!({
        "apiVersion": Kind::InfraEnv.api_version(), "kind": Kind::InfraEnv.name(),
        "name": environment["metadata"]["name"], "uid": environment["metadata"]["uid"],
    })
}

fn is_approved_by(environment: &Value) -> bool {
    environment["spec"]["agentApproval"]["autoApprove"] == true
}

/// Whether an Agent belongs to another environment than that with this id.
pub(super) fn is_of_another(agent: &Value, infra_env: &str) -> bool {
    let owners = agent["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut owners = owners.iter().filter(|owner| owner["kind"] == Kind::InfraEnv.name()).peekable();
    owners.peek().is_some() && owners.all(|owner| owner["uid"] != infra_env)
}

/// Whether an Agent is in a cluster by another environment: nobody takes its place with a token of this one.
pub(super) fn is_used_elsewhere(agent: &Value, environment: &Value) -> bool {
    let is_bound = agent["spec"]["clusterDeploymentName"]["name"].is_string();
    is_bound && is_of_another(agent, environment["metadata"]["uid"].as_str().unwrap_or_default())
}

/// What changes in an Agent whose host registers again, perhaps from the image of another environment.
pub(super) fn change(agent: &Value, environment: &Value, report: &Report) -> Value {
    let mut change = json!({"metadata": {
        "annotations": {(REPORT): report.to_text()},
        "resourceVersion": agent["metadata"]["resourceVersion"],
    }});
    let is_another = is_of_another(agent, environment["metadata"]["uid"].as_str().unwrap_or_default());
    if is_another || agent["metadata"]["labels"][label::INFRA_ENV] != environment["metadata"]["name"] {
        change["metadata"]["labels"] = json!({(label::INFRA_ENV): environment["metadata"]["name"]});
        change["metadata"]["ownerReferences"] = json!([owner(environment)]);
    }
    if is_another {
        // It was let in by the image of another; nobody has said that who has this one is the same.
        change["spec"] = json!({"approved": is_approved_by(environment)});
    }
    if let Some(finalizers) = with_finalizer(agent, finalizer::AGENT) {
        change["metadata"]["finalizers"] = finalizers;
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Value {
        json!({"metadata": {"name": name, "uid": format!("uid-of-{name}")}, "spec": {}})
    }

    #[test]
    fn a_host_with_another_image_is_approved_again() {
        let (one, mut other) = (environment("one"), environment("other"));
        let report = Report::registered("");
        let mut agent = new_agent(&("space".to_owned(), "host".to_owned()), &one, &report);
        agent["spec"]["approved"] = json!(true);
        assert!(!is_of_another(&agent, "uid-of-one") && is_of_another(&agent, "uid-of-other"));
        assert_eq!(change(&agent, &one, &report)["spec"], Value::Null, "it is started from its own image again");
        let moved = change(&agent, &other, &report);
        assert_eq!(moved["spec"]["approved"], false);
        assert_eq!(moved["metadata"]["ownerReferences"][0]["uid"], "uid-of-other");
        assert_eq!(moved["metadata"]["labels"][label::INFRA_ENV], "other");
        other["spec"]["agentApproval"]["autoApprove"] = json!(true);
        assert_eq!(change(&agent, &other, &report)["spec"]["approved"], true);
    }

    #[test]
    fn nobody_takes_the_place_of_a_node_with_another_image() {
        let (one, other) = (environment("one"), environment("other"));
        let mut agent = new_agent(&("space".to_owned(), "host".to_owned()), &one, &Report::registered(""));
        assert!(!is_used_elsewhere(&agent, &other));
        agent["spec"]["clusterDeploymentName"] = json!({"name": "c", "namespace": "n"});
        assert!(is_used_elsewhere(&agent, &other) && !is_used_elsewhere(&agent, &one));
        // Who was put back from a copy has no owner, and is known by its name alone.
        agent["metadata"]["ownerReferences"] = json!([]);
        assert!(!is_of_another(&agent, "uid-of-other"));
    }
}
