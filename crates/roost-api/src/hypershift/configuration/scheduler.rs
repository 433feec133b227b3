//! Configuration of the scheduler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::ConfigMapNameReference;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_node_selector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masters_schedulable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ConfigMapNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<SchedulerProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_customizations: Option<ProfileCustomizations>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SchedulerProfile {
    #[serde(rename = "")]
    Unset,
    LowNodeUtilization,
    HighNodeUtilization,
    NoScoring,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileCustomizations {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_resource_allocation: Option<DynamicResourceAllocation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DynamicResourceAllocation {
    #[serde(rename = "")]
    Unset,
    Enabled,
    Disabled,
}
