//! Configuration of the scheduler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::ConfigMapNameReference;

/// Configuration of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerConfiguration {
    /// How nodes are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<SchedulerProfile>,
    /// Changes to the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_customizations: Option<ProfileCustomizations>,
    /// The `ConfigMap` with a scheduling policy; no longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ConfigMapNameReference>,
    /// The node selector of pods in namespaces that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_node_selector: Option<String>,
    /// Whether users' pods run on control plane machines. A hosted cluster has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masters_schedulable: Option<bool>,
}

/// How nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SchedulerProfile {
    /// Not chosen: pods are spread.
    #[serde(rename = "")]
    Unset,
    /// Pods are spread over many nodes.
    LowNodeUtilization,
    /// Pods are packed on few nodes.
    HighNodeUtilization,
    /// The first node that fits is taken.
    NoScoring,
}

/// Changes to a scheduler profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileCustomizations {
    /// Whether devices are allocated to pods dynamically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_resource_allocation: Option<DynamicResourceAllocation>,
}

/// Whether devices are allocated to pods dynamically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DynamicResourceAllocation {
    /// Not chosen: the default of the version.
    #[serde(rename = "")]
    Unset,
    /// They are.
    Enabled,
    /// They are not.
    Disabled,
}
