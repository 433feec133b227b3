//! Admission: what the server adds to an object, and what it refuses, beyond the rules of the kind itself.
//!
//! The plug-ins and their order are stock's defaults. Each is a function of the attributes and the object.

mod certificate;
mod index;
mod lifecycle;
mod limits;
mod pod_defaults;
mod pod_security;
mod policies;
mod policy;
mod priority;
mod quota;
mod registration;
mod request;
mod runtime_class;
mod service_account;
mod storage;
mod topology;
mod webhook;

use roost_object::{Status, Value};

pub(crate) use policies::Policies;
pub(crate) use quota::{Admitted, refresh as refresh_quotas};
pub(crate) use registration::rules_of;

use crate::options::DeleteOptions;
use crate::write::{Target, metadata_text};

/// What is being done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    Delete,
}

/// A write on its way.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    /// The object and who writes it.
    pub(crate) target: Target<'a>,
    /// What is being done.
    pub(crate) verb: Verb,
    /// The object as it is stored, but for a create.
    pub(crate) old: Option<&'a Value>,
    /// Whether nothing will be written.
    pub(crate) dry_run: bool,
    /// How a delete is to be done.
    pub(crate) deletion: Option<&'a DeleteOptions>,
    /// What is done instead of storing what is sent.
    pub(crate) action: Option<&'a Action<'a>>,
}

/// What is done to an object without storing what is sent: a binding, an eviction, a token, a review, a connection.
pub(crate) struct Action<'a> {
    /// `CREATE` or `CONNECT`.
    pub(crate) operation: &'a str,
    /// Group, version and kind of what is sent.
    pub(crate) kind: [&'a str; 3],
}

impl Attributes<'_> {
    /// Whether nobody is asked about the write: it configures admission itself, or it follows from an admitted action.
    fn is_exempt(&self) -> bool {
        self.subject().is_exempt() || self.action.is_none() && matches!(self.target.subresource, "binding" | "eviction")
    }

    /// Whether the write is about a built-in resource itself, not a subresource.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.target.subresource.is_empty() && self.target.resource.is(group, plural)
    }

    /// A refusal that names the object; one whose name is yet to be generated is named by the beginning of it.
    pub(crate) fn forbidden(&self, object: &Value, why: &str) -> Status {
        let names = [self.subject().name, metadata_text(object, "name"), metadata_text(object, "generateName")];
        let deletes = self.operation() == "DELETE";
        let considered = if deletes { &names[..1] } else { &names[..] };
        let name = considered.iter().copied().find(|name| !name.is_empty()).unwrap_or("Unknown");
        Status::forbidden(&self.target.resource.group_resource(), name, why)
    }
}

/// Completes an object before it is validated.
pub(crate) async fn mutate(attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Status> {
    let exempt = attributes.is_exempt();
    let mut rounds = Rounds::default();
    loop {
        complete(attributes, object).await?;
        if exempt || !rounds.run(attributes, object).await? {
            return Ok(());
        }
    }
}

/// The rounds of mutations by policies and webhooks: a second one when the first changed something.
#[derive(Default)]
struct Rounds {
    policies: policy::Rounds,
    webhooks: webhook::Rounds,
    second: bool,
}

impl Rounds {
    /// Runs a round; says whether there has to be another one.
    async fn run(&mut self, attributes: &Attributes<'_>, object: &mut Value) -> Result<bool, Status> {
        let mut changed = policy::mutate(attributes, object, &mut self.policies, self.second).await?;
        changed |= webhook::mutate(attributes, object, &mut self.webhooks, self.second).await?;
        let again = changed && !self.second;
        self.second = true;
        Ok(again)
    }
}

/// What the plug-ins of the server itself add to an object.
async fn complete(attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Status> {
    lifecycle::check(attributes, object)?;
    limits::complete(attributes, object);
    service_account::complete(attributes, object).await?;
    crate::node::restrict(attributes, Some(object))?;
    pod_defaults::taint(attributes, object);
    priority::complete(attributes, object)?;
    pod_defaults::tolerate(attributes, object);
    storage::complete(attributes, object);
    runtime_class::complete(attributes, object)?;
    storage::default_ingress_class(attributes, object);
    topology::complete(attributes, object);
    Ok(())
}

/// Admits an action. What is sent may be changed.
pub(crate) async fn admit(
    target: Target<'_>,
    action: &Action<'_>,
    sent: &mut Value,
    dry_run: bool,
) -> Result<(), Status> {
    let attributes =
        Attributes { target, verb: Verb::Create, old: None, dry_run, deletion: None, action: Some(action) };
    if target.resource.namespaced && !target.namespace.is_empty() && metadata_text(sent, "namespace").is_empty() {
        crate::write::metadata_mut(sent).insert("namespace".into(), target.namespace.into());
    }
    let mut rounds = Rounds::default();
    loop {
        lifecycle::check(&attributes, sent)?;
        crate::node::restrict(&attributes, Some(sent))?;
        topology::complete_binding(&attributes, sent);
        if !rounds.run(&attributes, sent).await? {
            break;
        }
    }
    policy::validate(&attributes, sent).await?;
    webhook::validate(&attributes, sent).await
}

/// Refuses an object that is valid but not wanted. For a delete, `object` is null and the old one counts.
pub(crate) async fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<Admitted, Status> {
    let exempt = attributes.is_exempt();
    if attributes.verb == Verb::Delete {
        lifecycle::check(attributes, object)?;
        if !exempt {
            crate::node::restrict(attributes, None)?;
            Rounds::default().run(attributes, &mut Value::Null).await?;
        }
    }
    limits::check(attributes, object)?;
    service_account::check(attributes, object).await?;
    pod_security::check(attributes, object)?;
    priority::check(attributes, object)?;
    storage::check_resize(attributes, object)?;
    runtime_class::check(attributes, object)?;
    certificate::check(attributes, object)?;
    topology::check_resize(attributes, object)?;
    if !exempt {
        policy::validate(attributes, object).await?;
        webhook::validate(attributes, object).await?;
    }
    quota::charge(attributes, object).await
}
