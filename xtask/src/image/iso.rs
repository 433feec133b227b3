//! The ISO: bootable by BIOS and UEFI, from a disc or a stick, with the areas that CoreOS keeps free, in CoreOS' format.

use std::path::Path;

use crate::task::{self, TaskError};

use super::{LABEL, output, write as write_file};

/// What the kernel gets; notices go to a screen and to the first serial port.
const ARGUMENTS: &str = "console=tty0 console=ttyS0,115200n8 loglevel=6 panic=60";
/// The longest command line is 2048 bytes, and some of it belongs to the boot loader.
const ARGUMENTS_SIZE: usize = 1536;
/// As in CoreOS' images.
const IGNITION_SIZE: usize = 256 << 10;

const MENU: &str = "\
serial --unit=0 --speed=115200
terminal_input console serial
terminal_output console serial
set timeout=1
menuentry 'Roost discovery' {
  linux /images/pxeboot/vmlinuz ";

/// Writes the image.
pub(super) fn write(kernel: &Path, initrd: &Path, iso: &Path) -> Result<(), TaskError> {
    let tree = iso.with_extension("tree");
    let _ = std::fs::remove_dir_all(&tree);
    for directory in ["boot/grub", "coreos", "images/pxeboot"] {
        let path = tree.join(directory);
        std::fs::create_dir_all(&path).map_err(|source| TaskError::File { path, source })?;
    }
    for (from, to) in [(kernel, "images/pxeboot/vmlinuz"), (initrd, "images/pxeboot/initrd.img")] {
        std::fs::copy(from, tree.join(to)).map_err(|source| TaskError::File { path: from.to_owned(), source })?;
    }
    let area = format!("{:#<ARGUMENTS_SIZE$}", format!("{ARGUMENTS}\n"));
    let menu = format!("{MENU}{area}\n  initrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n");
    let arguments = serde_json::json!({
        "default": ARGUMENTS,
        "size": ARGUMENTS_SIZE,
        "files": [{"path": "boot/grub/grub.cfg", "offset": MENU.len()}],
    });
    write_file(&tree.join("boot/grub/grub.cfg"), menu.as_bytes())?;
    write_file(&tree.join("coreos/kargs.json"), arguments.to_string().as_bytes())?;
    write_file(&tree.join("coreos/igninfo.json"), br#"{"file":"images/ignition.img"}"#)?;
    write_file(&tree.join("images/ignition.img"), &vec![0; IGNITION_SIZE])?;
    let mut command = task::command("grub-mkrescue");
    output(command.arg("-o").arg(iso).arg(&tree).args(["--", "-volid", LABEL]))?;
    std::fs::remove_dir_all(&tree).map_err(|source| TaskError::File { path: tree, source })
}
