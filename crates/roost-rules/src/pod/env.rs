//! Environment variables of containers and where their values come from.

use roost_object::field::{Error, Errors};
use roost_object::{metadata, names};

use super::projected;
use crate::check::Check::{Required, Text};
use crate::check::{Check, Field, LABEL, NO_BACKSTEPS, Spot};

static ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

static KEY: &[Check] = &[Required, Text(names::is_config_map_key)];
static FILE_KEY: &[Field] = &[
    ("key", &[Required, Text(names::is_relaxed_env_var_name)]),
    ("volumeName", &[Required, LABEL]),
    ("path", &[Required, NO_BACKSTEPS]),
];
static OBJECT_NAME: &[Check] = &[Required, Text(name_prefix)];

fn name_prefix(name: &str) -> Vec<String> {
    metadata::name_is_subdomain(name, true)
}

/// Checks the variables that a container sets one by one.
pub(super) fn validate(variables: &Spot<'_>, errors: &mut Errors) {
    variables.each(|_, variable| {
        variable.field("name").check(&[Required, Text(names::is_relaxed_env_var_name)], errors);
        let source = variable.field("valueFrom");
        if source.given() {
            validate_source(&source, variable.field("value").filled(), errors);
        }
    });
}

fn validate_source(source: &Spot<'_>, has_value: bool, errors: &mut Errors) {
    let mut count = 0;
    let mut look_at = |name: &str, validate: &dyn Fn(&Spot<'_>, &mut Errors), errors: &mut Errors| {
        let reference = source.field(name);
        if reference.given() {
            count += 1;
            validate(&reference, errors);
        }
    };
    look_at("fieldRef", &|field, errors| projected::field_reference(field, ENV_FIELDS, errors), errors);
    look_at("resourceFieldRef", &|field, errors| projected::resource_reference(field, false, errors), errors);
    for name in ["configMapKeyRef", "secretKeyRef"] {
        look_at(
            name,
            &|key, errors| {
                key.field("name").text_passes(names::is_dns1123_subdomain, errors);
                key.field("key").check(KEY, errors);
            },
            errors,
        );
    }
    look_at("fileKeyRef", &|key, errors| key.check_fields(FILE_KEY, errors), errors);
    let words = if count == 0 {
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    } else if has_value {
        "may not be specified when `value` is not empty"
    } else if count > 1 {
        "may not have more than one field specified at a time"
    } else {
        return;
    };
    errors.push(Error::invalid(&source.path, "", words));
}

/// Checks the objects whose keys all become variables.
pub(super) fn validate_sources(sources: &Spot<'_>, errors: &mut Errors) {
    sources.each(|_, source| {
        source.field("prefix").check(&[Text(names::is_relaxed_env_var_name)], errors);
        let mut count = 0;
        for name in ["configMapRef", "secretRef"] {
            let reference = source.field(name);
            if reference.given() {
                count += 1;
                reference.field("name").check(OBJECT_NAME, errors);
            }
        }
        // Stock reports this for the list, not for its element.
        match count {
            0 => errors.push(Error::invalid(&sources.path, "", "must specify one of: `configMapRef` or `secretRef`")),
            1 => {}
            _ => errors.push(Error::invalid(&sources.path, "", "may not have more than one field specified at a time")),
        }
    });
}
