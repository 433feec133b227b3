//! Everything that a decision about a HostedControlPlane depends on, read in one go.

use serde_json::Value;

use crate::names::{CLUSTER, IGNITION_ENDPOINT, JOINS_NODES};
use crate::object::{Kind, ObjectError, Objects, annotation};

/// The Service that a hosted API is reached by.
pub(crate) const API_SERVICE: &str = "kube-apiserver";

/// A HostedControlPlane and what is around it, as they are now.
pub(crate) struct Observed {
    pub(crate) plane: Value,
    pub(crate) secrets: Vec<Value>,
    pub(crate) config_maps: Vec<Value>,
    pub(crate) service: Option<Value>,
    pub(crate) ignition_service: Option<Value>,
    pub(crate) components: Vec<Value>,
}

/// Reads what is around a HostedControlPlane.
pub(crate) async fn dereference(objects: &Objects, plane: Value) -> Result<Observed, ObjectError> {
    let namespace = plane["metadata"]["namespace"].as_str().unwrap_or_default();
    let ignition_service = async {
        if annotation(&plane, JOINS_NODES).is_empty() && annotation(&plane, IGNITION_ENDPOINT).is_empty() {
            return Ok(None);
        }
        objects.find(Kind::Service, namespace, super::ignition::IGNITION_SERVICE).await
    };
    let (secrets, config_maps, service, ignition_service, components) = tokio::try_join!(
        objects.list(Kind::Secret, namespace),
        objects.list(Kind::ConfigMap, namespace),
        objects.find(Kind::Service, namespace, API_SERVICE),
        ignition_service,
        objects.list(Kind::ControlPlaneComponent, namespace),
    )?;
    Ok(Observed { plane, secrets, config_maps, service, ignition_service, components })
}

/// The HostedCluster that a HostedControlPlane belongs to.
pub(crate) async fn cluster_of(objects: &Objects, plane: &Value) -> Result<Option<Value>, ObjectError> {
    match annotation(plane, CLUSTER).split_once('/') {
        Some((space, name)) => objects.find(Kind::HostedCluster, space, name).await,
        None => Ok(None),
    }
}
