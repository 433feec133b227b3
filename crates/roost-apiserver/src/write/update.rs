//! Changing an object: replace, patch and apply, on the object itself or through a subresource.

use std::borrow::Cow;

use roost_object::field::{Error, Path};
use roost_object::{GroupKind, Status, Value};
use roost_store::{CommitError, Entry, Expect, Operation, Revision, Write};

use super::create::{create_prepared, deduplicate_owners, match_namespace};
use super::pack::{Written, pack_live, returned_live};
use super::{Target, finalizers, metadata_mut, metadata_text, ownership, steps, storage_error};
use crate::admission::{self, Attributes, Verb};
use crate::options::WriteOptions;
use crate::read::parse_unsigned;
use crate::{allocate, escalation};

/// How often a change that does not name a revision is tried again when someone else wrote in between.
const CONFLICT_TRIES: usize = 16;

/// What stock says when someone else wrote first.
pub(crate) const LOCK_ERROR: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Computes the new object, in the served version and complete with defaults, from the live one.
pub(crate) type Transform<'a> = &'a (dyn Fn(&Value) -> Result<Value, Status> + Send + Sync);

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The caller sent the whole object; a uid in it is a precondition.
    Replace,
    /// The caller, or the server itself, changed the live object.
    Patch,
    /// Server-side apply, which tracks ownership itself.
    Apply,
    /// The server itself sets a few fields: nobody comes to own them, and no rule is asked.
    Bare,
}

/// A change to make.
pub(crate) struct Change<'a> {
    /// What kind of change it is.
    pub(crate) kind: ChangeKind,
    /// From the live object (an empty one on create) to the new one.
    pub(crate) transform: Transform<'a>,
    /// Whether a missing object is created.
    pub(crate) create: bool,
}

/// Changes an object.
pub(crate) async fn update(target: Target<'_>, change: Change<'_>, options: &WriteOptions) -> Result<Written, Status> {
    for _ in 0..CONFLICT_TRIES {
        let Some((old, entry)) = target.read_live().await? else {
            return create_by_update(target, &change, options).await;
        };
        match attempt(target, &change, options, &old, &entry).await? {
            Attempt::Done(written) => return Ok(written),
            Attempt::Retry => {}
        }
    }
    Err(Status::conflict(&target.resource.group_resource(), target.name, LOCK_ERROR))
}

enum Attempt {
    Done(Written),
    Retry,
}

