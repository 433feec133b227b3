//! The initramfs: busybox, `hcp-agent`, and the modules that any machine may need to be discovered.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};

use roost_image::{Archive, ArchiveError};

use crate::task::{self, TaskError};

use super::packages::Packages;
use super::{output, read};

const INIT: &str = include_str!("init.sh");
const LEASE: &str = include_str!("lease.sh");

/// Whose modules go in, with all that they need. Everything that is a disk, a network card, or on the way to one;
/// no sound, no pictures, no wireless.
const WANTED: &[&str] = &[
    "drivers/ata/",
    "drivers/block/",
    "drivers/cdrom/",
    "drivers/char/hw_random/",
    "drivers/char/ipmi/",
    "drivers/char/tpm/",
    "drivers/hid/hid-generic",
    "drivers/hid/hid-hyperv",
    "drivers/hid/usbhid/",
    "drivers/hv/",
    "drivers/md/",
    "drivers/message/fusion/",
    "drivers/net/bonding/",
    "drivers/net/ethernet/",
    "drivers/net/hyperv/",
    "drivers/net/usb/",
    "drivers/net/virtio_net",
    "drivers/net/vmxnet3/",
    "drivers/nvme/host/",
    "drivers/scsi/",
    "drivers/usb/host/",
    "drivers/usb/storage/",
    "drivers/virtio/",
    "drivers/xen/",
    "fs/ext4/",
    "fs/fat/",
    "fs/isofs/",
    "fs/nls/nls_",
    "fs/overlayfs/",
    "fs/squashfs/",
    "fs/xfs/",
    "net/8021q/",
    "net/packet/",
];

/// Writes the compressed initramfs.
pub(super) fn write(packages: &Packages, agent: &Path, initrd: &Path) -> Result<(), TaskError> {
    let mut archive = Archive::default();
    let failed = |error: ArchiveError| TaskError::Found(error.to_string());
    for directory in ["dev", "proc", "sys", "run", "tmp", "root", "etc/roost/network", "lib", "var"] {
        archive.directory(directory).map_err(failed)?;
    }
    for (path, permissions, text) in [
        ("init", 0o755, INIT),
        ("etc/roost/lease.sh", 0o755, LEASE),
        ("etc/passwd", 0o644, "root:x:0:0:root:/root:/bin/sh\n"),
        ("etc/group", 0o644, "root:x:0:\n"),
        ("etc/hosts", 0o644, "127.0.0.1 localhost\n::1 localhost\n"),
        ("etc/nsswitch.conf", 0o644, "hosts: files dns\n"),
        ("etc/os-release", 0o644, "NAME=\"Roost live\"\nID=roost-live\nID_LIKE=debian\n"),
    ] {
        archive.file(path, permissions, text.as_bytes().to_vec().into()).map_err(failed)?;
    }
    archive.file("bin/busybox", 0o755, read(&packages.busybox)?.into()).map_err(failed)?;

    let stripped = initrd.with_extension("agent");
    output(task::command("strip").arg("-o").arg(&stripped).arg(agent))?;
    archive.file("usr/bin/hcp-agent", 0o755, read(&stripped)?.into()).map_err(failed)?;
    let _ = std::fs::remove_file(&stripped);

    let root = packages.modules.join("lib/modules").join(&packages.release);
    let modules = modules(packages, &root)?;
    let home = format!("lib/modules/{}", packages.release);
    for module in &modules {
        archive.file(&format!("{home}/{module}"), 0o644, read(&root.join(module))?.into()).map_err(failed)?;
    }
    // Paths of modules that were left out stay in the tables; nothing that is in needs them.
    for table in ["modules.dep", "modules.alias", "modules.symbols", "modules.builtin", "modules.order"] {
        archive.file(&format!("{home}/{table}"), 0o644, read(&root.join(table))?.into()).map_err(failed)?;
    }
    println!("{} modules of Linux {}", modules.len(), packages.release);
    compress(&archive.to_bytes(), initrd)
}

/// The modules that are wanted, and all that they need.
fn modules(packages: &Packages, root: &Path) -> Result<BTreeSet<String>, TaskError> {
    // Packages come without these tables: they are made when a kernel is installed.
    output(Command::new(&packages.busybox).arg("depmod").arg("-b").arg(&packages.modules).arg(&packages.release))?;
    let table = String::from_utf8_lossy(&read(&root.join("modules.dep"))?).into_owned();
    let needs: HashMap<&str, Vec<&str>> = table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(module, needs)| (module, needs.split_whitespace().collect()))
        .collect();
    let mut chosen = BTreeSet::new();
    let is_wanted = |module: &str| {
        let path = module.trim_start_matches("kernel/");
        WANTED.iter().any(|wanted| path.starts_with(wanted))
    };
    let mut open: Vec<&str> = needs.keys().copied().filter(|module| is_wanted(module)).collect();
    while let Some(module) = open.pop() {
        if chosen.insert(module.to_owned()) {
            open.extend(needs.get(module).into_iter().flatten());
        }
    }
    Ok(chosen)
}

/// By gzip, which every kernel takes and every machine has.
fn compress(bytes: &[u8], path: &Path) -> Result<(), TaskError> {
    let plain = path.with_extension("cpio");
    super::write(&plain, bytes)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| TaskError::File { path, source }
    };
    let input = std::fs::File::open(&plain).map_err(failed(&plain))?;
    let compressed = std::fs::File::create(path).map_err(failed(path))?;
    let mut command = task::command("gzip");
    task::run(command.args(["-9", "-n", "-c"]).stdin(Stdio::from(input)).stdout(Stdio::from(compressed)))?;
    std::fs::remove_file(&plain).map_err(failed(&plain))
}
