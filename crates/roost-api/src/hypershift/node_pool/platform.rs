//! What a node of a pool is on each platform.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::node_pool::kubevirt::KubeVirtNodePoolPlatform;
use crate::hypershift::platform::PlatformType;
use crate::preserved::Preserved;
use crate::rules::{Rule, Rules, label_selector};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolPlatform {
    #[schemars(extend("maxLength" = 100))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Type is immutable")]))]
    pub r#type: PlatformType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentNodePoolPlatform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Preserved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Preserved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<Preserved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubevirt: Option<KubeVirtNodePoolPlatform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powervs: Option<Preserved>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentNodePoolPlatform {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub agent_label_selector: Option<LabelSelector>,
}
