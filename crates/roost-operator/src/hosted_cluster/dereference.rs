//! Everything that a decision about a HostedCluster depends on, read in one go.

use futures::future::try_join_all;
use serde_json::Value;

use super::names;
use crate::object::{Kind, ObjectError, Objects};

/// A HostedCluster and what belongs to it, as they are now.
pub(crate) struct Observed {
    pub(crate) cluster: Value,
    pub(crate) control_plane: Option<Value>,
    pub(crate) control_plane_namespace: Option<Value>,
    pub(crate) managed_cluster: Option<Value>,
    /// The user's Secrets and ConfigMaps that the spec names.
    pub(crate) references: Vec<Referenced>,
    /// What the control plane made for the user: kubeconfigs and the password, and their copies beside the cluster.
    pub(crate) credentials: Vec<Credential>,
}

/// A Secret or ConfigMap of the user, and its copy beside the control plane.
pub(crate) struct Referenced {
    pub(crate) reference: names::Reference,
    pub(crate) found: Option<Value>,
    pub(crate) copy: Option<Value>,
}

/// A Secret of the control plane that the user gets a copy of.
pub(crate) struct Credential {
    pub(crate) name: names::CredentialName,
    pub(crate) original: Option<Value>,
    pub(crate) copy: Option<Value>,
}

/// Reads a HostedCluster and its surroundings; none when it is gone.
pub(crate) async fn dereference(
    objects: &Objects,
    namespace: &str,
    name: &str,
) -> Result<Option<Observed>, ObjectError> {
    let Some(cluster) = objects.find(Kind::HostedCluster, namespace, name).await? else { return Ok(None) };
    let inside = names::control_plane_namespace(namespace, name);
    let references: Vec<_> = names::references(&cluster["spec"])
        .into_iter()
        .map(|reference| referenced(objects, namespace, &inside, reference))
        .collect();
    let credentials: Vec<_> = names::CREDENTIALS
        .into_iter()
        .map(|credential| credential_of(objects, namespace, &inside, name, credential))
        .collect();
    let (control_plane, control_plane_namespace, managed_cluster, references, credentials) = tokio::try_join!(
        objects.find(Kind::HostedControlPlane, &inside, name),
        objects.find(Kind::Namespace, "", &inside),
        objects.find(Kind::ManagedCluster, "", name),
        try_join_all(references),
        try_join_all(credentials),
    )?;
    Ok(Some(Observed { cluster, control_plane, control_plane_namespace, managed_cluster, references, credentials }))
}

async fn referenced(
    objects: &Objects,
    namespace: &str,
    inside: &str,
    reference: names::Reference,
) -> Result<Referenced, ObjectError> {
    let (found, copy) = tokio::try_join!(
        objects.find(reference.kind, namespace, &reference.name),
        objects.find(reference.kind, inside, reference.copy_name())
    )?;
    Ok(Referenced { reference, found, copy })
}

async fn credential_of(
    objects: &Objects,
    namespace: &str,
    inside: &str,
    cluster: &str,
    name: names::CredentialName,
) -> Result<Credential, ObjectError> {
    let copy = name.copy_of(cluster);
    let (original, copy) = tokio::try_join!(
        objects.find(Kind::Secret, inside, name.original),
        objects.find(Kind::Secret, namespace, &copy)
    )?;
    Ok(Credential { name, original, copy })
}
