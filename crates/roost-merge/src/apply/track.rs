//! What a write takes from whom.

use std::sync::LazyLock;

use roost_object::merge::Node;
use serde_json::{Map, Value};

use super::{Tracking, Versions};
use crate::conflict::Conflict;
use crate::managed::{Entry, FieldSet, MAX_UPDATE_MANAGERS, Managed, Operation, raw, sort_encoded};
use crate::typed::{self, Comparison, TypeErrors};

/// The fields that the system sets, or that say which object it is. Nobody owns them.
static UNOWNABLE: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// What [`update`] does, without decoding what it does not change. It hands back what the request sent unless all is
/// plain: nobody edited the entries by hand, and all of them are of the request's version.
pub(super) fn update_in_place<N: Node>(
    live: Option<&Value>,
    new: &Value,
    sent: Option<Value>,
    request: &Tracking<'_>,
    node: N,
) -> Result<Option<Vec<Value>>, Option<Value>> {
    let Some((live, known)) = live.and_then(|live| Some((live, live.pointer("/metadata/managedFields")?))) else {
        return Err(sent);
    };
    let is_edited =
        sent.as_ref().is_some_and(|sent| request.subresource.is_empty() && !sent.is_null() && sent != known);
    let Some(known) = known.as_array().filter(|known| !is_edited && is_plain(known, request.api_version)) else {
        return Err(sent);
    };
    let Ok(mut comparison) = typed::compare(live, new, node) else { return Ok(None) };
    comparison.filter(request.filter);
    let mut entries = match sent {
        Some(Value::Array(sent)) if request.subresource.is_empty() => sent,
        _ => known.clone(),
    };
    let Comparison { removed, modified, added } = comparison;
    let mut taken = modified;
    taken.extend(added);
    for fields in entries.iter_mut().filter_map(fields_mut) {
        raw::reconcile(fields, node);
        raw::subtract(fields, &taken);
        raw::subtract(fields, &removed);
    }
    taken.subtract(&UNOWNABLE);
    let own = request.entry(request.manager, Operation::Update);
    if !taken.is_empty() {
        match entries.iter_mut().find(|entry| is_of(entry, &own)) {
            Some(entry) => {
                if let Some(fields) = fields_mut(entry) {
                    raw::extend(fields, taken);
                }
                entry["time"] = request.now.into();
            }
            None => entries.push(Entry { time: Some(request.now.to_owned()), fields: taken, ..own }.encode()),
        }
        sort_encoded(&mut entries);
    }
    entries.retain_mut(|entry| fields_mut(entry).is_some_and(|fields| !fields.is_empty()));
    Ok(Some(entries))
}

/// Whether entries can be changed in place, one more than there are at most.
fn is_plain(entries: &[Value], api_version: &str) -> bool {
    let updaters = entries.iter().filter(|entry| text(entry, "operation") == "Update").count();
    !entries.is_empty()
        && updaters < MAX_UPDATE_MANAGERS
        && entries.iter().all(|entry| {
            text(entry, "apiVersion") == api_version
                && matches!(text(entry, "operation"), "Apply" | "Update")
                && text(entry, "fieldsType") == "FieldsV1"
                && entry.get("fieldsV1").is_some_and(Value::is_object)
        })
}

fn is_of(entry: &Value, owner: &Entry) -> bool {
    text(entry, "manager") == owner.manager
        && text(entry, "operation") == owner.operation.as_str()
        && text(entry, "subresource") == owner.subresource
}

fn text<'e>(entry: &'e Value, name: &str) -> &'e str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn fields_mut(entry: &mut Value) -> Option<&mut Map<String, Value>> {
    entry.get_mut("fieldsV1").and_then(Value::as_object_mut)
}

/// The entries after a create, update or patch; none for an object that is not tracked or cannot be.
pub(super) fn update<N: Node>(
    live: Option<&Value>,
    new: &Value,
    sent: Option<&Value>,
    request: &Tracking<'_>,
    node: N,
    versions: &impl Versions<N>,
) -> Option<Managed> {
    let managed = starting_point(live, sent, !request.subresource.is_empty());
    let old = live.unwrap_or(request.empty);
    if managed.entries.is_empty() && has_uid(old) {
        return None;
    }
    take(old, new, managed, request.manager, request, node, versions).ok()
}

fn has_uid(object: &Value) -> bool {
    object.pointer("/metadata/uid").and_then(Value::as_str).is_some_and(|uid| !uid.is_empty())
}

/// The entries that an update starts from: those it sent, or else those of the live object.
fn starting_point(live: Option<&Value>, sent: Option<&Value>, ignore_sent: bool) -> Managed {
    let live = || live.and_then(|live| Managed::of(live).ok()).unwrap_or_default();
    match sent {
        Some(Value::Array(sent)) if !ignore_sent => {
            if Managed::is_reset(sent) {
                return Managed::default();
            }
            match Managed::decode(sent) {
                Ok(managed) if !managed.entries.is_empty() => managed,
                _ => live(),
            }
        }
        _ => live(),
    }
}

