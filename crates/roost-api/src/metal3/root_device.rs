//! Which disk is meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::any_width;

/// What the disk is like. It must be like all that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootDeviceHints {
    /// The path of its device, such as `/dev/vda` or a link below `/dev/disk`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// Its SCSI address: host, channel, target and unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// The least size, in GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), transform = any_width)]
    pub min_size_gigabytes: Option<i64>,
    /// A part of what its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it rotates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// A part of its maker's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its world-wide name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// What its maker adds to that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn_vendor_extension: Option<String>,
    /// That name and what its maker adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn_with_extension: Option<String>,
}
