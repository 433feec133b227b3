//! The system that hosts of our live image are installed with.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use crate::task::{self, TaskError};

use super::{Built, needed, output};

const SCRIPT: &str = include_str!("disk.sh");

/// Writes the compressed image of a disk beside the live image.
pub(super) fn write(built: &Built) -> Result<(), TaskError> {
    for (program, package) in [
        ("debootstrap", "debootstrap"),
        ("extlinux", "extlinux and syslinux-common"),
        ("sfdisk", "fdisk"),
        ("losetup", "util-linux"),
        ("mkfs.ext4", "e2fsprogs"),
        ("grub-mkimage", "grub-common and grub-efi-amd64-bin"),
        ("mformat", "mtools"),
    ] {
        needed(program, package)?;
    }
    let begin = Instant::now();
    let script = built.iso.with_extension("disk.sh");
    super::write(&script, SCRIPT.as_bytes())?;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&script, executable).map_err(|source| TaskError::File { path: script.clone(), source })?;
    let stripped = built.iso.with_extension("agent");
    output(task::command("strip").arg("-o").arg(&stripped).arg(&built.agent))?;
    let disk = built.iso.with_extension("raw.gz");
    let made = output(task::command("sh").arg(&script).arg("root").arg(&built.cache))
        .and_then(|_| output(task::command("sh").arg(&script).arg("write").args([&built.cache, &stripped, &disk])));
    for file in [&script, &stripped] {
        let _ = std::fs::remove_file(file);
    }
    made?;
    let size = std::fs::metadata(&disk).map_or(0, |metadata| metadata.len());
    println!("{} ({} MB) in {} s", disk.display(), size / 1_000_000, begin.elapsed().as_secs());
    Ok(())
}
