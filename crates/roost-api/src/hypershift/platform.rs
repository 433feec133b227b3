//! The platform that a hosted cluster's nodes run on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::kubevirt::KubeVirtPlatformSpec;
use crate::preserved::Preserved;
use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformSpec {
    #[schemars(extend("maxLength" = 100))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Type is immutable")]))]
    pub r#type: PlatformType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentPlatformSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Preserved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Preserved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<Preserved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubevirt: Option<KubeVirtPlatformSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powervs: Option<Preserved>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PlatformType {
    #[serde(rename = "AWS")]
    Aws,
    Azure,
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    KubeVirt,
    Agent,
    #[serde(rename = "PowerVS")]
    PowerVs,
    #[default]
    None,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentPlatformSpec {
    #[schemars(length(max = 63))]
    pub agent_namespace: String,
}
