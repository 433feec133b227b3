//! How Secrets are encrypted in a hosted cluster's etcd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::LocalObjectReference;
use crate::hypershift::secret_encryption::kms::KmsSpec;

pub mod kms;
pub mod status;

/// How Secrets are encrypted in etcd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretEncryptionSpec {
    /// The way.
    pub r#type: SecretEncryptionType,
    /// Keys that the user keeps in Secrets. Needed if the type is aescbc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aescbc: Option<AescbcSpec>,
    /// Keys in the key management service of a cloud. Needed if the type is kms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms: Option<KmsSpec>,
}

/// A way to encrypt Secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SecretEncryptionType {
    /// With a key management service.
    #[serde(rename = "kms")]
    Kms,
    /// With AES-CBC and the user's own key.
    #[serde(rename = "aescbc")]
    Aescbc,
}

/// Keys for AES-CBC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AescbcSpec {
    /// The Secret of the same namespace whose key `key` holds the 32 bytes to encrypt with.
    pub active_key: LocalObjectReference,
    /// The Secret with the key that older data may still be encrypted with. No longer needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_key: Option<LocalObjectReference>,
}
