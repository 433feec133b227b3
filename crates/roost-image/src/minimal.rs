//! The minimal image: the same boot without the root file system, which the host fetches instead.
//!
//! It is an image of its own, written anew around the parts of the base that it keeps; those stay in the base's file.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::archive::Archive;
use crate::base::{BaseError, BaseImage, ROOTFS};
use crate::embed::{ARGUMENTS_INFO, EmbedError, IGNITION_IMAGE, arguments_info, filled};
use crate::iso9660::{Entry, Extent, IsoError, SECTOR, Volume};
use crate::kernel_arguments::{KernelArgument, Operation, apply};
use crate::layout::Layout;
use crate::source::Source;
use crate::tree::{Boot, Content, Firmware, Tree};

/// A live image has some hundred files in a few levels.
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 16;
/// What BIOS starts has some kilobytes.
const LARGEST_BIOS_IMAGE: u64 = 4 << 20;
/// A boot loader's configuration.
const LARGEST_CONFIGURATION: u64 = 1 << 20;
/// The catalogue's entries have 32 bytes; a sector of them is more than any image uses.
const ENTRY: usize = 32;

/// Where a boot image learns where it lies: descriptor, own sector, length and checksum, from byte 8 on.
const INFORMATION_TABLE: usize = 8;
const CHECKED_FROM: usize = 64;
/// Where GRUB's boot image learns where its rest lies, in sectors of 512 bytes, five behind its begin.
const GRUB_TABLE: usize = 2548;

impl BaseImage {
    /// The minimal image of a host that fetches its root file system from this address.
    pub fn minimal<F: Clone, S: Source + ?Sized>(
        &self,
        image: &S,
        file: F,
        archive: &Archive,
        wishes: &[KernelArgument],
        rootfs: &str,
    ) -> Result<Layout<F>, BaseError> {
        let volume = Volume::open(image)?;
        let mut files = BTreeMap::new();
        collect(image, &volume, volume.root(image)?, "", &mut files)?;
        files.retain(|path, _| !path.eq_ignore_ascii_case(ROOTFS));
        let ignition = files
            .iter()
            .find(|(_, extent)| **extent == self.areas.ignition)
            .map_or_else(|| IGNITION_IMAGE.to_owned(), |(path, _)| path.clone());
        let boot = boot_images(image, &volume, &mut files)?;

        let mut contents: BTreeMap<String, Content<F>> =
            files.iter().map(|(path, extent)| (path.clone(), Content::Part(file.clone(), *extent))).collect();
        let mut embedded = archive.to_gzip();
        embedded.resize(embedded.len().max(self.areas.ignition.length as usize), 0);
        contents.insert(ignition, Content::Bytes(embedded.into()));
        for (path, bytes) in configurations(image, &volume, wishes, rootfs)? {
            contents.insert(known(&files, &path), Content::Bytes(bytes));
        }
        let mut tree = Tree { label: self.label.clone(), files: contents, boot };
        // Where things lie depends on lengths only, so what must know where it lies can be told.
        let places = tree.write()?.offsets;
        for boot in tree.boot.iter().filter(|boot| boot.firmware == Firmware::Bios) {
            let extent = files[&boot.path];
            if extent.length <= LARGEST_BIOS_IMAGE {
                let mut bytes = image.part(extent.offset, extent.length as usize).map_err(IsoError::Read)?;
                tell(&mut bytes, extent.offset / SECTOR, places[&boot.path] / SECTOR);
                tree.files.insert(boot.path.clone(), Content::Bytes(bytes.into()));
            }
        }
        Ok(tree.write()?.layout)
    }
}

/// The boot loaders' configurations with the new arguments in their areas, and the description of these.
fn configurations<S: Source + ?Sized>(
    image: &S,
    volume: &Volume,
    wishes: &[KernelArgument],
    rootfs: &str,
) -> Result<Vec<(String, Bytes)>, BaseError> {
    let mut info = arguments_info(image, volume)?.ok_or(EmbedError::NoArgumentArea)?;
    let change = |operation, value: &str| KernelArgument { operation, value: value.to_owned() };
    let own = [
        change(Operation::Delete, "coreos.liveiso"),
        change(Operation::Append, &format!("coreos.live.rootfs_url={rootfs}")),
    ];
    info.default = apply(&info.default, &own)?;
    let arguments = apply(&info.default, wishes)?;
    let length = arguments.len() as u64 + 1;
    if length > info.size {
        return Err(EmbedError::TooLong { length, area: info.size }.into());
    }
    let mut changed = Vec::new();
    for described in &info.files {
        let wrong = || EmbedError::Description(format!("the kernel arguments of {}", described.path));
        let mut text = volume.read(image, &described.path, LARGEST_CONFIGURATION)?.ok_or_else(wrong)?;
        let place = described.place(0).ok_or_else(wrong)?;
        let end = place.offset.checked_add(info.size).filter(|end| *end <= text.len() as u64).ok_or_else(wrong)?;
        text[place.offset as usize..end as usize].copy_from_slice(&filled(&arguments, place, info.size));
        changed.push((described.path.clone(), Bytes::from(text)));
    }
    let description = serde_json::to_vec(&info).map_err(|error| EmbedError::Description(error.to_string()))?;
    changed.push((ARGUMENTS_INFO.to_owned(), description.into()));
    Ok(changed)
}

