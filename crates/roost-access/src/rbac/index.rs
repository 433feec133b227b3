//! Who has which roles where, ready for the question that every request asks.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use roost_object::field::quote;
use serde_json::Value;

use super::grant::{Grant, RoleReference, Subject, SubjectKind};
use super::rule::{Rule, RuleSet};
use crate::attributes::Attributes;
use crate::authorizer::{Authorizer, Decision, Reason};
use crate::user::User;

/// The four kinds that the index is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// Rules within a namespace.
    Role,
    /// Rules for anywhere.
    ClusterRole,
    /// Grants within a namespace.
    RoleBinding,
    /// Grants everywhere.
    ClusterRoleBinding,
}

impl ObjectKind {
    /// The kind of a resource of the RBAC group, by its plural.
    pub fn of_resource(plural: &str) -> Option<Self> {
        match plural {
            "roles" => Some(Self::Role),
            "clusterroles" => Some(Self::ClusterRole),
            "rolebindings" => Some(Self::RoleBinding),
            "clusterrolebindings" => Some(Self::ClusterRoleBinding),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Scope {
    grants: HashMap<String, Arc<Grant>>,
    by_user: HashMap<String, Vec<Arc<Grant>>>,
    by_group: HashMap<String, Vec<Arc<Grant>>>,
    roles: HashMap<String, Arc<RuleSet>>,
}

impl Scope {
    fn insert(&mut self, grant: Grant) {
        self.remove(&grant.name);
        let grant = Arc::new(grant);
        for subject in &grant.subjects {
            let place = match subject.kind {
                SubjectKind::User => self.by_user.entry(subject.name.clone()),
                SubjectKind::Group => self.by_group.entry(subject.name.clone()),
                SubjectKind::ServiceAccount => match subject.username(&grant.namespace) {
                    Some(username) => self.by_user.entry(username),
                    None => continue,
                },
                SubjectKind::Other(_) => continue,
            };
            let list = place.or_default();
            if !list.last().is_some_and(|last| Arc::ptr_eq(last, &grant)) {
                list.push(Arc::clone(&grant));
            }
        }
        self.grants.insert(grant.name.clone(), grant);
    }

    fn remove(&mut self, name: &str) {
        let Some(grant) = self.grants.remove(name) else {
            return;
        };
        for subject in &grant.subjects {
            let username = subject.username(&grant.namespace);
            let (lists, key) = match (&subject.kind, &username) {
                (SubjectKind::User, _) => (&mut self.by_user, &subject.name),
                (SubjectKind::Group, _) => (&mut self.by_group, &subject.name),
                (SubjectKind::ServiceAccount, Some(username)) => (&mut self.by_user, username),
                _ => continue,
            };
            if let Some(list) = lists.get_mut(key) {
                list.retain(|other| !Arc::ptr_eq(other, &grant));
                if list.is_empty() {
                    lists.remove(key);
                }
            }
        }
    }

    fn grants_of<'a>(&'a self, user: &'a User) -> impl Iterator<Item = &'a Arc<Grant>> {
        let by_group = user.groups.iter().filter_map(|group| self.by_group.get(group));
        self.by_user.get(&user.name).into_iter().chain(by_group).flatten()
    }

    fn is_empty(&self) -> bool {
        self.grants.is_empty() && self.roles.is_empty()
    }
}

/// Why a binding's role could not be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnresolvedRole {
    /// The role does not exist.
    #[error("{kind}.rbac.authorization.k8s.io {} not found", quote(.name))]
    NotFound {
        /// `role` or `clusterrole`.
        kind: &'static str,
        /// The role's name.
        name: String,
    },
    /// The binding names something that is no role.
    #[error("unsupported role reference kind: {}", quote(.0))]
    UnsupportedKind(String),
}

/// All that a user may do somewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolvedRules {
    /// The rules, binding by binding.
    pub rules: Vec<Rule>,
    /// Why some rules could not be found; empty when all were.
    pub errors: Vec<UnresolvedRole>,
}

/// Roles and bindings of one cluster, indexed by subject.
///
/// It can be changed in place, object by object, as a watch reports them; both that and a rebuild cost only what the
/// objects themselves are long.
#[derive(Clone, Debug, Default)]
pub struct RbacIndex {
    cluster: Scope,
    namespaces: HashMap<String, Scope>,
}

impl RbacIndex {
    /// Builds the index of all roles and bindings. Kinds are known by their place, not by the objects' own words.
    pub fn build<'a>(objects: impl IntoIterator<Item = (ObjectKind, &'a Value)>) -> Self {
        let mut index = Self::default();
        for (kind, object) in objects {
            index.apply(kind, object);
        }
        index
    }

    /// Takes in an object that was created or changed.
    pub fn apply(&mut self, kind: ObjectKind, object: &Value) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        match kind {
            ObjectKind::Role => self.insert_role(namespace, name, Arc::new(RuleSet::from_role(object))),
            ObjectKind::ClusterRole => self.insert_role("", name, Arc::new(RuleSet::from_role(object))),
            ObjectKind::RoleBinding => {
                self.scope_mut(namespace).insert(Grant::from_object(object, namespace, name));
            }
            ObjectKind::ClusterRoleBinding => self.cluster.insert(Grant::from_object(object, "", name)),
        }
    }

    /// Takes in a role whose rules are prepared already; an empty namespace means a cluster role.
    pub fn insert_role(&mut self, namespace: &str, name: &str, rules: Arc<RuleSet>) {
        self.scope_mut(namespace).roles.insert(name.to_owned(), rules);
    }

    /// Forgets an object that was deleted.
    pub fn remove(&mut self, kind: ObjectKind, namespace: &str, name: &str) {
        match kind {
            ObjectKind::ClusterRole => {
                self.cluster.roles.remove(name);
            }
            ObjectKind::ClusterRoleBinding => self.cluster.remove(name),
            ObjectKind::Role | ObjectKind::RoleBinding => {
                let Some(scope) = self.namespaces.get_mut(namespace) else {
                    return;
                };
                if kind == ObjectKind::Role {
                    scope.roles.remove(name);
                } else {
                    scope.remove(name);
                }
                if scope.is_empty() {
                    self.namespaces.remove(namespace);
                }
            }
        }
    }

    fn scope_mut(&mut self, namespace: &str) -> &mut Scope {
        if namespace.is_empty() {
            return &mut self.cluster;
        }
        if !self.namespaces.contains_key(namespace) {
            self.namespaces.insert(namespace.to_owned(), Scope::default());
        }
        self.namespaces.get_mut(namespace).expect("the scope was just made sure of")
    }

    fn scope(&self, namespace: &str) -> Option<&Scope> {
        if namespace.is_empty() { None } else { self.namespaces.get(namespace) }
    }

    /// The rules of the role that a binding in `namespace` names, or the words for its absence.
    pub fn rules_of(&self, role: &RoleReference, namespace: &str) -> Result<&Arc<RuleSet>, UnresolvedRole> {
        let (rules, kind) = match &*role.kind {
            "Role" => (self.scope(namespace).and_then(|scope| scope.roles.get(&role.name)), "role"),
            "ClusterRole" => (self.cluster.roles.get(&role.name), "clusterrole"),
            other => return Err(UnresolvedRole::UnsupportedKind(other.to_owned())),
        };
        rules.ok_or_else(|| UnresolvedRole::NotFound { kind, name: role.name.clone() })
    }

    /// All rules that a user has in a namespace, or everywhere when it is empty, each binding once.
    pub fn rules_for(&self, user: &User, namespace: &str) -> ResolvedRules {
        let mut resolved = ResolvedRules::default();
        for scope in [Some(&self.cluster), self.scope(namespace)].into_iter().flatten() {
            let grants: BTreeMap<&str, &Arc<Grant>> =
                scope.grants_of(user).map(|grant| (&*grant.name, grant)).collect();
            for grant in grants.values() {
                match self.rules_of(&grant.role, &grant.namespace) {
                    Ok(rules) => resolved.rules.extend(rules.rules().iter().cloned()),
                    Err(error) => resolved.errors.push(error),
                }
            }
        }
        resolved
    }
}

