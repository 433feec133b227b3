//! The kind `HostedControlPlane`: a hosted cluster as its control plane sees it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::auto_node::AutoNode;
use crate::hypershift::autoscaling::ClusterAutoscaling;
use crate::hypershift::capabilities::Capabilities;
use crate::hypershift::configuration::{ClusterConfiguration, ConfigurationStatus};
use crate::hypershift::dns::DnsSpec;
use crate::hypershift::etcd::EtcdSpec;
use crate::hypershift::hosted_cluster::{
    ApiEndpoint, AutoNodeStatus, AvailabilityPolicy, ImageContentSource, OlmCatalogPlacement, PlatformStatus,
};
use crate::hypershift::monitoring::Monitoring;
use crate::hypershift::networking::ClusterNetworking;
use crate::hypershift::operator_configuration::OperatorConfiguration;
use crate::hypershift::platform::PlatformSpec;
use crate::hypershift::reference::{KubeconfigSecretReference, LocalObjectReference};
use crate::hypershift::secret_encryption::SecretEncryptionSpec;
use crate::hypershift::secret_encryption::status::SecretEncryptionStatus;
use crate::hypershift::services::ServicePublishingStrategyMapping;
use crate::hypershift::version::{ClusterVersionStatus, ControlPlaneVersionStatus};
use crate::rules::{Rule, Rules, any_width, conditions};

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
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.platform.type == 'IBMCloud' ? size(self.services) >= 3 : size(self.services) >= 4",
        "spec.services in body should have at least 4 items or 3 for IBMCloud",
    ),
    Rule::new(
        "!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork) || !self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork || self.networking.networkType == 'Other'",
        "disableMultiNetwork can only be set to true when networkType is 'Other'",
    ),
    Rule::new(
        "!has(oldSelf.secretEncryption) || has(self.secretEncryption)",
        "secretEncryption cannot be removed once configured",
    ),
]))]
pub struct HostedControlPlaneSpec {
    pub dns: DnsSpec,
    pub etcd: EtcdSpec,
    #[serde(rename = "infraID")]
    #[schemars(length(max = 255))]
    pub infra_id: String,
    #[serde(rename = "issuerURL")]
    #[schemars(length(max = 255))]
    pub issuer_url: String,
    pub platform: PlatformSpec,
    pub pull_secret: LocalObjectReference,
    #[schemars(length(max = 255))]
    pub release_image: String,
    #[schemars(length(max = 6))]
    pub services: Vec<ServicePublishingStrategyMapping>,
    pub ssh_key: LocalObjectReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_trust_bundle: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_node: Option<AutoNode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ClusterAutoscaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {}))]
    pub capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub channel: Option<String>,
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub cluster_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ClusterConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub control_plane_release_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "HighlyAvailable"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "ControllerAvailabilityPolicy is immutable")]))]
    pub controller_availability_policy: Option<AvailabilityPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fips: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 255))]
    pub image_content_sources: Vec<ImageContentSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "SingleReplica"))]
    pub infrastructure_availability_policy: Option<AvailabilityPolicy>,
    #[serde(rename = "kubeAPIServerDNSName", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r#"self == "" || self.matches('^(?:(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}|[a-zA-Z0-9-]+)$')"#,
            "kubeAPIServerDNSName must be a valid URL name (e.g., api.example.com)",
        ),
    ]))]
    pub kube_api_server_dns_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<KubeconfigSecretReference>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<ClusterNetworking>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "management"))]
    pub olm_catalog_placement: Option<OlmCatalogPlacement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_configuration: Option<OperatorConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub paused_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_signing_key: Option<LocalObjectReference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25))]
    pub tolerations: Vec<Toleration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_service: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedControlPlaneStatus {
    #[schemars(extend("default" = false))]
    pub initialized: bool,
    #[schemars(extend("default" = false))]
    pub ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_node: Option<AutoNodeStatus>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigurationStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_version: Option<ControlPlaneVersionStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_kubeconfig: Option<KubeconfigSecretReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub external_managed_control_plane: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeconfigSecretReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeadmin_password: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_release_image_transition_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub node_count: Option<i64>,
    #[serde(rename = "oauthCallbackURLTemplate", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub oauth_callback_url_template: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub release_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_status: Option<ClusterVersionStatus>,
}
