//! Nobody may grant what they do not have: the checks before roles and bindings are written.

use roost_object::field::quote;
use roost_object::{GroupResource, Status};
use serde_json::Value;

use super::GROUP;
use super::cover::{compact, covers};
use super::grant::RoleReference;
use super::index::{ObjectKind, RbacIndex, UnresolvedRole, join_errors};
use super::rule::{Rule, quote_list};
use crate::attributes::{Attributes, ResourceAttributes};
use crate::authorizer::Authorizer;
use crate::user::{MASTERS, User};

/// Who wants to write a role or binding, and where.
#[derive(Clone, Copy)]
pub struct EscalationRequest<'a> {
    /// The whole chain of authorizers, asked about the verbs `escalate` and `bind`.
    pub authorizer: &'a dyn Authorizer,
    /// The roles and bindings as they are.
    pub index: &'a RbacIndex,
    /// Who writes.
    pub user: &'a User,
    /// The request's namespace; empty for cluster roles and their bindings.
    pub namespace: &'a str,
    /// The name in the URL; empty on create.
    pub name: &'a str,
}

/// Says which of `rules` the user does not have in `namespace`, in the words of the refusal. `resource` is what is
/// written, as its plural: the stock server names it where a role is missing.
pub fn confirm_no_escalation(
    index: &RbacIndex,
    user: &User,
    namespace: &str,
    rules: &[Rule],
    resource: &str,
) -> Result<(), String> {
    let owned = index.rules_for(user, namespace);
    let missing = covers(&owned.rules, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let mut descriptions: Vec<String> = compact(missing).iter().map(Rule::to_string).collect();
    descriptions.sort();
    descriptions.dedup();
    let mut words = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(&user.name),
        quote_list(&user.groups),
        descriptions.join("\n")
    );
    let errors: Vec<String> = owned.errors.iter().map(|error| unresolved(error, resource).message).collect();
    if let Some(errors) = join_errors(&errors) {
        words.push_str("; resolution errors: [");
        words.push_str(&errors);
        words.push(']');
    }
    Err(words)
}

fn unresolved(error: &UnresolvedRole, resource: &str) -> Status {
    match error {
        UnresolvedRole::NotFound { name, .. } if name.is_empty() => Status::bad_request("Name parameter required."),
        UnresolvedRole::NotFound { name, .. } => Status::not_found(&GroupResource::new(GROUP, resource), name),
        UnresolvedRole::UnsupportedKind(_) => Status::failure(500, "", error.to_string()),
    }
}

/// Checks a create or update of a role or cluster role.
pub fn check_role(
    request: &EscalationRequest<'_>,
    kind: ObjectKind,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let resource = if kind == ObjectKind::ClusterRole { "clusterroles" } else { "roles" };
    if request.user.is_in(MASTERS) || may(request, "escalate", resource, request.name) {
        return Ok(());
    }
    if old.is_some_and(|old| only_changes_garbage_collection_fields(new, old)) {
        return Ok(());
    }
    let refuse = |words: &str| refusal(resource, new, words);
    confirm_no_escalation(request.index, request.user, request.namespace, &Rule::all_of(new), resource)
        .map_err(|words| refuse(&words))?;
    let aggregates = |role: &Value| {
        role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|selectors| !selectors.is_empty())
    };
    if kind == ObjectKind::ClusterRole && (aggregates(new) || old.is_some_and(aggregates)) {
        confirm_no_escalation(request.index, request.user, request.namespace, &full_authority(), resource)
            .map_err(|_| refuse("must have cluster-admin privileges to use the aggregationRule"))?;
    }
    Ok(())
}

