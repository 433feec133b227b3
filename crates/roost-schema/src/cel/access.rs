//! Questions about access that an expression asks, and the functions that ask them.

use std::sync::Arc;

use super::libraries::{Builtin, Invocation};
use super::value::{EvalError, Outcome, Value};

/// What is asked about, step by step: `authorizer.group('').resource('pods').namespace('x')`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessCheck {
    /// Namespace and name of the service account that it is about; none for who makes the request.
    pub service_account: Option<(String, String)>,
    /// What the question has come to.
    pub subject: AccessSubject,
}

/// What access is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessSubject {
    /// Nothing yet.
    #[default]
    Anything,
    /// A path that is no resource.
    Path(String),
    /// A group, before its resource.
    Group(String),
    /// A resource.
    Resource(Box<ResourceAccess>),
}

/// A resource that access is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAccess {
    /// The API group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// Only objects with these fields.
    pub field_selector: Option<String>,
    /// Only objects with these labels.
    pub label_selector: Option<String>,
}

/// What was found about access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong on the way.
    pub error: Option<String>,
}

/// Who answers questions about access.
pub trait Authorize {
    /// Whether a verb is allowed.
    fn decide(&self, check: &AccessCheck, verb: &str) -> AccessDecision;
}

pub(crate) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "path" | "group" | "resource" | "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector" => {
            narrow
        }
        "serviceAccount" => service_account,
        "check" => check,
        "allowed" | "reason" | "errored" | "error" => decision,
        _ => return None,
    })
}

fn narrow<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Access(access), Value::String(text)] = call.args else { return call.no_such_overload() };
    let mut access = access.as_ref().clone();
    let text = text.to_string();
    match (&mut access.subject, call.function) {
        (AccessSubject::Anything, "path") => access.subject = AccessSubject::Path(text),
        (AccessSubject::Anything, "group") => access.subject = AccessSubject::Group(text),
        (AccessSubject::Group(group), "resource") => {
            let group = std::mem::take(group);
            access.subject = AccessSubject::Resource(Box::new(ResourceAccess {
                group,
                resource: text,
                ..ResourceAccess::default()
            }));
        }
        (AccessSubject::Resource(resource), function) => match function {
            "subresource" => resource.subresource = text,
            "namespace" => resource.namespace = text,
            "name" => resource.name = text,
            "fieldSelector" => resource.field_selector = Some(text),
            "labelSelector" => resource.label_selector = Some(text),
            _ => return call.no_such_overload(),
        },
        _ => return call.no_such_overload(),
    }
    Ok(Value::Access(Arc::new(access)))
}

fn service_account<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Access(access), Value::String(namespace), Value::String(name)] = call.args else {
        return call.no_such_overload();
    };
    let mut access = access.as_ref().clone();
    let problems = [
        ("name", roost_object::names::is_dns1123_subdomain(name)),
        ("namespace", roost_object::names::is_dns1123_label(namespace)),
    ];
    for (what, words) in problems {
        if !words.is_empty() {
            return Err(EvalError::Failed(format!("Invalid service account {what}")));
        }
    }
    access.service_account = Some((namespace.to_string(), name.to_string()));
    Ok(Value::Access(Arc::new(access)))
}

fn check<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Access(access), Value::String(verb)] = call.args else { return call.no_such_overload() };
    let Some(authorizer) = call.authorizer else { return Err(EvalError::new("no authorizer is set up")) };
    Ok(Value::Decision(Arc::new(authorizer.decide(access, verb))))
}

fn decision<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Decision(decision)] = call.args else { return call.no_such_overload() };
    Ok(match call.function {
        "allowed" => Value::Bool(decision.allowed),
        "reason" => Value::text(decision.reason.as_str()),
        "errored" => Value::Bool(decision.error.is_some()),
        _ => Value::text(decision.error.clone().unwrap_or_default()),
    })
}
