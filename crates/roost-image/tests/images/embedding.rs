//! An archive and kernel arguments get into an image, and nothing else changes.

use bytes::Bytes;
use roost_image::{
    Archive, ArchiveError, BaseError, BaseImage, Content, EmbedError, KernelArgument, Operation, Segment,
};

use crate::fixture::{ARGUMENTS, ARGUMENTS_SIZE, IGNITION_SIZE, arguments_area, bytes, files, image, tree, unpacked};

const CONFIG: &[u8] = br#"{"ignition":{"version":"3.1.0"}}"#;

fn archive() -> Archive {
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, Bytes::from_static(CONFIG)).unwrap();
    archive
}

fn append(value: &str) -> KernelArgument {
    KernelArgument { operation: Operation::Append, value: value.to_owned() }
}

#[test]
fn only_the_areas_change() {
    let image = image();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let layout = base.full((), &archive(), &[append("nosmt"), append("console=ttyS0")]).unwrap();
    let served = bytes(&image, &layout);
    assert_eq!(served.len(), image.len());
    let wanted = format!("{ARGUMENTS} nosmt console=ttyS0");
    let area = base.areas.kernel_arguments.as_ref().unwrap();
    let mut expected = image.clone();
    assert_eq!(area.places.len(), 2);
    for place in &area.places {
        let begin = place.offset as usize;
        expected[begin..begin + ARGUMENTS_SIZE].copy_from_slice(arguments_area(&wanted).as_bytes());
    }
    let begin = base.areas.ignition.offset as usize;
    let embedded = &served[begin..begin + IGNITION_SIZE];
    assert_eq!(unpacked(embedded), [("config.ign".to_owned(), 0o100_600, CONFIG.to_vec())]);
    let used = archive().to_gzip().len();
    assert!(embedded[used..].iter().all(|byte| *byte == 0));
    expected[begin..begin + IGNITION_SIZE].copy_from_slice(embedded);
    assert!(served == expected, "bytes outside of the areas differ");
    assert_eq!(layout, base.full((), &archive(), &[append("nosmt"), append("console=ttyS0")]).unwrap());

    // What was served is an image again, whose arguments are the new ones but whose default has not changed.
    let again = BaseImage::read(served.as_slice()).unwrap();
    assert_eq!(again.areas, base.areas);
}

#[test]
fn without_wishes_the_arguments_stay() {
    let image = image();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let layout = base.full((), &archive(), &[]).unwrap();
    let changed: Vec<_> = layout.segments().iter().filter(|segment| matches!(segment, Segment::Bytes(_))).collect();
    assert_eq!(changed.len(), 2, "the archive, and the zeros behind it");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let image = image();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let mut large = Archive::default();
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let noise: Vec<u8> = (0..20_000).map(|_| noise()).collect();
    large.file("config.ign", 0o600, noise.into()).unwrap();
    let error = base.full((), &large, &[]).unwrap_err();
    assert!(matches!(error, BaseError::Embed(EmbedError::TooLong { area: 8192, .. })), "{error}");
    assert!(error.to_string().starts_with("content length exceeds embed area"), "{error}");
    let exact = "a".repeat(ARGUMENTS_SIZE - ARGUMENTS.len() - 2);
    assert!(base.full((), &archive(), &[append(&exact)]).is_ok());
    let error = base.full((), &archive(), &[append(&format!("{exact}a"))]).unwrap_err();
    assert!(matches!(error, BaseError::Embed(EmbedError::TooLong { length: 257, area: 256 })), "{error}");
}

#[test]
fn the_area_may_be_part_of_a_file() {
    let mut files = files();
    let info = br#"{"file":"images/cdboot.img","offset":100,"length":4000}"#;
    files.insert("coreos/igninfo.json".to_owned(), Content::Bytes(Bytes::from_static(info)));
    files.insert("images/cdboot.img".to_owned(), Content::Bytes(vec![7; 5000].into()));
    let written = tree(files).write().unwrap();
    let image = bytes(&[], &written.layout);
    let base = BaseImage::read(image.as_slice()).unwrap();
    assert_eq!(base.areas.ignition.offset, written.offsets["images/cdboot.img"] + 100);
    assert_eq!(base.areas.ignition.length, 4000);
}

