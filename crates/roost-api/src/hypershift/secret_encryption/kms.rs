//! Keys in the key management services of clouds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::LocalObjectReference;
use crate::rules::{Rule, Rules, any_width};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KmsSpec {
    pub provider: KmsProvider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsKmsSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureKmsSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<IbmCloudKmsSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KmsProvider {
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    #[serde(rename = "AWS")]
    Aws,
    Azure,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsKmsSpec {
    pub active_key: AwsKmsKey,
    pub auth: AwsKmsAuthentication,
    #[schemars(length(max = 255))]
    pub region: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_key: Option<AwsKmsKey>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsKmsKey {
    #[schemars(length(min = 1, max = 2048))]
    #[schemars(transform = Rules([Rule::new("self.startsWith('arn:')", "arn must start with 'arn:'")]))]
    pub arn: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsKmsAuthentication {
    #[schemars(length(max = 2048))]
    pub aws_kms: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.backupKey) || self.backupKey.keyVaultName == self.activeKey.keyVaultName",
        "backupKey.keyVaultName must match activeKey.keyVaultName; both keys must reside in the same Key Vault",
    ),
    Rule::new(
        "(has(self.keyVaultType) ? self.keyVaultType : 'KeyVault') == (has(oldSelf.keyVaultType) ? oldSelf.keyVaultType : 'KeyVault')",
        "keyVaultType is immutable",
    ),
    Rule::new("!(has(self.kms) && has(self.workloadIdentity))", "kms and workloadIdentity are mutually exclusive"),
    Rule::new("has(self.kms) || has(self.workloadIdentity)", "one of kms or workloadIdentity must be set"),
    Rule::new("has(self.kms) == has(oldSelf.kms)", "the KMS authentication mode is immutable once set"),
]))]
pub struct AzureKmsSpec {
    pub active_key: AzureKmsKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_key: Option<AzureKmsKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_vault_access: Option<AzureKeyVaultAccess>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_vault_type: Option<AzureKeyVaultType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms: Option<AzureManagedIdentity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_identity: Option<AzureWorkloadIdentity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureKmsKey {
    #[schemars(length(min = 1, max = 255))]
    pub key_name: String,
    #[schemars(length(min = 1, max = 255))]
    pub key_vault_name: String,
    #[schemars(length(min = 1, max = 255))]
    pub key_version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AzureKeyVaultAccess {
    Public,
    Private,
    #[serde(rename = "")]
    Unset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AzureKeyVaultType {
    KeyVault,
    #[serde(rename = "ManagedHSM")]
    ManagedHsm,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureManagedIdentity {
    #[schemars(length(min = 1, max = 127), regex(pattern = "^[a-zA-Z0-9-]+$"))]
    pub credentials_secret_name: String,
    pub object_encoding: AzureObjectEncoding,
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(equal = 36), regex(pattern = "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$')",
            "the client ID of a managed identity must be a valid UUID. It should be 5 groups of hyphen separated hexadecimal characters in the form 8-4-4-4-12.",
        ),
    ]))]
    pub client_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AzureObjectEncoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "hex")]
    Hex,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureWorkloadIdentity {
    #[serde(rename = "clientID")]
    #[schemars(length(equal = 36), regex(pattern = "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$')",
            "the client ID of a managed identity must be a valid UUID. It should be 5 groups of hyphen separated hexadecimal characters in the form 8-4-4-4-12.",
        ),
    ]))]
    pub client_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsSpec {
    pub auth: IbmCloudKmsAuthentication,
    #[schemars(length(max = 100))]
    pub key_list: Vec<IbmCloudKmsKey>,
    #[schemars(length(max = 255))]
    pub region: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsAuthentication {
    pub r#type: IbmCloudKmsAuthenticationType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<IbmCloudKmsManagedAuthentication>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmanaged: Option<IbmCloudKmsUnmanagedAuthentication>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IbmCloudKmsAuthenticationType {
    Managed,
    Unmanaged,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IbmCloudKmsManagedAuthentication {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsUnmanagedAuthentication {
    pub credentials: LocalObjectReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsKey {
    #[serde(rename = "correlationID")]
    #[schemars(length(min = 1, max = 255))]
    pub correlation_id: String,
    #[serde(rename = "crkID")]
    #[schemars(length(min = 1, max = 255))]
    pub crk_id: String,
    #[serde(rename = "instanceID")]
    #[schemars(length(min = 1, max = 255))]
    pub instance_id: String,
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[schemars(transform = any_width)]
    pub key_version: i64,
    #[schemars(length(min = 1, max = 2048))]
    #[schemars(transform = Rules([Rule::new("self.startsWith('https://')", "url must start with 'https://'")]))]
    pub url: String,
}
