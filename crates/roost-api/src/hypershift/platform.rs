//! The platform that a hosted cluster's nodes run on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::kubevirt::KubeVirtPlatformSpec;
use crate::preserved::{Preserved, ReadByRules};
use crate::rules::{Rule, Rules};

/// Where a cluster's nodes run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformSpec {
    /// The platform. Immutable.
    #[schemars(extend("maxLength" = 100))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Type is immutable")]))]
    pub r#type: PlatformType,
    /// Settings for hosts that were discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentPlatformSpec>,
    /// Settings for virtual machines of `KubeVirt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubevirt: Option<KubeVirtPlatformSpec>,
    /// Settings for AWS; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Preserved>,
    /// Settings for Azure; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = ReadByRules(&["azureAuthenticationConfig", "azureAuthenticationConfigType"]))]
    pub azure: Option<Preserved>,
    /// Settings for IBM Cloud; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<Preserved>,
    /// Settings for IBM Power Virtual Servers; kept as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powervs: Option<Preserved>,
}

/// A platform that nodes run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PlatformType {
    /// Amazon Web Services.
    #[serde(rename = "AWS")]
    Aws,
    /// Microsoft Azure.
    Azure,
    /// IBM Cloud.
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    /// Virtual machines of `KubeVirt`.
    KubeVirt,
    /// Hosts that were discovered.
    Agent,
    /// IBM Power Virtual Servers.
    #[serde(rename = "PowerVS")]
    PowerVs,
    /// Machines that the user boots.
    #[default]
    None,
}

/// Settings for hosts that were discovered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentPlatformSpec {
    /// The namespace that the hosts' `Agent` objects are in.
    #[schemars(length(max = 63))]
    pub agent_namespace: String,
}

/// What is observed of the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformStatus {
    /// Of AWS; kept as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Preserved>,
}