#[test]
fn a_description_that_lies_is_refused() {
    for (path, text) in [
        ("coreos/igninfo.json", r#"{"file":"images/none.img"}"#),
        ("coreos/igninfo.json", r#"{"file":"images/ignition.img","offset":9000}"#),
        ("coreos/igninfo.json", r#"{"file":"images/ignition.img","offset":1,"length":8192}"#),
        ("coreos/igninfo.json", r#"{"file":"images/ignition.img","offset":18446744073709551615}"#),
        ("coreos/igninfo.json", "no JSON"),
        ("coreos/kargs.json", r#"{"default":"","size":4096,"files":[{"path":"images/efiboot.img","offset":0}]}"#),
        ("coreos/kargs.json", r#"{"default":"","size":100,"files":[]}"#),
        ("coreos/kargs.json", r#"{"default":"","size":100,"files":[{"path":"isolinux/isolinux.cfg","offset":0}]}"#),
        ("coreos/kargs.json", r#"{"default":"","size":9,"files":[{"path":"none","offset":0}]}"#),
        (
            "coreos/kargs.json",
            r#"{"default":"","size":9,"files":[{"path":"images/efiboot.img","offset":18446744073709551615}]}"#,
        ),
        (
            "coreos/kargs.json",
            r#"{"default":"","size":9,"files":[{"path":"images/efiboot.img","offset":0,"end":"ab"}]}"#,
        ),
    ] {
        let mut files = files();
        files.insert(path.to_owned(), Content::Bytes(Bytes::copy_from_slice(text.as_bytes())));
        let image = bytes(&[], &tree(files).write().unwrap().layout);
        let found = BaseImage::read(image.as_slice());
        assert!(matches!(found, Err(BaseError::Embed(EmbedError::Description(_)))), "{text}: {found:?}");
    }
}

#[test]
fn images_of_old_have_headers() {
    let mut files = files();
    for path in ["coreos/igninfo.json", "coreos/kargs.json", "images/ignition.img"] {
        files.remove(path);
    }
    files.insert("images/reserved.img".to_owned(), Content::Bytes(vec![0; IGNITION_SIZE].into()));
    let written = tree(files).write().unwrap();
    let mut image = bytes(&[], &written.layout);
    assert!(matches!(BaseImage::read(image.as_slice()), Err(BaseError::Embed(EmbedError::NoArea))));

    let area = written.offsets["images/reserved.img"];
    let mut header = b"coreiso+".to_vec();
    header.extend(area.to_le_bytes());
    header.extend((IGNITION_SIZE as u64).to_le_bytes());
    image[32_744..32_768].copy_from_slice(&header);
    let base = BaseImage::read(image.as_slice()).unwrap();
    assert_eq!((base.areas.ignition.offset, base.areas.kernel_arguments.is_none()), (area, true));
    let error = base.full((), &archive(), &[append("a")]).unwrap_err();
    assert!(matches!(error, BaseError::Embed(EmbedError::NoArgumentArea)), "{error}");

    let places: Vec<u64> = image
        .windows(ARGUMENTS.len())
        .enumerate()
        .filter(|(_, window)| *window == ARGUMENTS.as_bytes())
        .map(|(offset, _)| offset as u64)
        .collect();
    let mut header = b"coreKarg".to_vec();
    for number in [ARGUMENTS_SIZE as u64, places[0], places[0], places[1], 0, 0, 0, 0] {
        header.extend(number.to_le_bytes());
    }
    image[32_672..32_744].copy_from_slice(&header);
    let base = BaseImage::read(image.as_slice()).unwrap();
    let arguments = base.areas.kernel_arguments.unwrap();
    assert_eq!((arguments.default.as_str(), arguments.places.len()), (ARGUMENTS, 2));
}

#[test]
fn the_initrd_for_the_network_is_both_behind_each_other() {
    let image = image();
    let base = BaseImage::read(image.as_slice()).unwrap();
    let initrd = bytes(&image, &base.network_initrd((), &archive()));
    assert_eq!(&initrd[..3001], &[2; 3001]);
    assert_eq!(&initrd[3001..3004], &[0; 3]);
    assert_eq!(unpacked(&initrd[3004..]), unpacked(&archive().to_gzip()));
    assert_eq!(initrd.len() % 4, 0);
}

#[test]
fn archives_have_the_directories_of_their_files() {
    let mut archive = Archive::default();
    archive.file("/etc/roost/a", 0o644, Bytes::from_static(b"1")).unwrap();
    archive.link("etc/systemd/b", "../roost/a").unwrap();
    let names: Vec<(String, u32)> =
        unpacked(&archive.to_gzip()).into_iter().map(|(name, mode, _)| (name, mode)).collect();
    let expected = [
        ("etc", 0o040_755),
        ("etc/roost", 0o040_755),
        ("etc/roost/a", 0o100_644),
        ("etc/systemd", 0o040_755),
        ("etc/systemd/b", 0o120_777),
    ];
    assert_eq!(names, expected.map(|(name, mode)| (name.to_owned(), mode)));
    for path in ["", "/", "..", "a/../b", "a//b", "a/", "a\0b", "./a"] {
        let found = archive.file(path, 0o644, Bytes::new()).map(|_| ());
        assert!(matches!(found, Err(ArchiveError::Path(_))), "{path:?}");
    }
    for path in ["etc", "etc/roost/a/b"] {
        let found = archive.file(path, 0o644, Bytes::new()).map(|_| ());
        assert!(matches!(found, Err(ArchiveError::Conflict(_))), "{path:?}");
    }
}
