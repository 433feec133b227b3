//! What a write takes from whom.

use std::sync::LazyLock;

use roost_object::merge::Node;
use serde_json::Value;

use super::{Tracking, Versions};
use crate::conflict::Conflict;
use crate::managed::{Entry, FieldSet, Managed, Operation};
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
        if entry.api_version == request.api_version || known {
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
