//! What every cluster starts with: namespaces, default roles, flow schemas, and the `kubernetes` Service.

mod owners;
mod prepared;

use std::sync::Arc;

use jiff::Timestamp;
use roost_object::{Status, Value};
use roost_pki::CertificateAuthority;
use serde_json::json;

use crate::call::Call;
use crate::clock;
use crate::cluster::Cluster;
use crate::identity::AUTHORITY_LIFETIME;
use crate::write::storage_error;
use prepared::NO_TIME;

/// The namespaces of a fresh cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The bundle that every namespace has.
const ROOT_AUTHORITY: &str = "kube-root-ca.crt";

impl Cluster {
    /// Brings the tenant's own objects up to date: makes what is missing and leaves the rest. One commit.
    pub async fn bootstrap(self: &Arc<Self>) -> Result<(), Status> {
        let writes = prepared::missing(&Call::internal(self), own_objects(self)?)?;
        if writes.is_empty() {
            return Ok(());
        }
        match self.store.commit(writes).await {
            Ok(_) => Ok(()),
            Err(error) => Err(storage_error(&error)),
        }
    }
}

/// The objects that every fresh cluster has alike.
fn shared_objects() -> impl Iterator<Item = Value> {
    roost_kinds::bootstrap::values()
        .chain(NAMESPACES.map(default_account))
        .chain(crate::inside::built_in_api_services(NO_TIME))
}

/// The objects that show what a tenant alone has: its authorities, its addresses, its age.
fn own_objects(cluster: &Cluster) -> Result<Vec<Value>, Status> {
    let mut objects: Vec<Value> = NAMESPACES.iter().map(|name| root_authority(cluster, name)).collect();
    objects.push(delegated_authentication(cluster)?);
    objects.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": "kube-system"},
        "data": {"since": clock::now_text().split('T').next()},
    }));
    objects.push(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes", "finalizers": ["networking.k8s.io/service-cidr-finalizer"]},
        "spec": {"cidrs": [cluster.config.service_cidr.to_string()]},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes default Service CIDR is ready", "lastTransitionTime": NO_TIME}]},
    }));
    objects.extend(kubernetes_service(cluster));
    Ok(objects)
}

/// Whom servers beside this one believe, as stock's components read it when they start.
///
/// The key of the proxies' authority is thrown away: as long as requests are not passed on to such servers, nobody may
/// speak for another there.
fn delegated_authentication(cluster: &Cluster) -> Result<Value, Status> {
    let proxies = CertificateAuthority::new("front-proxy-ca", Timestamp::now(), AUTHORITY_LIFETIME)
        .map_err(|error| Status::internal(error.to_string()))?;
    Ok(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {
            "client-ca-file": cluster.identity().client_trust.to_pem(),
            "requestheader-allowed-names": r#"["front-proxy-client"]"#,
            "requestheader-client-ca-file": proxies.certificate().to_pem(),
            "requestheader-extra-headers-prefix": r#"["X-Remote-Extra-"]"#,
            "requestheader-group-headers": r#"["X-Remote-Group"]"#,
            "requestheader-username-headers": r#"["X-Remote-User"]"#,
        },
    }))
}

/// The account that pods run as when they name none.
pub(crate) fn default_account(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}})
}

/// The bundle that pods verify the API server with.
pub(crate) fn root_authority(cluster: &Cluster, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": ROOT_AUTHORITY, "namespace": namespace,
            "annotations": {"kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."},
        },
        "data": {"ca.crt": cluster.identity().serving_trust.to_pem()},
    })
}

/// The Service under which pods find the API, and its endpoints.
fn kubernetes_service(cluster: &Cluster) -> Vec<Value> {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let Some(address) = cluster.config.service_cidr.hosts().next().map(|address| address.to_string()) else {
        return Vec::new();
    };
    let family = if address.contains(':') { "IPv6" } else { "IPv4" };
    let port = cluster.config.advertised.map_or(443, |(_, port)| port);
    let mut objects = vec![
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
            "spec": {
                "type": "ClusterIP", "clusterIP": address, "clusterIPs": [address],
                "ipFamilies": [family], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
            },
        }),
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
            "metadata": {"name": address, "labels": {
                "ipaddress.kubernetes.io/ip-family": family,
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            }},
            "spec": {"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": "kubernetes"}},
        }),
    ];
    if let Some((host, port)) = cluster.config.advertised {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [{"addresses": [{"ip": host}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}],
        }));
        objects.push(json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "addressType": if host.is_ipv6() { "IPv6" } else { "IPv4" },
            "endpoints": [{"addresses": [host], "conditions": {"ready": true}}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }));
    }
    objects
}
