//! How Secrets are encrypted in a hosted cluster's etcd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::LocalObjectReference;
use crate::hypershift::secret_encryption::kms::KmsSpec;

pub mod kms;
pub mod status;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretEncryptionSpec {
    pub r#type: SecretEncryptionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aescbc: Option<AescbcSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms: Option<KmsSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SecretEncryptionType {
    #[serde(rename = "kms")]
    Kms,
    #[serde(rename = "aescbc")]
    Aescbc,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AescbcSpec {
    pub active_key: LocalObjectReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_key: Option<LocalObjectReference>,
}
