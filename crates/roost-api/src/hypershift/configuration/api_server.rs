//! Configuration of the API server: audit, certificates, TLS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerConfiguration {
    #[serde(rename = "additionalCORSAllowedOrigins", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub additional_cors_allowed_origins: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"profile": "Default"}))]
    pub audit: Option<Audit>,
    #[serde(rename = "clientCA", skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<ConfigMapNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption: Option<ApiServerEncryption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_certs: Option<ApiServerServingCertificates>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_security_profile: Option<TlsSecurityProfile>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map"), extend("x-kubernetes-list-map-keys" = ["group"]))]
    pub custom_rules: Vec<AuditCustomRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Default"))]
    pub profile: Option<AuditProfile>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditCustomRule {
    #[schemars(length(min = 1))]
    pub group: String,
    pub profile: AuditProfile,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AuditProfile {
    #[default]
    Default,
    WriteRequestBodies,
    AllRequestBodies,
    None,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerEncryption {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<ApiServerEncryptionType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ApiServerEncryptionType {
    #[serde(rename = "")]
    Unset,
    #[serde(rename = "identity")]
    Identity,
    #[serde(rename = "aescbc")]
    Aescbc,
    #[serde(rename = "aesgcm")]
    Aesgcm,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerServingCertificates {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub named_certificates: Vec<NamedCertificate>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedCertificate {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_certificate: Option<SecretNameReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsSecurityProfile {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub custom: Option<CustomTlsProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub intermediate: Option<PredefinedTlsProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub modern: Option<PredefinedTlsProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub old: Option<PredefinedTlsProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<TlsProfileType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TlsProfileType {
    Old,
    Intermediate,
    Modern,
    Custom,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomTlsProfile {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ciphers: Vec<String>,
    #[serde(rename = "minTLSVersion", skip_serializing_if = "Option::is_none")]
    pub min_tls_version: Option<TlsVersion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    #[serde(rename = "VersionTLS10")]
    Tls10,
    #[serde(rename = "VersionTLS11")]
    Tls11,
    #[serde(rename = "VersionTLS12")]
    Tls12,
    #[serde(rename = "VersionTLS13")]
    Tls13,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredefinedTlsProfile {}
