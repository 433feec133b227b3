//! Where machines fetch their configuration: a Service and a listener, for clusters that have node pools.

use std::net::SocketAddr;

use roost_ignition_server::{Listen, PlaneId as ServedPlane};
use roost_runtime::Runtime;
use serde_json::{Value, json};

use super::dereference::Observed;
use super::endpoint::node_port;
use super::keys::ServingPair;
use super::validate::Wanted;
use crate::context::{Context, Front, ReconcileError, words};
use crate::names::{CLUSTER, IGNITION_ENDPOINT, JOINS_NODES};
use crate::object::{Kind, Reference, annotation, has_all};
use crate::publishing::Publishing;

/// The Service that machines reach.
pub(crate) const IGNITION_SERVICE: &str = "ignition-server";

/// Where the ignition server of a plane is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Published {
    /// Host and port, as a URL has them.
    fn text(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// The Service of a cluster that has node pools, and where that is published; none for one without, and while it has no
/// port yet.
pub(super) async fn publish<R: Runtime>(
    context: &Context<R>,
    observed: &Observed,
    wanted: &Wanted,
) -> Result<Option<Published>, ReconcileError> {
    let objects = &context.objects;
    let live = observed.ignition_service.as_ref();
    if annotation(&observed.plane, JOINS_NODES) != "true" {
        context.servers.remove(&ServedPlane::new(&wanted.id));
        if let Some(live) = live {
            objects.delete(&Reference::of(live)).await?;
        }
        if !annotation(&observed.plane, IGNITION_ENDPOINT).is_empty() {
            let change = json!({"metadata": {"annotations": {(IGNITION_ENDPOINT): null}}});
            objects.merge(&Reference::of(&observed.plane), &change).await?;
        }
        return Ok(None);
    }
    let document = service(&observed.plane, &wanted.ignition);
    let service = match live {
        Some(live) if has_all(live, &document) => live.clone(),
        _ => objects.apply(&document).await?,
    };
    Ok(node_port(&service).map(|port| Published { host: host(&wanted.ignition, context.front), port }))
}

/// Opens the listener, and says where it is.
pub(super) async fn listen<R: Runtime>(
    context: &Context<R>,
    observed: &Observed,
    wanted: &Wanted,
    published: &Published,
    pair: ServingPair,
) -> Result<(), ReconcileError> {
    let address = SocketAddr::new(context.front.listen, published.port);
    let listen = Listen { address, certificate: pair.certificate, key: pair.key };
    context
        .servers
        .ensure(&ServedPlane::new(&wanted.id), listen)
        .await
        .map_err(|error| ReconcileError::Refused(words(&error)))?;
    let endpoint = published.text();
    if annotation(&observed.plane, IGNITION_ENDPOINT) != endpoint {
        let change = json!({"metadata": {"annotations": {(IGNITION_ENDPOINT): endpoint}}});
        context.objects.merge(&Reference::of(&observed.plane), &change).await?;
    }
    Ok(())
}

fn service(plane: &Value, publishing: &Publishing) -> Value {
    let mut port = json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": 9090});
    if let Publishing::NodePort { port: Some(fixed), .. } = publishing {
        port["nodePort"] = json!(fixed);
    }
    json!({
        "apiVersion": "v1", "kind": Kind::Service.name(),
        "metadata": {
            "name": IGNITION_SERVICE,
            "namespace": plane["metadata"]["namespace"],
            "labels": {"app": "ignition-server", "hypershift.openshift.io/control-plane-component": "ignition-server"},
            "annotations": {(CLUSTER): plane["metadata"]["annotations"][CLUSTER]},
        },
        "spec": {"type": "NodePort", "ports": [port]},
    })
}

/// The listener always has a port of its own, whatever leads to it.
fn host(publishing: &Publishing, front: Front) -> String {
    match publishing {
        Publishing::NodePort { address, .. } => address.clone(),
        Publishing::LoadBalancer { hostname } => hostname.clone().unwrap_or_else(|| front.address.to_string()),
        Publishing::Route { hostname } => hostname.clone(),
    }
}
