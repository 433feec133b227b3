//! Keys in the key management services of clouds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::LocalObjectReference;
use crate::rules::{Rule, Rules, any_width};

/// Keys in the key management service of a cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KmsSpec {
    /// The cloud.
    pub provider: KmsProvider,
    /// The keys in AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsKmsSpec>,
    /// The keys in Azure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureKmsSpec>,
    /// The keys in IBM Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<IbmCloudKmsSpec>,
}

/// A cloud with a key management service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KmsProvider {
    /// IBM Cloud.
    #[serde(rename = "IBMCloud")]
    IbmCloud,
    /// Amazon Web Services.
    #[serde(rename = "AWS")]
    Aws,
    /// Microsoft Azure.
    Azure,
}

/// Keys in AWS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsKmsSpec {
    /// The region that the keys are in.
    #[schemars(length(max = 255))]
    pub region: String,
    /// The key to encrypt with.
    pub active_key: AwsKmsKey,
    /// The key that older data may still be encrypted with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_key: Option<AwsKmsKey>,
    /// How to get at the keys.
    pub auth: AwsKmsAuthentication,
}

/// A key in AWS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsKmsKey {
    /// The key's resource name.
    #[schemars(length(min = 1, max = 2048))]
    #[schemars(transform = Rules([Rule::new("self.startsWith('arn:')", "arn must start with 'arn:'")]))]
    pub arn: String,
}

/// How to get at keys in AWS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsKmsAuthentication {
    /// The role that may use the keys.
    #[schemars(length(max = 2048))]
    pub aws_kms: String,
}

/// Keys in Azure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.backupKey) || self.backupKey.keyVaultName == self.activeKey.keyVaultName",
        "backupKey.keyVaultName must match activeKey.keyVaultName; both keys must reside in the same Key Vault",
    ),
    Rule::new(
        "(has(self.keyVaultType) ? self.keyVaultType : 'KeyVault') == (has(oldSelf.keyVaultType) \
         ? oldSelf.keyVaultType : 'KeyVault')",
        "keyVaultType is immutable",
    ),
    Rule::new("!(has(self.kms) && has(self.workloadIdentity))", "kms and workloadIdentity are mutually exclusive"),
    Rule::new("has(self.kms) || has(self.workloadIdentity)", "one of kms or workloadIdentity must be set"),
    Rule::new("has(self.kms) == has(oldSelf.kms)", "the KMS authentication mode is immutable once set"),
]))]
pub struct AzureKmsSpec {
    /// The key to encrypt with.
    pub active_key: AzureKmsKey,
    /// The key that older data may still be encrypted with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_key: Option<AzureKmsKey>,
    /// Whether the vault is reached over the public network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_vault_access: Option<AzureKeyVaultAccess>,
    /// The kind of vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_vault_type: Option<AzureKeyVaultType>,
    /// The managed identity that may use the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms: Option<AzureManagedIdentity>,
    /// The workload identity that may use the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_identity: Option<AzureWorkloadIdentity>,
}

/// A key in Azure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureKmsKey {
    /// The vault.
    #[schemars(length(min = 1, max = 255))]
    pub key_vault_name: String,
    /// The key's name in the vault.
    #[schemars(length(min = 1, max = 255))]
    pub key_name: String,
    /// The key's version.
    #[schemars(length(min = 1, max = 255))]
    pub key_version: String,
}

/// How a vault is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AzureKeyVaultAccess {
    /// Over the public network.
    Public,
    /// Over a private endpoint.
    Private,
    /// Not chosen: over the public network.
    #[serde(rename = "")]
    Unset,
}

/// A kind of vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AzureKeyVaultType {
    /// A key vault.
    KeyVault,
    /// A managed hardware security module.
    #[serde(rename = "ManagedHSM")]
    ManagedHsm,
}

/// A managed identity of Azure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureManagedIdentity {
    /// The identity's id.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(equal = 36), regex(pattern = "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"))]
    #[schemars(transform = Rules([CLIENT_ID_RULE]))]
    pub client_id: Option<String>,
    /// The secret in the vault with the identity's credentials.
    #[schemars(length(min = 1, max = 127), regex(pattern = "^[a-zA-Z0-9-]+$"))]
    pub credentials_secret_name: String,
    /// How the secret in the vault is encoded.
    pub object_encoding: AzureObjectEncoding,
}

/// How a secret in a vault is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AzureObjectEncoding {
    /// As text.
    #[serde(rename = "utf-8")]
    Utf8,
    /// In hexadecimal.
    #[serde(rename = "hex")]
    Hex,
    /// In base64.
    #[serde(rename = "base64")]
    Base64,
}

/// A workload identity of Azure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureWorkloadIdentity {
    /// The identity's id.
    #[serde(rename = "clientID")]
    #[schemars(length(equal = 36), regex(pattern = "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"))]
    #[schemars(transform = Rules([CLIENT_ID_RULE]))]
    pub client_id: String,
}

/// Keys in IBM Cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsSpec {
    /// The region that the keys are in.
    #[schemars(length(max = 255))]
    pub region: String,
    /// How to get at the keys.
    pub auth: IbmCloudKmsAuthentication,
    /// The keys; the one of the highest version encrypts.
    #[schemars(length(max = 100))]
    pub key_list: Vec<IbmCloudKmsKey>,
}

/// How to get at keys in IBM Cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsAuthentication {
    /// Who looks after the credentials.
    pub r#type: IbmCloudKmsAuthenticationType,
    /// Settings for credentials that IBM Cloud looks after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<IbmCloudKmsManagedAuthentication>,
    /// The credentials that the user looks after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmanaged: Option<IbmCloudKmsUnmanagedAuthentication>,
}

/// Who looks after credentials in IBM Cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IbmCloudKmsAuthenticationType {
    /// IBM Cloud does.
    Managed,
    /// The user does.
    Unmanaged,
}

/// Credentials that IBM Cloud looks after: there is nothing to say about them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IbmCloudKmsManagedAuthentication {}

/// Credentials for IBM Cloud that the user looks after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsUnmanagedAuthentication {
    /// The Secret of the same namespace with the API key.
    pub credentials: LocalObjectReference,
}

/// A key in IBM Cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmCloudKmsKey {
    /// The root key's id.
    #[serde(rename = "crkID")]
    #[schemars(length(min = 1, max = 255))]
    pub crk_id: String,
    /// The id of the service that holds the key.
    #[serde(rename = "instanceID")]
    #[schemars(length(min = 1, max = 255))]
    pub instance_id: String,
    /// The id that requests for the key carry.
    #[serde(rename = "correlationID")]
    #[schemars(length(min = 1, max = 255))]
    pub correlation_id: String,
    /// The service that holds the key.
    #[schemars(length(min = 1, max = 2048))]
    #[schemars(transform = Rules([Rule::new("self.startsWith('https://')", "url must start with 'https://'")]))]
    pub url: String,
    /// The key's version.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[schemars(transform = any_width)]
    pub key_version: i64,
}

/// The form of an identity's id.
const CLIENT_ID_RULE: Rule = Rule::new(
    "self.matches('^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$')",
    "the client ID of a managed identity must be a valid UUID. It should be 5 groups of hyphen separated hexadecimal characters in the form 8-4-4-4-12.",
);
