//! Everything that a decision about a HostedControlPlane depends on, read in one go.

use serde_json::Value;

use crate::names::CLUSTER;
use crate::object::{Kind, ObjectError, Objects, annotation};

/// The Service that a hosted API is reached by.
pub(crate) const API_SERVICE: &str = "kube-apiserver";

/// A HostedControlPlane and what is around it, as they are now.
pub(crate) struct Observed {
    pub(crate) plane: Value,
    /// The HostedCluster that it belongs to.
    pub(crate) cluster: Option<Value>,
    pub(crate) secrets: Vec<Value>,
    pub(crate) config_maps: Vec<Value>,
    pub(crate) service: Option<Value>,
    pub(crate) components: Vec<Value>,
}

/// Reads a HostedControlPlane and its surroundings; none when it is gone.
pub(crate) async fn dereference(
    objects: &Objects,
    namespace: &str,
    name: &str,
) -> Result<Option<Observed>, ObjectError> {
    let Some(plane) = objects.find(Kind::HostedControlPlane, namespace, name).await? else { return Ok(None) };
    let owner = annotation(&plane, CLUSTER).split_once('/').map(|(space, name)| (space.to_owned(), name.to_owned()));
    let cluster = async {
        match &owner {
            Some((space, name)) => objects.find(Kind::HostedCluster, space, name).await,
            None => Ok(None),
        }
    };
    let (cluster, secrets, config_maps, service, components) = tokio::try_join!(
        cluster,
        objects.list(Kind::Secret, namespace),
        objects.list(Kind::ConfigMap, namespace),
        objects.find(Kind::Service, namespace, API_SERVICE),
        objects.list(Kind::ControlPlaneComponent, namespace),
    )?;
    Ok(Some(Observed { plane, cluster, secrets, config_maps, service, components }))
}
