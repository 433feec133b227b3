//! The kind `HostedCluster`: what users write, and what they read back.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
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
use crate::hypershift::monitoring::Monitoring;
use crate::hypershift::networking::ClusterNetworking;
use crate::hypershift::operator_configuration::OperatorConfiguration;
use crate::hypershift::platform::{PlatformSpec, PlatformStatus};
use crate::hypershift::reference::LocalObjectReference;
use crate::hypershift::release::{ImageContentSource, PayloadArchitecture, Release};
use crate::hypershift::secret_encryption::SecretEncryptionSpec;
use crate::hypershift::secret_encryption::status::SecretEncryptionStatus;
use crate::hypershift::services::{ApiEndpoint, ServicePublishingStrategyMapping};
use crate::hypershift::version::{ClusterVersionStatus, ControlPlaneVersionStatus};
use crate::rules::{Rule, Rules, conditions};
use crate::variation::absent_is_default;

/// What is wanted of a hosted cluster.
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
    printcolumn = r#"{"name": "Version", "type": "string", "description": "Version",
        "jsonPath": ".status.version.history[?(@.state==\"Completed\")].version"}"#,
    printcolumn = r#"{"name": "CP Version", "type": "string", "description": "Control Plane Version",
        "jsonPath": ".status.controlPlaneVersion.history[?(@.state==\"Completed\")].version"}"#,
    printcolumn = r#"{"name": "KubeConfig", "type": "string", "description": "KubeConfig Secret",
        "jsonPath": ".status.kubeconfig.name"}"#,
    printcolumn = r#"{"name": "Progress", "type": "string", "description": "Progress",
        "jsonPath": ".status.version.history[?(@.state!=\"\")].state"}"#,
    printcolumn = r#"{"name": "Available", "type": "string", "description": "Available",
        "jsonPath": ".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name": "Progressing", "type": "string", "description": "Progressing",
        "jsonPath": ".status.conditions[?(@.type==\"Progressing\")].status"}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "description": "Message",
        "jsonPath": ".status.conditions[?(@.type==\"Available\")].message"}"#,
    printcolumn = r#"{"name": "CP Progress", "type": "string", "description": "Control Plane Progress", "priority": 1,
        "jsonPath": ".status.controlPlaneVersion.history[0].state"}"#,
    printcolumn = r#"{"name": "DP Progress", "type": "string", "description": "Data Plane Progress", "priority": 1,
        "jsonPath": ".status.version.history[0].state"}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(transform = Rules([
    SERVICE_COUNT_RULE,
    Rule::new(
        r#"self.platform.type != "IBMCloud" ? self.services == oldSelf.services : true"#,
        "Services is immutable. Changes might result in unpredictable and disruptive behavior.",
    ),
    Rule::new(
        "self.platform.type != \"Azure\" \
         || self.platform.?azure.azureAuthenticationConfig.azureAuthenticationConfigType.orValue(\"\") == \"WorkloadIdentities\" \
         || self.services.exists(s, s.service == \"OAuthServer\" \
         && s.servicePublishingStrategy.type == \"Route\")",
        "Azure managed platform (ARO HCP) requires OAuthServer to use Route",
    ),
    Rule::new(
        "self.platform.type != \"Azure\" \
         || self.platform.?azure.azureAuthenticationConfig.azureAuthenticationConfigType.orValue(\"\") != \"WorkloadIdentities\" \
         || self.services.exists(s, s.service == \"OAuthServer\" \
         && (s.servicePublishingStrategy.type == \"Route\" \
         || s.servicePublishingStrategy.type == \"LoadBalancer\"))",
        "Self-managed Azure requires OAuthServer to use Route or LoadBalancer",
    ),
    Rule::new(
        "self.platform.type == \"Azure\" ? self.services.exists(s, s.service == \"Konnectivity\" \
         && s.servicePublishingStrategy.type == \"Route\") : true",
        "Azure platform requires Konnectivity to use Route service publishing strategy",
    ),
    Rule::new(
        "self.platform.type == \"Azure\" ? self.services.exists(s, s.service == \"Ignition\" \
         && s.servicePublishingStrategy.type == \"Route\") : true",
        "Azure platform requires Ignition to use Route service publishing strategy",
    ),
    Rule::new(
        "has(self.issuerURL) || !has(self.serviceAccountSigningKey)",
        "If serviceAccountSigningKey is set, issuerURL must be set",
    ),
    Rule::new(
        "!self.services.exists(s, s.service == 'APIServer' && has(s.servicePublishingStrategy.loadBalancer) \
         && s.servicePublishingStrategy.loadBalancer.hostname != \"\" && has(self.configuration) \
         && has(self.configuration.apiServer) && has(self.configuration.apiServer.servingCerts) \
         && has(self.configuration.apiServer.servingCerts.namedCertificates) \
         && self.configuration.apiServer.servingCerts.namedCertificates.exists(cert, has(cert.names) \
         && cert.names.exists(n, n == s.servicePublishingStrategy.loadBalancer.hostname)))",
        "APIServer loadBalancer hostname cannot be in ClusterConfiguration.apiserver.servingCerts.namedCertificates[]",
    ),
    MULTI_NETWORK_RULE,
    Rule::new(
        "self.networking.networkType == 'OVNKubernetes' || !has(self.operatorConfiguration) \
         || !has(self.operatorConfiguration.clusterNetworkOperator) \
         || !has(self.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig)",
        "ovnKubernetesConfig is forbidden when networkType is not OVNKubernetes",
    ),
    ENCRYPTION_STAYS_RULE,
]))]
pub struct HostedClusterSpec {
    /// The release that nodes run, and the control plane too unless `controlPlaneRelease` names another.
    pub release: Release,
    /// A release for the control plane alone, so that it can move before the nodes do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_release: Option<Release>,
    /// Where the nodes run.
    pub platform: PlatformSpec,
    /// How each service of the control plane is published. Four are needed: `APIServer`, `OAuthServer`,
    /// `Konnectivity` and `Ignition`.
    #[schemars(length(max = 6))]
    pub services: Vec<ServicePublishingStrategyMapping>,
    /// Where the cluster's state is stored. Immutable in its kind of management.
    #[schemars(extend("default" = {
        "managed": {"storage": {"persistentVolume": {"size": "8Gi"}, "type": "PersistentVolume"}},
        "managementType": "Managed",
    }))]
    pub etcd: EtcdSpec,
    /// The networks of the cluster.
    #[schemars(extend("default" = {
        "clusterNetwork": [{"cidr": "10.132.0.0/14"}],
        "networkType": "OVNKubernetes",
        "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
    }))]
    pub networking: ClusterNetworking,
    /// The names of the cluster in DNS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsSpec>,
    /// The Secret of the same namespace whose key `.dockerconfigjson` holds the credentials for image registries.
    pub pull_secret: LocalObjectReference,
    /// The Secret of the same namespace whose key `id_rsa.pub` holds the public key that may log in to nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_key: Option<LocalObjectReference>,
    /// The cluster's UUID, in the form of RFC 4122. Made when absent; then it can neither change nor go.
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
    /// A name for everything that belongs to the cluster outside of it. Made when absent; then it can neither change
    /// nor go.
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
    /// How many replicas the control plane has. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "HighlyAvailable"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "ControllerAvailabilityPolicy is immutable")]))]
    pub controller_availability_policy: Option<AvailabilityPolicy>,
    /// How many replicas the infrastructure inside the cluster has, such as ingress and registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "SingleReplica"))]
    pub infrastructure_availability_policy: Option<AvailabilityPolicy>,
    /// The update channel that the cluster follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub channel: Option<String>,
    /// The service that recommends updates, as a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("isURL(self)", "updateService must be a valid absolute URL")]))]
    pub update_service: Option<String>,
    /// Configuration objects that the cluster takes over, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ClusterConfiguration>,
    /// Settings of the operators inside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_configuration: Option<OperatorConfiguration>,
    /// How Secrets are encrypted in etcd. Can be added, never taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_encryption: Option<SecretEncryptionSpec>,
    /// The Secret of the same namespace whose key `key` holds the private key that signs service account tokens. Only
    /// together with `issuerURL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_signing_key: Option<LocalObjectReference>,
    /// The issuer of service account tokens. Immutable.
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255), extend("default" = "https://kubernetes.default.svc"))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "issuerURL is immutable"),
        Rule::new("isURL(self)", "issuerURL must be a valid absolute URL"),
    ]))]
    pub issuer_url: Option<String>,
    /// Whether nodes run in FIPS mode. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "fips is immutable")]))]
    pub fips: Option<bool>,
    /// A further name of the API server, for which a second kubeconfig is made.
    #[serde(rename = "kubeAPIServerDNSName", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([API_SERVER_NAME_RULE]))]
    pub kube_api_server_dns_name: Option<String>,
    /// The `ConfigMap` of the same namespace whose key `ca-bundle.crt` holds certificate authorities that nodes and
    /// components trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_trust_bundle: Option<LocalObjectReference>,
    /// The Secret of the same namespace whose key `webhook-kubeconfig` says where audit events go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<LocalObjectReference>,
    /// Mirrors of image registries. A change rolls the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 255))]
    pub image_content_sources: Vec<ImageContentSource>,
    /// How node pools with autoscaling grow and shrink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ClusterAutoscaling>,
    /// Nodes that a provisioner makes as pods need them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_node: Option<AutoNode>,
    /// The optional parts of OpenShift that the cluster has. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {}))]
    pub capabilities: Option<Capabilities>,
    /// Where the catalogs of operators run. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "management"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "OLMCatalogPlacement is immutable")]))]
    pub olm_catalog_placement: Option<OlmCatalogPlacement>,
    /// The metrics that the control plane gives away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    /// The management nodes that the control plane's pods may run on, by their labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = Rules([Rule::new("size(self) <= 20", "nodeSelector map can have at most 20 entries")]))]
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
    #[schemars(length(min = 4, max = 35))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^\\\\d{4}-\\\\d{2}-\\\\d{2}T\\\\d{2}:\\\\d{2}:\\\\d{2}.*$') \
             || self in ['true', 'false', 'True', 'False']",
            "PausedUntil must be a date in RFC3339 format or 'True', 'true', 'False' or 'false'",
        ),
    ]))]
    pub paused_until: Option<String>,
}

