//! `SelfSubjectRulesReview` and `SelfSubjectReview`: what the caller may do, and who the caller is.

use jiff::Timestamp;
use roost_object::Status;
use serde_json::{Map, Value, json};

use crate::rbac::{RbacIndex, Rule, join_errors};
use crate::user::User;

/// The `status` of a `SelfSubjectRulesReview`.
pub fn rules_review(index: &RbacIndex, user: &User, object: &Value) -> Result<Value, Status> {
    let namespace = object["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let resolved = index.rules_for(user, namespace);
    let is_node = user.node_name().is_some();
    let mut errors: Vec<String> = Vec::new();
    if is_node {
        errors.push("node authorizer does not support user rule resolution".to_owned());
    }
    errors.extend(resolved.errors.iter().map(ToString::to_string));
    let mut status = Map::new();
    let resources = resolved.rules.iter().filter(|rule| !rule.resources.is_empty());
    status.insert("resourceRules".into(), resources.map(resource_rule).collect());
    let paths = resolved.rules.iter().filter(|rule| !rule.non_resource_urls.is_empty());
    let path_rule = |rule: &Rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls});
    status.insert("nonResourceRules".into(), paths.map(path_rule).collect());
    status.insert("incomplete".into(), json!(is_node));
    if let Some(words) = join_errors(&errors) {
        status.insert("evaluationError".into(), json!(words));
    }
    Ok(Value::Object(status))
}

fn resource_rule(rule: &Rule) -> Value {
    Rule { non_resource_urls: Vec::new(), ..rule.clone() }.to_object()
}

/// The whole answer to a `SelfSubjectReview`; nothing of the question goes into it.
pub fn self_review(user: &User, api_version: &str, now: Timestamp) -> Value {
    let created = Timestamp::from_second(now.as_second()).unwrap_or(now);
    json!({
        "kind": "SelfSubjectReview",
        "apiVersion": api_version,
        "metadata": {"creationTimestamp": created.to_string()},
        "status": {"userInfo": user.to_object()},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rbac::ObjectKind;
    use crate::user::NODES;

    #[test]
    fn rules_are_split_into_resources_and_paths() {
        let role = json!({"metadata": {"name": "r"}, "rules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            {"verbs": ["get"], "nonResourceURLs": ["/x"]}]});
        let bind = |name: &str, role: &str| {
            json!({"metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "Group", "name": "us"}, {"kind": "Group", "name": NODES}]})
        };
        let (good, lost) = (bind("a", "r"), bind("b", "gone"));
        let index = RbacIndex::build([
            (ObjectKind::ClusterRole, &role),
            (ObjectKind::ClusterRoleBinding, &good),
            (ObjectKind::ClusterRoleBinding, &lost),
        ]);
        let ask = |user: &User| rules_review(&index, user, &json!({"spec": {"namespace": "ns"}})).unwrap();
        assert_eq!(
            ask(&User::new("me", ["us"])),
            json!({"resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}],
                "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}], "incomplete": false,
                "evaluationError": "clusterrole.rbac.authorization.k8s.io \"gone\" not found"})
        );
        let node = ask(&User::new("system:node:n", [NODES]));
        assert_eq!(node["incomplete"], true);
        assert_eq!(
            node["evaluationError"],
            "[node authorizer does not support user rule resolution, clusterrole.rbac.authorization.k8s.io \"gone\" not \
             found]"
        );
        let nobody = User::new("x", [""; 0]);
        assert_eq!(ask(&nobody), json!({"resourceRules": [], "nonResourceRules": [], "incomplete": false}));
        let refused = rules_review(&index, &nobody, &json!({})).unwrap_err();
        assert_eq!(refused.message, "no namespace on request");
    }

    #[test]
    fn callers_learn_who_they_are() {
        let now = "2026-11-01T12:00:00.7Z".parse().unwrap();
        assert_eq!(
            self_review(&User::new("me", ["us"]), "authentication.k8s.io/v1", now),
            json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
                "metadata": {"creationTimestamp": "2026-11-01T12:00:00Z"},
                "status": {"userInfo": {"username": "me", "groups": ["us"]}}})
        );
    }
}
