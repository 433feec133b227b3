//! What the writer writes, the reader finds.

use roost_image::{BaseImage, Content, Volume};

use crate::fixture::{LABEL, bytes, files, image, tree};

#[test]
fn every_file_is_found_where_it_lies() {
    let image = image();
    let volume = Volume::open(image.as_slice()).unwrap();
    assert_eq!(volume.label(), LABEL);
    for (path, content) in files() {
        let Content::Bytes(expected) = content else { unreachable!() };
        for spelled in [path.clone(), path.to_uppercase(), format!("/{path}")] {
            let found = volume.read(image.as_slice(), &spelled, 1 << 20).unwrap();
            assert_eq!(found.as_deref(), Some(&*expected), "{spelled}");
        }
    }
    for absent in ["images", "images/none", "images/pxeboot/vmlinuz/x", "", "/", ".."] {
        assert_eq!(volume.file(image.as_slice(), absent).unwrap(), None, "{absent}");
    }
}

#[test]
fn a_short_name_is_found_by_its_long_one() {
    let image = image();
    let volume = Volume::open(image.as_slice()).unwrap();
    assert!(volume.file(image.as_slice(), "COREOS/IGNINFO.JSO").unwrap().is_some());
    assert!(volume.file(image.as_slice(), "COREOS/KARGS.JSO").unwrap().is_some());
}

#[test]
fn many_files_of_one_short_name_stay_apart() {
    let mut files = files();
    for number in 0..200 {
        let content = Content::Bytes(format!("file {number}").into());
        files.insert(format!("modules/longmodulename{number}.mod"), content);
    }
    let image = bytes(&[], &tree(files).write().unwrap().layout);
    let volume = Volume::open(image.as_slice()).unwrap();
    for number in 0..200 {
        let path = format!("modules/longmodulename{number}.mod");
        let found = volume.find(image.as_slice(), &path).unwrap().unwrap();
        assert_eq!(found.name, format!("longmodulename{number}.mod"));
        let expected = format!("file {number}");
        assert_eq!(&image[found.extent.offset as usize..][..expected.len()], expected.as_bytes());
    }
}

#[test]
fn the_parts_for_booting_are_found() {
    let image = image();
    let base = BaseImage::read(image.as_slice()).unwrap();
    assert!(base.is_coreos());
    let part = |extent: roost_image::Extent| &image[extent.offset as usize..(extent.offset + extent.length) as usize];
    assert_eq!(part(base.kernel), &[1; 4096]);
    assert_eq!(part(base.initrd), &[2; 3001]);
    assert_eq!(part(base.rootfs.unwrap()), vec![3; 70_000]);
}

#[test]
fn the_boot_catalogue_names_both_firmwares() {
    let written = tree(files()).write().unwrap();
    let image = bytes(&[], &written.layout);
    let catalog = Volume::open(image.as_slice()).unwrap().boot_catalog().unwrap() as usize;
    let entry = |index: usize| &image[catalog + index * 32..catalog + (index + 1) * 32];
    let words = entry(0).chunks(2).fold(0_u16, |sum, pair| sum.wrapping_add(u16::from_le_bytes([pair[0], pair[1]])));
    assert_eq!((entry(0)[0], entry(0)[1], words), (1, 0, 0));
    let sector = |entry: &[u8]| u64::from(u32::from_le_bytes([entry[8], entry[9], entry[10], entry[11]]));
    assert_eq!(sector(entry(1)) * 2048, written.offsets["isolinux/isolinux.bin"]);
    assert_eq!((entry(2)[0], entry(2)[1]), (0x91, 0xef));
    assert_eq!(sector(entry(3)) * 2048, written.offsets["images/efiboot.img"]);
    assert_eq!(entry(3)[6], 12, "5000 bytes are three sectors");
}