absent_is_default!(HostedClusterSpec);

/// What is observed of a hosted cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedClusterStatus {
    /// What holds of the cluster, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
    /// The versions that the nodes' side of the cluster runs, ran and could run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersionStatus>,
    /// The versions that the control plane runs and ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_version: Option<ControlPlaneVersionStatus>,
    /// The Secret with the administrator's kubeconfig, in its key `kubeconfig`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<LocalObjectReference>,
    /// The Secret with the administrator's kubeconfig for `kubeAPIServerDNSName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_kubeconfig: Option<LocalObjectReference>,
    /// The Secret with the first user's password, in its key `password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeadmin_password: Option<LocalObjectReference>,
    /// Where the API server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The host, and port if not 443, where nodes fetch their configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub ignition_endpoint: Option<String>,
    /// The callback to register with identity providers; `[identity-provider-name]` stands for a provider's name.
    #[serde(rename = "oauthCallbackURLTemplate", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub oauth_callback_url_template: Option<String>,
    /// The processor architectures that the release is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_arch: Option<PayloadArchitecture>,
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

/// Every service is published in some way.
pub(super) const SERVICE_COUNT_RULE: Rule = Rule::new(
    "self.platform.type == 'IBMCloud' ? size(self.services) >= 3 : size(self.services) >= 4",
    "spec.services in body should have at least 4 items or 3 for IBMCloud",
);

/// Only a plugin that the user brings can do without further networks.
pub(super) const MULTI_NETWORK_RULE: Rule = Rule::new(
    "!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) \
     || !has(self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork) \
     || !self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork \
     || self.networking.networkType == 'Other'",
    "disableMultiNetwork can only be set to true when networkType is 'Other'",
);

/// What is encrypted cannot be read without its key.
pub(super) const ENCRYPTION_STAYS_RULE: Rule = Rule::new(
    "!has(oldSelf.secretEncryption) || has(self.secretEncryption)",
    "secretEncryption cannot be removed once configured",
);

/// The form of a further name of the API server.
pub(super) const API_SERVER_NAME_RULE: Rule = Rule::new(
    r#"self == "" || self.matches('^(?:(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}|[a-zA-Z0-9-]+)$')"#,
    "kubeAPIServerDNSName must be a valid URL name (e.g., api.example.com)",
);
