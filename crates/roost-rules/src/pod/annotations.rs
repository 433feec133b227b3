//! Annotations that mean something to pods.

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

use super::spec::Options;
use super::{scheduling, visit_containers};
use crate::check::{DESCENDING_PATH, Spot, annotated_list, text};

pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
pub(super) const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(super) const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
pub(super) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

fn annotation<'a>(meta: &'a Value, key: &str) -> Option<&'a str> {
    meta["annotations"].get(key)?.as_str()
}

/// Checks the annotations of a pod or template, reported at `path`.
pub(super) fn validate(meta: &Value, spec: &Spot<'_>, path: &Path<'_>, options: &Options, errors: &mut Errors) {
    if let Some(value) = annotation(meta, MIRROR)
        && text(spec.value, "nodeName").is_empty()
    {
        let words = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(Error::invalid(&path.key(MIRROR), value, words));
    }
    if let Some(value) = annotation(meta, TOLERATIONS).filter(|value| !value.is_empty()) {
        match annotated_list(value, "[]core.Toleration") {
            Ok(tolerations) => {
                scheduling::validate_tolerations(&Spot::new(&tolerations, path.child(TOLERATIONS)), options, errors);
            }
            Err(why) => errors.push(Error::invalid(path, TOLERATIONS, why)),
        }
    }
    if let Some(value) = annotation(meta, DELETION_COST)
        && !options.allow_invalid_deletion_cost
        && !is_deletion_cost(value)
    {
        errors.push(Error::invalid(&path.key(DELETION_COST), value, "must be a 32bit integer"));
    }
    if let Some(profile) = meta["annotations"].get(SECCOMP_OF_POD) {
        validate_seccomp(&Spot::new(profile, path.child(SECCOMP_OF_POD)), errors);
    }
    for (key, value) in meta["annotations"].as_object().into_iter().flatten() {
        if key.starts_with(SECCOMP_OF_CONTAINER) {
            validate_seccomp(&Spot::new(value, path.child(key)), errors);
        }
    }
    for (key, value) in meta["annotations"].as_object().into_iter().flatten() {
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        let mut is_known = false;
        visit_containers(spec, |found| is_known |= text(found.value, "name") == container);
        if !is_known {
            errors.push(Error::invalid(&path.key(key), container, "container not found"));
        }
        let profile = value.as_str().unwrap_or_default();
        if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with("localhost/") {
            let words = format!("invalid AppArmor profile name: {}", roost_object::field::quote(profile));
            errors.push(Error::invalid(&path.key(key), profile, words));
        }
    }
}

/// Whether the text is a deletion cost: a number of 32 bits, without a plus or leading zeros.
pub(super) fn is_deletion_cost(text: &str) -> bool {
    let starts_well = text == "0" || text.starts_with(['-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    starts_well && text.parse::<i32>().is_ok()
}

/// Whether the metadata carries a deletion cost that is none.
pub(super) fn has_invalid_deletion_cost(meta: &Value) -> bool {
    annotation(meta, DELETION_COST).is_some_and(|cost| !is_deletion_cost(cost))
}

fn validate_seccomp(profile: &Spot<'_>, errors: &mut Errors) {
    match profile.text() {
        "runtime/default" | "docker/default" | "unconfined" => {}
        name => match name.strip_prefix("localhost/") {
            Some(file) => Spot::new(&file.into(), profile.path).check(&[DESCENDING_PATH], errors),
            None => profile.invalid("must be a valid seccomp profile", errors),
        },
    }
}

/// Checks that a new pod does not say one thing in annotations and another in fields.
pub(super) fn validate_agreement(meta: &Value, spec: &Spot<'_>, errors: &mut Errors) {
    let context = spec.field("securityContext");
    let of_pod = context.field("seccompProfile");
    if let Some(annotation) = annotation(meta, SECCOMP_OF_POD) {
        agree("seccomp", annotation, &of_pod, &of_pod, errors);
    }
    visit_containers(spec, |container| {
        let key = format!("{SECCOMP_OF_CONTAINER}{}", text(container.value, "name"));
        if let Some(annotation) = annotation(meta, &key) {
            let context = container.field("securityContext");
            let profile = context.field("seccompProfile");
            agree("seccomp", annotation, &profile, &profile, errors);
        }
    });
    if spec.value["os"]["name"] == "windows" {
        return;
    }
    let of_pod = context.field("appArmorProfile");
    visit_containers(spec, |container| {
        let key = format!("{APP_ARMOR}{}", text(container.value, "name"));
        if let Some(annotation) = annotation(meta, &key) {
            let context = container.field("securityContext");
            let own = context.field("appArmorProfile");
            agree("apparmor", annotation, if own.given() { &own } else { &of_pod }, &own, errors);
        }
    });
}

fn agree(subject: &str, annotation: &str, profile: &Spot<'_>, reported_as: &Spot<'_>, errors: &mut Errors) {
    let local = profile.field("localhostProfile");
    let agrees = match text(profile.value, "type") {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => annotation == "runtime/default" || (subject == "seccomp" && annotation == "docker/default"),
        "Localhost" => match annotation.strip_prefix("localhost/") {
            Some(file) if !local.given() || local.text() != file => {
                let words = format!("{subject} profile in annotation and field must match");
                reported_as.field("localhostProfile").forbidden(words, errors);
                true
            }
            found => found.is_some(),
        },
        _ => true,
    };
    if !agrees {
        reported_as.field("type").forbidden(format!("{subject} type in annotation and field must match"), errors);
    }
}

/// Checks what an update does to annotations that must stay, and then all of them once more.
pub(super) fn validate_update(new: &Spot<'_>, old: &Value, options: &Options, errors: &mut Errors) {
    let meta = new.field("metadata");
    let path = meta.path.child("annotations");
    let report = |key: &str, what: &str, errors: &mut Errors| {
        if key.starts_with(APP_ARMOR) {
            errors.push(Error::forbidden(&path.key(key), format!("may not {what} AppArmor annotations")));
        }
        if key == MIRROR {
            errors.push(Error::forbidden(&path.key(key), format!("may not {what} mirror pod annotation")));
        }
    };
    let (now, before) = (&meta.value["annotations"], &old["metadata"]["annotations"]);
    for (key, value) in before.as_object().into_iter().flatten() {
        if now.get(key) != Some(value) {
            report(key, "remove or update", errors);
        }
    }
    for (key, _) in now.as_object().into_iter().flatten() {
        if before.get(key).is_none() {
            report(key, "add", errors);
        }
    }
    validate(meta.value, &new.field("spec"), &path, options, errors);
}

/// The profile field that an `AppArmor` annotation stands for, if it is one that validates.
pub(super) fn app_armor_profile(annotation: &str) -> Option<Value> {
    let profile = match annotation {
        "unconfined" => serde_json::json!({"type": "Unconfined"}),
        "runtime/default" => serde_json::json!({"type": "RuntimeDefault"}),
        _ => {
            let file = annotation.strip_prefix("localhost/").filter(|file| !file.is_empty())?;
            serde_json::json!({"type": "Localhost", "localhostProfile": file})
        }
    };
    let mut errors = Errors::new();
    super::security::validate_app_armor_profile(&Spot::root(&profile), &mut errors);
    errors.is_empty().then_some(profile)
}
