//! Conversion between versions: the strategy and its webhook.

use base64::Engine as _;
use roost_object::field::{Error, Errors, Kind, Path};
use roost_object::{names, webhook};
use serde_json::Value;

use super::props::Props;
use super::spec::SpecView;
use super::{Options, shown, versions};
use crate::wording;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn validate(spec: &SpecView<'_>, options: &Options, path: &Path<'_>, errors: &mut Errors) {
    let Some(conversion) = spec.props.schema("conversion") else { return };
    let strategy = conversion.text("strategy");
    if strategy != "None" && spec.preserves_unknown_fields() {
        let words = "must be None if spec.preserveUnknownFields is true";
        errors.push(Error::invalid(&path.child("strategy"), strategy, words));
    }
    versions::one_of(strategy, &["None", "Webhook"], &path.child("strategy"), errors);
    let webhook = conversion.schema("webhook");
    let client_config = webhook.and_then(|webhook| webhook.schema("clientConfig"));
    let review_versions = webhook.map(|webhook| webhook.names("conversionReviewVersions")).unwrap_or_default();
    let config_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let words = "should not be set when strategy is not set to Webhook";
        if client_config.is_some() {
            errors.push(Error::forbidden(&config_path, words));
        }
        if !review_versions.is_empty() {
            errors.push(Error::forbidden(&versions_path, words));
        }
        return;
    }
    match client_config {
        None => errors.push(Error::required(&config_path, "required when strategy is set to Webhook")),
        Some(config) => validate_client(config, options, &config_path, errors),
    }
    validate_reviews(&review_versions, options, &versions_path, errors);
}

fn validate_client(config: Props<'_>, options: &Options, path: &Path<'_>, errors: &mut Errors) {
    match (config.text_if_given("url"), config.schema("service")) {
        (Some(url), None) => webhook::validate_url(url, &path.child("url"), errors),
        (None, Some(service)) => {
            webhook::validate_service(&Value::Object(service.json().clone()), &path.child("service"), errors);
        }
        _ => errors.push(Error::required(path, "exactly one of url or service is required")),
    }
    let bundle = config.text("caBundle");
    if !bundle.is_empty() && !options.allow_invalid_ca_bundle && !is_pem(bundle) {
        let words = "unable to load root certificates: unable to parse bytes as PEM block";
        errors.push(Error::invalid(&path.child("caBundle"), bundle, words));
    }
}

/// Whether base64 text holds at least one certificate in PEM.
fn is_pem(bundle: &str) -> bool {
    let decoded = base64::engine::general_purpose::STANDARD.decode(bundle).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    text.contains("-----BEGIN CERTIFICATE-----") && text.contains("-----END CERTIFICATE-----")
}

pub(super) fn has_invalid_ca_bundle(spec: Props<'_>) -> bool {
    let config = spec.schema("conversion").and_then(|c| c.schema("webhook")).and_then(|w| w.schema("clientConfig"));
    config.is_some_and(|config| !config.text("caBundle").is_empty() && !is_pem(config.text("caBundle")))
}

fn validate_reviews(given: &[&str], options: &Options, path: &Path<'_>, errors: &mut Errors) {
    if given.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    for (index, version) in given.iter().enumerate() {
        if given[..index].contains(version) {
            errors.push(Error::invalid(&path.index(index), *version, "duplicate version"));
            continue;
        }
        let problems = names::is_dns1035_label(version);
        errors.extend(problems.into_iter().map(|words| Error::invalid(&path.index(index), *version, words)));
    }
    if options.require_recognised_review_version && !given.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        let words = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.push(wording::error_showing(Kind::Invalid, path.to_string(), &shown::names(given), &words));
    }
}

pub(super) fn has_recognised_version(spec: Props<'_>) -> bool {
    let webhook = spec.schema("conversion").and_then(|conversion| conversion.schema("webhook"));
    let given = webhook.map(|webhook| webhook.names("conversionReviewVersions")).unwrap_or_default();
    given.is_empty() || given.iter().any(|version| REVIEW_VERSIONS.contains(version))
}
