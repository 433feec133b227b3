//! Which key encrypts now, and the way from one key to the next.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::secret_encryption::kms::{AwsKmsKey, AzureKmsKey, IbmCloudKmsKey};
use crate::rules::{Rule, Rules};

/// Which key encrypts Secrets, and the way to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct SecretEncryptionStatus {
    /// The key that everything is encrypted with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_key: Option<EncryptionKeyStatus>,
    /// The key that Secrets are moving to; absent when they are not moving.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_key: Option<EncryptionKeyStatus>,
    /// The last changes of the key, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 5), extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<EncryptionMigration>,
}

/// An encryption key in use.
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
    /// Where the key is.
    pub provider: EncryptionProvider,
    /// The key, if it is in a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aescbc: Option<AescbcKeyStatus>,
    /// The key, if it is in AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsKmsKey>,
    /// The key, if it is in Azure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureKmsKey>,
    /// The key, if it is in IBM Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibm_cloud: Option<IbmCloudKmsKey>,
}

/// Where an encryption key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionProvider {
    /// In Azure.
    Azure,
    /// In AWS.
    #[serde(rename = "AWS")]
    Aws,
    /// In IBM Cloud.
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    /// In a Secret.
    #[serde(rename = "AESCBC")]
    Aescbc,
}

/// A key in a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AescbcKeyStatus {
    /// The Secret.
    pub secret: EncryptionSecretReference,
    /// The hash of the key, so that a change is noticed.
    #[schemars(length(min = 1, max = 64))]
    pub data_hash: String,
}

/// The Secret of an encryption key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionSecretReference {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
            "name must consist only of lowercase alphanumeric characters, hyphens, and periods. Each period-separated segment must start and end with an alphanumeric character.",
        ),
    ]))]
    pub name: String,
}

/// A change of the encryption key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionMigration {
    /// The key before.
    pub from: EncryptionKeyFingerprint,
    /// The key after.
    pub to: EncryptionKeyFingerprint,
    /// How far the change has come.
    pub state: EncryptionMigrationState,
    /// When it began.
    pub started_time: Time,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}

/// How far a change of the encryption key has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionMigrationState {
    /// The new key is being made known for reading.
    ReadOnlyDeploy,
    /// The new key is being made the one for writing.
    WritePromote,
    /// Secrets are being rewritten.
    Migrating,
    /// Everything is encrypted with the new key.
    Completed,
    /// Another change came in between.
    Interrupted,
}

/// An encryption key, as far as it may be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionKeyFingerprint {
    /// Where the key is.
    pub provider: EncryptionProvider,
    /// A hash that tells the key from others.
    #[schemars(length(min = 1, max = 64))]
    pub fingerprint: String,
}
