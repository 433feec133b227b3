//! Bindings: which subjects have which role, and where.

use std::fmt;

use roost_object::field::quote;
use serde_json::Value;

use crate::user::{User, service_account_name};

/// What kind of subject a binding names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SubjectKind {
    /// A user by name.
    User,
    /// A group by name.
    Group,
    /// A service account by namespace and name.
    ServiceAccount,
    /// Something that no request comes from.
    Other(String),
}

impl fmt::Display for SubjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "User",
            Self::Group => "Group",
            Self::ServiceAccount => "ServiceAccount",
            Self::Other(kind) => kind,
        })
    }
}

/// One subject of a binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// What kind of subject.
    pub kind: SubjectKind,
    /// The subject's name.
    pub name: String,
    /// A service account's namespace; empty for the binding's own.
    pub namespace: String,
}

impl Subject {
    pub(super) fn applies_to(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind {
            SubjectKind::User => user.name == self.name,
            SubjectKind::Group => user.is_in(&self.name),
            SubjectKind::ServiceAccount => self.username(binding_namespace).is_some_and(|name| name == user.name),
            SubjectKind::Other(_) => false,
        }
    }

    pub(super) fn username(&self, binding_namespace: &str) -> Option<String> {
        let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
        (!namespace.is_empty()).then(|| service_account_name(namespace, &self.name))
    }
}

/// The role that a binding grants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoleReference {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// The role's name.
    pub name: String,
}

impl RoleReference {
    /// Reads a `roleRef` object.
    pub fn from_object(object: Option<&Value>) -> Self {
        let text = |name: &str| object.and_then(|object| object.get(name)).and_then(Value::as_str);
        Self { kind: text("kind").unwrap_or_default().to_owned(), name: text("name").unwrap_or_default().to_owned() }
    }
}

/// A binding: which subjects have which role, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The binding's name.
    pub name: String,
    /// The binding's namespace; empty for a cluster role binding.
    pub namespace: String,
    /// The role.
    pub role: RoleReference,
    /// Who has it.
    pub subjects: Vec<Subject>,
}

impl Grant {
    pub(super) fn from_object(object: &Value, namespace: &str, name: &str) -> Self {
        let subjects = object.get("subjects").and_then(Value::as_array);
        let subject = |object: &Value| {
            let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
            Subject {
                kind: match text("kind") {
                    "User" => SubjectKind::User,
                    "Group" => SubjectKind::Group,
                    "ServiceAccount" => SubjectKind::ServiceAccount,
                    other => SubjectKind::Other(other.to_owned()),
                },
                name: text("name").to_owned(),
                namespace: text("namespace").to_owned(),
            }
        };
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            role: RoleReference::from_object(object.get("roleRef")),
            subjects: subjects.into_iter().flatten().map(subject).collect(),
        }
    }

    pub(crate) fn describe(&self, subject: usize) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", quote(&self.name))
        } else {
            ("RoleBinding", quote(&format!("{}/{}", self.name, self.namespace)))
        };
        let to = self.subjects.get(subject).map_or_else(String::new, |subject| {
            let name = match subject.kind {
                SubjectKind::ServiceAccount if subject.namespace.is_empty() => {
                    format!("{}/{}", subject.name, self.namespace)
                }
                SubjectKind::ServiceAccount => format!("{}/{}", subject.name, subject.namespace),
                _ => subject.name.clone(),
            };
            format!("{} {}", subject.kind, quote(&name))
        });
        format!("{kind} {name} of {} {} to {to}", self.role.kind, quote(&self.role.name))
    }
}
