//! What a node of a pool is on each platform.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::node_pool::kubevirt::KubeVirtNodePoolPlatform;
use crate::hypershift::platform::PlatformType;
use crate::preserved::{Preserved, ReadByRules};
use crate::rules::{Rule, Rules, label_selector};

/// What nodes of a pool are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolPlatform {
    /// The platform. It must be the cluster's; immutable.
    #[schemars(extend("maxLength" = 100))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Type is immutable")]))]
    pub r#type: PlatformType,
    /// Settings for hosts that were discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentNodePoolPlatform>,
    /// Settings for virtual machines of `KubeVirt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubevirt: Option<KubeVirtNodePoolPlatform>,
    /// Settings for AWS; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = ReadByRules(&["imageType"]))]
    pub aws: Option<Preserved>,
    /// Settings for Azure; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Preserved>,
    /// Settings for IBM Cloud; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<Preserved>,
    /// Settings for IBM Power Virtual Servers; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powervs: Option<Preserved>,
}

/// Hosts that were discovered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentNodePoolPlatform {
    /// Which hosts the pool may take, by the labels of their `Agent` objects; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub agent_label_selector: Option<LabelSelector>,
}