async fn attempt(
    target: Target<'_>,
    change: &Change<'_>,
    options: &WriteOptions,
    old: &Value,
    entry: &Entry,
) -> Result<Attempt, Status> {
    let converted;
    let live = if old["apiVersion"] == *target.resource.api_version {
        old
    } else {
        converted = steps::convert_from_storage(target.resource, old.clone())?;
        &converted
    };
    let mut new = (change.transform)(live)?;
    if change.kind == ChangeKind::Bare {
        if new == *live {
            return Ok(Attempt::Done(Written::nothing(new)));
        }
        return attempt_bare(target, new, options, entry).await;
    }
    if change.kind == ChangeKind::Replace {
        check_uid(&target, &new, old)?;
    }
    check_revision(&target, &new, entry.modified)?;
    metadata_mut(&mut new).insert("resourceVersion".into(), entry.modified.to_string().into());
    if change.kind != ChangeKind::Apply {
        deduplicate_owners(&target, &mut new);
        let manager = target.call.manager_or_agent(&options.field_manager);
        ownership::track(&target, Some(live), &mut new, &manager);
    }
    let mut new = steps::convert_to_storage(target.resource, new)?;
    let attributes = Attributes {
        target,
        verb: Verb::Update,
        old: Some(old),
        dry_run: options.dry_run,
        deletion: None,
        action: None,
    };
    admission::mutate(&attributes, &mut new).await?;
    escalation::check(&attributes, &new)?;
    match_namespace(&target, &mut new)?;
    let allocated = allocate::before_update(&target, &mut new, old, options.dry_run)?;
    steps::prepare_update(&target, &mut new, old);
    keep_system_fields(&mut new, old, options.dry_run);
    steps::validate_update(&target, &new, old)?;
    roost_merge::revert_managed_times(old, &mut new);
    let admitted = admission::validate(&attributes, &new).await?;
    if let Cow::Owned(settled) = target.resource.read_back(&new) {
        new = settled;
    } else if target.subresource == "status" && target.resource.is_served_as_stored() {
        // Its defaults were found beside what the caller sent, and the rest of the object is another one now.
        steps::apply_defaults(target.resource, &mut new);
    }
    if new == *old && allocated.is_empty() && is_fresh(&target, old, entry)? {
        return Ok(Attempt::Done(Written::nothing(new)));
    }
    if options.dry_run {
        let returned = returned_live(&target, &new).await?;
        return Ok(Attempt::Done(Written::nothing(returned.unwrap_or(new))));
    }
    let mut writes = allocated;
    let packed = if ends_with_this_update(&new, old) {
        writes.extend(allocate::release(&target, old));
        None
    } else {
        Some(pack_live(&target, &new).await?)
    };
    writes.extend(admitted.writes.iter().cloned());
    writes.push(Write {
        collection: target.collection(),
        name: target.key(),
        expect: Expect::Revision(entry.modified),
        operation: packed.as_ref().map_or(Operation::Delete, |packed| Operation::Put(packed.bytes.clone())),
    });
    match target.call.cluster.store.commit(writes).await {
        Ok(revision) => Ok(Attempt::Done(match packed {
            Some(packed) => packed.written(new, revision),
            None => Written::nothing(new),
        })),
        // Someone else wrote first: a change that names a revision fails when it is tried again, any other one may fit.
        Err(CommitError::Conflict { .. }) => Ok(Attempt::Retry),
        Err(error) => Err(storage_error(&error)),
    }
}

/// Whether the object is stored as it is read now. One of an older definition or version is written anew even by a
/// change that changes nothing, which is how clients migrate.
fn is_fresh(target: &Target<'_>, old: &Value, entry: &Entry) -> Result<bool, Status> {
    if entry.created == entry.modified && target.resource.rules().is_some_and(|rules| (rules.stored_unsettled)(old)) {
        return Ok(false);
    }
    if target.resource.as_custom().is_none() || target.resource.webhook().is_some() {
        return Ok(true);
    }
    let stored = target.call.cluster.decode(target.resource, entry)?;
    Ok(stored == *old && stored["apiVersion"] == *target.resource.storage_api_version())
}

/// Writes what the server itself made of an object, as it is.
async fn attempt_bare(
    target: Target<'_>,
    new: Value,
    options: &WriteOptions,
    entry: &Entry,
) -> Result<Attempt, Status> {
    if options.dry_run {
        return Ok(Attempt::Done(Written::nothing(new)));
    }
    let packed = pack_live(&target, &new).await?;
    let write = Write {
        collection: target.collection(),
        name: target.key(),
        expect: Expect::Revision(entry.modified),
        operation: Operation::Put(packed.bytes.clone()),
    };
    match target.call.cluster.store.commit(vec![write]).await {
        Ok(revision) => Ok(Attempt::Done(packed.written(new, revision))),
        Err(CommitError::Conflict { .. }) => Ok(Attempt::Retry),
        Err(error) => Err(storage_error(&error)),
    }
}

/// Creates the object that a change was meant for, where the kind or the kind of change allows that.
async fn create_by_update(target: Target<'_>, change: &Change<'_>, options: &WriteOptions) -> Result<Written, Status> {
    if !change.create {
        return Err(target.not_found());
    }
    let mut new = (change.transform)(&Value::Object(roost_object::Map::new()))?;
    if change.kind == ChangeKind::Replace {
        check_uid(&target, &new, &Value::Null)?;
    }
    let uid = metadata_text(&new, "uid");
    if !uid.is_empty() {
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(Status::conflict(&target.resource.group_resource(), target.name, &why));
    }
    // What a create drops, such as a time of deletion, stays here: stock has no step for that on this way.
    for field in ["creationTimestamp", "selfLink", "resourceVersion"] {
        metadata_mut(&mut new).remove(field);
    }
    match_namespace(&target, &mut new)?;
    if change.kind != ChangeKind::Apply {
        let manager = target.call.manager_or_agent(&options.field_manager);
        ownership::track(&target, None, &mut new, &manager);
    }
    let new = steps::convert_to_storage(target.resource, new)?;
    create_prepared(target, new, options).await
}

