//! Configuration of ingress: domains, routes of components, HSTS.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::SecretNameReference;
use crate::rules::{Rule, Rules, label_selector};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps_domain: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 250),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["namespace", "name"]),
    )]
    pub component_routes: Vec<ComponentRoute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "domain is immutable once set")]))]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<IngressLoadBalancer>,
    #[serde(rename = "requiredHSTSPolicies", default, skip_serializing_if = "Vec::is_empty")]
    pub required_hsts_policies: Vec<RequiredHstsPolicy>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRoute {
    #[schemars(regex(
        pattern = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$|^(([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})[\.]){0,}([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})$"
    ))]
    pub hostname: String,
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_cert_key_pair_secret: Option<SecretNameReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressLoadBalancer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<IngressPlatform>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressPlatform {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsIngress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<IngressPlatformType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IngressPlatformType {
    #[serde(rename = "")]
    Unset,
    #[serde(rename = "AWS")]
    Aws,
    Azure,
    BareMetal,
    #[serde(rename = "GCP")]
    Gcp,
    Libvirt,
    OpenStack,
    None,
    #[serde(rename = "VSphere")]
    Vsphere,
    #[serde(rename = "oVirt")]
    Ovirt,
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    KubeVirt,
    EquinixMetal,
    #[serde(rename = "PowerVS")]
    PowerVs,
    AlibabaCloud,
    Nutanix,
    External,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsIngress {
    pub r#type: AwsIngressType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AwsIngressType {
    #[serde(rename = "NLB")]
    Nlb,
    Classic,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredHstsPolicy {
    #[schemars(length(min = 1))]
    pub domain_patterns: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_sub_domains_policy: Option<IncludeSubDomainsPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<MaxAgePolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub namespace_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload_policy: Option<PreloadPolicy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IncludeSubDomainsPolicy {
    #[serde(rename = "RequireIncludeSubDomains")]
    Require,
    #[serde(rename = "RequireNoIncludeSubDomains")]
    Forbid,
    NoOpinion,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaxAgePolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub largest_max_age: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub smallest_max_age: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PreloadPolicy {
    #[serde(rename = "RequirePreload")]
    Require,
    #[serde(rename = "RequireNoPreload")]
    Forbid,
    NoOpinion,
}
