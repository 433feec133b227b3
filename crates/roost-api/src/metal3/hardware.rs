//! What a bare-metal host consists of, as an inspection found it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::any_width;

/// What the host consists of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDetails {
    /// The processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HardwareCpu>,
    /// The firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<HardwareFirmware>,
    /// The name that the host gave itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// The memory, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub ram_mebibytes: Option<i64>,
    /// The disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<Storage>,
    /// Who made the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<HardwareSystemVendor>,
}

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareCpu {
    /// Their architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Their frequency in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_megahertz: Option<f64>,
    /// How many there are, each thread counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub count: Option<i64>,
    /// What they can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What their maker calls them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareFirmware {
    /// What starts the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios: Option<Bios>,
}

/// What starts the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bios {
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Its address. An interface with two families is listed twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// What the switch says about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldp: Option<LinkNeighbour>,
    /// Its hardware address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"))]
    pub mac: Option<String>,
    /// The numbers of its maker and its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address on the bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// Whether the host can boot from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pxe: Option<bool>,
    /// Its speed in Gbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub speed_gbps: Option<i64>,
    /// The network that frames without a tag belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4094))]
    pub vlan_id: Option<i32>,
    /// The networks that it can be in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<Vlan>,
}

/// What a switch says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkNeighbour {
    /// Its port.
    #[serde(rename = "portID", skip_serializing_if = "Option::is_none")]
    pub port_id: Option<String>,
    /// Its hardware address.
    #[serde(rename = "switchID", skip_serializing_if = "Option::is_none")]
    pub switch_id: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_system_name: Option<String>,
}

/// A network on a cable that carries several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vlan {
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4094))]
    pub id: Option<i32>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Other paths of its device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternate_names: Vec<String>,
    /// Its SCSI address: host, channel, target and unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The path of its device that stays the same over reboots, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it rotates. The type says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// What it is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<DiskType>,
    /// Its maker.
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

/// What a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum DiskType {
    /// It rotates.
    Hdd,
    /// It does not rotate.
    Ssd,
    /// It does not rotate, and is on the fast bus.
    Nvme,
}

/// Who made a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareSystemVendor {
    /// The maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_name: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
}
