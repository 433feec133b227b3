//! Revisions of templates, as objects that can be gone back to.

use serde_json::{Value, json};

use crate::{hash, metadata, value};

/// The label that tells revisions apart.
pub const HASH: &str = "controller.kubernetes.io/hash";
/// The label by which pods name their revision.
pub const POD_REVISION: &str = "controller-revision-hash";

/// What a revision keeps of its owner: the template, as a patch that puts it back.
pub fn data(owner: &Value) -> Value {
    let mut template = owner["spec"]["template"].clone();
    value::set(&mut template, &["$patch"], "replace");
    json!({"spec": {"template": template}})
}

/// Whether a revision is of the template that its owner has.
pub fn is_current(revision: &Value, owner: &Value) -> bool {
    revision["data"] == data(owner)
}

/// A revision's number.
pub fn number(revision: &Value) -> i64 {
    value::number(revision, &["revision"])
}

/// The hash of a revision as stock computes it: of the patch as Go writes it, and of the count of collisions.
pub fn hash(data: &Value, collisions: i64) -> String {
    let text = data.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    hash::letters(hash::fnv1(format!("{text}{collisions}").as_bytes()))
}

/// A new revision of an owner's template.
pub fn new(owner: &Value, name: &str, labels: &[(&str, &str)], number: i64) -> Value {
    let mut own = match &owner["spec"]["template"]["metadata"]["labels"] {
        Value::Object(labels) => Value::Object(labels.clone()),
        _ => json!({}),
    };
    for (key, text) in labels {
        own[*key] = (*text).into();
    }
    let mut revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "namespace": owner["metadata"]["namespace"], "labels": own,
            "ownerReferences": [metadata::controller_reference(owner)],
        },
        "data": data(owner), "revision": number,
    });
    if let Some(annotations) = owner["metadata"].get("annotations") {
        revision["metadata"]["annotations"] = annotations.clone();
    }
    revision
}

/// The template that a revision puts back.
pub fn template(revision: &Value) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    value::remove(&mut template, &["$patch"]);
    template
}

/// Revisions from the oldest to the newest.
pub fn sort(revisions: &mut [Value]) {
    revisions.sort_by(|one, other| {
        let key = |revision: &Value| {
            let text = |name| value::text(revision, &["metadata", name]).to_owned();
            (number(revision), text("creationTimestamp"), text("name"))
        };
        key(one).cmp(&key(other))
    });
}
