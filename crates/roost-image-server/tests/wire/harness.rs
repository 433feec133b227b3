//! A server on a loopback port, with one environment and an image that is small but has everything.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use roost_image::{Archive, BaseImage, Content, KernelArgument, Layout, Operation, Segment, Tree};
use roost_image_server::{
    Catalog, DownloadSettings, Exposure, ImageSpec, Images, Kind, Limits, Origin, OsImage, Server,
};
use rustls::ServerConfig;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) const ENVIRONMENT: &str = "5b1c6a1e-0000-4000-8000-000000000001";
pub(crate) const TOKEN: &str = "good.token";
pub(crate) const ISO: &str = "/byapikey/good.token/4.18/x86_64/full.iso";
pub(crate) const UPDATED: i64 = 1_700_000_000;

const ARGUMENTS: &str = "coreos.liveiso=fedora-coreos-test ignition.firstboot";
const ROOTFS: usize = 3 << 20;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) images: Arc<Images>,
    pub(crate) base: Vec<u8>,
    pub(crate) directory: TempDir,
    stop: watch::Sender<bool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl Running {
    /// What a client has to get of the environment's image.
    pub(crate) fn expected(&self) -> Vec<u8> {
        let spec = spec();
        let base = BaseImage::read(self.base.as_slice()).unwrap();
        joined(&self.base, &base.full((), &spec.archive, &spec.kernel_arguments).unwrap())
    }
}

/// Bytes without any order, the same in every run.
pub(crate) fn noise(length: usize, mut state: u64) -> Vec<u8> {
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

pub(crate) fn joined(file: &[u8], layout: &Layout<()>) -> Vec<u8> {
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

pub(crate) fn base_image() -> Vec<u8> {
    let area = format!("{:#<512}", format!("{ARGUMENTS}\n"));
    let info =
        format!(r#"{{"default":"{ARGUMENTS}","size":512,"files":[{{"path":"EFI/fedora/grub.cfg","offset":6}}]}}"#);
    let files: BTreeMap<String, Content<()>> = [
        ("EFI/fedora/grub.cfg", format!("linux {area}\n").into_bytes()),
        ("coreos/igninfo.json", br#"{"file":"images/ignition.img"}"#.to_vec()),
        ("coreos/kargs.json", info.into_bytes()),
        ("images/ignition.img", vec![0; 256 << 10]),
        ("images/pxeboot/initrd.img", noise(100_001, 1)),
        ("images/pxeboot/rootfs.img", noise(ROOTFS, 2)),
        ("images/pxeboot/vmlinuz", noise(50_000, 3)),
    ]
    .into_iter()
    .map(|(path, bytes)| (path.to_owned(), Content::Bytes(Bytes::from(bytes))))
    .collect();
    let tree = Tree { label: "fedora-coreos-test".to_owned(), files, boot: Vec::new() };
    joined(&[], &tree.write().unwrap().layout)
}

pub(crate) fn spec() -> ImageSpec {
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, Bytes::from_static(br#"{"ignition":{"version":"3.1.0"}}"#)).unwrap();
    ImageSpec {
        version: "4.18".to_owned(),
        architecture: "x86_64".to_owned(),
        kind: Kind::Full,
        boot: "http://boot.test".to_owned(),
        archive,
        kernel_arguments: vec![KernelArgument { operation: Operation::Append, value: "nosmt".to_owned() }],
        is_boot_order_controlled: false,
        updated: Timestamp::from_second(UPDATED).unwrap(),
    }
}

pub(crate) fn os_image(origin: Origin) -> OsImage {
    OsImage {
        openshift_version: "4.18".to_owned(),
        version: "418.94.2026".to_owned(),
        architecture: "x86_64".to_owned(),
        origin,
        disk: None,
    }
}

pub(crate) fn gate(token: &str) -> Option<String> {
    match token {
        TOKEN => Some(ENVIRONMENT.to_owned()),
        "other.token" => Some("another".to_owned()),
        _ => None,
    }
}

pub(crate) fn write(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("base.iso");
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(crate) async fn start_with(limits: Limits, exposure: Exposure, tls: Option<Arc<ServerConfig>>) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let base = base_image();
    let path = write(directory.path(), &base);
    let catalog = Arc::new(Catalog::new(directory.path().join("kept"), DownloadSettings::default()));
    catalog.ensure(vec![os_image(Origin::File(path))]);
    let images = Arc::new(Images::new(catalog));
    images.ensure(ENVIRONMENT, spec()).unwrap();
    let server = Server::new(Arc::clone(&images), gate, limits);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(server.serve(listener, tls, exposure, stopped));
    Running { address, images, base, directory, stop }
}

pub(crate) async fn start() -> Running {
    start_with(Limits::default(), Exposure::Everything, None).await
}
