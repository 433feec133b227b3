//! What a simulated host says that it consists of.

use roost_host::Inventory;
use roost_host::inventory::{Boot, Cpu, Disk, Eligibility, Interface, Memory, Route, SystemVendor};

use super::HostSpec;

/// The inventory of a host.
pub(super) fn inventory(spec: &HostSpec) -> Inventory {
    let size = i64::try_from(spec.disk_gigabytes).unwrap_or_default().saturating_mul(1_000_000_000);
    let bytes = i64::try_from(spec.memory_mebibytes).unwrap_or_default().saturating_mul(1 << 20);
    let cards = spec.identity.addresses.iter().enumerate().map(|(place, address)| Interface {
        name: format!("ens{}", place + 1),
        mac_address: address.clone(),
        // The first card carries the address; the others have no cable.
        ipv4_addresses: if place == 0 { vec![format!("{}/32", spec.address)] } else { Vec::new() },
        has_carrier: place == 0,
        mtu: 1500,
        speed_mbps: 10_000,
        r#type: "physical".to_owned(),
        ..Interface::default()
    });
    Inventory {
        hostname: spec.hostname.clone(),
        bmc_address: "0.0.0.0".to_owned(),
        bmc_v6address: "::/0".to_owned(),
        memory: Memory { physical_bytes: bytes, usable_bytes: bytes, physical_bytes_method: "dmidecode".to_owned() },
        cpu: Cpu {
            count: i64::from(spec.processors),
            frequency: 2400.0,
            flags: vec!["vmx".to_owned()],
            model_name: "Simulated Processor".to_owned(),
            architecture: "x86_64".to_owned(),
        },
        interfaces: cards.collect(),
        disks: vec![Disk {
            id: format!("/dev/disk/by-id/wwn-0x{}", spec.identity.serial),
            by_id: format!("/dev/disk/by-id/wwn-0x{}", spec.identity.serial),
            drive_type: "SSD".to_owned(),
            name: "sda".to_owned(),
            path: "/dev/sda".to_owned(),
            size_bytes: size,
            serial: spec.identity.serial.clone(),
            installation_eligibility: Eligibility { eligible: true, not_eligible_reasons: Vec::new() },
            ..Disk::default()
        }],
        boot: Boot { current_boot_mode: "uefi".to_owned(), device_type: "ephemeral".to_owned(), ..Boot::default() },
        system_vendor: SystemVendor {
            serial_number: spec.identity.serial.clone(),
            product_name: "Simulated Host".to_owned(),
            manufacturer: "Roost".to_owned(),
            r#virtual: true,
        },
        routes: vec![Route {
            interface: "ens1".to_owned(),
            gateway: "192.0.2.1".to_owned(),
            destination: "0.0.0.0".to_owned(),
            family: 2,
            metric: 100,
        }],
        tpm_version: "2.0".to_owned(),
        ..Inventory::default()
    }
}
