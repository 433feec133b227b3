//! How soon and how fast images leave, beside plain files: sent by the kernel and nothing else, and by the same server.
//! The faster of these two is what images are compared with.
//!
//! Run by `cargo xtask bench image`. Clients and servers share the machine, so the ratio is what counts; both are measured
//! in turns, and each has its best turn.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use roost_image::{Archive, Content, Extent, Segment, Tree};
use roost_image_server::{
    Catalog, DownloadSettings, Exposure, ImageSpec, Images, Kind, Limits, Origin, OsImage, Server,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tokio::sync::watch;

/// About a tenth of a live image; fifty downloads of it are as many bytes as there is time for.
const ROOTFS: u64 = 128 << 20;
const PARALLEL: usize = 50;
const TURNS: usize = 3;
const FIRST_BYTES: usize = 200;
const IMAGE: &str = "/byapikey/token/1/x86_64/full.iso";
/// A part of the base image as it is: a plain file, by the same server.
const PLAIN: &str = "/boot-artifacts/rootfs?version=1";

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Identity {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("base.iso");
    write_image(&path)?;
    let identity = identity()?;
    let runtime = tokio::runtime::Runtime::new()?;
    println!("{:<34} {:>12} {:>12} {:>7}", "", "plain file", "image", "ratio");
    for (name, tls) in [("HTTP", None), ("HTTPS", Some(identity))] {
        let plain = plain_server(&path, tls.as_ref())?;
        let (ours, _stop) = runtime.block_on(image_server(&path, tls.as_ref()))?;
        for clients in [1, PARALLEL] {
            let (mut best_plain, mut best_ours) = (0.0_f64, 0.0_f64);
            for _ in 0..TURNS {
                for address in [plain, ours] {
                    best_plain = best_plain.max(throughput(address, PLAIN, clients, tls.as_ref())?);
                }
                best_ours = best_ours.max(throughput(ours, IMAGE, clients, tls.as_ref())?);
            }
            let title = format!("{name}, {clients} at once");
            println!("{title:<34} {best_plain:>7.0} MB/s {best_ours:>7.0} MB/s {:>6.2}x", best_ours / best_plain);
        }
        let (median, slow) = first_byte(ours, tls.as_ref())?;
        println!("{:<34} {:>12} {:>9.2} ms   p99 {:.2} ms", format!("{name}, first byte"), "", ms(median), ms(slow));
        let busy = std::thread::scope(|scope| {
            let tls = tls.as_ref();
            let load = scope.spawn(move || throughput(ours, IMAGE, PARALLEL, tls));
            let measured = first_byte(ours, tls);
            load.join().map_err(|_| "a client panicked")??;
            measured
        });
        let (median, slow) = busy?;
        let title = format!("{name}, first byte beside {PARALLEL}");
        println!("{title:<34} {:>12} {:>9.2} ms   p99 {:.2} ms", "", ms(median), ms(slow));
    }
    println!("largest memory of servers and clients together: {} MiB", peak_memory()?);
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A live image as CoreOS makes them, but for its contents.
fn write_image(path: &Path) -> Result<(), Failure> {
    let bytes = |bytes: Vec<u8>| Content::Bytes(Bytes::from(bytes));
    let rootfs = Extent { offset: 0, length: ROOTFS };
    let files: BTreeMap<String, Content<()>> = [
        ("coreos/igninfo.json", bytes(br#"{"file":"images/ignition.img"}"#.to_vec())),
        ("images/ignition.img", bytes(vec![0; 256 << 10])),
        ("images/pxeboot/initrd.img", bytes(vec![1; 1 << 20])),
        ("images/pxeboot/rootfs.img", Content::Part((), rootfs)),
        ("images/pxeboot/vmlinuz", bytes(vec![2; 1 << 20])),
    ]
    .map(|(path, content)| (path.to_owned(), content))
    .into();
    let tree = Tree { label: "fedora-coreos-bench".to_owned(), files, boot: Vec::new() };
    let mut file = File::create(path)?;
    for segment in tree.write()?.layout.segments() {
        match segment {
            Segment::Bytes(bytes) => file.write_all(bytes)?,
            Segment::File { length, .. } => {
                for block in 0..length >> 20 {
                    file.write_all(&vec![block as u8; 1 << 20])?;
                }
            }
        }
    }
    file.sync_all()?;
    Ok(())
}

fn identity() -> Result<Identity, Failure> {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = CertificateDer::from(issued.cert.der().to_vec());
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Identity { server: Arc::new(server), client: Arc::new(client) })
}

/// The best that the machine can do: a thread a connection, and the standard library's copy, which is `sendfile`.
fn plain_server(path: &Path, tls: Option<&Identity>) -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (path, tls) = (path.to_owned(), tls.cloned());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (path, tls) = (path.clone(), tls.clone());
            std::thread::spawn(move || plain_answer(stream, &path, tls.as_ref()));
        }
    });
    Ok(address)
}