/// A path as the image spells it.
fn known(files: &BTreeMap<String, Extent>, path: &str) -> String {
    files.keys().find(|known| known.eq_ignore_ascii_case(path)).cloned().unwrap_or_else(|| path.to_owned())
}

fn collect<S: Source + ?Sized>(
    image: &S,
    volume: &Volume,
    entries: Vec<Entry>,
    parent: &str,
    files: &mut BTreeMap<String, Extent>,
) -> Result<(), IsoError> {
    for entry in entries {
        let path = if parent.is_empty() { entry.name.clone() } else { format!("{parent}/{}", entry.name) };
        if files.len() >= MOST_FILES || path.matches('/').count() >= DEEPEST {
            return Err(IsoError::TooDeep(path));
        }
        if entry.is_directory {
            collect(image, volume, volume.list(image, &entry)?, &path, files)?;
        } else {
            files.insert(path, entry.extent);
        }
    }
    Ok(())
}

/// What firmware starts. An image that is no file of the tree becomes one.
fn boot_images<S: Source + ?Sized>(
    image: &S,
    volume: &Volume,
    files: &mut BTreeMap<String, Extent>,
) -> Result<Vec<Boot>, IsoError> {
    let Some(catalog) = volume.boot_catalog() else { return Ok(Vec::new()) };
    let bytes = image.part(catalog, SECTOR as usize)?;
    let mut boot = Vec::new();
    let mut platform = None;
    for entry in bytes.chunks_exact(ENTRY) {
        match entry[0] {
            0x01 | 0x90 | 0x91 => platform = Some(entry[1]),
            0x88 => {
                let firmware = match platform {
                    Some(0x00) => Firmware::Bios,
                    Some(0xef) => Firmware::Uefi,
                    _ => continue,
                };
                let sector = u32::from_le_bytes([entry[8], entry[9], entry[10], entry[11]]);
                let length = u64::from(u16::from_le_bytes([entry[6], entry[7]])) * 512;
                let offset = u64::from(sector) * SECTOR;
                if offset + length > image.length() {
                    return Err(IsoError::Directory(catalog));
                }
                let path = files.iter().find(|(_, extent)| extent.offset == offset && extent.length > 0);
                let path = match path {
                    Some((path, _)) => path.clone(),
                    None => format!("boot/firmware{}.img", boot.len()),
                };
                files.entry(path.clone()).or_insert(Extent { offset, length });
                boot.push(Boot { firmware, path });
            }
            _ => {}
        }
    }
    Ok(boot)
}

/// Tells a boot image where it lies now, if it knew where it lay.
fn tell(bytes: &mut [u8], old: u64, new: u64) {
    let knew = bytes.get(INFORMATION_TABLE + 4..INFORMATION_TABLE + 8) == Some(&(old as u32).to_le_bytes());
    let grub = GRUB_TABLE..GRUB_TABLE + 8;
    if bytes.get(grub.clone()) == Some(&(old * 4 + 5).to_le_bytes()) {
        bytes[grub].copy_from_slice(&(new * 4 + 5).to_le_bytes());
    }
    if !knew || bytes.len() < CHECKED_FROM {
        return;
    }
    bytes[INFORMATION_TABLE..INFORMATION_TABLE + 4].copy_from_slice(&16_u32.to_le_bytes());
    bytes[INFORMATION_TABLE + 4..INFORMATION_TABLE + 8].copy_from_slice(&(new as u32).to_le_bytes());
    let sum = bytes[CHECKED_FROM..].chunks(4).fold(0_u32, |sum, word| {
        let mut padded = [0; 4];
        padded[..word.len()].copy_from_slice(word);
        sum.wrapping_add(u32::from_le_bytes(padded))
    });
    bytes[INFORMATION_TABLE + 12..INFORMATION_TABLE + 16].copy_from_slice(&sum.to_le_bytes());
}
