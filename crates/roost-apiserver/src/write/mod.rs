//! Writes: the steps that every create, update and delete goes through, whatever the kind.
//!
//! decode → default → own (managedFields) → mutate (admission) → prepare → validate → admit → settle → commit. The kind
//! only answers questions on the way, through its row of rules or its schema. Until it is settled, an object of a built-in
//! kind holds the empty lists and maps that were sent, which the stored form does not tell from missing ones.

mod admin_access;
mod create;
mod delete;
mod metadata_checks;
mod ownership;
mod pack;
mod steps;
mod update;

use std::sync::Arc;

use roost_object::{Status, Value};
use roost_store::{Collection, CommitError, Entry};

pub(crate) use create::{create, match_namespace};
pub(crate) use delete::{check_preconditions, delete};
pub(crate) use ownership::{filter, track, tracking};
pub(crate) use pack::{Written, pack};
pub(crate) use steps::{apply_defaults, convert_from_storage};
pub(crate) use update::{Change, ChangeKind, Transform, check_uid, failed_precondition, update};

use crate::call::Call;
use crate::conversion;
use crate::resource::Resource;

/// The object that a write is about.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The request.
    pub(crate) call: &'a Call,
    /// The resource.
    pub(crate) resource: &'a Arc<Resource>,
    /// The namespace; empty for cluster-scoped objects.
    pub(crate) namespace: &'a str,
    /// The object's name; empty when it is yet to be generated.
    pub(crate) name: &'a str,
    /// The subresource through which the write comes.
    pub(crate) subresource: &'a str,
}

impl Target<'_> {
    /// Where the objects lie.
    pub(crate) fn collection(&self) -> Collection {
        self.resource.collection(&self.call.cluster.tenant)
    }

    /// The object's name within its collection.
    pub(crate) fn key(&self) -> Arc<str> {
        key(self.resource, self.namespace, self.name)
    }

    /// Reads the object as it is stored, in its storage version.
    pub(crate) fn read(&self) -> Result<Option<(Value, Entry)>, Status> {
        let Some(entry) = self.call.cluster.store.get(&self.collection(), &self.key()) else { return Ok(None) };
        let value = self.call.cluster.decode(self.resource, &entry)?;
        Ok(Some((value, entry)))
    }

    /// Reads the object as writes work with it: in its storage version, or in the served one where a webhook converts.
    pub(crate) async fn read_live(&self) -> Result<Option<(Value, Entry)>, Status> {
        let Some(entry) = self.call.cluster.store.get(&self.collection(), &self.key()) else { return Ok(None) };
        let value = self.call.cluster.decode_live(self.resource, &entry)?;
        let value = conversion::one_to_served(&self.call.cluster, self.resource, value).await?;
        Ok(Some((value, entry)))
    }

    /// 404 for this object.
    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(&self.resource.group_resource(), self.name)
    }
}

/// An object's name within its collection.
pub(crate) fn key(resource: &Resource, namespace: &str, name: &str) -> Arc<str> {
    if resource.namespaced { format!("{namespace}/{name}").into() } else { name.into() }
}

/// A store that cannot write, in words for the caller. Why it cannot is the business of whoever runs the server.
pub(crate) fn storage_error(error: &CommitError) -> Status {
    Status::internal(format!("{error}; nothing was changed; the server's log says why"))
}

/// The object's metadata, made when it is missing.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut roost_object::Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(roost_object::Map::new());
    }
    let object = object.as_object_mut().expect("it was just made an object");
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(roost_object::Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(roost_object::Map::new());
    }
    metadata.as_object_mut().expect("it was just made an object")
}

/// A text of the object's metadata; empty when it is not there.
pub(crate) fn metadata_text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// The object's finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The owner of what the API server itself writes, by the name that stock's has.
pub(crate) const API_SERVER: &str = "kube-apiserver";
/// The owner of what the controllers inside write, by the name that stock's have.
pub(crate) const CONTROLLERS: &str = "kube-controller-manager";

/// The options of the server's own writes.
pub(crate) fn internal_options(manager: &str) -> crate::options::WriteOptions {
    crate::options::WriteOptions {
        dry_run: false,
        field_manager: manager.to_owned(),
        validation: crate::options::FieldValidation::Ignore,
        force: true,
    }
}

/// Five random letters, as generated names end.
pub(crate) fn random_suffix() -> String {
    create::random_suffix()
}
