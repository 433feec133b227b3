//! Deleting an object: at once, after a grace period, or when its finalizers are gone.

use roost_object::{GroupResource, Status, Value};
use roost_store::{CommitError, Entry, Expect, Operation, Write};

use super::pack::pack_live;
use super::{Target, finalizers, metadata_mut, metadata_text, storage_error};
use crate::admission::{self, Attributes, Verb};
use crate::options::{DeleteOptions, Propagation};
use crate::{after, allocate, clock};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// How often a delete without preconditions is tried again when someone else wrote in between.
const CONFLICT_TRIES: usize = 16;

/// What came of a delete.
pub(crate) struct Deletion {
    /// The object, in the storage version, as it was last.
    pub(crate) object: Value,
    /// Whether it is gone; else it waits for a grace period or finalizers.
    pub(crate) immediate: bool,
}

/// Deletes an object.
pub(crate) async fn delete(target: Target<'_>, options: &DeleteOptions) -> Result<Deletion, Status> {
    for _ in 0..CONFLICT_TRIES {
        let Some((old, entry)) = target.read_live().await? else { return Err(target.not_found()) };
        check_preconditions(&target, &old, options)?;
        let attributes = Attributes {
            target,
            verb: Verb::Delete,
            old: Some(&old),
            dry_run: options.dry_run,
            deletion: Some(options),
            action: None,
        };
        admission::validate(&attributes, &Value::Null).await?;
        if let Some(deletion) = attempt(target, options, &old, &entry).await? {
            return Ok(deletion);
        }
    }
    Err(Status::conflict(&target.resource.group_resource(), target.name, super::update::LOCK_ERROR))
}

/// What a delete does to an object.
enum Step {
    /// It is removed.
    Remove,
    /// It is marked and removed in one go: watchers see both.
    MarkAndRemove(Value),
    /// It is marked, and waits.
    Mark(Value),
    /// It is already on its way; nothing changes.
    Pending,
}

async fn attempt(
    target: Target<'_>,
    options: &DeleteOptions,
    old: &Value,
    entry: &Entry,
) -> Result<Option<Deletion>, Status> {
    let (operations, mut object, immediate) = match plan(&target, options, old) {
        Step::Pending => return Ok(Some(Deletion { object: old.clone(), immediate: false })),
        Step::Remove => (vec![Operation::Delete], old.clone(), true),
        Step::MarkAndRemove(marked) => {
            let bytes = pack_live(&target, &marked).await?.bytes;
            (vec![Operation::Put(bytes), Operation::Delete], marked, true)
        }
        Step::Mark(marked) => {
            if marked == *old {
                return Ok(Some(Deletion { object: marked, immediate: false }));
            }
            let bytes = pack_live(&target, &marked).await?.bytes;
            (vec![Operation::Put(bytes)], marked, false)
        }
    };
    if options.dry_run {
        return Ok(Some(Deletion { object, immediate }));
    }
    let mut writes = if immediate { allocate::release(&target, old) } else { Vec::new() };
    for (index, operation) in operations.into_iter().enumerate() {
        let expect = if index == 0 { Expect::Revision(entry.modified) } else { Expect::Anything };
        writes.push(Write { collection: target.collection(), name: target.key(), expect, operation });
    }
    match target.call.cluster.store.commit(writes).await {
        Ok(revision) => {
            metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
            Ok(Some(Deletion { object, immediate }))
        }
        Err(CommitError::Conflict { .. }) => Ok(None),
        Err(error) => Err(storage_error(&error)),
    }
}

