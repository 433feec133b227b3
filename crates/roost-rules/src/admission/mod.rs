//! Webhooks and policies that decide about other writes. Expressions are compiled elsewhere; here is their frame.

mod matching;
mod policy;
mod webhook;

use roost_object::Value;

use crate::check::text;
use crate::{Generation, Rules, drop_status, keep_spec_and_metadata, keep_status};

const GROUP: &str = "admissionregistration.k8s.io";
/// Names with this ending belong to policies that come from files.
const RESERVED_SUFFIX: &str = ".static.k8s.io";

const ROW: Rules = Rules {
    group: GROUP,
    generation: Generation::Spec,
    warnings: reserved_name,
    unconditional_update: false,
    ..Rules::NONE
};

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        kind: "ValidatingWebhookConfiguration",
        generation: Generation::SpecAsSent,
        defaults: webhook::defaults,
        validate: |hooks, errors| webhook::validate(hooks, None, errors),
        validate_update: |new, old, errors| webhook::validate(new, Some(old), errors),
        ..ROW
    },
    Rules {
        kind: "MutatingWebhookConfiguration",
        generation: Generation::SpecAsSent,
        defaults: webhook::mutating_defaults,
        validate: |hooks, errors| webhook::validate(hooks, None, errors),
        validate_update: |new, old, errors| webhook::validate(new, Some(old), errors),
        ..ROW
    },
    Rules {
        kind: "ValidatingAdmissionPolicy",
        defaults: policy::defaults,
        prepare_create: drop_status,
        prepare_update: keep_status,
        prepare_status_update: keep_spec_and_metadata,
        validate: |policy, errors| policy::validate(policy, None, errors),
        validate_update: |new, old, errors| policy::validate(new, Some(old), errors),
        validate_status_update: policy::validate_status_update,
        ..ROW
    },
    Rules {
        kind: "ValidatingAdmissionPolicyBinding",
        defaults: policy::binding_defaults,
        validate: policy::validate_binding,
        validate_update: |new, _, errors| policy::validate_binding(new, errors),
        ..ROW
    },
    Rules {
        kind: "MutatingAdmissionPolicy",
        defaults: policy::defaults,
        validate: |policy, errors| policy::validate_mutating(policy, None, errors),
        validate_update: |new, old, errors| policy::validate_mutating(new, Some(old), errors),
        ..ROW
    },
    Rules {
        kind: "MutatingAdmissionPolicyBinding",
        defaults: policy::binding_defaults,
        validate: policy::validate_mutating_binding,
        validate_update: |new, _, errors| policy::validate_mutating_binding(new, errors),
        ..ROW
    },
];

fn reserved_name(object: &Value, warnings: &mut Vec<String>) {
    if text(&object["metadata"], "name").ends_with(RESERVED_SUFFIX) {
        warnings.push(format!(
            "metadata.name: names ending with \"{RESERVED_SUFFIX}\" are reserved for static manifest-based configurations and cannot be managed via the API"
        ));
    }
}
