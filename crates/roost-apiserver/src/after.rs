//! What a write brings with it at once: definitions are accepted, so that the next request finds them served.

use roost_object::Value;
use serde_json::json;

use crate::clock;
use crate::custom::is_true;
use crate::write::{self, Change, ChangeKind, Target};

/// Follows up on an object that was created or changed.
pub(crate) async fn written(target: &Target<'_>, object: &Value) {
    if target.resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        accept_definition(target, object).await;
    }
}

/// Accepts a definition's names and establishes it, or says which names are taken. Stock does this in a controller a
/// moment later; here it is done before the caller hears back, and in a write of its own, as stock's watchers see it.
async fn accept_definition(target: &Target<'_>, object: &Value) {
    let name = write::metadata_text(object, "name").to_owned();
    let call = crate::call::Call::internal(&target.call.cluster);
    let status_target =
        Target { call: &call, resource: target.resource, namespace: "", name: &name, subresource: "status" };
    let others: Vec<Value> = call
        .cluster
        .find_all("apiextensions.k8s.io", "customresourcedefinitions", "")
        .into_iter()
        .filter(|other| write::metadata_text(other, "name") != name)
        .collect();
    let now = clock::now_text();
    let transform = |live: &Value| {
        let mut next = live.clone();
        accept_names(&mut next, &others, &now);
        Ok(next)
    };
    let change = Change { kind: ChangeKind::Patch, transform: &transform, create: false };
    let options = write::internal_options(write::API_SERVER);
    if let Err(status) = write::update(status_target, change, &options).await {
        tracing::warn!(definition = name, %status, "the names of a definition could not be accepted");
    }
}

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Writes accepted names and conditions into a definition: a pure function of it and the others of its group.
pub(crate) fn accept_names(definition: &mut Value, others: &[Value], now: &str) {
    let was_established = is_true(definition, "Established");
    let conflict = accept_free_names(definition, others);
    let (accepted, reason, message) = match conflict {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", reason, message),
    };
    set_condition(definition, "NamesAccepted", accepted, reason, &message, now);
    if accepted == "True" || was_established {
        set_condition(
            definition,
            "Established",
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
            now,
        );
    } else {
        set_condition(definition, "Established", "False", "NotAccepted", "not all names are accepted", now);
    }
}

/// Accepts the names that no other definition of the group has, one by one, and returns the last conflict.
fn accept_free_names(definition: &mut Value, others: &[Value]) -> Option<(&'static str, String)> {
    let group = definition["spec"]["group"].clone();
    let wanted = definition["spec"]["names"].clone();
    let rivals: Vec<&Value> = others
        .iter()
        .filter(|other| other["spec"]["group"] == group)
        .map(|other| &other["status"]["acceptedNames"])
        .collect();
    let texts = |names: &Value, fields: &[&str]| -> Vec<String> {
        fields
            .iter()
            .flat_map(|field| match &names[*field] {
                Value::String(text) => vec![text.clone()],
                Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => Vec::new(),
            })
            .collect()
    };
    let resources: Vec<String> =
        rivals.iter().flat_map(|names| texts(names, &["plural", "singular", "shortNames"])).collect();
    let kinds: Vec<String> = rivals.iter().flat_map(|names| texts(names, &["kind", "listKind"])).collect();
    let mut conflict = None;
    for (field, reason, taken) in [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("shortNames", "ShortNamesConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ] {
        let clashes: Vec<String> = texts(&wanted, &[field]).into_iter().filter(|name| taken.contains(name)).collect();
        if let Some(first) = clashes.first() {
            let words = clashes.iter().map(|name| format!("{} is already in use", roost_object::field::quote(name)));
            let words: Vec<String> = words.collect();
            let message = if clashes.len() == 1 {
                format!("{} is already in use", roost_object::field::quote(first))
            } else {
                format!("[{}]", words.join(", "))
            };
            conflict = Some((reason, message));
        } else if let Some(value) = wanted.get(field) {
            definition["status"]["acceptedNames"][field] = value.clone();
        }
    }
    if let Some(categories) = wanted.get("categories") {
        definition["status"]["acceptedNames"]["categories"] = categories.clone();
    }
    conflict
}

/// Sets a condition of a definition; the time moves only with the status.
pub(crate) fn set_condition(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let mut next =
        json!({"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message});
    match conditions.iter_mut().find(|condition| condition["type"] == kind) {
        Some(condition) => {
            if condition["status"] == status {
                next["lastTransitionTime"] = condition["lastTransitionTime"].clone();
            }
            *condition = next;
        }
        None => conditions.push(next),
    }
}
