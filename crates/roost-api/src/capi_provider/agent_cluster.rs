//! `AgentCluster`: what a cluster of discovered hosts is installed from.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plain_conditions;
use crate::agent_install::{ClusterReference, NamespacedReference};
use crate::variation::absent_is_default;

/// Where hosts find the cluster.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentCluster",
    namespaced,
    status = "AgentClusterStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A cluster whose machines are discovered hosts.",
    crates(kube_core = "::kube_core")
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct AgentClusterSpec {
    /// Where the cluster's API is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ControlPlaneEndpoint>,
    /// Where hosts get their Ignition config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
}

absent_is_default!(AgentClusterSpec);

/// Where a cluster's API is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneEndpoint {
    /// The name or address of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub host: Option<String>,
    /// The port of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// Where hosts get their Ignition config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IgnitionEndpoint {
    /// The secret with the certificate that hosts trust the endpoint by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate_reference: Option<CertificateReference>,
    /// The endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A secret with a certificate.
pub type CertificateReference = NamespacedReference;

/// How far the cluster is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentClusterStatus {
    /// The object that hosts are bound to.
    pub cluster_deployment_reference: ClusterReference,
    /// The aspects of the cluster's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = plain_conditions)]
    pub conditions: Vec<Condition>,
    /// Parts of the infrastructure that fail on their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub failure_domains: Vec<FailureDomain>,
    /// Whether machines can be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

/// A part of the infrastructure that fails on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// What else is said about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Whether parts of the control plane may be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// Its name.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
}
