//! From an object to what the store keeps of it, and to what its caller sees of that.

use std::borrow::Cow;

use bytes::Bytes;
use roost_object::{Status, Value};
use roost_store::Revision;

use super::{Target, metadata_mut};
use crate::conversion;
use crate::resource::Resource;
use crate::stored::Stored;

/// An object that was written, or would have been.
pub(crate) struct Written {
    /// The object afterwards, in the storage version.
    pub(crate) object: Value,
    /// Whether it is new.
    pub(crate) created: bool,
    /// What was stored and by which commit, where callers see just that.
    pub(crate) stored: Option<(Stored, Revision)>,
}

impl Written {
    /// One that is as it was, or that stays unwritten.
    pub(super) fn nothing(object: Value) -> Self {
        Self { object, created: false, stored: None }
    }
}

/// An object on its way into the store.
pub(super) struct Packed {
    /// What the store keeps.
    pub(super) bytes: Bytes,
    /// The same as callers see it, unless they see something else.
    stored: Option<Stored>,
    /// The object as it comes back from the store, where versions differ.
    returned: Option<Value>,
}

impl Packed {
    /// The object after it was stored.
    pub(super) fn written(self, object: Value, revision: Revision) -> Written {
        let mut object = self.returned.unwrap_or(object);
        metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
        Written { object, created: false, stored: self.stored.map(|stored| (stored, revision)) }
    }
}

/// Packs an object, in the version that writes work with, for the store.
pub(super) async fn pack_live(target: &Target<'_>, object: &Value) -> Result<Packed, Status> {
    let resource = target.resource;
    if let Some(stored) = in_storage_version(resource, object) {
        let bytes = pack(target, &stored)?;
        return Ok(Packed { bytes, stored: None, returned: Some(back_in_served_version(resource, stored)) });
    }
    let cluster = &target.call.cluster;
    match conversion::to_storage(cluster, resource, object).await? {
        Cow::Borrowed(object) => {
            let stored = encode(resource, object);
            let bytes = cluster.seal(resource, &target.key(), stored.clone())?;
            Ok(Packed { bytes, stored: resource.is_served_as_stored().then_some(stored), returned: None })
        }
        Cow::Owned(object) => {
            let bytes = pack(target, &object)?;
            let returned = conversion::one_to_served(cluster, resource, object).await?;
            Ok(Packed { bytes, stored: None, returned: Some(returned) })
        }
    }
}

/// The object as it would come back from the store, where versions differ.
pub(super) async fn returned_live(target: &Target<'_>, object: &Value) -> Result<Option<Value>, Status> {
    match target.resource.webhook() {
        None => {
            let stored = in_storage_version(target.resource, object);
            Ok(stored.map(|stored| back_in_served_version(target.resource, stored)))
        }
        Some(_) => pack_live(target, object).await.map(|packed| packed.returned),
    }
}

/// Packs an object, in its storage version, for the store.
pub(crate) fn pack(target: &Target<'_>, object: &Value) -> Result<Bytes, Status> {
    target.call.cluster.seal(target.resource, &target.key(), encode(target.resource, object))
}

fn encode(resource: &Resource, object: &Value) -> Stored {
    Stored::encode(object, resource.storage_version(), resource.storage_type())
}

/// A custom resource that is written in another version than it is stored in, with the fields and defaults of the latter.
fn in_storage_version(resource: &Resource, object: &Value) -> Option<Value> {
    let custom = resource.as_custom()?;
    if resource.webhook().is_some() || resource.version == custom.definition.storage_version {
        return None;
    }
    let schema = custom.definition.version_named(&custom.definition.storage_version)?.schema.as_ref()?;
    let mut stored = object.clone();
    schema.prune(&mut stored);
    schema.apply_defaults(&mut stored);
    Some(stored)
}

/// What callers see of it: only what their version knows.
fn back_in_served_version(resource: &Resource, stored: Value) -> Value {
    let mut served = stored;
    if let Some(schema) = resource.as_custom().and_then(|custom| custom.version().schema.as_ref()) {
        schema.prune(&mut served);
    }
    served
}
