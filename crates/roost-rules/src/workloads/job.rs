//! Jobs: pods that run until they have succeeded often enough.

use roost_object::Value;
use roost_object::field::{Error, Errors};
use roost_object::names;

use super::{counts, job_policy, job_status, job_update, template};
use crate::check::{SelectorValues, Spot, label_selector, text};
use crate::fill::Fill;
use crate::{Generation, Rules, drop_status, keep_spec, keep_status, pod, shown};

const PARALLELISM_MAX: i64 = 100_000;
const FAILED_INDEXES_MAX: i64 = 100_000;
/// Above this many completions, what is counted by index must be bounded more tightly.
const MANY_COMPLETIONS: i64 = 100_000;
const MANY_COMPLETIONS_LIMIT: i64 = 10_000;
const MANAGED_BY_MAX: usize = 63;

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

pub(super) const RULES: Rules = Rules {
    group: "batch",
    kind: "Job",
    defaults: fill,
    prepare_create: |new| {
        generate_selector(new);
        share_labels(new);
        drop_status(new);
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_update: |new, old| {
        let meta = new.at_or_empty("metadata");
        if meta[SHARES_LABELS] == "" {
            meta.drop_field(SHARES_LABELS);
        }
        keep_status(new, old);
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    settle,
    stored_unsettled: has_only_generated_labels,
    validate: |new, errors| validate(new, None, errors),
    validate_update: job_update::validate,
    validate_whole: Some(|new, old, errors| validate(new, Some(old), errors)),
    validate_status_update: job_status::validate_update,
    warns_on_update: crate::generation_moved,
    warnings: |job, warnings| {
        template::warn_of_name(job, warnings);
        let root = Spot::root(job);
        warn_of_spec(&root.field("spec"), warnings);
    },
    ..Rules::NONE
};

/// A job without labels shares the map of labels with its template, so that what is added to the one shows in the other.
/// This empty field of the metadata, which nobody sets any more, remembers that from defaulting until creation.
const SHARES_LABELS: &str = "selfLink";

fn fill(job: &mut Value) {
    let template_labels = job["spec"]["template"]["metadata"]["labels"].clone();
    let meta = job.at_or_empty("metadata");
    if template_labels.is_object() && meta["labels"].as_object().is_none_or(serde_json::Map::is_empty) {
        meta["labels"] = template_labels;
        meta[SHARES_LABELS] = "".into();
    }
    let spec = job.at_or_empty("spec");
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        spec["completions"] = 1.into();
    }
    spec.fill("parallelism", 1);
    let by_index = !spec["backoffLimitPerIndex"].is_null();
    spec.fill("backoffLimit", if by_index { i64::from(i32::MAX) } else { 6 });
    spec.fill("completionMode", "NonIndexed");
    spec.fill("suspend", false);
    let replacement = if spec["podFailurePolicy"].is_null() { "TerminatingOrFailed" } else { "Failed" };
    spec.fill("podReplacementPolicy", replacement);
    spec.fill("manualSelector", false);
    fill_template_of_job(spec);
}

fn share_labels(job: &mut Value) {
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    let meta = job.at_or_empty("metadata");
    if meta[SHARES_LABELS] == "" {
        meta["labels"] = labels;
    }
    meta.drop_field(SHARES_LABELS);
}

/// A job that was made without labels has those that its template got.
fn settle(job: &mut Value) {
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    let meta = job.at_or_empty("metadata");
    if labels.is_object() && meta["labels"].as_object().is_none_or(serde_json::Map::is_empty) {
        meta["labels"] = labels;
    }
}

/// Whether the labels of a job are those that its selector was made of: `settle` took them over.
fn has_only_generated_labels(job: &Value) -> bool {
    let labels = &job["metadata"]["labels"];
    job["spec"]["manualSelector"] != true
        && *labels == job["spec"]["template"]["metadata"]["labels"]
        && labels.as_object().is_some_and(|labels| labels.len() == NAME_LABELS.len() + UID_LABELS.len())
}

/// Fills up what lies below the spec of a job.
pub(super) fn fill_template_of_job(spec: &mut Value) {
    if let Some(policy) = spec.at("podFailurePolicy") {
        for pattern in policy.each("rules").flat_map(|rule| rule.each("onPodConditions")) {
            pattern.fill_text("status", "True");
        }
    }
    pod::fill_template(spec, "template");
}

/// Pods of a job are found by the job's uid, unless the user wants to select them.
fn generate_selector(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let name = job["metadata"]["name"].clone();
    let uid = job["metadata"]["uid"].clone();
    let spec = job.at_or_empty("spec");
    let labels = spec.at_or_empty("template").at_or_empty("metadata").at_or_empty("labels");
    for label in NAME_LABELS {
        labels.fill(label, name.clone());
    }
    for label in UID_LABELS {
        labels.fill(label, uid.clone());
    }
    spec.at_or_empty("selector").at_or_empty("matchLabels").fill(UID_LABELS[1], uid);
}

/// Checks a job; with the stored one, by what that was allowed.
pub(super) fn validate(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    let old_labels = old.map(|old| &old["spec"]["template"]["metadata"]["labels"]);
    let is_prefixed =
        old_labels.is_none_or(|labels| !labels[NAME_LABELS[1]].is_null() && !labels[UID_LABELS[1]].is_null());
    validate_generated_selector(&root, is_prefixed, errors);
    validate_spec(&spec, old, errors);
    validate_host_names(&root, errors);
}

fn validate_host_names(job: &Spot<'_>, errors: &mut Errors) {
    let spec = &job.value["spec"];
    let Some(completions) = spec["completions"].as_i64().filter(|completions| *completions > 0) else { return };
    let meta = job.field("metadata");
    let name = meta.field("name");
    let last = format!("{}-{}", name.text(), completions - 1);
    if spec["completionMode"] == "Indexed" && !names::is_dns1123_label(&last).is_empty() {
        let words = format!("will not able to create pod with invalid DNS label: {last}");
        errors.push(Error::invalid(&name.path, name.text(), words));
    }
}

fn validate_generated_selector(job: &Spot<'_>, is_prefixed: bool, errors: &mut Errors) {
    let spec = job.field("spec");
    let selector = spec.field("selector");
    if spec.field("manualSelector").is_true() || !selector.given() {
        return;
    }
    let meta = job.field("metadata");
    let (name, uid) = (text(meta.value, "name"), text(meta.value, "uid"));
    if uid.is_empty() {
        errors.push(Error::required(&meta.path.child("uid"), ""));
    }
    let pods = spec.field("template");
    let pod_meta = pods.field("metadata");
    let labels = pod_meta.field("labels");
    let mut expected = vec![(UID_LABELS[0], uid), (NAME_LABELS[0], name)];
    if is_prefixed {
        expected.extend([(UID_LABELS[1], uid), (NAME_LABELS[1], name)]);
    }
    for (label, value) in &expected {
        let path = labels.path.key(label);
        match labels.value.get(label).map(|label| label.as_str().unwrap_or_default()) {
            None => errors.push(Error::required(&path, format!("must be '{value}'"))),
            Some(found) if found != *value => {
                errors.push(Error::invalid(&path, labels.value.clone(), format!("must be '{value}'")));
            }
            Some(_) => {}
        }
    }
    let labels: serde_json::Map<String, Value> =
        expected.into_iter().map(|(label, value)| (label.to_owned(), value.into())).collect();
    let labelled = serde_json::json!({"metadata": {"labels": labels}});
    if template::selects(selector.value, &labelled) == Some(false) {
        let words = "`selector` not auto-generated";
        errors.push(shown::invalid(&selector.path, "LabelSelector", selector.value, words));
    }
}

/// Checks the spec of a job.
pub(super) fn validate_spec(spec: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) {
    validate_spec_of_template(spec, old.map(|old| &old["spec"]["template"]), errors);
    let selector = spec.field("selector");
    if selector.given() {
        label_selector(&selector, SelectorValues::Checked, errors);
    } else {
        errors.push(Error::required(&selector.path, ""));
    }
    let pods = spec.field("template");
    if template::selects(selector.value, pods.value) == Some(false) {
        template::not_selected(&pods, errors);
    }
}

/// Checks all of a job's spec but the selector, as it may stand in a cron job.
pub(super) fn validate_spec_of_template(spec: &Spot<'_>, old_template: Option<&Value>, errors: &mut Errors) {
    static COUNTS: &[&str] = &[
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    counts::not_negative(spec, COUNTS, errors);
    let per_index = spec.field("backoffLimitPerIndex");
    let failed_indexes = spec.field("maxFailedIndexes");
    if failed_indexes.given() && !per_index.given() {
        errors.push(Error::required(&per_index.path, "when maxFailedIndexes is specified"));
    }
    let manager = spec.field("managedBy");
    if manager.given() {
        validate_manager(&manager, errors);
    }
    let mode = spec.field("completionMode");
    if mode.given() && !matches!(mode.text(), "NonIndexed" | "Indexed") {
        errors.push(Error::not_supported(&mode.path, mode.text(), &["NonIndexed", "Indexed"]));
    }
    match mode.text() {
        "Indexed" => validate_indexed(spec, errors),
        "NonIndexed" | "" if mode.text() == "NonIndexed" || !mode.given() => {
            for field in [&per_index, &failed_indexes] {
                if field.given() {
                    field.invalid("requires indexed completion mode", errors);
                }
            }
        }
        _ => {}
    }
    if spec.field("podFailurePolicy").given() {
        job_policy::validate_failure_policy(spec, errors);
    }
    let success = spec.field("successPolicy");
    if success.given() {
        if mode.text() == "Indexed" {
            job_policy::validate_success_policy(spec, errors);
        } else {
            let words = "requires indexed completion mode";
            errors.push(shown::invalid(&success.path, "SuccessPolicy", success.value, words));
        }
    }
    let replacement = spec.field("podReplacementPolicy");
    let allowed: &[&str] =
        if spec.field("podFailurePolicy").given() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    if replacement.given() && !allowed.contains(&replacement.text()) {
        errors.push(Error::not_supported(&replacement.path, replacement.text(), allowed));
    }
    let pods = spec.field("template");
    template::validate(&pods, old_template, errors);
    validate_restart_policy(spec, errors);
}

fn validate_restart_policy(spec: &Spot<'_>, errors: &mut Errors) {
    let pods = spec.field("template");
    let pod_spec = pods.field("spec");
    let policy = pod_spec.field("restartPolicy");
    match policy.text() {
        "" | "Always" => {
            errors.push(Error::required(&policy.path, r#"valid values: "OnFailure", "Never""#));
        }
        "Never" => {}
        "OnFailure" => {
            if spec.field("podFailurePolicy").given() {
                policy.invalid(r#"only "Never" is supported when podFailurePolicy is specified"#, errors);
            }
        }
        other => errors.push(Error::not_supported(&policy.path, other, &["OnFailure", "Never"])),
    }
}

/// Checks the name of a foreign controller: a domain, a slash, and a path.
fn validate_manager(manager: &Spot<'_>, errors: &mut Errors) {
    let name = manager.text();
    match name.split_once('/') {
        _ if name.is_empty() => errors.push(Error::required(&manager.path, "")),
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            let sentences = names::is_dns1123_subdomain(host);
            errors.extend(sentences.into_iter().map(|words| Error::invalid(&manager.path, host, words)));
            let is_path = |byte: u8| byte.is_ascii_alphanumeric() || br"/-._~%!$&'()*+,;=:".contains(&byte);
            if !path.bytes().all(is_path) {
                let format = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
                errors.push(Error::invalid(&manager.path, path, names::format_error("Invalid path", format, &[])));
            }
        }
        _ => manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")", errors),
    }
    if name.len() > MANAGED_BY_MAX {
        errors.push(Error::too_long(&manager.path, MANAGED_BY_MAX));
    }
}

fn validate_indexed(spec: &Spot<'_>, errors: &mut Errors) {
    let completions = spec.field("completions");
    let parallelism = spec.field("parallelism");
    let failed = spec.field("maxFailedIndexes");
    if !completions.given() {
        errors.push(Error::required(&completions.path, "when completion mode is Indexed"));
    }
    if parallelism.number() > PARALLELISM_MAX {
        let words = format!("must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed");
        parallelism.invalid(words, errors);
    }
    if completions.given() && failed.given() && failed.number() > completions.number() {
        failed.invalid("must be less than or equal to completions", errors);
    }
    if failed.number() > FAILED_INDEXES_MAX {
        failed.invalid(format!("must be less than or equal to {FAILED_INDEXES_MAX}"), errors);
    }
    if completions.number() > MANY_COMPLETIONS && spec.field("backoffLimitPerIndex").given() {
        if !failed.given() {
            let words = format!("must be specified when completions is above {MANY_COMPLETIONS}");
            errors.push(Error::required(&failed.path, words));
        }
        for field in [&parallelism, &failed] {
            if field.number() > MANY_COMPLETIONS_LIMIT {
                field.invalid(
                    format!(
                        "must be less than or equal to {MANY_COMPLETIONS_LIMIT} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
                    ),
                    errors,
                );
            }
        }
    }
}

/// Warnings about the spec of a job.
pub(super) fn warn_of_spec(spec: &Spot<'_>, warnings: &mut Vec<String>) {
    let too_many = spec.field("completions").number() > MANY_COMPLETIONS
        && spec.field("parallelism").number() > MANY_COMPLETIONS_LIMIT;
    if spec.field("completionMode").text() == "Indexed" && too_many {
        warnings.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
            spec.path
        ));
    }
    pod::warn_of_template(&spec.field("template"), warnings);
}
