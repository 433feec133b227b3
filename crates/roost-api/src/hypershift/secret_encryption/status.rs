//! Which key encrypts now, and the way from one key to the next.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::secret_encryption::kms::{AwsKmsKey, AzureKmsKey, IbmCloudKmsKey};
use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct SecretEncryptionStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_key: Option<EncryptionKeyStatus>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 5), extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<EncryptionMigration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_key: Option<EncryptionKeyStatus>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.provider == 'Azure' ? has(self.azure) : !has(self.azure)",
        "azure is required when provider is Azure, and forbidden otherwise",
    ),
    Rule::new(
        "self.provider == 'AWS' ? has(self.aws) : !has(self.aws)",
        "aws is required when provider is AWS, and forbidden otherwise",
    ),
    Rule::new(
        "self.provider == 'IBMCloud' ? has(self.ibmCloud) : !has(self.ibmCloud)",
        "ibmCloud is required when provider is IBMCloud, and forbidden otherwise",
    ),
    Rule::new(
        "self.provider == 'AESCBC' ? has(self.aescbc) : !has(self.aescbc)",
        "aescbc is required when provider is AESCBC, and forbidden otherwise",
    ),
]))]
pub struct EncryptionKeyStatus {
    pub provider: EncryptionProvider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aescbc: Option<AescbcKeyStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsKmsKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureKmsKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibm_cloud: Option<IbmCloudKmsKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionProvider {
    Azure,
    #[serde(rename = "AWS")]
    Aws,
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    #[serde(rename = "AESCBC")]
    Aescbc,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AescbcKeyStatus {
    #[schemars(length(min = 1, max = 64))]
    pub data_hash: String,
    pub secret: EncryptionSecretReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionSecretReference {
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
            "name must consist only of lowercase alphanumeric characters, hyphens, and periods. Each period-separated segment must start and end with an alphanumeric character.",
        ),
    ]))]
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionMigration {
    pub from: EncryptionKeyFingerprint,
    pub started_time: Time,
    pub state: EncryptionMigrationState,
    pub to: EncryptionKeyFingerprint,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionMigrationState {
    ReadOnlyDeploy,
    WritePromote,
    Migrating,
    Completed,
    Interrupted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionKeyFingerprint {
    #[schemars(length(min = 1, max = 64))]
    pub fingerprint: String,
    pub provider: EncryptionProvider,
}
