//! Creating an object.

use std::borrow::Cow;

use roost_object::{Map, Status, Value};
use roost_store::{CommitError, Expect, Operation, Write};

use super::pack::{Written, pack_live, returned_live};
use super::{Target, metadata_mut, metadata_text, ownership, steps, storage_error};
use crate::admission::{self, Attributes, Verb};
use crate::options::WriteOptions;
use crate::resource::Resource;
use crate::{allocate, clock, escalation};

/// How often a generated name that is taken is generated again.
const GENERATE_NAME_TRIES: usize = 8;

/// How often a create is tried again when someone else changed what it is charged to.
const CONFLICT_TRIES: usize = 16;

/// Creates an object from its decoded body, which is in the served version.
pub(crate) async fn create(target: Target<'_>, object: Value, options: &WriteOptions) -> Result<Written, Status> {
    let mut object = object;
    wipe_system_fields(&mut object);
    match_namespace(&target, &mut object)?;
    steps::apply_defaults(target.resource, &mut object);
    if target.subresource.is_empty() {
        deduplicate_owners(&target, &mut object);
        let manager = target.call.manager_or_agent(&options.field_manager);
        ownership::track(&target, None, &mut object, &manager);
    }
    let object = steps::convert_to_storage(target.resource, object)?;
    create_prepared(target, object, options).await
}

/// The rest of a create, for an object whose owners are already tracked (apply comes in here).
pub(crate) async fn create_prepared(
    target: Target<'_>,
    object: Value,
    options: &WriteOptions,
) -> Result<Written, Status> {
    let mut object = object;
    let attributes =
        Attributes { target, verb: Verb::Create, old: None, dry_run: options.dry_run, deletion: None, action: None };
    admission::mutate(&attributes, &mut object).await?;
    escalation::check(&attributes, &object)?;
    if !metadata_text(&object, "name").is_empty() {
        return create_named(target, object, options).await;
    }
    let mut tries = 0;
    loop {
        tries += 1;
        match create_named(target, object.clone(), options).await {
            Err(status) if status.reason == "AlreadyExists" && tries < GENERATE_NAME_TRIES => {}
            done => return done,
        }
    }
}

async fn create_named(target: Target<'_>, mut object: Value, options: &WriteOptions) -> Result<Written, Status> {
    fill_system_fields(target.resource, &mut object);
    match_namespace(&target, &mut object)?;
    let name = metadata_text(&object, "name").to_owned();
    let target = Target { name: &name, ..target };
    let allocated = allocate::before_create(&target, &mut object, options.dry_run)?;
    steps::prepare_create(target.resource, &mut object);
    record_requester(&target, &mut object);
    steps::validate_create(&target, &object)?;
    if let Some(rules) = target.resource.rules() {
        (rules.settle)(&mut object);
    }
    for _ in 0..CONFLICT_TRIES {
        object = match commit_new(target, object, &allocated, options).await? {
            Commit::Done(written) => return Ok(Written { created: true, ..written }),
            Commit::Again(object) => object,
        };
    }
    Err(Status::conflict(&target.resource.group_resource(), &name, super::update::LOCK_ERROR))
}

/// What came of a commit.
enum Commit {
    Done(Written),
    /// Admission has to be asked again.
    Again(Value),
}

