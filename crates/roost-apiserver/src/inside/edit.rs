//! The writes of the controllers inside: through the same steps as everyone's, and at ease with objects that went.

use std::sync::Arc;

use roost_object::{Status, Value};

use crate::call::Call;
use crate::cluster::Cluster;
use crate::options::DeleteOptions;
use crate::patch::{Patch, PatchType};
use crate::write::{self, Change, ChangeKind, Target, internal_options};

/// Which object of a tenant.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    pub(super) group: &'a str,
    pub(super) plural: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Object<'a> {
    /// An object outside namespaces.
    pub(super) fn of_cluster(group: &'a str, plural: &'a str, name: &'a str) -> Object<'a> {
        Object { group, plural, namespace: "", name }
    }

    /// The object as it is.
    pub(super) fn find(&self, cluster: &Cluster) -> Option<Value> {
        cluster.find(self.group, self.plural, self.namespace, self.name)
    }
}

/// Changes an object; one that is gone stays so.
pub(super) async fn change(
    cluster: &Arc<Cluster>,
    object: Object<'_>,
    subresource: &str,
    manager: &str,
    transform: write::Transform<'_>,
) -> Result<(), Status> {
    update(cluster, object, subresource, manager, ChangeKind::Patch, &|_, live| transform(live)).await
}

/// Applies what a manager has to say about an object; one that is gone stays so.
pub(super) async fn apply(
    cluster: &Arc<Cluster>,
    object: Object<'_>,
    subresource: &str,
    manager: &str,
    said: &Value,
) -> Result<(), Status> {
    let patch = Patch::parse(PatchType::Apply, said.to_string().into())?;
    let options = internal_options(manager);
    let transform = |target: &Target<'_>, live: &Value| patch.transform(target, live, &options);
    update(cluster, object, subresource, manager, ChangeKind::Apply, &transform).await
}

async fn update(
    cluster: &Arc<Cluster>,
    object: Object<'_>,
    subresource: &str,
    manager: &str,
    kind: ChangeKind,
    transform: &(dyn Fn(&Target<'_>, &Value) -> Result<Value, Status> + Sync),
) -> Result<(), Status> {
    let call = Call::internal(cluster);
    let Some(resource) = cluster.storage_resource(object.group, object.plural) else { return Ok(()) };
    let target =
        Target { call: &call, resource: &resource, namespace: object.namespace, name: object.name, subresource };
    let change = Change { kind, transform: &|live| transform(&target, live), create: false };
    match write::update(target, change, &internal_options(manager)).await {
        Ok(_) => Ok(()),
        Err(status) if status.code == 404 => Ok(()),
        Err(status) => Err(status),
    }
}

/// Creates an object, unless it is there or its namespace is going.
pub(super) async fn make(cluster: &Arc<Cluster>, object: Value, manager: &str) -> Result<(), Status> {
    let call = Call::internal(cluster);
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let Some(resource) = cluster.resource_of_kind(text("apiVersion"), text("kind")) else { return Ok(()) };
    let namespace = write::metadata_text(&object, "namespace").to_owned();
    let name = write::metadata_text(&object, "name").to_owned();
    let target = Target { call: &call, resource: &resource, namespace: &namespace, name: &name, subresource: "" };
    match write::create(target, object, &internal_options(manager)).await {
        Ok(_) => Ok(()),
        Err(status) if matches!(status.code, 403 | 404 | 409) => Ok(()),
        Err(status) => Err(status),
    }
}

/// Deletes an object if it is still the one with the uid.
pub(super) async fn remove(cluster: &Arc<Cluster>, object: Object<'_>, uid: &str) -> Result<(), Status> {
    let call = Call::internal(cluster);
    let Some(resource) = cluster.storage_resource(object.group, object.plural) else { return Ok(()) };
    let target =
        Target { call: &call, resource: &resource, namespace: object.namespace, name: object.name, subresource: "" };
    let options = DeleteOptions { uid: Some(uid.to_owned()), ..DeleteOptions::default() };
    match write::delete(target, &options).await {
        Ok(_) => Ok(()),
        Err(status) if matches!(status.code, 404 | 409) => Ok(()),
        Err(status) => Err(status),
    }
}