fn plain_answer(mut stream: TcpStream, path: &Path, tls: Option<&Identity>) -> Result<(), Failure> {
    let mut file = File::open(path)?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", file.metadata()?.len());
    let mut request = [0; 4096];
    if let Some(identity) = tls {
        let connection = ServerConnection::new(Arc::clone(&identity.server))?;
        let mut stream = StreamOwned::new(connection, stream);
        let _ = stream.read(&mut request)?;
        stream.write_all(head.as_bytes())?;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            stream.write_all(&buffer[..count])?;
        }
        stream.flush()?;
    } else {
        let _ = stream.read(&mut request)?;
        stream.write_all(head.as_bytes())?;
        std::io::copy(&mut file, &mut stream)?;
    }
    Ok(())
}

async fn image_server(path: &Path, tls: Option<&Identity>) -> Result<(SocketAddr, watch::Sender<bool>), Failure> {
    let catalog = Arc::new(Catalog::new(path.with_extension("kept"), DownloadSettings::default()));
    catalog.ensure(vec![OsImage {
        openshift_version: "1".to_owned(),
        version: "1".to_owned(),
        architecture: "x86_64".to_owned(),
        origin: Origin::File(path.to_owned()),
        disk: None,
    }]);
    let images = Arc::new(Images::new(catalog));
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, Bytes::from_static(b"{}"))?;
    let spec = ImageSpec {
        version: "1".to_owned(),
        architecture: "x86_64".to_owned(),
        kind: Kind::Full,
        boot: String::new(),
        archive,
        kernel_arguments: Vec::new(),
        is_boot_order_controlled: false,
        updated: Timestamp::now(),
    };
    images.ensure("environment", spec)?;
    let gate = |token: &str| (token == "token").then(|| "environment".to_owned());
    let server = Server::new(images, gate, Limits::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(false);
    let config = tls.map(|identity| Arc::clone(&identity.server));
    tokio::spawn(server.serve(listener, config, Exposure::Everything, stopped));
    Ok((address, stop))
}

/// Megabytes a second that all clients together get of whole images.
fn throughput(address: SocketAddr, path: &str, clients: usize, tls: Option<&Identity>) -> Result<f64, Failure> {
    let begin = Instant::now();
    let total = std::thread::scope(|scope| {
        let running: Vec<_> = (0..clients).map(|_| scope.spawn(|| download(address, path, tls, u64::MAX))).collect();
        running.into_iter().map(|client| client.join().map_err(|_| "a client panicked")?).sum::<Result<u64, Failure>>()
    })?;
    let expected = clients as u64 * ROOTFS;
    if total < expected {
        return Err(format!("only {total} of {expected} bytes came").into());
    }
    Ok(total as f64 / 1e6 / begin.elapsed().as_secs_f64())
}

/// Times from the request to the first byte of the image, on new connections: median and 99th percentile.
fn first_byte(address: SocketAddr, tls: Option<&Identity>) -> Result<(Duration, Duration), Failure> {
    let mut times = Vec::with_capacity(FIRST_BYTES);
    for _ in 0..FIRST_BYTES {
        let begin = Instant::now();
        download(address, IMAGE, tls, 1)?;
        times.push(begin.elapsed());
    }
    times.sort();
    Ok((times[FIRST_BYTES / 2], times[FIRST_BYTES * 99 / 100]))
}

/// Downloads until there is enough or the answer ends, connection and handshake included.
fn download(address: SocketAddr, path: &str, tls: Option<&Identity>, enough: u64) -> Result<u64, Failure> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    match tls {
        None => read(stream, path, enough),
        Some(identity) => {
            let name = ServerName::try_from("localhost")?;
            let connection = ClientConnection::new(Arc::clone(&identity.client), name)?;
            read(StreamOwned::new(connection, stream), path, enough)
        }
    }
}

fn read(mut stream: impl std::io::Read + std::io::Write, path: &str, enough: u64) -> Result<u64, Failure> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut buffer = vec![0; 256 << 10];
    let (mut head, mut received, mut length) = (Vec::new(), 0, None);
    while received < length.unwrap_or(u64::MAX).min(enough) {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err("the answer broke off".into());
        }
        if length.is_some() {
            received += count as u64;
            continue;
        }
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = std::str::from_utf8(&head[..end])?;
            let value = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            length = Some(value.ok_or("no length")?.parse()?);
            received = (head.len() - end - 4) as u64;
        }
    }
    Ok(received)
}

fn peak_memory() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? >> 10)
}
