//! Which disks of a bare-metal host act as one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::root_device::RootDeviceHints;
use crate::rules::any_width;

/// Which disks act as one: by hardware or by software, not both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Raid {
    /// The volumes that a controller makes. An empty list removes those that are there; without one, nothing changes.
    #[serde(rename = "hardwareRAIDVolumes", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub hardware_raid_volumes: Option<Vec<HardwareRaidVolume>>,
    /// The volumes that the system makes. The first one mirrors.
    #[serde(rename = "softwareRAIDVolumes", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2), extend("nullable" = true))]
    pub software_raid_volumes: Option<Vec<SoftwareRaidVolume>>,
}

/// A volume that a controller makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareRaidVolume {
    /// The controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// How the disks act together.
    pub level: HardwareRaidLevel,
    /// The volume's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub name: Option<String>,
    /// How many disks there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), transform = any_width)]
    pub number_of_physical_disks: Option<i64>,
    /// The disks, as the controller calls them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub physical_disks: Vec<String>,
    /// Whether the disks rotate. Without it, any will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The size. Without it, as large as it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), transform = any_width)]
    pub size_gibibytes: Option<i64>,
}

/// How disks act together on a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HardwareRaidLevel {
    /// Striped.
    #[serde(rename = "0")]
    Striped,
    /// Mirrored.
    #[serde(rename = "1")]
    Mirrored,
    /// Striped by bit, with a code that corrects errors.
    #[serde(rename = "2")]
    ErrorCorrected,
    /// One disk may fail.
    #[serde(rename = "5")]
    OneParity,
    /// Two disks may fail.
    #[serde(rename = "6")]
    TwoParities,
    /// Mirrored, then striped.
    #[serde(rename = "1+0")]
    MirroredStriped,
    /// Groups in which one disk may fail, striped.
    #[serde(rename = "5+0")]
    OneParityStriped,
    /// Groups in which two disks may fail, striped.
    #[serde(rename = "6+0")]
    TwoParitiesStriped,
}

/// A volume that the system makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SoftwareRaidVolume {
    /// How the disks act together.
    pub level: SoftwareRaidLevel,
    /// The disks; without them, the system chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 2))]
    pub physical_disks: Vec<RootDeviceHints>,
    /// Whether the system goes here.
    #[serde(default)]
    pub root_volume: bool,
    /// The size. Without it, as large as it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), transform = any_width)]
    pub size_gibibytes: Option<i64>,
}

/// How disks act together in the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SoftwareRaidLevel {
    /// Striped.
    #[serde(rename = "0")]
    Striped,
    /// Mirrored.
    #[serde(rename = "1")]
    Mirrored,
    /// Mirrored, then striped.
    #[serde(rename = "1+0")]
    MirroredStriped,
}
