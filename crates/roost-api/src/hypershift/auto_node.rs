//! Nodes that a provisioner makes as pods need them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoNode {
    pub provisioner_config: ProvisionerConfig,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.name == 'Karpenter' ? has(self.karpenter) : !has(self.karpenter)",
        "karpenter is required when name is Karpenter, and forbidden otherwise",
    ),
]))]
pub struct ProvisionerConfig {
    pub name: Provisioner,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub karpenter: Option<KarpenterConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Provisioner {
    Karpenter,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.platform == 'AWS' ? has(self.aws) : !has(self.aws)",
        "aws is required when platform is AWS, and forbidden otherwise",
    ),
]))]
pub struct KarpenterConfig {
    #[schemars(extend("maxLength" = 100))]
    pub platform: KarpenterPlatform,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<KarpenterAwsConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KarpenterPlatform {
    #[serde(rename = "AWS")]
    Aws,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KarpenterAwsConfig {
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
