//! What a host consists of: as hosts send it, and as an Agent's status shows it.

use roost_api::agent_install as api;
use serde::{Deserialize, Serialize};

use crate::wire::{MAX_BODY, or_default};

/// Interfaces, disks, routes and graphics cards that are believed, each.
const MAX_PARTS: usize = 1024;

/// Why an inventory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// It is longer than a host can need.
    #[error("the inventory has {0} bytes; at most {MAX_BODY} are read")]
    TooLong(usize),
    /// It is no inventory.
    #[error("the inventory cannot be read")]
    Malformed(#[from] serde_json::Error),
}

macro_rules! part {
    ($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $(
                $(#[$field_attribute])*
                #[serde(default, deserialize_with = "or_default")]
                pub $field: $type,
            )*
        }
    };
}

part! {
    /// All that a host says of itself.
    Inventory {
        /// Its name.
        hostname: String,
        /// Where its management controller is.
        bmc_address: String,
        /// The same in IPv6.
        bmc_v6address: String,
        /// Its memory.
        memory: Memory,
        /// Its processors.
        cpu: Cpu,
        /// Its network cards, VLANs and bonds.
        interfaces: Vec<Interface>,
        /// Its disks.
        disks: Vec<Disk>,
        /// How it was started.
        boot: Boot,
        /// Who made it.
        system_vendor: SystemVendor,
        /// Where it sends packets.
        routes: Vec<Route>,
        /// Its graphics cards.
        gpus: Vec<Gpu>,
        /// `none`, `1.2` or `2.0`.
        tpm_version: String,
        /// What is missing because it was too much.
        truncation: Option<Truncation>,
    }
}

part! {
    /// Memory.
    Memory {
        /// What is built in.
        physical_bytes: i64,
        /// What the system can use.
        usable_bytes: i64,
        /// How that was found out.
        physical_bytes_method: String,
    }
}

part! {
    /// Processors.
    Cpu {
        /// How many.
        count: i64,
        /// In megahertz.
        frequency: f64,
        /// What they can do.
        flags: Vec<String>,
        /// What they are called.
        model_name: String,
        /// What they understand.
        architecture: String,
    }
}

part! {
    /// A network interface.
    Interface {
        /// Its name.
        name: String,
        /// Its permanent address, even when it is part of a bond.
        mac_address: String,
        /// With prefix lengths.
        ipv4_addresses: Vec<String>,
        /// With prefix lengths.
        ipv6_addresses: Vec<String>,
        /// Whether a cable is in it.
        has_carrier: bool,
        /// The largest packet.
        mtu: i64,
        /// How fast it is.
        speed_mbps: i64,
        /// Who made it.
        vendor: String,
        /// What it is.
        product: String,
        /// What the firmware calls it.
        biosdevname: String,
        /// What it shows to a DHCP server.
        client_id: String,
        /// What it can do.
        flags: Vec<String>,
        /// `physical`, `vlan`, `bond` and others.
        r#type: String,
    }
}

part! {
    /// A disk.
    Disk {
        /// By which it is known whatever order disks are found in.
        id: String,
        /// `HDD`, `SSD` and others.
        drive_type: String,
        /// Whether it has an id of its own.
        has_uuid: bool,
        /// Who made it.
        vendor: String,
        /// Its name now.
        name: String,
        /// Its path now.
        path: String,
        /// Where it is plugged in, in four numbers.
        hctl: String,
        /// Where it is plugged in.
        by_path: String,
        /// Which disk it is.
        by_id: String,
        /// What it is called.
        model: String,
        /// Its world wide name.
        wwn: String,
        /// Its serial number.
        serial: String,
        /// Its size.
        size_bytes: i64,
        /// Whether something can be started from it.
        bootable: bool,
        /// Whether it can be taken out.
        removable: bool,
        /// Whether the discovery system runs from it.
        is_installation_media: bool,
        /// Whether a system may be written to it.
        installation_eligibility: Eligibility,
        /// How well it is.
        smart: String,
        /// How fast it is.
        io_perf: Option<DiskSpeed>,
        /// What is built on top of it.
        holders: String,
    }
}

