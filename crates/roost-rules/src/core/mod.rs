//! Namespaces, nodes, the kinds that only hold data, quotas and events.

mod data;
mod docker_config;
mod event;
mod limit_range;
pub mod namespace;
mod node;
mod quota;
mod resource_names;

use roost_object::Value;

use crate::fill::Fill;
use crate::{NameRule, Rules, drop_status, keep_spec, keep_status};

/// The annotation that once kept pods from mounting secrets of other accounts.
const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        kind: "Namespace",
        name: NameRule::Label,
        defaults: namespace::defaults,
        prepare_create: namespace::prepare_create,
        prepare_update: namespace::prepare_update,
        prepare_status_update: keep_spec,
        validate: namespace::validate,
        validate_update: |new, _, errors| namespace::validate(new, errors),
        validate_status_update: namespace::validate_status_update,
        ..Rules::NONE
    },
    Rules {
        kind: "Node",
        defaults: node::defaults,
        prepare_create: node::prepare_create,
        prepare_update: node::prepare_update,
        prepare_status_update: node::prepare_status_update,
        validate: node::validate,
        validate_update: |new, old, errors| {
            node::validate(new, errors);
            node::validate_update(new, old, errors);
        },
        validate_status_update: node::validate_update,
        warnings: node::warnings,
        ..Rules::NONE
    },
    Rules {
        kind: "ConfigMap",
        validate: data::validate_config_map,
        validate_update: data::validate_config_map_update,
        ..Rules::NONE
    },
    Rules {
        kind: "Secret",
        defaults: data::secret_defaults,
        validate: data::validate_secret,
        validate_update: data::validate_secret_update,
        warnings: data::secret_warnings,
        ..Rules::NONE
    },
    Rules {
        kind: "ServiceAccount",
        prepare_create: keep_names_of_secrets,
        prepare_update: |new, _| keep_names_of_secrets(new),
        warnings: service_account_warnings,
        warns_on_update: |_, old| old["metadata"]["annotations"].get(MOUNTABLE_SECRETS).is_none(),
        ..Rules::NONE
    },
    Rules {
        kind: "ResourceQuota",
        defaults: quota::defaults,
        prepare_create: drop_status,
        prepare_update: keep_status,
        prepare_status_update: keep_spec,
        validate: quota::validate,
        validate_update: quota::validate_update,
        validate_status_update: quota::validate_status_update,
        warnings: quota::warnings,
        warns_on_update: |_, _| false,
        ..Rules::NONE
    },
    Rules {
        kind: "LimitRange",
        defaults: limit_range::defaults,
        validate: limit_range::validate,
        validate_update: |new, _, errors| limit_range::validate(new, errors),
        create_on_update: true,
        ..Rules::NONE
    },
    Rules {
        kind: "Event",
        name: NameRule::PathSegment,
        validate: event::validate,
        validate_update: |new, _, errors| event::validate(new, errors),
        create_on_update: true,
        ..Rules::NONE
    },
    Rules {
        group: "events.k8s.io",
        kind: "Event",
        validate: event::validate_strictly,
        validate_update: event::validate_strict_update,
        create_on_update: true,
        ..Rules::NONE
    },
    Rules { kind: "Binding", validate: event::validate_binding, ..Rules::NONE },
];

/// Of the secrets of an account, only their names count.
fn keep_names_of_secrets(account: &mut Value) {
    for secret in account.each("secrets") {
        if let Value::Object(reference) = secret {
            reference.retain(|field, _| field == "name");
        }
    }
}

fn service_account_warnings(account: &Value, warnings: &mut Vec<String>) {
    if account["metadata"]["annotations"].get(MOUNTABLE_SECRETS).is_some() {
        warnings.push(format!(
            "metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        ));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use roost_object::Value;
    use roost_object::field::Errors;

    /// The sentences that a check finds.
    pub(crate) fn words(check: impl FnOnce(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::new();
        check(&mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn accounts_keep_only_the_names_of_secrets() {
        let mut account = serde_json::json!({"secrets": [{"name": "a", "namespace": "b", "uid": "c"}]});
        super::keep_names_of_secrets(&mut account);
        assert_eq!(account, serde_json::json!({"secrets": [{"name": "a"}]}));
        let mut odd = Value::Null;
        super::keep_names_of_secrets(&mut odd);
    }
}
