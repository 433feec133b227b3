//! Policies that refuse writes: all are asked, and the first refusal is the one that the caller hears.

use roost_admission::policy::{Action, Binding, Decision, ValidatingPolicy, denied};
use roost_object::{Status, Value};
use serde_json::json;

use super::super::Attributes;
use super::access::Caller;
use super::input::ByKind;
use super::select::select;
use super::table::{Bound, PolicyTable};
use super::{Objects, parameters};

/// The longest value that an annotation of the audit log gets.
const MAX_ANNOTATION_BYTES: usize = 10 * 1024;

/// Asks all policies that a write concerns.
pub(in super::super) async fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let cluster = &attributes.target.call.cluster;
    let Some(bound) = cluster.policies.policy_table.read(&cluster.store, |table: &mut PolicyTable| table.validating())
    else {
        return Ok(());
    };
    let mut objects = ByKind::default();
    let mut refusals = Vec::new();
    for one in bound.iter() {
        ask(attributes, object, one, &mut objects, &mut refusals).await?;
    }
    let Some(Refusal { policy, binding, decision }) = refusals.into_iter().next() else { return Ok(()) };
    let message = match binding {
        Some(binding) => format!(
            "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {}",
            decision.message
        ),
        None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {}", decision.message),
    };
    Err(denied(attributes.forbidden(object, &message), &message, &decision.reason))
}

/// Why a write is refused, and by whom.
struct Refusal {
    policy: String,
    binding: Option<String>,
    decision: Decision,
}

async fn ask(
    attributes: &Attributes<'_>,
    object: &Value,
    Bound { policy, bindings }: &Bound<ValidatingPolicy>,
    objects: &mut ByKind,
    refusals: &mut Vec<Refusal>,
) -> Result<(), Status> {
    let mut refuse = |binding: Option<&Binding>, decision: Decision| {
        let binding = binding.map(|binding| binding.name.clone());
        refusals.push(Refusal { policy: policy.name.clone(), binding, decision });
    };
    let misconfigured = |what: &str, why: &str| {
        (!policy.fails_open).then(|| Decision::new(format!("failed to configure {what}: {why}")))
    };
    let invocation = match select(attributes, &policy.constraints, object) {
        Ok(None) => return Ok(()),
        Ok(Some(invocation)) => invocation,
        Err(status) => {
            if let Some(decision) = misconfigured("policy", &status.message) {
                refuse(None, decision);
            }
            return Ok(());
        }
    };
    let kind = match parameters::resource_of(attributes, policy.parameter_kind.as_ref()) {
        Ok(kind) => kind,
        Err(why) => {
            if let Some(decision) = misconfigured("policy", &why) {
                refuse(None, decision);
            }
            return Ok(());
        }
    };
    let mut annotations: Vec<(String, Vec<String>)> = Vec::new();
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
        let parameters = match parameters {
            Ok(parameters) => parameters,
            Err(why) => {
                if let Some(decision) = misconfigured("binding", &why) {
                    refuse(Some(binding), decision);
                }
                continue;
            }
        };
        if parameters.is_empty() {
            continue;
        }
        let objects = objects.get(attributes, object, &invocation).await?;
        for parameters in &parameters {
            let denials = evaluate(attributes, policy, binding, objects, parameters, &mut annotations);
            for decision in denials {
                refuse(Some(binding), decision);
            }
        }
    }
    for (key, values) in annotations {
        attributes.target.call.annotations.add(format!("{}/{key}", policy.name), values.join(", "));
    }
    Ok(())
}

/// Evaluates a policy with one set of parameters, and does what the binding says to do then.
fn evaluate(
    attributes: &Attributes<'_>,
    policy: &ValidatingPolicy,
    binding: &Binding,
    objects: &Objects,
    parameters: &Value,
    annotations: &mut Vec<(String, Vec<String>)>,
) -> Vec<Decision> {
    let call = attributes.target.call;
    let caller = Caller(call);
    let outcome = policy.validate(&objects.input(&caller, parameters));
    let mut denials = Vec::new();
    for (index, decision) in outcome.denials {
        for action in &binding.actions {
            match action {
                Action::Deny => denials.push(decision.clone()),
                Action::Warn => call.warnings.add(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name, binding.name, decision.message
                )),
                Action::Audit => {
                    let actions: Vec<&str> = binding.actions.iter().map(|action| action.word()).collect();
                    let failure = json!([{
                        "message": decision.message,
                        "policy": binding.policy,
                        "binding": binding.name,
                        "expressionIndex": index,
                        "validationActions": actions,
                    }]);
                    call.annotations.add("validation.policy.admission.k8s.io/validation_failure", failure.to_string());
                }
            }
        }
    }
    for (key, mut value) in outcome.annotations {
        let end = (0..=MAX_ANNOTATION_BYTES.min(value.len())).rev().find(|at| value.is_char_boundary(*at));
        value.truncate(end.unwrap_or(0));
        match annotations.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => annotations.push((key, vec![value])),
        }
    }
    denials.extend(outcome.failed_annotations.into_iter().map(Decision::new));
    denials
}
