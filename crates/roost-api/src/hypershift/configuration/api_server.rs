//! Configuration of the API server: audit, certificates, TLS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};

/// Configuration of the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerConfiguration {
    /// Certificates that the API server shows for further names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_certs: Option<ApiServerServingCertificates>,
    /// The `ConfigMap` with certificate authorities of clients, in its key `ca-bundle.crt`.
    #[serde(rename = "clientCA", skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<ConfigMapNameReference>,
    /// Origins that browsers may call the API from, as regular expressions.
    #[serde(rename = "additionalCORSAllowedOrigins", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub additional_cors_allowed_origins: Vec<String>,
    /// How data is encrypted in etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption: Option<ApiServerEncryption>,
    /// The TLS versions and ciphers that servers accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_security_profile: Option<TlsSecurityProfile>,
    /// What the audit log holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"profile": "Default"}))]
    pub audit: Option<Audit>,
}

/// What the audit log holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// How much is logged of each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Default"))]
    pub profile: Option<AuditProfile>,
    /// Other profiles for groups of users; the first that fits counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map"), extend("x-kubernetes-list-map-keys" = ["group"]))]
    pub custom_rules: Vec<AuditCustomRule>,
}

/// How much is logged of a group's requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditCustomRule {
    /// The group.
    #[schemars(length(min = 1))]
    pub group: String,
    /// How much is logged.
    pub profile: AuditProfile,
}

/// How much is logged of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AuditProfile {
    /// Metadata of all requests.
    #[default]
    Default,
    /// Also the bodies of writes.
    WriteRequestBodies,
    /// Also the bodies of reads.
    AllRequestBodies,
    /// Nothing.
    None,
}

/// How data is encrypted in etcd.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerEncryption {
    /// The cipher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<ApiServerEncryptionType>,
}

/// A cipher for data in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ApiServerEncryptionType {
    /// Not chosen.
    #[serde(rename = "")]
    Unset,
    /// None: data is stored as it is.
    #[serde(rename = "identity")]
    Identity,
    /// AES-CBC.
    #[serde(rename = "aescbc")]
    Aescbc,
    /// AES-GCM.
    #[serde(rename = "aesgcm")]
    Aesgcm,
}

/// Certificates that the API server shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerServingCertificates {
    /// Certificates for further names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub named_certificates: Vec<NamedCertificate>,
}

/// A certificate for some names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedCertificate {
    /// The names; those in the certificate when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub names: Vec<String>,
    /// The Secret with the certificate and its key, of type `kubernetes.io/tls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_certificate: Option<SecretNameReference>,
}

/// TLS versions and ciphers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsSecurityProfile {
    /// The profile; intermediate when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<TlsProfileType>,
    /// Marks the profile for old clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub old: Option<PredefinedTlsProfile>,
    /// Marks the profile for most clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub intermediate: Option<PredefinedTlsProfile>,
    /// Marks the profile for TLS 1.3 alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub modern: Option<PredefinedTlsProfile>,
    /// A profile of the user's own. Needed if the type is Custom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub custom: Option<CustomTlsProfile>,
}

/// A choice of TLS versions and ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TlsProfileType {
    /// For old clients.
    Old,
    /// For most clients.
    Intermediate,
    /// TLS 1.3 alone.
    Modern,
    /// The user's own.
    Custom,
}

/// TLS versions and ciphers that the user chooses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomTlsProfile {
    /// The ciphers, as OpenSSL names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ciphers: Vec<String>,
    /// The lowest version.
    #[serde(rename = "minTLSVersion", skip_serializing_if = "Option::is_none")]
    pub min_tls_version: Option<TlsVersion>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    /// TLS 1.0.
    #[serde(rename = "VersionTLS10")]
    Tls10,
    /// TLS 1.1.
    #[serde(rename = "VersionTLS11")]
    Tls11,
    /// TLS 1.2.
    #[serde(rename = "VersionTLS12")]
    Tls12,
    /// TLS 1.3.
    #[serde(rename = "VersionTLS13")]
    Tls13,
}

/// A TLS profile that has no settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredefinedTlsProfile {}
