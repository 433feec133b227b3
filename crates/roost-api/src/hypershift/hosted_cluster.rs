//! The kind `HostedCluster`: what users write, and what they read back.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::auto_node::AutoNode;
use crate::hypershift::autoscaling::ClusterAutoscaling;
use crate::hypershift::capabilities::Capabilities;
use crate::hypershift::configuration::{ClusterConfiguration, ConfigurationStatus};
use crate::hypershift::dns::DnsSpec;
use crate::hypershift::etcd::EtcdSpec;
use crate::hypershift::monitoring::Monitoring;
use crate::hypershift::networking::ClusterNetworking;
use crate::hypershift::operator_configuration::OperatorConfiguration;
use crate::hypershift::platform::PlatformSpec;
use crate::hypershift::reference::LocalObjectReference;
use crate::hypershift::secret_encryption::SecretEncryptionSpec;
use crate::hypershift::secret_encryption::status::SecretEncryptionStatus;
use crate::hypershift::services::ServicePublishingStrategyMapping;
use crate::hypershift::version::{ClusterVersionStatus, ControlPlaneVersionStatus};
use crate::preserved::Preserved;
use crate::rules::{Rule, Rules, conditions};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "HostedCluster",
    plural = "hostedclusters",
    shortname = "hc",
    shortname = "hcs",
    namespaced,
    status = "HostedClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    schema = "disabled",
    crates(kube_core = "kube_core"),
    doc = "A Kubernetes or OpenShift cluster whose control plane runs here.",
    printcolumn = r#"{"name": "Version", "type": "string", "description": "Version", "jsonPath": ".status.version.history[?(@.state==\"Completed\")].version"}"#,
    printcolumn = r#"{"name": "CP Version", "type": "string", "description": "Control Plane Version", "jsonPath": ".status.controlPlaneVersion.history[?(@.state==\"Completed\")].version"}"#,
    printcolumn = r#"{"name": "KubeConfig", "type": "string", "description": "KubeConfig Secret", "jsonPath": ".status.kubeconfig.name"}"#,
    printcolumn = r#"{"name": "Progress", "type": "string", "description": "Progress", "jsonPath": ".status.version.history[?(@.state!=\"\")].state"}"#,
    printcolumn = r#"{"name": "Available", "type": "string", "description": "Available", "jsonPath": ".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name": "Progressing", "type": "string", "description": "Progressing", "jsonPath": ".status.conditions[?(@.type==\"Progressing\")].status"}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "description": "Message", "jsonPath": ".status.conditions[?(@.type==\"Available\")].message"}"#,
    printcolumn = r#"{"name": "CP Progress", "type": "string", "description": "Control Plane Progress", "priority": 1, "jsonPath": ".status.controlPlaneVersion.history[0].state"}"#,
    printcolumn = r#"{"name": "DP Progress", "type": "string", "description": "Data Plane Progress", "priority": 1, "jsonPath": ".status.version.history[0].state"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.platform.type == 'IBMCloud' ? size(self.services) >= 3 : size(self.services) >= 4",
        "spec.services in body should have at least 4 items or 3 for IBMCloud",
    ),
    Rule::new(
        r#"self.platform.type != "IBMCloud" ? self.services == oldSelf.services : true"#,
        "Services is immutable. Changes might result in unpredictable and disruptive behavior.",
    ),
    Rule::new(
        r#"self.platform.type != "Azure" || self.platform.?azure.azureAuthenticationConfig.azureAuthenticationConfigType.orValue("") == "WorkloadIdentities" || self.services.exists(s, s.service == "OAuthServer" && s.servicePublishingStrategy.type == "Route")"#,
        "Azure managed platform (ARO HCP) requires OAuthServer to use Route",
    ),
    Rule::new(
        r#"self.platform.type != "Azure" || self.platform.?azure.azureAuthenticationConfig.azureAuthenticationConfigType.orValue("") != "WorkloadIdentities" || self.services.exists(s, s.service == "OAuthServer" && (s.servicePublishingStrategy.type == "Route" || s.servicePublishingStrategy.type == "LoadBalancer"))"#,
        "Self-managed Azure requires OAuthServer to use Route or LoadBalancer",
    ),
    Rule::new(
        r#"self.platform.type == "Azure" ? self.services.exists(s, s.service == "Konnectivity" && s.servicePublishingStrategy.type == "Route") : true"#,
        "Azure platform requires Konnectivity to use Route service publishing strategy",
    ),
    Rule::new(
        r#"self.platform.type == "Azure" ? self.services.exists(s, s.service == "Ignition" && s.servicePublishingStrategy.type == "Route") : true"#,
        "Azure platform requires Ignition to use Route service publishing strategy",
    ),
    Rule::new(
        "has(self.issuerURL) || !has(self.serviceAccountSigningKey)",
        "If serviceAccountSigningKey is set, issuerURL must be set",
    ),
    Rule::new(
        r#"!self.services.exists(s, s.service == 'APIServer' && has(s.servicePublishingStrategy.loadBalancer) && s.servicePublishingStrategy.loadBalancer.hostname != "" && has(self.configuration) && has(self.configuration.apiServer) && has(self.configuration.apiServer.servingCerts) && has(self.configuration.apiServer.servingCerts.namedCertificates) && self.configuration.apiServer.servingCerts.namedCertificates.exists(cert, has(cert.names) && cert.names.exists(n, n == s.servicePublishingStrategy.loadBalancer.hostname)))"#,
        "APIServer loadBalancer hostname cannot be in ClusterConfiguration.apiserver.servingCerts.namedCertificates[]",
    ),
    Rule::new(
        "!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork) || !self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork || self.networking.networkType == 'Other'",
        "disableMultiNetwork can only be set to true when networkType is 'Other'",
    ),
    Rule::new(
        "self.networking.networkType == 'OVNKubernetes' || !has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig)",
        "ovnKubernetesConfig is forbidden when networkType is not OVNKubernetes",
    ),
    Rule::new(
        "!has(oldSelf.secretEncryption) || has(self.secretEncryption)",
        "secretEncryption cannot be removed once configured",
    ),
]))]
pub struct HostedClusterSpec {
    #[schemars(
        extend("default" = {"managed": {"storage": {"persistentVolume": {"size": "8Gi"}, "type": "PersistentVolume"}}, "managementType": "Managed"}),
    )]
    pub etcd: EtcdSpec,
    #[schemars(
        extend("default" = {"clusterNetwork": [{"cidr": "10.132.0.0/14"}], "networkType": "OVNKubernetes", "serviceNetwork": [{"cidr": "172.31.0.0/16"}]}),
    )]
    pub networking: ClusterNetworking,
    pub platform: PlatformSpec,
    pub pull_secret: LocalObjectReference,
    pub release: Release,
    #[schemars(length(max = 6))]
    pub services: Vec<ServicePublishingStrategyMapping>,
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
    #[schemars(length(min = 1, max = 100))]
    pub channel: Option<String>,
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(equal = 36))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}')",
            "clusterID must be an RFC4122 UUID value (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in hexadecimal digits)",
        ),
        Rule::new(r#"oldSelf == "" || self == oldSelf"#, "clusterID is immutable"),
    ]))]
    pub cluster_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ClusterConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_release: Option<Release>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "HighlyAvailable"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "ControllerAvailabilityPolicy is immutable")]))]
    pub controller_availability_policy: Option<AvailabilityPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "fips is immutable")]))]
    pub fips: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 255))]
    pub image_content_sources: Vec<ImageContentSource>,
    #[serde(rename = "infraID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            "infraID must consist of lowercase alphanumeric characters or '-', start and end with an alphanumeric character, and be between 1 and 253 characters",
        ),
        Rule::new(r#"oldSelf == "" || self == oldSelf"#, "infraID is immutable"),
    ]))]
    pub infra_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "SingleReplica"))]
    pub infrastructure_availability_policy: Option<AvailabilityPolicy>,
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255), extend("default" = "https://kubernetes.default.svc"))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "issuerURL is immutable"),
        Rule::new("isURL(self)", "issuerURL must be a valid absolute URL"),
    ]))]
    pub issuer_url: Option<String>,
    #[serde(rename = "kubeAPIServerDNSName", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r#"self == "" || self.matches('^(?:(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}|[a-zA-Z0-9-]+)$')"#,
            "kubeAPIServerDNSName must be a valid URL name (e.g., api.example.com)",
        ),
    ]))]
    pub kube_api_server_dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = Rules([Rule::new("size(self) <= 20", "nodeSelector map can have at most 20 entries")]))]
    pub node_selector: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "management"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "OLMCatalogPlacement is immutable")]))]
    pub olm_catalog_placement: Option<OlmCatalogPlacement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_configuration: Option<OperatorConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 4, max = 35))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}.*$') || self in ['true', 'false', 'True', 'False']",
            "PausedUntil must be a date in RFC3339 format or 'True', 'true', 'False' or 'false'",
        ),
    ]))]
    pub paused_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_signing_key: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_key: Option<LocalObjectReference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25))]
    pub tolerations: Vec<Toleration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("isURL(self)", "updateService must be a valid absolute URL")]))]
    pub update_service: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedClusterStatus {
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
    pub custom_kubeconfig: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub ignition_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeadmin_password: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<LocalObjectReference>,
    #[serde(rename = "oauthCallbackURLTemplate", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub oauth_callback_url_template: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_arch: Option<PayloadArchitecture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersionStatus>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OlmCatalogPlacement {
    #[default]
    #[serde(rename = "management")]
    Management,
    #[serde(rename = "guest")]
    Guest,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AvailabilityPolicy {
    #[default]
    HighlyAvailable,
    SingleReplica,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageContentSource {
    #[schemars(length(max = 255))]
    pub source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 255), inner(length(max = 255)), extend("x-kubernetes-list-type" = "set"))]
    pub mirrors: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PayloadArchitecture {
    Multi,
    #[serde(rename = "ARM64")]
    Arm64,
    #[serde(rename = "AMD64")]
    Amd64,
    #[serde(rename = "PPC64LE")]
    Ppc64le,
    #[serde(rename = "S390X")]
    S390x,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    #[schemars(length(max = 255))]
    pub host: String,
    pub port: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Preserved>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct AutoNodeStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub node_claim_count: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub node_count: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub vcpus: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^(\\w+\\S+)$')",
            "Image must start with a word character (letters, digits, or underscores) and contain no white spaces",
        ),
    ]))]
    pub image: String,
}