/// Decides what a delete does: a pure function of the object, the options and the kind.
fn plan(target: &Target<'_>, options: &DeleteOptions, old: &Value) -> Step {
    let now = jiff::Timestamp::now();
    let deleting = old["metadata"].get("deletionTimestamp").is_some();
    if target.resource.is("", "namespaces") && (!deleting || waits_for_content(old)) {
        return Step::Mark(end_namespace(old, options, now));
    }
    if target.resource.is("apiextensions.k8s.io", "customresourcedefinitions") && !deleting {
        return Step::Mark(end_definition(old, now));
    }
    let period = old["metadata"].get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    let mut marked = old.clone();
    let graceful = match grace(target, options, old) {
        None => false,
        Some(_) if deleting && period.unwrap_or(0) == 0 => false,
        Some(wanted) if deleting => {
            let current = period.unwrap_or(0);
            if options.grace_period_seconds.is_none() || wanted >= current {
                return Step::Pending;
            }
            let started = metadata_text(old, "deletionTimestamp");
            let end = clock::parse(started).map_or(now, |end| {
                end - jiff::SignedDuration::from_secs(current) + jiff::SignedDuration::from_secs(wanted)
            });
            let (end, wanted) = if end < now { (now, wanted.min(1)) } else { (end, wanted) };
            let metadata = metadata_mut(&mut marked);
            metadata.insert("deletionTimestamp".into(), clock::text(end).into());
            metadata.insert("deletionGracePeriodSeconds".into(), wanted.into());
            true
        }
        Some(wanted) => {
            mark(&mut marked, now + jiff::SignedDuration::from_secs(wanted), wanted);
            true
        }
    };
    set_collector_finalizers(target, options, &mut marked);
    if !finalizers(&marked).is_empty() {
        if !graceful && !deleting {
            mark(&mut marked, now, 0);
        }
        return Step::Mark(marked);
    }
    let left = marked["metadata"].get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    match (graceful, left > 0) {
        (true, true) => Step::Mark(marked),
        (true, false) => Step::MarkAndRemove(marked),
        (false, _) => Step::Remove,
    }
}

/// Sets the time at which the object ends; like every change of intent, it moves the generation.
fn mark(object: &mut Value, end: jiff::Timestamp, period: i64) {
    let metadata = metadata_mut(object);
    metadata.insert("deletionTimestamp".into(), clock::text(end).into());
    metadata.insert("deletionGracePeriodSeconds".into(), period.into());
    if let Some(generation) = metadata.get("generation").and_then(Value::as_i64).filter(|generation| *generation > 0) {
        metadata.insert("generation".into(), (generation + 1).into());
    }
}