/// Checks a create or update of a role binding or cluster role binding.
pub fn check_binding(
    request: &EscalationRequest<'_>,
    kind: ObjectKind,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if request.user.is_in(MASTERS) || old.is_some_and(|old| only_changes_garbage_collection_fields(new, old)) {
        return Ok(());
    }
    let role = RoleReference::from_object(new.get("roleRef"));
    let target = match &*role.kind {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    if target.is_some_and(|target| may(request, "bind", target, &role.name)) {
        return Ok(());
    }
    let resource = if kind == ObjectKind::ClusterRoleBinding { "clusterrolebindings" } else { "rolebindings" };
    let rules = request.index.rules_of(&role, request.namespace).map_err(|error| unresolved(&error, resource))?;
    confirm_no_escalation(request.index, request.user, request.namespace, rules.rules(), resource)
        .map_err(|words| refusal(resource, new, &words))
}

fn may(request: &EscalationRequest<'_>, verb: &str, resource: &str, name: &str) -> bool {
    let resource = ResourceAttributes {
        group: GROUP,
        version: "*",
        resource,
        subresource: "",
        namespace: request.namespace,
        name,
    };
    request.authorizer.authorize(&Attributes::resource(request.user, verb, resource)).is_allowed()
}

fn refusal(resource: &str, object: &Value, words: &str) -> Status {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Status::forbidden(&GroupResource::new(GROUP, resource), name, words)
}

fn full_authority() -> [Rule; 2] {
    let any = || vec!["*".to_owned()];
    [
        Rule { verbs: any(), api_groups: any(), resources: any(), ..Rule::default() },
        Rule { verbs: any(), non_resource_urls: any(), ..Rule::default() },
    ]
}

/// Whether an update touches nothing but owner references, finalizers and managed fields, so that garbage collection
/// needs no permissions of the role it cleans up.
pub fn only_changes_garbage_collection_fields(new: &Value, old: &Value) -> bool {
    let strip = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(field);
            }
        }
        object
    };
    strip(new) == strip(old)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn index() -> RbacIndex {
        let role = |name: &str, rules: Value| json!({"metadata": {"name": name}, "rules": rules});
        let reader = role(
            "reader",
            json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["create", "update"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}]),
        );
        let writer = role("writer", json!([{"verbs": ["get", "delete"], "apiGroups": [""], "resources": ["pods"]}]));
        let binder = role(
            "binder",
            json!([{"verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterroles"], "resourceNames": ["writer"]}]),
        );
        let bind = |name: &str, role: &str, user: &str| {
            json!({"metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "name": user}]})
        };
        let (one, two) = (bind("one", "reader", "u"), bind("two", "binder", "v"));
        let lost = bind("lost", "gone", "w");
        RbacIndex::build([
            (ObjectKind::ClusterRole, &reader),
            (ObjectKind::ClusterRole, &writer),
            (ObjectKind::ClusterRole, &binder),
            (ObjectKind::ClusterRoleBinding, &one),
            (ObjectKind::ClusterRoleBinding, &two),
            (ObjectKind::ClusterRoleBinding, &lost),
        ])
    }

    fn request<'a>(index: &'a RbacIndex, user: &'a User) -> EscalationRequest<'a> {
        EscalationRequest { authorizer: index, index, user, namespace: "", name: "" }
    }

    #[test]
    fn what_is_not_held_cannot_be_granted() {
        let index = index();
        let user = User::new("u", ["a", "b"]);
        let request = request(&index, &user);
        let new = json!({"metadata": {"name": "n"}, "rules": [
            {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}]});
        let refused = check_role(&request, ObjectKind::ClusterRole, &new, None).unwrap_err();
        assert_eq!(
            refused.message,
            "clusterroles.rbac.authorization.k8s.io \"n\" is forbidden: user \"u\" (groups=[\"a\" \"b\"]) is attempting \
             to grant RBAC permissions not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}"
        );
        let held = json!({"metadata": {"name": "n"}, "rules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"]}]});
        assert_eq!(check_role(&request, ObjectKind::ClusterRole, &held, None), Ok(()));
        let mut aggregated = held.clone();
        aggregated["aggregationRule"] = json!({"clusterRoleSelectors": [{}]});
        assert_eq!(
            check_role(&request, ObjectKind::ClusterRole, &aggregated, None).unwrap_err().message,
            "clusterroles.rbac.authorization.k8s.io \"n\" is forbidden: must have cluster-admin privileges to use the \
             aggregationRule"
        );
        let mut finalized = new.clone();
        finalized["metadata"]["finalizers"] = json!(["x"]);
        assert_eq!(check_role(&request, ObjectKind::ClusterRole, &finalized, Some(&new)), Ok(()));
        let master = User::new("m", [MASTERS]);
        assert_eq!(check_role(&EscalationRequest { user: &master, ..request }, ObjectKind::Role, &new, None), Ok(()));
    }

    #[test]
    fn binding_needs_the_rules_or_the_verb() {
        let index = index();
        let binding = |role: &str| json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": role}});
        let check = |user: &User, role: &str| {
            let answer = check_binding(&request(&index, user), ObjectKind::ClusterRoleBinding, &binding(role), None);
            answer.map_err(|status| status.message)
        };
        assert_eq!(check(&User::new("u", ["a"]), "reader"), Ok(()));
        assert_eq!(check(&User::new("v", ["a"]), "writer"), Ok(()));
        assert!(check(&User::new("u", ["a"]), "writer").unwrap_err().contains("Verbs:[\"delete\"]"));
        assert!(check(&User::new("w", ["a"]), "writer").unwrap_err().ends_with(
            "Verbs:[\"get\" \"delete\"]}; resolution errors: [clusterrolebindings.rbac.authorization.k8s.io \"gone\" not \
             found]"
        ));
        assert_eq!(
            check(&User::new("u", ["a"]), "gone").unwrap_err(),
            "clusterrolebindings.rbac.authorization.k8s.io \"gone\" not found"
        );
    }
}
