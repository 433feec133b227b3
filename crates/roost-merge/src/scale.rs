//! Owners of replicas, as the scale subresource and its parent see them.

use serde_json::Value;

use crate::managed::{Element, FieldSet, Managed, ManagedError};

const SCALE_VERSION: &str = "autoscaling/v1";

/// Where replicas are in the versions of a parent: `apps/v1` and `["spec", "replicas"]`, or no path for a version
/// without scale.
pub type ReplicasPaths<'a> = &'a [(&'a str, Option<&'a [&'a str]>)];

fn path(names: &[&str]) -> Vec<Element> {
    names.iter().map(|name| Element::field(name)).collect()
}

fn replicas_in_scale() -> Vec<Element> {
    path(&["spec", "replicas"])
}

/// The parent's entries as entries of its scale: the owners of replicas, and nothing else.
pub fn to_subresource(parent: &[Value], paths: ReplicasPaths<'_>) -> Result<Vec<Value>, ManagedError> {
    let mut managed = Managed::decode(parent)?;
    managed.entries.retain_mut(|entry| {
        let found = paths.iter().find(|(version, _)| *version == entry.api_version).and_then(|(_, names)| *names);
        let owns = found.is_some_and(|names| entry.fields.contains(&path(names)));
        entry.fields = FieldSet::new();
        entry.fields.insert(&replicas_in_scale());
        SCALE_VERSION.clone_into(&mut entry.api_version);
        owns
    });
    Ok(managed.encode())
}

/// The parent's entries after a write of its scale in the parent's version `api_version`.
pub fn to_parent(
    parent: &[Value],
    scale: &[Value],
    api_version: &str,
    paths: ReplicasPaths<'_>,
) -> Result<Vec<Value>, ManagedError> {
    let mut parent = Managed::decode(parent)?;
    let mut scale = Managed::decode(scale)?;
    // Only appliers are the same manager in both: the version is part of an updater's identity, and differs. So an
    // updater's entry is written anew, without a time.
    for entry in &mut scale.entries {
        entry.time = parent.entries.iter().find(|twin| twin.is_same_manager(entry)).and_then(|twin| twin.time.clone());
    }
    parent.entries.retain_mut(|entry| {
        let Some((_, names)) = paths.iter().find(|(version, _)| *version == entry.api_version) else { return false };
        let Some(replicas) = names.map(path).filter(|replicas| entry.fields.contains(replicas)) else { return true };
        if scale.take(entry).is_some() {
            return true;
        }
        let mut stolen = FieldSet::new();
        stolen.insert(&replicas);
        entry.fields.subtract(&stolen);
        !entry.fields.is_empty()
    });
    let names = paths.iter().find(|(version, _)| *version == api_version).and_then(|(_, names)| *names);
    for mut entry in scale.entries {
        if !entry.fields.contains(&replicas_in_scale()) {
            continue;
        }
        entry.fields = FieldSet::new();
        entry.fields.insert(&path(names.unwrap_or_default()));
        let is_new = parent.entries.iter().all(|present| !present.is_same_manager(&entry));
        api_version.clone_into(&mut entry.api_version);
        if is_new {
            parent.entries.push(entry);
        } else {
            parent.put(entry);
        }
    }
    Ok(parent.encode())
}
