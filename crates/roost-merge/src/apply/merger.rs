//! One server-side apply: merge, prune, find conflicts.

use std::borrow::Cow;

use roost_object::merge::Node;
use serde_json::Value;

use super::{ApplyError, Tracking, Versions, describe, not_typed, track};
use crate::go_text::equal;
use crate::managed::{Entry, FieldSet, Managed, Operation};
use crate::typed;

/// Who owns the fields of an object that was written before anybody tracked it.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An apply that is ready to run, forced or not.
pub(super) struct Merger<'a, 'r, N, V> {
    live: Value,
    config: &'a Value,
    managed: Managed,
    request: &'a Tracking<'r>,
    node: N,
    versions: &'a V,
}

/// What an apply leads to.
pub(super) struct Outcome {
    /// The object without `managedFields`.
    pub(super) object: Value,
    /// The entries to write into it.
    pub(super) managed: Managed,
}

impl<'a, 'r, N: Node, V: Versions<N>> Merger<'a, 'r, N, V> {
    /// Checks the configuration, and gives the fields of an object that nobody tracked to one manager.
    pub(super) fn prepare(
        live: &Value,
        config: &'a Value,
        mut managed: Managed,
        request: &'a Tracking<'r>,
        node: N,
        versions: &'a V,
    ) -> Result<Self, ApplyError> {
        if managed.entries.is_empty() {
            managed = track::take(request.empty, live, managed, BEFORE_FIRST_APPLY, request, node, versions).map_err(
                |error| {
                    let inner = format!("failed to update ManagedFields ({}): {error}", describe(live));
                    ApplyError::Internal(format!("failed to create manager for existing fields: {inner}"))
                },
            )?;
        }
        typed::validate(config, node).map_err(|errors| not_typed(config, &errors))?;
        track::reconcile(&mut managed, live, request, node, versions);
        let mut live = live.clone();
        if let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        Ok(Self { live, config, managed, request, node, versions })
    }

    pub(super) fn run(&self, force: bool) -> Result<Outcome, ApplyError> {
        let merged = typed::merge(self.live.clone(), self.config, self.node)
            .map_err(|error| ApplyError::Internal(format!("failed to merge config: {error}")))?;
        let mut managed = self.managed.clone();
        let mut applier = self.request.entry(self.request.manager, Operation::Apply);
        let last = managed.take(&applier);
        applier.time = last.as_ref().and_then(|last| last.time.clone());
        applier.fields = typed::field_set(self.config, self.node);
        self.request.filter.apply(&mut applier.fields);
        let pruned = self.prune(merged, &managed, &applier, last.as_ref());
        let changed = !equal(&self.live, &pruned);
        if changed {
            applier.time = Some(self.request.now.to_owned());
        }
        managed.put(applier.clone());
        let failed =
            |error: &dyn std::fmt::Display| ApplyError::Internal(format!("failed to compare objects: {error}"));
        let mut comparison = typed::compare(&self.live, &pruned, self.node).map_err(|error| failed(&error))?;
        comparison.filter(self.request.filter);
        let conflicts = track::take_changed(
            &mut managed,
            &self.live,
            &pruned,
            &comparison,
            Some(&applier),
            self.request,
            self.versions,
        )
        .map_err(|error| failed(&error))?;
        if !force && !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        track::strip(&mut managed, &applier);
        Ok(Outcome { object: pruned, managed })
    }

    /// Removes what the applier applied last time, does not apply now, and nobody else owns.
    fn prune(&self, merged: Value, others: &Managed, applier: &Entry, last: Option<&Entry>) -> Value {
        let Some(last) = last.filter(|last| !last.fields.is_empty()) else { return merged };
        if last.api_version == applier.api_version && last.fields.difference(&applier.fields).is_empty() {
            return merged;
        }
        let Some((at_last, node)) = self.at_version(&merged, &last.api_version) else { return merged };
        let at_last = at_last.into_owned();
        let last_fields = last.fields.with_declared_fields(Some(node));
        let mut pruned = typed::remove(&at_last, &last_fields, node);
        for (version, owned) in owned_by_version(others, applier, &last.api_version) {
            let Some((merged, node)) = self.at_version(&at_last, version) else { continue };
            let Some((rest, _)) = self.at_version(&pruned, version) else { continue };
            let mut lost = typed::field_set(&merged, node).with_declared_fields(Some(node));
            lost.subtract(&typed::field_set(&rest, node).with_declared_fields(Some(node)));
            lost.subtract(&owned.with_declared_fields(Some(node)));
            pruned = typed::remove(&merged, &lost, node);
        }
        let Some((rest, _)) = self.at_version(&pruned, &last.api_version) else { return at_last };
        let mut lost = typed::field_set(&at_last, node).with_declared_fields(Some(node));
        lost.subtract(&typed::field_set(&rest, node).with_declared_fields(Some(node)));
        let pruned = typed::remove(&at_last, &lost.intersection(&last_fields), node);
        match self.at_version(&pruned, self.request.api_version) {
            Some((object, _)) => object.into_owned(),
            None => pruned,
        }
    }

    fn at_version<'o>(&self, object: &'o Value, api_version: &str) -> Option<(Cow<'o, Value>, N)> {
        if object.get("apiVersion").and_then(Value::as_str).unwrap_or(self.request.api_version) == api_version {
            let node = if api_version == self.request.api_version {
                self.node
            } else {
                self.versions.convert(object, api_version)?.1
            };
            return Some((Cow::Borrowed(object), node));
        }
        self.versions.convert(object, api_version)
    }
}

/// What everybody owns in each version, the given version first.
fn owned_by_version<'e>(others: &'e Managed, applier: &'e Entry, first: &str) -> Vec<(&'e str, FieldSet)> {
    let mut owned: Vec<(&str, FieldSet)> = Vec::new();
    for entry in others.entries.iter().chain([applier]) {
        match owned.iter_mut().find(|(version, _)| *version == entry.api_version) {
            Some((_, fields)) => fields.extend(entry.fields.clone()),
            None => owned.push((&entry.api_version, entry.fields.clone())),
        }
    }
    owned.sort_by_key(|(version, _)| *version != first);
    owned
}