/// Takes what changed from all managers and gives it to one.
pub(super) fn take<N: Node>(
    old: &Value,
    new: &Value,
    mut managed: Managed,
    manager: &str,
    request: &Tracking<'_>,
    node: N,
    versions: &impl Versions<N>,
) -> Result<Managed, TypeErrors> {
    reconcile(&mut managed, old, request, node, versions);
    let mut comparison = typed::compare(old, new, node)?;
    comparison.filter(request.filter);
    if comparison.is_same() && managed.entries.iter().all(|entry| entry.api_version == request.api_version) {
        managed.entries.retain(|entry| !entry.fields.is_empty());
        return Ok(managed);
    }
    take_changed(&mut managed, old, new, &comparison, None, request, versions)?;
    let mut taken = comparison.modified;
    taken.extend(comparison.added);
    taken.subtract(&UNOWNABLE);
    if !taken.is_empty() {
        let mut entry = request.entry(manager, Operation::Update);
        entry.time = Some(request.now.to_owned());
        entry.fields = managed.take(&entry).map(|previous| previous.fields).unwrap_or_default();
        entry.fields.extend(taken);
        managed.put(entry);
    }
    managed.cap_updaters();
    Ok(managed)
}

/// Takes from an applier what nobody may own.
pub(super) fn strip(managed: &mut Managed, applier: &Entry) {
    managed.entries.retain_mut(|entry| {
        if entry.is_same_manager(applier) {
            entry.fields.subtract(&UNOWNABLE);
        }
        !entry.fields.is_empty()
    });
}

/// Brings all entries in line with the schema and drops those of versions that are gone.
pub(super) fn reconcile<N: Node>(
    managed: &mut Managed,
    live: &Value,
    request: &Tracking<'_>,
    node: N,
    versions: &impl Versions<N>,
) {
    managed.entries.retain_mut(|entry| {
        let node = if entry.api_version == request.api_version {
            Some(node)
        } else {
            versions.convert(live, &entry.api_version).map(|(_, node)| node)
        };
        if let Some(node) = node {
            typed::reconcile(&mut entry.fields, node);
        }
        node.is_some()
    });
}

/// Takes changed and removed fields from all managers but `workflow`, and tells which of the changed ones they owned.
pub(super) fn take_changed<N: Node>(
    managed: &mut Managed,
    old: &Value,
    new: &Value,
    comparison: &Comparison,
    workflow: Option<&Entry>,
    request: &Tracking<'_>,
    versions: &impl Versions<N>,
) -> Result<Vec<Conflict>, TypeErrors> {
    let mut others: Vec<(String, Option<Comparison>)> = Vec::new();
    for entry in &managed.entries {
        let known = others.iter().any(|(version, _)| *version == entry.api_version);
        if entry.api_version == request.api_version || known || versions.is_alike(&entry.api_version) {
            continue;
        }
        let converted = versions.convert(old, &entry.api_version).zip(versions.convert(new, &entry.api_version));
        let comparison = converted
            .map(|((old, node), (new, _))| {
                let mut comparison = typed::compare(&old, &new, node)?;
                comparison.filter(request.filter);
                Ok(comparison)
            })
            .transpose()?;
        others.push((entry.api_version.clone(), comparison));
    }
    let mut conflicts = Vec::new();
    managed.entries.retain_mut(|entry| {
        if workflow.is_some_and(|workflow| workflow.is_same_manager(entry)) {
            return !entry.fields.is_empty();
        }
        let other = others.iter().find(|(version, _)| *version == entry.api_version);
        let Some(comparison) = other.map_or(Some(comparison), |(_, other)| other.as_ref()) else { return false };
        for changed in [&comparison.modified, &comparison.added] {
            if workflow.is_some() && entry.fields.intersects(changed) {
                conflicts.push((entry.clone(), entry.fields.intersection(changed)));
            }
            entry.fields.subtract(changed);
        }
        entry.fields.subtract(&comparison.removed);
        !entry.fields.is_empty()
    });
    Ok(one_a_field(conflicts))
}

fn one_a_field(found: Vec<(Entry, FieldSet)>) -> Vec<Conflict> {
    let mut merged: Vec<(Entry, FieldSet)> = Vec::with_capacity(found.len());
    for (owner, fields) in found {
        match merged.iter_mut().find(|(known, _)| known.is_same_manager(&owner)) {
            Some((_, known)) => known.extend(fields),
            None => merged.push((owner, fields)),
        }
    }
    merged.iter().flat_map(|(owner, fields)| Conflict::all(owner, fields)).collect()
}