part! {
    /// Whether a system may be written to a disk.
    Eligibility {
        /// Whether it may.
        eligible: bool,
        /// Why not.
        not_eligible_reasons: Vec<String>,
    }
}

part! {
    /// How fast a disk is.
    DiskSpeed {
        /// In milliseconds.
        sync_duration: i64,
    }
}

part! {
    /// How a host was started.
    Boot {
        /// `bios` or `uefi`.
        current_boot_mode: String,
        /// The interface that it was started from.
        pxe_interface: String,
        /// The kernel's arguments.
        command_line: String,
        /// Whether only signed systems start.
        secure_boot_state: String,
        /// `persistent` or `ephemeral`.
        device_type: String,
    }
}

part! {
    /// Who made a host.
    SystemVendor {
        /// Its serial number.
        serial_number: String,
        /// What it is called.
        product_name: String,
        /// Who made it.
        manufacturer: String,
        /// Whether it is a virtual machine.
        r#virtual: bool,
    }
}

part! {
    /// A route.
    Route {
        /// Over which interface.
        interface: String,
        /// Over whom.
        gateway: String,
        /// Where to.
        destination: String,
        /// 2 for IPv4, 10 for IPv6.
        family: i64,
        /// The smallest wins.
        metric: i64,
    }
}

part! {
    /// A graphics card.
    Gpu {
        /// Where it is plugged in.
        address: String,
        /// Which it is.
        device_id: String,
        /// What it is called.
        name: String,
        /// Who made it.
        vendor: String,
        /// The same as a number.
        vendor_id: String,
    }
}

part! {
    /// What is missing from an inventory.
    Truncation {
        /// `partial` or `full`.
        r#type: String,
        /// Why.
        reasons: Vec<String>,
    }
}

impl Inventory {
    /// Reads what a host sent.
    pub fn parse(text: &str) -> Result<Self, InventoryError> {
        if text.len() > MAX_BODY {
            return Err(InventoryError::TooLong(text.len()));
        }
        let mut inventory: Self = serde_json::from_str(text)?;
        inventory.interfaces.truncate(MAX_PARTS);
        inventory.disks.truncate(MAX_PARTS);
        inventory.routes.truncate(MAX_PARTS);
        inventory.gpus.truncate(MAX_PARTS);
        Ok(inventory)
    }

