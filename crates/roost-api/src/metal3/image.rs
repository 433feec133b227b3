//! What is written to a disk, or booted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is written to a disk, or booted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The checksum, or where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// How the checksum is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum_type: Option<ChecksumType>,
    /// The form of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<DiskFormat>,
    /// A secret for the registry that the image is pulled from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci_auth_secret_name: Option<String>,
    /// Where the image is.
    pub url: String,
}

/// How a checksum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumType {
    /// With MD5.
    Md5,
    /// With SHA-256.
    Sha256,
    /// With SHA-512.
    Sha512,
    /// As its length says.
    Auto,
}

/// The form of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskFormat {
    /// The bytes of the disk.
    Raw,
    /// A disk of QEMU.
    Qcow2,
    /// A disk of `VirtualBox`.
    Vdi,
    /// A disk of `VMware`.
    Vmdk,
    /// A system that runs from the image, without a disk.
    #[serde(rename = "live-iso")]
    LiveIso,
}
