//! Namespaces: the label with the name, the finalizer that empties them, and their phase.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use crate::check::{Spot, elements, text};
use crate::fill::Fill;

/// The label that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The finalizer that the namespace controller takes away once the namespace is empty.
const FINALIZER: &str = "kubernetes";
const STANDARD_FINALIZERS: [&str; 3] = [FINALIZER, "orphan", "foregroundDeletion"];

pub(super) fn defaults(namespace: &mut Value) {
    label_with_name(namespace);
    namespace.at_or_empty("status").fill_text("phase", "Active");
}

/// Labels a namespace with its name. Called again once a name was generated.
pub fn label_with_name(namespace: &mut Value) {
    let name = text(&namespace["metadata"], "name").to_owned();
    if !name.is_empty() {
        namespace.at_or_empty("metadata").at_or_empty("labels").put(NAME_LABEL, name);
    }
}

pub(super) fn prepare_create(namespace: &mut Value) {
    label_with_name(namespace);
    namespace.put("status", serde_json::json!({"phase": "Active"}));
    let spec = namespace.at_or_empty("spec");
    spec.fill("finalizers", Vec::<Value>::new());
    if let Some(Value::Array(finalizers)) = spec.at("finalizers")
        && !finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    {
        finalizers.push(FINALIZER.into());
    }
}

pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    label_with_name(new);
    crate::keep_status(new, old);
    match &old["spec"]["finalizers"] {
        Value::Null => new.at_or_empty("spec").drop_field("finalizers"),
        finalizers => new.at_or_empty("spec").put("finalizers", finalizers.clone()),
    }
}

pub(super) fn validate(namespace: &Value, errors: &mut Errors) {
    let path = Path::new("spec.finalizers");
    for finalizer in elements(&namespace["spec"]["finalizers"]) {
        validate_finalizer(&Spot::new(finalizer, path), errors);
    }
}

fn validate_finalizer(finalizer: &Spot<'_>, errors: &mut Errors) {
    finalizer.text_passes(names::is_qualified_name, errors);
    let name = finalizer.text();
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        finalizer.invalid("name is neither a standard finalizer name nor is it fully qualified", errors);
    }
}

pub(super) fn validate_status_update(new: &Value, _old: &Value, errors: &mut Errors) {
    let deleted = !new["metadata"]["deletionTimestamp"].is_null();
    let (wanted, words) = if deleted {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    } else {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    };
    let phase = text(&new["status"], "phase");
    if phase != wanted {
        errors.push(Error::invalid(&Path::new("status.Phase"), phase, words));
    }
}

/// Carries over what an update of the finalize subresource may not touch: the status.
pub fn prepare_finalize(new: &mut Value, old: &Value) {
    crate::keep_status(new, old);
}

/// Checks an update of the finalize subresource.
pub fn validate_finalize(new: &Value, errors: &mut Errors) {
    let spec = Path::new("spec");
    Spot::new(&new["spec"]["finalizers"], spec.child("finalizers")).each(|_, finalizer| {
        validate_finalizer(finalizer, errors);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn a_new_namespace_is_active_labelled_and_finalized() {
        let mut namespace = json!({"metadata": {"name": "a"}, "status": {"phase": "Terminating"}});
        defaults(&mut namespace);
        prepare_create(&mut namespace);
        assert_eq!(
            namespace,
            json!({"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
        );
    }

    #[test]
    fn finalizers_are_standard_or_qualified() {
        let namespace = json!({"spec": {"finalizers": ["kubernetes", "a.b/c", "mine"]}});
        assert_eq!(
            words(|errors| validate(&namespace, errors)),
            [
                r#"spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified"#
            ]
        );
        assert_eq!(words(|errors| validate_finalize(&namespace, errors)).len(), 1);
    }

    #[test]
    fn the_phase_follows_the_deletion() {
        let status = json!({"metadata": {}, "status": {"phase": "Terminating"}});
        assert_eq!(
            words(|errors| validate_status_update(&status, &status, errors)),
            [r#"status.Phase: Invalid value: "Terminating": may only be 'Active' if `deletionTimestamp` is empty"#]
        );
    }
}
