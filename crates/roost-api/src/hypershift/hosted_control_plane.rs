//! The kind `HostedControlPlane`: a hosted cluster as its control plane sees it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::auto_node::{AutoNode, AutoNodeStatus};
use crate::hypershift::autoscaling::ClusterAutoscaling;
use crate::hypershift::availability::{AvailabilityPolicy, OlmCatalogPlacement};
use crate::hypershift::capabilities::Capabilities;
use crate::hypershift::configuration::{ClusterConfiguration, ConfigurationStatus};
use crate::hypershift::dns::DnsSpec;
use crate::hypershift::etcd::EtcdSpec;
use crate::hypershift::hosted_cluster::{
    API_SERVER_NAME_RULE, ENCRYPTION_STAYS_RULE, MULTI_NETWORK_RULE, SERVICE_COUNT_RULE,
};
use crate::hypershift::monitoring::Monitoring;
use crate::hypershift::networking::ClusterNetworking;
use crate::hypershift::operator_configuration::OperatorConfiguration;
use crate::hypershift::platform::{PlatformSpec, PlatformStatus};
use crate::hypershift::reference::{KubeconfigSecretReference, LocalObjectReference};
use crate::hypershift::release::ImageContentSource;
use crate::hypershift::secret_encryption::SecretEncryptionSpec;
use crate::hypershift::secret_encryption::status::SecretEncryptionStatus;
use crate::hypershift::services::{ApiEndpoint, ServicePublishingStrategyMapping};
use crate::hypershift::version::{ClusterVersionStatus, ControlPlaneVersionStatus};
use crate::rules::{Rule, Rules, any_width, conditions};
use crate::variation::absent_is_default;

/// What is wanted of a hosted control plane: its `HostedCluster`, resolved.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "HostedControlPlane",
    plural = "hostedcontrolplanes",
    shortname = "hcp",
    shortname = "hcps",
    category = "cluster-api",
    namespaced,
    status = "HostedControlPlaneStatus",
    derive = "Default",
    derive = "PartialEq",
    schema = "disabled",
    crates(kube_core = "kube_core"),
    doc = "The control plane of one hosted cluster, in its own namespace."
)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(transform = Rules([
    SERVICE_COUNT_RULE,
    MULTI_NETWORK_RULE,
    ENCRYPTION_STAYS_RULE,
]))]
pub struct HostedControlPlaneSpec {
    /// The release of the nodes' side, and of the control plane unless `controlPlaneReleaseImage` is set.
    #[schemars(length(max = 255))]
    pub release_image: String,
    /// The release of the control plane alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub control_plane_release_image: Option<String>,
    /// Where the nodes run. A cluster of the platform Agent has the type None here.
    pub platform: PlatformSpec,
    /// How each service of the control plane is published.
    #[schemars(length(max = 6))]
    pub services: Vec<ServicePublishingStrategyMapping>,
    /// Where the cluster's state is stored.
    pub etcd: EtcdSpec,
    /// The networks of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<ClusterNetworking>,
    /// The names of the cluster in DNS.
    pub dns: DnsSpec,
    /// The Secret of this namespace with the credentials for image registries.
    pub pull_secret: LocalObjectReference,
    /// The Secret of this namespace with the public key that may log in to nodes.
    pub ssh_key: LocalObjectReference,
    /// The cluster's UUID.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub cluster_id: Option<String>,
    /// A name for everything that belongs to the cluster outside of it.
    #[serde(rename = "infraID")]
    #[schemars(length(max = 255))]
    pub infra_id: String,
    /// The issuer of service account tokens.
    #[serde(rename = "issuerURL")]
    #[schemars(length(max = 255))]
    pub issuer_url: String,
    /// The Secret and key to write the administrator's kubeconfig to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<KubeconfigSecretReference>,
    /// How many replicas the control plane has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "HighlyAvailable"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "ControllerAvailabilityPolicy is immutable")]))]
    pub controller_availability_policy: Option<AvailabilityPolicy>,
    /// How many replicas the infrastructure inside the cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "SingleReplica"))]
    pub infrastructure_availability_policy: Option<AvailabilityPolicy>,
    /// The update channel that the cluster follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub channel: Option<String>,
    /// The service that recommends updates, as a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_service: Option<String>,
    /// Configuration objects that the cluster takes over, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ClusterConfiguration>,
    /// Settings of the operators inside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_configuration: Option<OperatorConfiguration>,
    /// How Secrets are encrypted in etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionSpec>,
    /// The Secret of this namespace with the key that signs service account tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_signing_key: Option<LocalObjectReference>,
    /// Whether nodes run in FIPS mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fips: Option<bool>,
    /// A further name of the API server.
    #[serde(rename = "kubeAPIServerDNSName", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([API_SERVER_NAME_RULE]))]
    pub kube_api_server_dns_name: Option<String>,
    /// The `ConfigMap` of this namespace with certificate authorities to trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_trust_bundle: Option<LocalObjectReference>,
    /// The Secret of this namespace that says where audit events go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<LocalObjectReference>,
    /// Mirrors of image registries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 255))]
    pub image_content_sources: Vec<ImageContentSource>,
    /// How node pools with autoscaling grow and shrink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ClusterAutoscaling>,
    /// Nodes that a provisioner makes as pods need them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_node: Option<AutoNode>,
    /// The optional parts of OpenShift that the cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {}))]
    pub capabilities: Option<Capabilities>,
    /// Where the catalogs of operators run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "management"))]
    pub olm_catalog_placement: Option<OlmCatalogPlacement>,
    /// The metrics that the control plane gives away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    /// The management nodes that the control plane's pods may run on, by their labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of management nodes that the control plane's pods put up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25))]
    pub tolerations: Vec<Toleration>,
    /// Labels for the control plane's pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub labels: BTreeMap<String, String>,
    /// While set, nothing is reconciled: a time, until when, or a truth value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub paused_until: Option<String>,
}

absent_is_default!(HostedControlPlaneSpec);

/// What is observed of a hosted control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedControlPlaneStatus {
    /// Whether the control plane serves now.
    #[schemars(extend("default" = false))]
    pub ready: bool,
    /// Whether the control plane has served once.
    #[schemars(extend("default" = false))]
    pub initialized: bool,
    /// Always true: no machine of the cluster runs its control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub external_managed_control_plane: Option<bool>,
    /// What holds of the control plane, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
    /// Where the API server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The versions that the nodes' side of the cluster runs, ran and could run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_status: Option<ClusterVersionStatus>,
    /// The versions that the control plane runs and ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_version: Option<ControlPlaneVersionStatus>,
    /// The version that runs. Superseded by `versionStatus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub version: Option<String>,
    /// The release that runs. Superseded by `versionStatus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub release_image: Option<String>,
    /// When `releaseImage` last changed. Superseded by `versionStatus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_release_image_transition_time: Option<Time>,
    /// The Secret and key with the administrator's kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeconfigSecretReference>,
    /// The Secret and key with the kubeconfig for `kubeAPIServerDNSName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_kubeconfig: Option<KubeconfigSecretReference>,
    /// The Secret with the first user's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeadmin_password: Option<LocalObjectReference>,
    /// The callback to register with identity providers; `[identity-provider-name]` stands for a provider's name.
    #[serde(rename = "oauthCallbackURLTemplate", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub oauth_callback_url_template: Option<String>,
    /// How many nodes the cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub node_count: Option<i64>,
    /// What is observed of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformStatus>,
    /// What the node provisioner has made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_node: Option<AutoNodeStatus>,
    /// What is observed of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigurationStatus>,
    /// Which key encrypts Secrets, and the way to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionStatus>,
}