/// The grace period, for kinds that have one: pods, which a kubelet has to end first.
fn grace(target: &Target<'_>, options: &DeleteOptions, old: &Value) -> Option<i64> {
    if !target.resource.is("", "pods") {
        return None;
    }
    let spec = &old["spec"];
    let asked = options.grace_period_seconds.or_else(|| spec["terminationGracePeriodSeconds"].as_i64());
    let scheduled = spec["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let ended = matches!(old["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    if !scheduled || ended { Some(0) } else { Some(asked.unwrap_or(30)) }
}

/// Namespaces go when their content is gone.
fn waits_for_content(namespace: &Value) -> bool {
    namespace["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

/// A namespace that is going: the controllers inside empty it.
fn end_namespace(old: &Value, options: &DeleteOptions, now: jiff::Timestamp) -> Value {
    let mut marked = old.clone();
    if old["metadata"].get("deletionTimestamp").is_some() {
        return marked;
    }
    metadata_mut(&mut marked).insert("deletionTimestamp".into(), clock::text(now).into());
    marked["status"]["phase"] = "Terminating".into();
    let current = finalizers(old);
    let wanted = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => Some(if orphan { ORPHAN } else { FOREGROUND }),
        (None, Some(Propagation::Orphan)) => Some(ORPHAN),
        (None, Some(Propagation::Foreground)) => Some(FOREGROUND),
        (None, Some(Propagation::Background)) => None,
        (None, None) => return marked,
    };
    let others = current.iter().copied().filter(|name| *name != ORPHAN && *name != FOREGROUND);
    let next: Vec<Value> = others.chain(wanted).map(Value::from).collect();
    if next.is_empty() {
        metadata_mut(&mut marked).remove("finalizers");
    } else {
        metadata_mut(&mut marked).insert("finalizers".into(), next.into());
    }
    marked
}

/// A definition that is going: the controllers inside delete its objects first.
fn end_definition(old: &Value, now: jiff::Timestamp) -> Value {
    let mut marked = old.clone();
    let now = clock::text(now);
    let metadata = metadata_mut(&mut marked);
    metadata.insert("deletionTimestamp".into(), now.as_str().into());
    let list = metadata.entry("finalizers").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = list.as_array_mut()
        && !list.iter().any(|finalizer| finalizer == after::CLEANUP)
    {
        list.push(after::CLEANUP.into());
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    after::set_condition(&mut marked, "Terminating", "True", "InstanceDeletionPending", message, &now);
    marked
}

/// Tells the garbage collector through finalizers what is to become of dependents.
fn set_collector_finalizers(target: &Target<'_>, options: &DeleteOptions, object: &mut Value) {
    if matches!(&*target.resource.plural, "events") && target.resource.as_custom().is_none() {
        return;
    }
    let current: Vec<String> = finalizers(object).into_iter().map(str::to_owned).collect();
    let has = |name: &str| current.iter().any(|finalizer| finalizer == name);
    let (orphan, foreground) = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(policy)) => (policy == Propagation::Orphan, policy == Propagation::Foreground),
        (None, None) => {
            let first = current.iter().find(|finalizer| *finalizer == ORPHAN || *finalizer == FOREGROUND);
            match first.map(String::as_str) {
                Some(ORPHAN) => (true, has(FOREGROUND) && !has(ORPHAN)),
                Some(_) => (false, true),
                None => (orphans_by_default(target), false),
            }
        }
    };
    let mut wanted: Vec<Value> = current
        .iter()
        .filter(|finalizer| *finalizer != ORPHAN && *finalizer != FOREGROUND)
        .map(|finalizer| Value::from(finalizer.as_str()))
        .collect();
    if orphan {
        wanted.push(ORPHAN.into());
    }
    if foreground {
        wanted.push(FOREGROUND.into());
    }
    let same =
        wanted.len() == current.len() && wanted.iter().all(|finalizer| has(finalizer.as_str().unwrap_or_default()));
    if same {
        return;
    }
    let metadata = metadata_mut(object);
    if wanted.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), wanted.into());
    }
}

/// Replication controllers and jobs still orphan when nothing is said, as they did before there was a choice.
fn orphans_by_default(target: &Target<'_>) -> bool {
    target.resource.is("", "replicationcontrollers") || target.resource.is("batch", "jobs")
}

/// Namespaces and definitions look at their preconditions themselves, before stock does so for all kinds, and say it in
/// other words.
fn check_preconditions_first(target: &Target<'_>, old: &Value, options: &DeleteOptions) -> Result<(), Status> {
    for (what, wanted, field) in
        [("UID", &options.uid, "uid"), ("ResourceVersion", &options.resource_version, "resourceVersion")]
    {
        let found = metadata_text(old, field);
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
            let why = format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
            return Err(Status::conflict(&target.resource.group_resource(), target.name, &why));
        }
    }
    Ok(())
}

/// Whether the object is the one that the caller means to delete.
pub(crate) fn check_preconditions(target: &Target<'_>, old: &Value, options: &DeleteOptions) -> Result<(), Status> {
    let resource = target.resource;
    let looks_itself =
        resource.is("", "namespaces") || resource.is("apiextensions.k8s.io", "customresourcedefinitions");
    if looks_itself && target.call.info.verb != "deletecollection" {
        return check_preconditions_first(target, old, options);
    }
    // Events of both groups are the same objects.
    let group = if resource.is("events.k8s.io", "events") { "" } else { &*resource.group };
    let subject = GroupResource::new(group, &*resource.kind);
    if let Some(uid) = &options.uid
        && uid != metadata_text(old, "uid")
    {
        let found = metadata_text(old, "uid");
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({found}). The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(&subject, target.name, &why));
    }
    if let Some(version) = &options.resource_version
        && version != metadata_text(old, "resourceVersion")
    {
        let found = metadata_text(old, "resourceVersion");
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({found}). The object might have been modified"
        );
        return Err(Status::conflict(&subject, target.name, &why));
    }
    Ok(())
}
