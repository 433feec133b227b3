//! Nodes that a provisioner makes as pods need them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// Nodes that are made as pods need them, beside those of node pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoNode {
    /// Who makes the nodes, and how.
    pub provisioner_config: ProvisionerConfig,
}

/// Who makes nodes as pods need them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.name == 'Karpenter' ? has(self.karpenter) : !has(self.karpenter)",
        "karpenter is required when name is Karpenter, and forbidden otherwise",
    ),
]))]
pub struct ProvisionerConfig {
    /// The provisioner.
    pub name: Provisioner,
    /// Settings of Karpenter. Needed if it is the provisioner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub karpenter: Option<KarpenterConfig>,
}

/// A program that makes nodes as pods need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Provisioner {
    /// Karpenter.
    Karpenter,
}

/// Settings of Karpenter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.platform == 'AWS' ? has(self.aws) : !has(self.aws)",
        "aws is required when platform is AWS, and forbidden otherwise",
    ),
]))]
pub struct KarpenterConfig {
    /// The platform that Karpenter makes nodes on.
    #[schemars(extend("maxLength" = 100))]
    pub platform: KarpenterPlatform,
    /// Settings for AWS. Needed if it is the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<KarpenterAwsConfig>,
}

/// A platform that Karpenter makes nodes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KarpenterPlatform {
    /// Amazon Web Services.
    #[serde(rename = "AWS")]
    Aws,
}

/// Settings of Karpenter for AWS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KarpenterAwsConfig {
    /// The role that Karpenter acts in.
    #[serde(rename = "roleARN")]
    #[schemars(length(max = 2048))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$')",
            "roleARN must be a valid AWS IAM role ARN (e.g. arn:aws:iam::123456789012:role/MyRole)",
        ),
    ]))]
    pub role_arn: String,
}

/// What a node provisioner has made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct AutoNodeStatus {
    /// How many nodes run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub node_count: Option<i32>,
    /// How many nodes are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub node_claim_count: Option<i32>,
    /// How many virtual processors the nodes have in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub vcpus: Option<i32>,
}