/// Admits a complete object and writes it.
async fn commit_new(
    target: Target<'_>,
    object: Value,
    allocated: &[Write],
    options: &WriteOptions,
) -> Result<Commit, Status> {
    let attributes =
        Attributes { target, verb: Verb::Create, old: None, dry_run: options.dry_run, deletion: None, action: None };
    let admitted = admission::validate(&attributes, &object).await?;
    let settled = target.resource.read_back(&object);
    if options.dry_run {
        if target.call.cluster.store.get(&target.collection(), &target.key()).is_some() {
            return Err(exists(&target));
        }
        let returned = returned_live(&target, &settled).await?.or_else(|| owned(settled));
        return Ok(Commit::Done(Written::nothing(returned.unwrap_or(object))));
    }
    if object["metadata"].get("resourceVersion").is_some() {
        return Err(Status::failure(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let mut writes = allocated.to_vec();
    writes.extend(admitted.writes.iter().cloned());
    let own = writes.len();
    let packed = pack_live(&target, &settled).await?;
    writes.push(Write {
        collection: target.collection(),
        name: target.key(),
        expect: Expect::Absent,
        operation: Operation::Put(packed.bytes.clone()),
    });
    match target.call.cluster.store.commit(writes).await {
        Ok(revision) => {
            let settled = owned(settled);
            Ok(Commit::Done(packed.written(settled.unwrap_or(object), revision)))
        }
        Err(CommitError::Conflict { index, .. }) if index == own => Err(exists(&target)),
        Err(CommitError::Conflict { index, .. }) if admitted.has(own, index) => Ok(Commit::Again(object)),
        Err(CommitError::Conflict { .. }) => Err(allocate::taken(&target, &object)),
        Err(error) => Err(storage_error(&error)),
    }
}

fn owned(object: Cow<'_, Value>) -> Option<Value> {
    match object {
        Cow::Owned(object) => Some(object),
        Cow::Borrowed(_) => None,
    }
}

/// Refuses a name that is taken, and says so when its holder is on its way out.
fn exists(target: &Target<'_>) -> Status {
    let mut status = Status::already_exists(&target.resource.group_resource(), target.name);
    if let Ok(Some((holder, _))) = target.read()
        && holder["metadata"].get("deletionTimestamp").is_some()
    {
        status.message.insert_str(0, "object is being deleted: ");
    }
    status
}

/// A certificate request says who asks, and nobody can say so but the server.
fn record_requester(target: &Target<'_>, object: &mut Value) {
    if !target.resource.is("certificates.k8s.io", "certificatesigningrequests") {
        return;
    }
    let user = target.call.user.to_object();
    for field in ["username", "uid", "groups", "extra"] {
        if let Some(value) = user.get(field) {
            object["spec"][field] = value.clone();
        }
    }
}

/// Clears what only the server sets.
fn wipe_system_fields(object: &mut Value) {
    let metadata = metadata_mut(object);
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "selfLink"] {
        metadata.remove(field);
    }
}

/// Sets what only the server sets, and generates a name where one is asked for.
fn fill_system_fields(resource: &Resource, object: &mut Value) {
    let metadata = metadata_mut(object);
    metadata.insert("creationTimestamp".into(), clock::now_text().into());
    metadata.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
    // An address with random letters behind it is none.
    let is_address = resource.rules().is_some_and(|rules| rules.name == roost_rules::NameRule::Address);
    generate_name(metadata, &if is_address { String::new() } else { random_suffix() });
}

/// The longest name that a generated one is cut to fit.
const MAX_GENERATED_BASE: usize = 63 - SUFFIX_LENGTH;
const SUFFIX_LENGTH: usize = 5;
/// No vowels, so that no words arise, and no digits that look like letters.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

fn generate_name(metadata: &mut Map<String, Value>, suffix: &str) {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    if !text("name").is_empty() || text("generateName").is_empty() {
        return;
    }
    let mut base = text("generateName");
    if base.len() > MAX_GENERATED_BASE && !suffix.is_empty() {
        let cut = (0..=MAX_GENERATED_BASE).rev().find(|&at| base.is_char_boundary(at)).unwrap_or(0);
        base = &base[..cut];
    }
    let name = format!("{base}{suffix}");
    metadata.insert("name".into(), name.into());
}

/// Five random letters.
pub(super) fn random_suffix() -> String {
    let random = uuid::Uuid::new_v4();
    let letter = |byte: &u8| SUFFIX_ALPHABET[*byte as usize % SUFFIX_ALPHABET.len()] as char;
    random.as_bytes()[..SUFFIX_LENGTH].iter().map(letter).collect()
}

/// Sets the namespace of the request on the object, or refuses another one.
pub(crate) fn match_namespace(target: &Target<'_>, object: &mut Value) -> Result<(), Status> {
    let expected = if target.resource.namespaced { target.namespace } else { "" };
    let metadata = metadata_mut(object);
    let found = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if found == expected {
        Ok(())
    } else if found.is_empty() {
        metadata.insert("namespace".into(), expected.into());
        Ok(())
    } else if expected.is_empty() {
        metadata.remove("namespace");
        Ok(())
    } else {
        Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ))
    }
}

/// Drops owner references that repeat an earlier one.
pub(super) fn deduplicate_owners(target: &Target<'_>, object: &mut Value) {
    let Some(owners) = metadata_mut(object).get_mut("ownerReferences").and_then(Value::as_array_mut) else { return };
    let mut seen: Vec<Value> = Vec::with_capacity(owners.len());
    let mut repeated = Vec::new();
    owners.retain(|owner| {
        let fresh = !seen.contains(owner);
        if fresh {
            seen.push(owner.clone());
        } else {
            repeated.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        fresh
    });
    if !repeated.is_empty() {
        repeated.sort();
        repeated.dedup();
        target.call.warnings.add(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        ));
    }
}
