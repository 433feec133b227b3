//! A live image as small as one can be, with everything where CoreOS has it.

use std::collections::BTreeMap;
use std::io::Read as _;

use bytes::Bytes;
use roost_image::{Boot, Content, Firmware, Layout, Segment, Tree};

pub(crate) const LABEL: &str = "fedora-coreos-test";
pub(crate) const ARGUMENTS: &str = "coreos.liveiso=fedora-coreos-test ignition.firstboot ignition.platform.id=metal";
pub(crate) const ARGUMENTS_SIZE: usize = 256;
pub(crate) const IGNITION_SIZE: usize = 8192;

pub(crate) fn arguments_area(text: &str) -> String {
    format!("{:#<ARGUMENTS_SIZE$}", format!("{text}\n"))
}

pub(crate) fn files() -> BTreeMap<String, Content<()>> {
    let before = "menuentry 'Live' {\n  linux /images/pxeboot/vmlinuz ";
    let config = format!(
        "{before}{}\n  initrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n",
        arguments_area(ARGUMENTS)
    );
    let isolinux = format!("default linux\nappend {}\n", arguments_area(ARGUMENTS));
    let info = format!(
        r#"{{"default":"{ARGUMENTS}","size":{ARGUMENTS_SIZE},"files":[{{"path":"EFI/fedora/grub.cfg","offset":{}}},{{"path":"isolinux/isolinux.cfg","offset":{}}}]}}"#,
        before.len(),
        isolinux.find(ARGUMENTS).unwrap()
    );
    [
        ("EFI/fedora/grub.cfg", config.into_bytes()),
        ("coreos/igninfo.json", br#"{"file":"images/ignition.img"}"#.to_vec()),
        ("coreos/kargs.json", info.into_bytes()),
        ("images/efiboot.img", vec![0xef; 5000]),
        ("images/ignition.img", vec![0; IGNITION_SIZE]),
        ("images/pxeboot/initrd.img", vec![2; 3001]),
        ("images/pxeboot/rootfs.img", vec![3; 70_000]),
        ("images/pxeboot/vmlinuz", vec![1; 4096]),
        ("isolinux/isolinux.bin", vec![4; 2048]),
        ("isolinux/isolinux.cfg", isolinux.into_bytes()),
    ]
    .into_iter()
    .map(|(path, bytes)| (path.to_owned(), Content::Bytes(Bytes::from(bytes))))
    .collect()
}

pub(crate) fn tree(files: BTreeMap<String, Content<()>>) -> Tree<()> {
    Tree {
        label: LABEL.to_owned(),
        files,
        boot: vec![
            Boot { firmware: Firmware::Bios, path: "isolinux/isolinux.bin".to_owned() },
            Boot { firmware: Firmware::Uefi, path: "images/efiboot.img".to_owned() },
        ],
    }
}

pub(crate) fn image() -> Vec<u8> {
    bytes(&[], &tree(files()).write().unwrap().layout)
}

/// What a client gets of a layout over one file.
pub(crate) fn bytes(file: &[u8], layout: &Layout<()>) -> Vec<u8> {
    let mut all = Vec::new();
    for segment in layout.segments() {
        match segment {
            Segment::File { offset, length, .. } => {
                all.extend_from_slice(&file[*offset as usize..(*offset + *length) as usize]);
            }
            Segment::Bytes(bytes) => all.extend_from_slice(bytes),
        }
    }
    all
}

/// What a kernel finds in a compressed archive with zeros behind it: path, mode and content of each member.
pub(crate) fn unpacked(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut plain = Vec::new();
    flate2::bufread::GzDecoder::new(archive).read_to_end(&mut plain).unwrap();
    let mut members = Vec::new();
    let mut at = 0;
    loop {
        assert_eq!(&plain[at..at + 6], b"070701");
        let number = |index: usize| {
            let begin = at + 6 + index * 8;
            usize::from_str_radix(std::str::from_utf8(&plain[begin..begin + 8]).unwrap(), 16).unwrap()
        };
        let (mode, size, name_size) = (number(1), number(6), number(11));
        let name = String::from_utf8(plain[at + 110..at + 110 + name_size - 1].to_vec()).unwrap();
        let content = (at + 110 + name_size).next_multiple_of(4);
        if name == "TRAILER!!!" {
            return members;
        }
        members.push((name, mode as u32, plain[content..content + size].to_vec()));
        at = (content + size).next_multiple_of(4);
    }
}
