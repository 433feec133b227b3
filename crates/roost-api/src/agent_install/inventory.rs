//! What a discovered host consists of.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::open_string::open_string;

/// What the host consists of, as it reported itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The IPv4 address of the management controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc_address: Option<String>,
    /// The IPv6 address of the management controller.
    #[serde(rename = "bmcV6Address", skip_serializing_if = "Option::is_none")]
    pub bmc_v6_address: Option<String>,
    /// How the host was booted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    /// The processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<Disk>,
    /// The graphics processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The name that the host gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// The memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// When the host reported this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_time: Option<Time>,
    /// Who made the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<SystemVendor>,
}

/// How a host was booted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Boot {
    /// The firmware's way: `bios` or `uefi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_boot_mode: Option<BootMode>,
    /// Whether what was booted outlives a reboot: `persistent` or `ephemeral`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_type: Option<String>,
    /// The interface that it booted from, if it booted from the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pxe_interface: Option<String>,
}

open_string! {
    /// How firmware starts a system.
    pub enum BootMode {
        /// The old way.
        Bios = "bios",
        /// The new way.
        Uefi = "uefi",
    }
}

/// The processors of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// Their architecture, such as `x86_64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Their frequency in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_megahertz: Option<i64>,
    /// How many there are, each thread counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// What they can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What their maker calls them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
}

/// The memory of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// What is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<i64>,
    /// What the system can use of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_bytes: Option<i64>,
}

/// Who made a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// The maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_name: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Whether it is a virtual machine.
    #[serde(rename = "virtual", skip_serializing_if = "Option::is_none")]
    pub is_virtual: Option<bool>,
}

/// A network interface of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// The name that the firmware suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios_dev_name: Option<String>,
    /// What it identifies itself to DHCP with.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its flags, such as `up`.
    pub flags: Vec<String>,
    /// Whether a cable is plugged in at both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_carrier: Option<bool>,
    /// Its IPv4 addresses, each with the length of its prefix.
    #[serde(rename = "ipV4Addresses")]
    pub ipv4_addresses: Vec<String>,
    /// Its IPv6 addresses, each with the length of its prefix.
    #[serde(rename = "ipV6Addresses")]
    pub ipv6_addresses: Vec<String>,
    /// Its permanent hardware address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// The largest packet that it sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<i64>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Its speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<i64>,
    /// Its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
}

/// A disk of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Whether something bootable is on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootable: Option<bool>,
    /// Its path below `/dev/disk/by-id`.
    #[serde(rename = "byID", skip_serializing_if = "Option::is_none")]
    pub by_id: Option<String>,
    /// Its path below `/dev/disk/by-path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_path: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_type: Option<DriveType>,
    /// Its SCSI address: host, channel, target and unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// What a spec names it by; it stays the same over reboots where that is possible.
    pub id: String,
    /// Whether the system can be installed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_eligibility: Option<InstallationEligibility>,
    /// How fast it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_perf: Option<DiskPerformance>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name of its device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The path of its device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// What it says about its own health, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smart: Option<String>,
    /// Its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its world-wide name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
}

open_string! {
    /// What a disk is.
    pub enum DriveType {
        /// Nobody knows.
        Unknown = "Unknown",
        /// A disk that rotates.
        Hdd = "HDD",
        /// A floppy disk.
        Fdd = "FDD",
        /// An optical disk.
        Odd = "ODD",
        /// A disk that does not rotate.
        Ssd = "SSD",
        /// A device of the system's own making.
        Virtual = "virtual",
        /// Several ways to the same disk.
        Multipath = "Multipath",
        /// A disk on the network, by iSCSI.
        Iscsi = "iSCSI",
        /// A disk behind Fibre Channel.
        FibreChannel = "FC",
        /// A logical volume.
        LogicalVolume = "LVM",
        /// Several disks that act as one.
        Raid = "RAID",
        /// A mainframe's disk.
        Eckd = "ECKD",
        /// A mainframe's disk whose space is taken when it is used.
        EckdThin = "ECKD (ESE)",
        /// A mainframe's disk with fixed blocks.
        Fba = "FBA",
    }
}

/// Whether the system can be installed to a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallationEligibility {
    /// Whether it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eligible: Option<bool>,
    /// Why it cannot.
    pub not_eligible_reasons: Vec<String>,
}

/// How fast a disk is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskPerformance {
    /// How long a write takes to be safe, at the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_duration_milliseconds: Option<i64>,
}

/// A graphics processor of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    /// Its address on the bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The number of its model.
    #[serde(rename = "deviceID", skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The number of its maker.
    #[serde(rename = "vendorID", skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<String>,
}