/// A uid in the body is a precondition.
pub(crate) fn check_uid(target: &Target<'_>, new: &Value, old: &Value) -> Result<(), Status> {
    let (wanted, found) = (metadata_text(new, "uid"), metadata_text(old, "uid"));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    Err(failed_precondition(target, "UID", wanted, found))
}

/// What stock says of an object that is not the one that a precondition asks for.
pub(crate) fn failed_precondition(target: &Target<'_>, what: &str, wanted: &str, found: &str) -> Status {
    let key = registry_key(target);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    );
    Status::conflict(&target.resource.group_resource(), target.name, &why)
}

/// The key that stock stores the object under; its messages show it.
pub(crate) fn registry_key(target: &Target<'_>) -> String {
    let plural = &target.resource.plural;
    let prefix = match target.resource.as_custom() {
        Some(_) => format!("{}/{plural}", target.resource.group),
        None => plural.clone(),
    };
    // What is not written is compared before the store's own prefix is there.
    let root = if target.call.query.get("dryRun").is_some() { "" } else { "/registry" };
    format!("{root}/{prefix}/{}", target.key())
}

/// A revision in the body must be the newest; without one the kind decides.
fn check_revision(target: &Target<'_>, new: &Value, current: Revision) -> Result<(), Status> {
    let text = metadata_text(new, "resourceVersion");
    let wanted: Revision =
        if text.is_empty() { 0 } else { parse_unsigned(text).map_err(|why| Status::failure(500, "", why))? };
    if wanted == 0 {
        let allowed = target.resource.rules().is_some_and(|rules| rules.unconditional_update);
        if allowed {
            return Ok(());
        }
        let kind = GroupKind::new(&*target.resource.group, &*target.resource.plural);
        let path = Path::new("metadata.resourceVersion");
        let error = Error::invalid(&path, 0, "must be specified for an update");
        return Err(Status::invalid(&kind, target.name, &[error]));
    }
    if wanted == current {
        return Ok(());
    }
    Err(Status::conflict(&target.resource.group_resource(), target.name, LOCK_ERROR))
}

/// What no update can change: identity, age, and a deletion once asked for.
fn keep_system_fields(new: &mut Value, old: &Value, dry_run: bool) {
    let old = &old["metadata"];
    let metadata = metadata_mut(new);
    // A link that somebody sent is not stored; only the answer to what is not stored either has it, as on stock.
    if !dry_run || metadata.get("selfLink").is_some_and(|link| link == "") {
        metadata.remove("selfLink");
    }
    if metadata.get("uid").is_none() {
        metadata.insert("uid".into(), old["uid"].clone());
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if let Some(value) = old.get(field) {
            metadata.insert(field.into(), value.clone());
        }
    }
    if let (Some(period), None) = (old.get("deletionGracePeriodSeconds"), metadata.get("deletionGracePeriodSeconds")) {
        metadata.insert("deletionGracePeriodSeconds".into(), period.clone());
    }
}

/// Whether the object was only waiting for its last finalizer.
fn ends_with_this_update(new: &Value, old: &Value) -> bool {
    let old_meta = &old["metadata"];
    old_meta.get("deletionTimestamp").is_some()
        && finalizers(new).is_empty()
        && old_meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) == 0
        && !holds_namespace(new)
}

/// A namespace also waits for `spec.finalizers`.
fn holds_namespace(object: &Value) -> bool {
    object["kind"] == "Namespace" && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
}