    /// The permanent addresses of its network cards, in lower case and sorted.
    pub fn permanent_addresses(&self) -> Vec<String> {
        let is_card = |interface: &&Interface| matches!(interface.r#type.as_str(), "" | "physical");
        let addresses = self.interfaces.iter().filter(is_card).map(|card| card.mac_address.to_ascii_lowercase());
        let mut addresses: Vec<String> = addresses.filter(|address| !address.is_empty()).collect();
        addresses.sort();
        addresses.dedup();
        addresses
    }

    /// Whether packets for the world leave it.
    pub fn has_default_route(&self) -> bool {
        let is_zero = |text: &str| matches!(text, "0.0.0.0" | "0.0.0.0/0" | "::" | "::/0");
        self.routes
            .iter()
            .any(|route| is_zero(&route.destination) && !route.gateway.is_empty() && !is_zero(&route.gateway))
    }

    /// As an Agent's status shows it.
    pub fn to_status(&self) -> api::Inventory {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        api::Inventory {
            hostname: text(&self.hostname),
            bmc_address: text(&self.bmc_address),
            bmc_v6_address: text(&self.bmc_v6address),
            memory: Some(api::Memory {
                physical_bytes: Some(self.memory.physical_bytes),
                usable_bytes: Some(self.memory.usable_bytes),
            }),
            cpu: Some(api::Cpu {
                count: Some(self.cpu.count),
                clock_megahertz: Some(self.cpu.frequency as i64),
                flags: self.cpu.flags.clone(),
                model_name: text(&self.cpu.model_name),
                architecture: text(&self.cpu.architecture),
            }),
            interfaces: self.interfaces.iter().map(interface).collect(),
            disks: self.disks.iter().map(disk).collect(),
            boot: Some(api::Boot {
                current_boot_mode: text(&self.boot.current_boot_mode).map(|mode| mode.as_str().into()),
                pxe_interface: text(&self.boot.pxe_interface),
                device_type: text(&self.boot.device_type),
            }),
            system_vendor: Some(api::SystemVendor {
                serial_number: text(&self.system_vendor.serial_number),
                product_name: text(&self.system_vendor.product_name),
                manufacturer: text(&self.system_vendor.manufacturer),
                is_virtual: Some(self.system_vendor.r#virtual),
            }),
            gpus: self
                .gpus
                .iter()
                .map(|gpu| api::Gpu {
                    address: text(&gpu.address),
                    device_id: text(&gpu.device_id),
                    name: text(&gpu.name),
                    vendor: text(&gpu.vendor),
                    vendor_id: text(&gpu.vendor_id),
                })
                .collect(),
            report_time: None,
        }
    }
}

fn interface(interface: &Interface) -> api::Interface {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    api::Interface {
        name: text(&interface.name),
        mac_address: text(&interface.mac_address),
        ipv4_addresses: interface.ipv4_addresses.clone(),
        ipv6_addresses: interface.ipv6_addresses.clone(),
        flags: interface.flags.clone(),
        has_carrier: Some(interface.has_carrier),
        mtu: Some(interface.mtu),
        speed_mbps: Some(interface.speed_mbps),
        vendor: text(&interface.vendor),
        product: text(&interface.product),
        bios_dev_name: text(&interface.biosdevname),
        client_id: text(&interface.client_id),
    }
}

fn disk(disk: &Disk) -> api::Disk {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    api::Disk {
        id: disk.id.clone(),
        drive_type: text(&disk.drive_type).map(|kind| kind.as_str().into()),
        vendor: text(&disk.vendor),
        name: text(&disk.name),
        path: text(&disk.path),
        hctl: text(&disk.hctl),
        by_path: text(&disk.by_path),
        by_id: text(&disk.by_id),
        model: text(&disk.model),
        wwn: text(&disk.wwn),
        serial: text(&disk.serial),
        size_bytes: Some(disk.size_bytes),
        bootable: Some(disk.bootable),
        smart: text(&disk.smart),
        installation_eligibility: Some(api::InstallationEligibility {
            eligible: Some(disk.installation_eligibility.eligible),
            not_eligible_reasons: disk.installation_eligibility.not_eligible_reasons.clone(),
        }),
        io_perf: disk
            .io_perf
            .as_ref()
            .map(|speed| api::DiskPerformance { sync_duration_milliseconds: Some(speed.sync_duration) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_with_nulls_and_unknown_fields_is_read() {
        let text = r#"{"hostname":"a","interfaces":null,"disks":[{"id":"d","size_bytes":null}],"cpu":{"count":4,"frequency":2100.5},
            "routes":[{"destination":"0.0.0.0","gateway":"192.0.2.1","interface":"e"}],"else":[1]}"#;
        let inventory = Inventory::parse(text).unwrap();
        assert_eq!((inventory.cpu.count, inventory.disks.len()), (4, 1));
        assert!(inventory.has_default_route());
        let status = serde_json::to_value(inventory.to_status()).unwrap();
        assert_eq!(status["cpu"]["clockMegahertz"], 2100);
    }

    #[test]
    fn what_is_no_inventory_is_an_error() {
        assert!(matches!(Inventory::parse("7"), Err(InventoryError::Malformed(_))));
        assert!(Inventory::parse(&"[".repeat(1_000_000)).is_err());
        assert!(matches!(Inventory::parse(&" ".repeat(MAX_BODY + 1)), Err(InventoryError::TooLong(_))));
    }
}
