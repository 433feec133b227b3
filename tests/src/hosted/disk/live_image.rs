//! A live image that is small, boots nothing, and has everything that a server of images looks for.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use roost_image::{Content, Segment, Tree};

/// Its version.
pub(in super::super) const VERSION: &str = "test-live";
const ARGUMENTS: &str = "console=ttyS0";
/// What stands where its kernel and its initrd would be.
pub(in super::super) const KERNEL: &[u8] = b"this would be a kernel";
pub(in super::super) const INITRD: &[u8] = b"this would be an initrd";

/// Writes it into a directory of images.
pub(in super::super) fn write(directory: &Path) -> std::io::Result<()> {
    let area = format!("{:#<512}", format!("{ARGUMENTS}\n"));
    let info =
        format!(r#"{{"default":"{ARGUMENTS}","size":512,"files":[{{"path":"boot/grub/grub.cfg","offset":6}}]}}"#);
    let files: BTreeMap<String, Content<()>> = [
        ("boot/grub/grub.cfg", format!("linux {area}\n").into_bytes()),
        ("coreos/igninfo.json", br#"{"file":"images/ignition.img"}"#.to_vec()),
        ("coreos/kargs.json", info.into_bytes()),
        ("images/ignition.img", vec![0; 256 << 10]),
        ("images/pxeboot/initrd.img", INITRD.to_vec()),
        ("images/pxeboot/vmlinuz", KERNEL.to_vec()),
    ]
    .into_iter()
    .map(|(path, bytes)| (path.to_owned(), Content::Bytes(Bytes::from(bytes))))
    .collect();
    let tree = Tree { label: VERSION.to_owned(), files, boot: Vec::new() };
    let written = tree.write().map_err(std::io::Error::other)?;
    let bytes = written.layout.segments().iter().flat_map(|segment| match segment {
        Segment::Bytes(bytes) => bytes.to_vec(),
        Segment::File { .. } => Vec::new(),
    });
    std::fs::write(directory.join(format!("{VERSION}-x86_64.iso")), bytes.collect::<Vec<u8>>())
}