impl Authorizer for RbacIndex {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let mut errors = Vec::new();
        for scope in [Some(&self.cluster), self.scope(attributes.namespace())].into_iter().flatten() {
            for grant in scope.grants_of(attributes.user) {
                match self.rules_of(&grant.role, &grant.namespace) {
                    Ok(rules) if rules.allows(attributes) => {
                        let applies = |subject: &Subject| subject.applies_to(attributes.user, &grant.namespace);
                        let subject = grant.subjects.iter().position(applies).unwrap_or_default();
                        return Decision::Allow(Reason::grant(Arc::clone(grant), subject));
                    }
                    Ok(_) => {}
                    Err(error) => errors.push(error),
                }
            }
        }
        Decision::NoOpinion(match join_errors(&errors) {
            Some(words) => format!("RBAC: {words}").into(),
            None => Reason::NONE,
        })
    }
}

/// Joins error texts as Go joins an aggregate: one alone stands bare, several in brackets.
pub(crate) fn join_errors<E: fmt::Display>(errors: &[E]) -> Option<String> {
    let mut words: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors.iter().map(E::to_string) {
        if !words.contains(&error) {
            words.push(error);
        }
    }
    match words.len() {
        0 => None,
        1 => words.pop(),
        _ => Some(format!("[{}]", words.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attributes::ResourceAttributes;

    fn objects() -> Vec<(ObjectKind, Value)> {
        let rule = |resource: &str| json!([{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]);
        vec![
            (ObjectKind::ClusterRole, json!({"metadata": {"name": "view"}, "rules": rule("pods")})),
            (ObjectKind::Role, json!({"metadata": {"name": "local", "namespace": "a"}, "rules": rule("secrets")})),
            (
                ObjectKind::ClusterRoleBinding,
                json!({"metadata": {"name": "all"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                    "subjects": [{"kind": "User", "name": "z"}, {"kind": "Group", "name": "dev"}]}),
            ),
            (
                ObjectKind::ClusterRoleBinding,
                json!({"metadata": {"name": "lost"}, "roleRef": {"kind": "ClusterRole", "name": "gone"},
                    "subjects": [{"kind": "Group", "name": "dev"}]}),
            ),
            (
                ObjectKind::RoleBinding,
                json!({"metadata": {"name": "some", "namespace": "a"}, "roleRef": {"kind": "Role", "name": "local"},
                    "subjects": [{"kind": "ServiceAccount", "name": "bot"}, {"kind": "User", "name": "z"}]}),
            ),
            (
                ObjectKind::RoleBinding,
                json!({"metadata": {"name": "other", "namespace": "b"},
                    "roleRef": {"kind": "ClusterRole", "name": "view"},
                    "subjects": [{"kind": "ServiceAccount", "name": "bot", "namespace": "a"}]}),
            ),
        ]
    }

    fn index() -> RbacIndex {
        RbacIndex::build(objects().iter().map(|(kind, object)| (*kind, object)))
    }

    fn decide(index: &RbacIndex, user: &User, resource: &str, namespace: &str) -> (bool, String) {
        let resource = ResourceAttributes { resource, namespace, name: "x", version: "v1", ..Default::default() };
        let decision = index.authorize(&Attributes::resource(user, "get", resource));
        (decision.is_allowed(), decision.reason().to_string())
    }

    #[test]
    fn grants_are_found_by_user_group_and_service_account() {
        let index = index();
        let z = User::new("z", ["x"]);
        let dev = User::new("y", ["x", "dev"]);
        let bot = User::new("system:serviceaccount:a:bot", ["system:serviceaccounts"]);
        let cases = [
            (&z, "pods", "", true, r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "view" to User "z""#),
            (
                &dev,
                "pods",
                "b",
                true,
                r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "view" to Group "dev""#,
            ),
            (&dev, "secrets", "a", false, r#"RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#),
            (&z, "secrets", "a", true, r#"RBAC: allowed by RoleBinding "some/a" of Role "local" to User "z""#),
            (&z, "secrets", "b", false, ""),
            (
                &bot,
                "secrets",
                "a",
                true,
                r#"RBAC: allowed by RoleBinding "some/a" of Role "local" to ServiceAccount "bot/a""#,
            ),
            (
                &bot,
                "pods",
                "b",
                true,
                r#"RBAC: allowed by RoleBinding "other/b" of ClusterRole "view" to ServiceAccount "bot/a""#,
            ),
            (&bot, "pods", "", false, ""),
        ];
        for (user, resource, namespace, allowed, reason) in cases {
            assert_eq!(decide(&index, user, resource, namespace), (allowed, reason.to_owned()));
        }
    }

    #[test]
    fn changes_are_taken_in_place() {
        let mut index = index();
        let z = User::new("z", ["x"]);
        index.remove(ObjectKind::ClusterRoleBinding, "", "all");
        assert!(!decide(&index, &z, "pods", "").0);
        index.apply(
            ObjectKind::RoleBinding,
            &json!({"metadata": {"name": "some", "namespace": "a"}, "roleRef": {"kind": "Role", "name": "local"},
                "subjects": [{"kind": "User", "name": "w"}]}),
        );
        assert!(!decide(&index, &z, "secrets", "a").0);
        assert!(decide(&index, &User::new("w", ["x"]), "secrets", "a").0);
        index.remove(ObjectKind::Role, "a", "local");
        assert_eq!(
            decide(&index, &User::new("w", ["x"]), "secrets", "a").1,
            r#"RBAC: role.rbac.authorization.k8s.io "local" not found"#
        );
        for (kind, object) in objects() {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            index.remove(kind, text("namespace"), text("name"));
        }
        assert!(index.namespaces.is_empty() && index.cluster.is_empty());
        assert!(index.cluster.by_user.is_empty() && index.cluster.by_group.is_empty());
    }

    #[test]
    fn rules_come_once_a_binding_with_what_is_missing() {
        let resolved = index().rules_for(&User::new("z", ["dev"]), "a");
        assert_eq!(resolved.rules.len(), 2);
        assert_eq!(resolved.errors, [UnresolvedRole::NotFound { kind: "clusterrole", name: "gone".into() }]);
        let strange = RoleReference { kind: "Thing".into(), name: "x".into() };
        let refused = index().rules_of(&strange, "").unwrap_err();
        assert_eq!(refused.to_string(), r#"unsupported role reference kind: "Thing""#);
    }
}
