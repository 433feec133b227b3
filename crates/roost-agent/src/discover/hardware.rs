//! What a host consists of, from what the kernel shows in `/sys` and `/proc`. No program is started.

use std::collections::BTreeSet;
use std::io::Read as _;

use roost_host::HostIdentity;
use roost_host::disk::{HAS_PARTITIONS, NOT_EMPTY};
use roost_host::inventory::{Boot, Cpu, Disk, Eligibility, Gpu, Inventory, Memory, SystemVendor};

use super::network;
use crate::root::Root;

/// Block devices that are nobody's disk, by the beginning of their names.
const NO_DISKS: [&str; 6] = ["loop", "ram", "zram", "sr", "fd", "dm-"];
/// How much of a disk is looked at: beyond the last place where a file system of Linux keeps its mark.
const BEGINNING: usize = 1 << 20;
/// The size of a sector in `/sys`, whatever the disk's own is.
const SECTOR: i64 = 512;
/// Who makes machines that are not real, as their firmware says.
const VIRTUAL: [&str; 8] =
    ["QEMU", "KVM", "VMware", "VirtualBox", "Bochs", "Xen", "Microsoft Corporation Virtual", "OpenStack"];

/// The names in a directory, sorted.
pub(super) fn entries(root: &Root, path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.at(path)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn line(root: &Root, path: &str) -> String {
    root.text(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Who this host is.
pub fn identity(root: &Root) -> HostIdentity {
    let first = |names: &[&str]| {
        let texts = names.iter().map(|name| line(root, &format!("/sys/class/dmi/id/{name}")));
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    };
    let addresses: BTreeSet<String> = inventory_addresses(root);
    HostIdentity { serial: first(&["board_serial", "product_serial"]), product: first(&["product_uuid"]), addresses }
}

fn inventory_addresses(root: &Root) -> BTreeSet<String> {
    let cards = network::interfaces(root).into_iter().filter(|card| card.r#type == "physical");
    cards.map(|card| card.mac_address.to_ascii_lowercase()).filter(|address| !address.is_empty()).collect()
}

/// What this host consists of.
pub fn inventory(root: &Root) -> Inventory {
    let vendor = SystemVendor {
        serial_number: line(root, "/sys/class/dmi/id/product_serial"),
        product_name: line(root, "/sys/class/dmi/id/product_name"),
        manufacturer: line(root, "/sys/class/dmi/id/sys_vendor"),
        r#virtual: false,
    };
    let is_virtual = [&vendor.product_name, &vendor.manufacturer]
        .iter()
        .any(|text| VIRTUAL.iter().any(|known| text.contains(known)));
    Inventory {
        hostname: line(root, "/proc/sys/kernel/hostname"),
        memory: memory(root),
        cpu: processors(&root.text("/proc/cpuinfo").unwrap_or_default()),
        interfaces: network::interfaces(root),
        disks: disks(root),
        boot: boot(root),
        system_vendor: SystemVendor { r#virtual: is_virtual, ..vendor },
        routes: network::routes(root),
        gpus: graphics(root),
        tpm_version: match line(root, "/sys/class/tpm/tpm0/tpm_version_major").as_str() {
            "2" => "2.0".to_owned(),
            "1" => "1.2".to_owned(),
            _ => "none".to_owned(),
        },
        ..Inventory::default()
    }
}

/// What firmware reports is more than what the kernel has left; where it reports nothing, that is all that is known.
fn memory(root: &Root) -> Memory {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<i64>().ok()).unwrap_or_default();
    let usable = kibibytes.saturating_mul(1024);
    let block = i64::from_str_radix(&line(root, "/sys/devices/system/memory/block_size_bytes"), 16).unwrap_or_default();
    let online = entries(root, "/sys/devices/system/memory")
        .iter()
        .filter(|name| name.starts_with("memory") && name[6..].bytes().all(|byte| byte.is_ascii_digit()))
        .count();
    let built_in = block.saturating_mul(i64::try_from(online).unwrap_or_default());
    Memory {
        physical_bytes: built_in.max(usable),
        usable_bytes: usable,
        physical_bytes_method: if built_in > usable { "ghw" } else { "meminfo" }.to_owned(),
    }
}

fn processors(text: &str) -> Cpu {
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let count = text.lines().filter(|line| line.split(':').next().is_some_and(|key| key.trim() == "processor")).count();
    let flags = field("flags").or_else(|| field("Features")).unwrap_or_default();
    Cpu {
        count: i64::try_from(count).unwrap_or_default(),
        frequency: field("cpu MHz").and_then(|text| text.parse().ok()).unwrap_or_default(),
        flags: flags.split_whitespace().map(str::to_owned).collect(),
        model_name: field("model name").unwrap_or_default(),
        architecture: std::env::consts::ARCH.to_owned(),
    }
}

fn disks(root: &Root) -> Vec<Disk> {
    let mounts = root.text("/proc/self/mounts").unwrap_or_default();
    let names = entries(root, "/sys/block").into_iter();
    names
        .filter(|name| !NO_DISKS.iter().any(|prefix| name.starts_with(prefix)))
        .map(|name| disk(root, &name, &mounts))
        .collect()
}

fn disk(root: &Root, name: &str, mounts: &str) -> Disk {
    let text = |file: &str| line(root, &format!("/sys/block/{name}/{file}"));
    let size = text("size").parse::<i64>().unwrap_or_default().saturating_mul(SECTOR);
    let wwn = Some(text("wwid")).filter(|wwid| !wwid.is_empty()).unwrap_or_else(|| text("device/wwid"));
    let path = format!("/dev/{name}");
    let by_id = named(root, "/dev/disk/by-id", name, |link| link.starts_with("wwn-") || link.starts_with("nvme-eui"));
    let by_path = named(root, "/dev/disk/by-path", name, |_| true);
    let id = [&by_id, &by_path, &path].into_iter().find(|text| !text.is_empty()).cloned().unwrap_or_default();
    let holders = entries(root, &format!("/sys/block/{name}/holders"));
    let is_removable = text("removable") == "1";
    let partitions: Vec<String> = entries(root, &format!("/sys/block/{name}"))
        .into_iter()
        .filter(|entry| entry.starts_with(name) && root.exists(&format!("/sys/block/{name}/{entry}/partition")))
        .collect();
    let mut reasons = Vec::new();
    let device = |name: &str| format!("/dev/{name} ");
    let is_mounted = |name: &String| mounts.lines().any(|line| line.starts_with(&device(name)));
    // A disk in use is never offered: whoever wants it wiped says so by its id.
    if is_mounted(&name.to_owned()) || partitions.iter().any(is_mounted) {
        reasons.push("a file system on it is mounted".to_owned());
    }
    let held = |name: &str| !entries(root, &format!("/sys/block/{name}/holders")).is_empty();
    if held(name) || partitions.iter().any(|part| held(&format!("{name}/{part}"))) {
        reasons.push("another device is built on it".to_owned());
    }
    if is_removable {
        reasons.push("it is removable".to_owned());
    }
    if !partitions.is_empty() && reasons.is_empty() {
        reasons.push(HAS_PARTITIONS.to_owned());
    } else if reasons.is_empty() && !begins_empty(root, &path) {
        reasons.push(NOT_EMPTY.to_owned());
    }
    Disk {
        id,
        drive_type: if text("queue/rotational") == "1" { "HDD" } else { "SSD" }.to_owned(),
        has_uuid: !wwn.is_empty(),
        vendor: text("device/vendor"),
        model: text("device/model"),
        serial: text("device/serial"),
        name: name.to_owned(),
        path,
        by_path,
        by_id,
        wwn,
        size_bytes: size,
        bootable: !partitions.is_empty(),
        removable: is_removable,
        installation_eligibility: Eligibility { eligible: reasons.is_empty(), not_eligible_reasons: reasons },
        holders: holders.join(","),
        ..Disk::default()
    }
}

/// Whether a disk begins with nothing. File systems, volume groups and partition tables all leave something there; what
/// cannot be read is not known to be empty.
fn begins_empty(root: &Root, path: &str) -> bool {
    let mut block = vec![0; BEGINNING];
    let read = std::fs::File::open(root.at(path)).and_then(|mut file| file.read_exact(&mut block));
    read.is_ok() && block.iter().all(|byte| *byte == 0)
}

/// The name of a disk in a directory of links.
fn named(root: &Root, directory: &str, disk: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let leads_there = |name: &&String| {
        is_wanted(name)
            && std::fs::read_link(root.at(&format!("{directory}/{name}")))
                .is_ok_and(|target| target.file_name().is_some_and(|target| target == disk))
    };
    entries(root, directory).iter().find(leads_there).map(|name| format!("{directory}/{name}")).unwrap_or_default()
}

fn boot(root: &Root) -> Boot {
    let command_line = line(root, "/proc/cmdline");
    let interface = command_line.split_whitespace().find_map(|word| word.strip_prefix("BOOTIF="));
    Boot {
        current_boot_mode: if root.exists("/sys/firmware/efi") { "uefi" } else { "bios" }.to_owned(),
        pxe_interface: interface.unwrap_or_default().to_owned(),
        command_line,
        secure_boot_state: "Unknown".to_owned(),
        device_type: if is_ephemeral(&root.text("/proc/self/mounts").unwrap_or_default()) {
            "ephemeral"
        } else {
            // Whoever runs this on a host that was installed before keeps its system.
            "persistent"
        }
        .to_owned(),
    }
}

/// Whether the system lies in memory, and so is gone with the power.
fn is_ephemeral(mounts: &str) -> bool {
    let mut root = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        (fields.next()? == "/").then(|| fields.next()).flatten()
    });
    // What was mounted last over a place is what is there.
    root.next_back().is_some_and(|kind| matches!(kind, "rootfs" | "tmpfs" | "ramfs" | "overlay" | "squashfs"))
}

fn graphics(root: &Root) -> Vec<Gpu> {
    let devices = entries(root, "/sys/bus/pci/devices").into_iter();
    let is_graphics = |address: &String| {
        let class = line(root, &format!("/sys/bus/pci/devices/{address}/class"));
        ["0x0300", "0x0302", "0x0380", "0x1200"].iter().any(|known| class.starts_with(known))
    };
    devices
        .filter(is_graphics)
        .map(|address| {
            let text = |file: &str| line(root, &format!("/sys/bus/pci/devices/{address}/{file}"));
            Gpu {
                device_id: text("device").trim_start_matches("0x").to_owned(),
                vendor_id: text("vendor").trim_start_matches("0x").to_owned(),
                address,
                ..Gpu::default()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::new(directory.path());
        (directory, root)
    }

    #[test]
    fn a_host_says_what_it_is() {
        let (_directory, root) = host(&[
            ("proc/sys/kernel/hostname", "node-1\n"),
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Some CPU\ncpu MHz\t\t: 2400.5\nflags\t\t: vmx sse\nprocessor\t: 1\n",
            ),
            ("proc/meminfo", "MemTotal:       16000000 kB\n"),
            ("sys/class/dmi/id/board_serial", "ABC\n"),
            ("sys/class/dmi/id/product_name", "Standard PC (Q35)\n"),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("sys/class/net/eth0/address", "52:54:00:00:00:01\n"),
            ("sys/class/net/eth0/device/vendor", "0x1af4\n"),
            ("sys/class/net/eth0/carrier", "1\n"),
            ("sys/class/net/lo/address", "00:00:00:00:00:00\n"),
            ("sys/class/tpm/tpm0/tpm_version_major", "2\n"),
        ]);
        let inventory = inventory(&root);
        assert_eq!((inventory.cpu.count, inventory.hostname.as_str()), (2, "node-1"));
        assert_eq!(inventory.cpu.flags, ["vmx", "sse"]);
        assert!(inventory.system_vendor.r#virtual && inventory.interfaces[0].has_carrier);
        assert_eq!((inventory.interfaces.len(), inventory.tpm_version.as_str()), (1, "2.0"));
        assert_eq!(inventory.memory.physical_bytes, 16_384_000_000);
        let identity = identity(&root);
        assert_eq!((identity.serial.as_str(), identity.addresses.len()), ("ABC", 1));
    }

    #[test]
    fn a_system_in_memory_is_told_from_one_on_a_disk() {
        assert!(is_ephemeral("rootfs / rootfs rw 0 0\nproc /proc proc rw 0 0\n"));
        assert!(is_ephemeral("/dev/sda1 / ext4 rw 0 0\noverlay / overlay rw 0 0\n"));
        assert!(!is_ephemeral("rootfs / rootfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\n"));
        assert!(!is_ephemeral(""));
    }

    #[test]
    fn a_disk_with_data_is_never_offered() {
        let empty = "\0".repeat(BEGINNING);
        let formatted = format!("{}XFSB", "\0".repeat(BEGINNING - 4));
        let (_directory, root) = host(&[
            ("dev/sda", &empty),
            ("dev/sde", &formatted),
            ("sys/block/sde/size", "250000000\n"),
            ("sys/block/sdf/size", "250000000\n"),
            ("sys/block/sda/size", "250000000\n"),
            ("sys/block/sda/queue/rotational", "0\n"),
            ("sys/block/sdb/size", "250000000\n"),
            ("sys/block/sdb/sdb1/partition", "1\n"),
            ("sys/block/sdc/size", "250000000\n"),
            ("sys/block/sdc/sdc1/partition", "1\n"),
            ("sys/block/sdd/size", "250000000\n"),
            ("sys/block/sdd/holders/dm-0", ""),
            ("sys/block/loop0/size", "8\n"),
            ("proc/self/mounts", "/dev/sdc1 / ext4 rw 0 0\n"),
        ]);
        let disks = disks(&root);
        let eligible: Vec<bool> = disks.iter().map(|disk| disk.installation_eligibility.eligible).collect();
        assert_eq!(eligible, [true, false, false, false, false, false]);
        for disk in &disks[4..] {
            assert_eq!(disk.installation_eligibility.not_eligible_reasons, [NOT_EMPTY], "{}", disk.name);
        }
        assert_eq!(disks[0].size_bytes, 128_000_000_000);
        assert!(disks[1].installation_eligibility.not_eligible_reasons[0].contains("partitions"));
        assert!(disks[2].installation_eligibility.not_eligible_reasons[0].contains("mounted"));
        assert_eq!((disks[0].drive_type.as_str(), disks[0].id.as_str()), ("SSD", "/dev/sda"));
    }
}
