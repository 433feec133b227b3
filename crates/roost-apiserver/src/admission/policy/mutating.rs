//! Policies that change objects: one after the other, and some once more when something changed the object later.

use std::collections::BTreeSet;

use roost_admission::policy::{Binding, Change, MutatingPolicy, Mutation, Verdict};
use roost_merge::json_patch;
use roost_merge::overlay::overlay;
use roost_object::status::Cause;
use roost_object::{Status, Value};

use super::super::Attributes;
use super::super::request::Invocation;
use super::access::Caller;
use super::select::select;
use super::table::{Bound, PolicyTable};
use super::{Objects, parameters};
use crate::resource::AnyNode;

/// What the first round of mutations left to do.
#[derive(Default)]
pub(in super::super) struct Rounds {
    called: BTreeSet<String>,
    again: BTreeSet<String>,
    last: Option<Value>,
}

impl Rounds {
    fn call_again(&mut self) {
        self.again.append(&mut self.called);
    }
}

/// Why a write is refused.
struct Refusal {
    message: String,
    reason: &'static str,
}

/// A policy with a binding and one set of its parameters.
struct Application<'b> {
    policy: &'b MutatingPolicy,
    binding: &'b Binding,
    invocation: Invocation,
    parameters: Value,
}

impl Application<'_> {
    fn id(&self) -> String {
        let text = |field: &str| self.parameters["metadata"][field].as_str().unwrap_or_default();
        format!("{}/{}/{}/{}", self.policy.name, self.binding.name, text("namespace"), text("name"))
    }

    fn refusal(&self, why: &str, reason: &'static str) -> Option<Refusal> {
        let (policy, binding) = (&self.policy.name, &self.binding.name);
        (!self.policy.fails_open).then(|| Refusal {
            message: format!("policy '{policy}' with binding '{binding}' denied request: {why}"),
            reason,
        })
    }
}

/// Has all policies that a write concerns change the object; says whether one did.
pub(in super::super) async fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    rounds: &mut Rounds,
    second: bool,
) -> Result<bool, Status> {
    let cluster = &attributes.target.call.cluster;
    let Some(bound) = cluster.policies.policy_table.read(&cluster.store, |table: &mut PolicyTable| table.mutating())
    else {
        return Ok(false);
    };
    let mut refusals = Vec::new();
    let mut applications = Vec::new();
    for one in bound.iter() {
        collect(attributes, object, one, &mut applications, &mut refusals);
    }
    if second && rounds.last.as_ref() != Some(object) {
        rounds.call_again();
    }
    let mut changed = false;
    for application in &applications {
        changed |= apply(attributes, application, object, rounds, second, &mut refusals).await?;
    }
    if !applications.is_empty() {
        rounds.last = Some(object.clone());
    }
    match refusals.first() {
        None => Ok(changed),
        Some(first) => {
            let mut status = attributes.forbidden(object, "admission request denied by policy");
            status.message.clone_from(&first.message);
            if !first.reason.is_empty() {
                first.reason.clone_into(&mut status.reason);
            }
            let causes = refusals.iter().map(|refusal| Cause { message: refusal.message.clone(), ..Cause::default() });
            status.details.get_or_insert_default().causes.extend(causes);
            Err(status)
        }
    }
}

/// The applications of a policy to a write, one for each binding and its parameters.
fn collect<'b>(
    attributes: &Attributes<'_>,
    object: &Value,
    Bound { policy, bindings }: &'b Bound<MutatingPolicy>,
    applications: &mut Vec<Application<'b>>,
    refusals: &mut Vec<Refusal>,
) {
    let misconfigured = |binding: Option<&Binding>, why: &str| {
        let message = match binding {
            Some(binding) => format!(
                "policy '{}' with binding '{}' denied request: failed to configure binding: {why}",
                policy.name, binding.name
            ),
            None => format!("policy \"{}\" denied request: failed to configure policy: {why}", policy.name),
        };
        (!policy.fails_open).then_some(Refusal { message, reason: "" })
    };
    let invocation = match select(attributes, &policy.constraints, object) {
        Ok(None) => return,
        Ok(Some(invocation)) => invocation,
        Err(status) => return refusals.extend(misconfigured(None, &status.message)),
    };
    let kind = match parameters::resource_of(attributes, policy.parameter_kind.as_ref()) {
        Ok(kind) => kind,
        Err(why) => return refusals.extend(misconfigured(None, &why)),
    };
    for binding in bindings {
        let concerned = match &binding.constraints {
            None => Ok(true),
            Some(constraints) => select(attributes, constraints, object).map(|found| found.is_some()),
        };
        let parameters = match concerned {
            Ok(false) => continue,
            Ok(true) => parameters::collect(attributes, kind.as_ref(), binding),
            Err(status) => Err(status.message),
        };
        match parameters {
            Err(why) => refusals.extend(misconfigured(Some(binding), &why)),
            Ok(all) => applications.extend(all.into_iter().map(|parameters| Application {
                policy,
                binding,
                invocation: invocation.clone(),
                parameters,
            })),
        }
    }
}

