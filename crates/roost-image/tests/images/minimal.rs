//! A minimal image boots as the base does, without its root file system.

use bytes::Bytes;
use roost_image::{Archive, BaseError, BaseImage, Content, EmbedError, KernelArgument, Operation, Segment, Volume};

use crate::fixture::{LABEL, bytes, files, tree, unpacked};

const ROOTFS: &str = "http://h/boot-artifacts/rootfs?arch=x86_64&version=4.18";

/// The image, with a boot image that knows where it lies.
fn base() -> Vec<u8> {
    let mut files = files();
    let place = tree(files.clone()).write().unwrap().offsets["isolinux/isolinux.bin"] / 2048;
    let mut boot = vec![4; 4096];
    boot[12..16].copy_from_slice(&(place as u32).to_le_bytes());
    boot[2548..2556].copy_from_slice(&(place * 4 + 5).to_le_bytes());
    files.insert("isolinux/isolinux.bin".to_owned(), Content::Bytes(boot.into()));
    bytes(&[], &tree(files).write().unwrap().layout)
}

fn archive() -> Archive {
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, Bytes::from_static(b"{}")).unwrap();
    archive
}

#[test]
fn everything_but_the_root_file_system_is_there() {
    let image = base();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let wish = KernelArgument { operation: Operation::Append, value: "nosmt".to_owned() };
    let layout = base.minimal(image.as_slice(), (), &archive(), &[wish], ROOTFS).unwrap();
    let minimal = bytes(&image, &layout);
    assert!(minimal.len() + 70_000 - 4096 < image.len(), "{} of {}", minimal.len(), image.len());
    let large: u64 =
        layout.segments().iter().filter(|segment| matches!(segment, Segment::File { .. })).map(Segment::length).sum();
    assert!(large >= 3001 + 4096 + 5000, "kernel, initrd and boot image stay in the base's file");

    let again = BaseImage::read(minimal.as_slice()).unwrap();
    assert_eq!((again.label.as_str(), again.rootfs), (LABEL, None));
    let volume = Volume::open(minimal.as_slice()).unwrap();
    let read = |path: &str| volume.read(minimal.as_slice(), path, 1 << 20).unwrap();
    assert_eq!(read("images/pxeboot/vmlinuz"), Some(vec![1; 4096]));
    assert_eq!(read("images/pxeboot/initrd.img"), Some(vec![2; 3001]));
    assert_eq!(read("images/efiboot.img"), Some(vec![0xef; 5000]));
    assert_eq!(unpacked(&read("images/ignition.img").unwrap())[0].2, b"{}");
    let default = format!("ignition.firstboot ignition.platform.id=metal coreos.live.rootfs_url={ROOTFS}");
    assert_eq!(again.areas.kernel_arguments.unwrap().default, default);
    for path in ["EFI/fedora/grub.cfg", "isolinux/isolinux.cfg"] {
        let text = String::from_utf8(read(path).unwrap()).unwrap();
        assert!(text.contains(&format!(" {default} nosmt\n##")), "{text}");
        assert!(!text.contains("coreos.liveiso"), "{text}");
    }
}

#[test]
fn what_bios_starts_knows_where_it_lies() {
    let image = base();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let minimal = bytes(&image, &base.minimal(image.as_slice(), (), &archive(), &[], ROOTFS).unwrap());
    let volume = Volume::open(minimal.as_slice()).unwrap();
    let extent = volume.file(minimal.as_slice(), "isolinux/isolinux.bin").unwrap().unwrap();
    let sector = extent.offset / 2048;
    let boot = &minimal[extent.offset as usize..(extent.offset + extent.length) as usize];
    let word = |at: usize| u32::from_le_bytes([boot[at], boot[at + 1], boot[at + 2], boot[at + 3]]);
    assert_eq!((word(8), u64::from(word(12))), (16, sector));
    let sum = (64..4096).step_by(4).fold(0_u32, |sum, at| sum.wrapping_add(word(at)));
    assert_eq!(word(20), sum);
    assert_eq!(boot[2548..2556], (sector * 4 + 5).to_le_bytes());
    let catalog = volume.boot_catalog().unwrap() as usize;
    let entry = |index: usize| {
        u64::from(u32::from_le_bytes(minimal[catalog + index * 32 + 8..catalog + index * 32 + 12].try_into().unwrap()))
    };
    let efi = volume.file(minimal.as_slice(), "images/efiboot.img").unwrap().unwrap();
    assert_eq!((entry(1), entry(3)), (sector, efi.offset / 2048));
}

#[test]
fn an_address_that_does_not_fit_is_refused() {
    let image = base();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let long = format!("http://h/{}", "a".repeat(256));
    let error = base.minimal(image.as_slice(), (), &archive(), &[], &long).unwrap_err();
    assert!(matches!(error, BaseError::Embed(EmbedError::TooLong { .. })), "{error}");
}
