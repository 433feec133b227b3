//! Configuration of ingress: domains, routes of components, HSTS.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::SecretNameReference;
use crate::rules::{Rule, Rules, label_selector};

/// Configuration of ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressConfiguration {
    /// The domain that names of routes are made in. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "domain is immutable once set")]))]
    pub domain: Option<String>,
    /// Another domain that names of users' routes are made in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps_domain: Option<String>,
    /// Other names and certificates for routes of components.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 250),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["namespace", "name"]),
    )]
    pub component_routes: Vec<ComponentRoute>,
    /// What routes must say in their HSTS header.
    #[serde(rename = "requiredHSTSPolicies", default, skip_serializing_if = "Vec::is_empty")]
    pub required_hsts_policies: Vec<RequiredHstsPolicy>,
    /// The load balancer of the default ingress controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<IngressLoadBalancer>,
}

/// Another name and certificate for the route of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRoute {
    /// The namespace of the route.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
    /// The component's name for the route.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// The name that the route gets.
    #[schemars(regex(
        pattern = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$|^(([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})[\.]){0,}([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})$"
    ))]
    pub hostname: String,
    /// The Secret with the route's certificate and key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_cert_key_pair_secret: Option<SecretNameReference>,
}

/// The load balancer of the default ingress controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressLoadBalancer {
    /// Settings that differ by platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<IngressPlatform>,
}

/// Load balancer settings that differ by platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressPlatform {
    /// The platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<IngressPlatformType>,
    /// Settings for AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsIngress>,
}

/// A platform of OpenShift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IngressPlatformType {
    /// Not known.
    #[serde(rename = "")]
    Unset,
    /// Amazon Web Services.
    #[serde(rename = "AWS")]
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Bare metal.
    BareMetal,
    /// Google Cloud.
    #[serde(rename = "GCP")]
    Gcp,
    /// Libvirt.
    Libvirt,
    /// `OpenStack`.
    OpenStack,
    /// None.
    None,
    /// `vSphere` of `VMware`.
    #[serde(rename = "VSphere")]
    Vsphere,
    /// oVirt.
    #[serde(rename = "oVirt")]
    Ovirt,
    /// IBM Cloud.
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    /// `KubeVirt`.
    KubeVirt,
    /// Equinix Metal.
    EquinixMetal,
    /// IBM Power Virtual Servers.
    #[serde(rename = "PowerVS")]
    PowerVs,
    /// Alibaba Cloud.
    AlibabaCloud,
    /// Nutanix.
    Nutanix,
    /// One that brings its own integration.
    External,
}

/// Load balancer settings for AWS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsIngress {
    /// The kind of load balancer.
    pub r#type: AwsIngressType,
}

/// A kind of load balancer of AWS for ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AwsIngressType {
    /// A network load balancer.
    #[serde(rename = "NLB")]
    Nlb,
    /// A classic load balancer.
    Classic,
}

/// What some routes must say in their HSTS header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredHstsPolicy {
    /// The domains of the routes; `*.` stands for any name below.
    #[schemars(length(min = 1))]
    pub domain_patterns: Vec<String>,
    /// The namespaces of the routes; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub namespace_selector: Option<LabelSelector>,
    /// How long browsers must remember.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<MaxAgePolicy>,
    /// Whether `preload` must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload_policy: Option<PreloadPolicy>,
    /// Whether `includeSubDomains` must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_sub_domains_policy: Option<IncludeSubDomainsPolicy>,
}

/// Whether `includeSubDomains` must be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IncludeSubDomainsPolicy {
    /// It must.
    #[serde(rename = "RequireIncludeSubDomains")]
    Require,
    /// It must not.
    #[serde(rename = "RequireNoIncludeSubDomains")]
    Forbid,
    /// It may.
    NoOpinion,
}

/// How long browsers must remember.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaxAgePolicy {
    /// At least this many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub smallest_max_age: Option<i32>,
    /// At most this many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub largest_max_age: Option<i32>,
}

/// Whether `preload` must be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PreloadPolicy {
    /// It must.
    #[serde(rename = "RequirePreload")]
    Require,
    /// It must not.
    #[serde(rename = "RequireNoPreload")]
    Forbid,
    /// It may.
    NoOpinion,
}