async fn apply(
    attributes: &Attributes<'_>,
    application: &Application<'_>,
    object: &mut Value,
    rounds: &mut Rounds,
    second: bool,
    refusals: &mut Vec<Refusal>,
) -> Result<bool, Status> {
    let Application { policy, invocation, parameters, .. } = application;
    let caller = Caller(attributes.target.call);
    let mut objects = Objects::of(attributes, object, invocation).await?;
    match policy.matches(&objects.input(&caller, parameters)) {
        Verdict::Match => {}
        Verdict::NoMatch => return Ok(false),
        Verdict::Failed(why) => {
            refusals.extend(application.refusal(&why, "Invalid"));
            return Ok(false);
        }
    }
    let id = application.id();
    if second && !rounds.again.contains(&id) {
        return Ok(false);
    }
    let before = objects.object.clone();
    for mutation in &policy.mutations {
        if objects.object.is_null() {
            break;
        }
        match change(attributes, policy, mutation, &objects, &caller, parameters) {
            Ok(next) => {
                let stored = attributes.convert_back(next, &invocation.kind, object).await?;
                objects.object = attributes.convert(&stored, &invocation.kind).await?;
                *object = stored;
            }
            Err(Failure::Mutation(why)) => refusals.extend(application.refusal(&why, "Invalid")),
            Err(Failure::Server(status)) => return Err(status),
        }
    }
    let changed = objects.object != before;
    if changed {
        rounds.call_again();
    }
    if policy.reinvoked {
        rounds.called.insert(id);
    }
    Ok(changed)
}

/// Why a mutation cannot be made.
enum Failure {
    /// Because of what it says: the policy's failure policy decides.
    Mutation(String),
    /// Because of what comes out: the write fails.
    Server(Status),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Failure::Mutation(why)
    }
}

/// The object after one mutation.
fn change(
    attributes: &Attributes<'_>,
    policy: &MutatingPolicy,
    mutation: &Mutation,
    objects: &Objects,
    caller: &Caller<'_>,
    parameters: &Value,
) -> Result<Value, Failure> {
    match policy.evaluate(mutation, &objects.input(caller, parameters))? {
        Change::Patch(operations) => {
            let patch = serde_json::to_vec(&operations).map_err(|error| error.to_string())?;
            match json_patch::apply(&objects.object, &patch) {
                Ok(patched) => refuse_unknown(patched),
                // A patch whose test fails is not meant for this object.
                Err(error) if error.to_string().contains("testing value") => Ok(objects.object.clone()),
                Err(error) => Err(format!("JSON Patch: {error}").into()),
            }
        }
        Change::Apply(mut configuration) => {
            for field in ["apiVersion", "kind"] {
                configuration[field] = objects.object[field].clone();
            }
            let applied = overlay_object(attributes, &objects.object, &configuration);
            applied.map_err(|why| format!("error applying patch: {why}").into())
        }
    }
}

/// Patches are read back strictly: a field that the kind does not have is an error.
fn refuse_unknown(patched: Value) -> Result<Value, Failure> {
    let text = |name: &str| patched[name].as_str().unwrap_or_default();
    let Some(ty) = roost_kinds::type_of(text("apiVersion"), text("kind")) else { return Ok(patched) };
    let failed = |why: String| Failure::Server(Status::internal(why));
    let decoded = roost_kinds::json::decode(patched, ty).map_err(|error| failed(error.to_string()))?;
    if decoded.findings.is_empty() {
        return Ok(decoded.value);
    }
    Err(failed(roost_object::json::strict_error(&decoded.findings)))
}

fn overlay_object(attributes: &Attributes<'_>, object: &Value, configuration: &Value) -> Result<Value, String> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let holds = |node: AnyNode<'_>| match node {
        AnyNode::BuiltIn(node) => roost_merge::built_in::holds(node),
        AnyNode::Custom(_) | AnyNode::Untyped => roost_merge::apply::Holds::Anything,
    };
    match roost_kinds::type_of(text("apiVersion"), text("kind")) {
        Some(ty) => overlay(object, configuration, AnyNode::BuiltIn(ty.into()), holds),
        None => overlay(object, configuration, attributes.target.resource.node(), holds),
    }
}
