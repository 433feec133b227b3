//! Questions about access, and requests for tokens.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use crate::check::{Spot, text};
use crate::fill::Fill;
use crate::internal;
use crate::shown;

/// The shortest life of a token.
const TOKEN_SECONDS_MIN: i64 = 600;
/// The longest life of a token that can be asked for.
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

/// What a question about access asks about: exactly one of two kinds of things.
fn validate_attributes(spec: &Spot<'_>, errors: &mut Errors) {
    let (resource, other) = (spec.field("resourceAttributes"), spec.field("nonResourceAttributes"));
    if resource.given() && other.given() {
        let words = "cannot be specified in combination with resourceAttributes";
        errors.push(shown::invalid(&other.path, "authorization.NonResourceAttributes", other.value, words));
    }
    if !resource.given() && !other.given() {
        let words = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(Error::invalid(&resource.path, Value::Null, words));
    }
}

fn validate_subject(spec: &Spot<'_>, errors: &mut Errors) {
    if !spec.field("user").filled() && !spec.field("groups").filled() {
        let words = "at least one of user or group must be specified";
        errors.push(Error::invalid(&spec.path.child("user"), "", words));
    }
}

fn validate_selectors(spec: &Spot<'_>, errors: &mut Errors) {
    let resource = spec.field("resourceAttributes");
    let fields = resource.field("fieldSelector");
    if fields.given() {
        validate_selector(&fields, errors, |requirement, errors| {
            let key = requirement.field("key");
            if !key.filled() {
                errors.push(Error::required(&key.path, "must be specified"));
            }
            validate_values(requirement, errors);
        });
    }
    let labels = resource.field("labelSelector");
    if labels.given() {
        validate_selector(&labels, errors, |requirement, errors| {
            validate_values(requirement, errors);
            requirement.field("key").text_passes(names::is_qualified_name, errors);
            requirement.field("values").each(|_, value| value.text_passes(names::is_label_value, errors));
        });
    }
}

fn validate_selector(selector: &Spot<'_>, errors: &mut Errors, check: impl Fn(&Spot<'_>, &mut Errors)) {
    let (raw, requirements) = (selector.field("rawSelector"), selector.field("requirements"));
    if raw.filled() && requirements.filled() {
        raw.invalid("may not specified at the same time as requirements", errors);
    }
    if !raw.filled() && !requirements.filled() {
        let words = format!("when {} is specified, requirements or rawSelector is required", selector.path);
        errors.push(Error::required(&requirements.path, words));
    }
    requirements.each(|_, requirement| check(requirement, errors));
}

/// Operators that this server does not know are let through, since newer clients may know more.
fn validate_values(requirement: &Spot<'_>, errors: &mut Errors) {
    let values = requirement.field("values");
    match (requirement.field("operator").text(), values.filled()) {
        ("In" | "NotIn", false) => {
            errors.push(Error::required(&values.path, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        ("Exists" | "DoesNotExist", true) => {
            values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'", errors);
        }
        _ => {}
    }
}

fn validate_empty_metadata(review: &Value, allowed: &[&str], words: &str, errors: &mut Errors) {
    let mut metadata = review["metadata"].clone();
    for field in allowed.iter().chain(&["managedFields", "creationTimestamp"]) {
        metadata.drop_field(field);
    }
    if !internal::same("ObjectMeta", &metadata, &Value::Null) {
        errors.push(shown::invalid(&Path::new("metadata"), "ObjectMeta", &review["metadata"], words));
    }
}

pub(super) fn validate_subject_access(review: &Value, errors: &mut Errors) {
    let root = Spot::root(review);
    let spec = root.field("spec");
    validate_attributes(&spec, errors);
    validate_subject(&spec, errors);
    validate_selectors(&spec, errors);
    validate_empty_metadata(review, &[], "must be empty", errors);
}

pub(super) fn validate_self_subject_access(review: &Value, errors: &mut Errors) {
    let root = Spot::root(review);
    let spec = root.field("spec");
    validate_attributes(&spec, errors);
    validate_selectors(&spec, errors);
    validate_empty_metadata(review, &[], "must be empty", errors);
}

pub(super) fn validate_local_subject_access(review: &Value, errors: &mut Errors) {
    let root = Spot::root(review);
    let spec = root.field("spec");
    validate_attributes(&spec, errors);
    validate_subject(&spec, errors);
    validate_selectors(&spec, errors);
    validate_empty_metadata(review, &["namespace"], "must be empty except for namespace", errors);
    let (resource, other) = (spec.field("resourceAttributes"), spec.field("nonResourceAttributes"));
    let namespace = text(resource.value, "namespace");
    if resource.given() && namespace != text(&review["metadata"], "namespace") {
        errors.push(Error::invalid(&resource.path.child("namespace"), namespace, "must match metadata.namespace"));
    }
    if other.given() {
        let words = "disallowed on this kind of request";
        errors.push(shown::invalid(&other.path, "authorization.NonResourceAttributes", other.value, words));
    }
}

pub(super) fn token_request_defaults(request: &mut Value) {
    request.at_or_empty("spec").fill("expirationSeconds", 3600);
}

pub(super) fn validate_token_request(request: &Value, errors: &mut Errors) {
    let root = Spot::root(request);
    let spec = root.field("spec");
    let expiration = spec.field("expirationSeconds");
    if expiration.number() < TOKEN_SECONDS_MIN {
        let words = "may not specify a duration less than 10 minutes";
        errors.push(Error::invalid(&expiration.path, expiration.number(), words));
    }
    if expiration.number() > TOKEN_SECONDS_MAX {
        expiration.invalid("may not specify a duration larger than 2^32 seconds", errors);
    }
}

/// Why a review of a token cannot be made: the words of a 400.
pub fn token_review_problem(review: &Value) -> Option<String> {
    let namespace = text(&review["metadata"], "namespace");
    if !namespace.is_empty() {
        return Some(format!("namespace is not allowed on this type: {namespace}"));
    }
    if text(&review["spec"], "token").is_empty() {
        return Some("token is required for TokenReview in authentication".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn a_question_is_about_one_thing_and_somebody() {
        assert_eq!(
            words(|errors| validate_subject_access(&json!({"spec": {}}), errors)),
            [
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
                r#"spec.user: Invalid value: "": at least one of user or group must be specified"#,
            ]
        );
        let review = json!({"metadata": {"name": "x"}, "spec": {"resourceAttributes": {"fieldSelector": {}}, "nonResourceAttributes": {"path": "/"}}});
        assert_eq!(
            words(|errors| validate_self_subject_access(&review, errors)),
            [
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: cannot be specified in combination with resourceAttributes"#,
                "spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
                r#"metadata: Invalid value: {"name":"x"}: must be empty"#,
            ]
        );
        let local =
            json!({"metadata": {"namespace": "a"}, "spec": {"user": "u", "resourceAttributes": {"namespace": "b"}}});
        assert_eq!(
            words(|errors| validate_local_subject_access(&local, errors)),
            [r#"spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace"#]
        );
    }

    #[test]
    fn tokens_live_at_least_ten_minutes() {
        let mut request = json!({});
        token_request_defaults(&mut request);
        assert!(words(|errors| validate_token_request(&request, errors)).is_empty());
        assert_eq!(words(|errors| validate_token_request(&json!({"spec": {"expirationSeconds": 5}}), errors)).len(), 1);
        assert_eq!(
            token_review_problem(&json!({})).as_deref(),
            Some("token is required for TokenReview in authentication")
        );
    }
}
