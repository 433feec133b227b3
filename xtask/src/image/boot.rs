//! A machine without a disk boots the image as our server hands it out, and says on its serial port how far it got.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use roost_image::{Archive, KernelArgument, Operation};
use roost_image_server::{
    Catalog, DownloadSettings, Exposure, ImageSpec, Images, Kind, Limits, Links, Origin, OsImage, Server,
};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::command_line::Way;
use crate::task::TaskError;

use super::{ARCHITECTURE, Built, LABEL, needed};

/// Emulated, on a busy machine: real ones take as long as their firmware.
const PATIENCE: Duration = Duration::from_mins(4);
const MEMORY: &str = "1024";
/// Where a guest finds this machine, and which address it gets itself.
const HOST: &str = "10.0.2.2";
const DHCP_ADDRESS: &str = "10.0.2.15/24";
const STATIC_ADDRESS: &str = "10.0.2.77/24";
const STATIC_HARDWARE: &str = "52:54:00:00:00:77";
const FIRMWARE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const ENVIRONMENT: &str = "boot-test";
const TOKEN: &str = "boot.test.token";
/// An argument that only the embedded ones have.
const MARK: &str = "roost.boot-test=1";

/// Boots one way and prints what the machine says.
pub(super) fn run(built: &Built, way: Way) -> Result<(), TaskError> {
    needed("qemu-system-x86_64", "qemu-system-x86, ovmf and ipxe-qemu")?;
    println!("== boot: {way:?}");
    let scratch =
        tempfile::tempdir().map_err(|source| TaskError::File { path: "a temporary directory".into(), source })?;
    let runtime =
        tokio::runtime::Runtime::new().map_err(|source| TaskError::Start { program: "a server".to_owned(), source })?;
    let (address, _stop) = runtime.block_on(serve(&built.iso, way))?;
    let mut machine = machine(way);
    match way {
        Way::Bios | Way::Uefi | Way::Static => {
            let base = format!("http://{address}");
            let links = Links { images: &base, boot: &base };
            let image = scratch.path().join("discovery.iso");
            download(address, &links.iso(TOKEN, LABEL, ARCHITECTURE, Kind::Full)[base.len()..], &image)?;
            machine.arg("-cdrom").arg(image).args(["-boot", "d"]);
        }
        Way::Network => {
            let base = format!("http://{HOST}:{}", address.port());
            let script = Links { images: &base, boot: &base }.script(ENVIRONMENT, TOKEN, false);
            // What a DHCP server can name is too short for a link with a token.
            super::write(&scratch.path().join("boot.ipxe"), format!("#!ipxe\nchain {script}\n").as_bytes())?;
            machine.args(["-boot", "n"]);
        }
    }
    let mut network = "user,id=n0".to_owned();
    if way == Way::Network {
        network = format!("{network},tftp={},bootfile=boot.ipxe", scratch.path().display());
    }
    machine.args(["-netdev", &network]);
    watch_boot(machine, way)
}

fn machine(way: Way) -> Command {
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-accel", "tcg", "-m", MEMORY, "-display", "none", "-monitor", "none", "-no-reboot"]);
    command.args(["-serial", "stdio", "-device"]);
    command.arg(format!("virtio-net-pci,netdev=n0,mac={STATIC_HARDWARE}"));
    match way {
        Way::Uefi => command
            .args(["-machine", "q35", "-drive"])
            .arg(format!("if=pflash,format=raw,unit=0,readonly=on,file={FIRMWARE}")),
        _ => command.args(["-machine", "pc"]),
    };
    command
}

/// A server with this image and one environment.
async fn serve(iso: &Path, way: Way) -> Result<(SocketAddr, watch::Sender<bool>), TaskError> {
    let failed = |error: &dyn std::fmt::Display| TaskError::Found(error.to_string());
    let catalog = Arc::new(Catalog::new(iso.with_extension("kept"), DownloadSettings::default()));
    catalog.ensure(vec![OsImage {
        openshift_version: LABEL.to_owned(),
        version: LABEL.to_owned(),
        architecture: ARCHITECTURE.to_owned(),
        origin: Origin::File(iso.to_owned()),
        disk: None,
    }]);
    let images = Arc::new(Images::new(catalog));
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.map_err(|source| TaskError::Start { program: "a server".to_owned(), source })?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let mut archive = Archive::default();
    let settings = serde_json::json!({"url": format!("https://{HOST}:1"), "infra_env_id": ENVIRONMENT, "token": TOKEN});
    let mut files = vec![("etc/roost/discovery.json".to_owned(), settings.to_string())];
    if way == Way::Static {
        let path = format!("etc/roost/network/{}.env", STATIC_HARDWARE.replace(':', "-"));
        files.push((path, format!("ADDRESSES={STATIC_ADDRESS}\nGATEWAY={HOST}\nDNS=10.0.2.3\n")));
    }
    for (path, text) in files {
        archive.file(&path, 0o600, Bytes::from(text)).map_err(|error| failed(&error))?;
    }
    let spec = ImageSpec {
        version: LABEL.to_owned(),
        architecture: ARCHITECTURE.to_owned(),
        kind: Kind::Full,
        boot: format!("http://{HOST}:{}", address.port()),
        archive,
        kernel_arguments: vec![KernelArgument { operation: Operation::Append, value: MARK.to_owned() }],
        is_boot_order_controlled: false,
        updated: Timestamp::now(),
    };
    images.ensure(ENVIRONMENT, spec).map_err(|error| failed(&error))?;
    let gate = |token: &str| (token == TOKEN).then(|| ENVIRONMENT.to_owned());
    let server = Server::new(images, gate, Limits::default());
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(server.serve(listener, None, Exposure::Everything, stopped));
    Ok((address, stop))
}

/// Fetches a file as any client would.
fn download(address: SocketAddr, path: &str, to: &Path) -> Result<(), TaskError> {
    let failed = |source| TaskError::File { path: to.to_owned(), source };
    let mut stream = BufReader::new(TcpStream::connect(address).map_err(failed)?);
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).map_err(failed)?;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).map_err(failed)? == 0 {
            return Err(TaskError::Found("the server says nothing".to_owned()));
        }
    }
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(TaskError::Found(format!("the server says {head}")));
    }
    let mut file = std::fs::File::create(to).map_err(failed)?;
    std::io::copy(&mut stream, &mut file).map_err(failed)?;
    Ok(())
}

/// The machine, which does not outlive the look at it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints what comes over the serial port until everything was seen that must be.
fn watch_boot(mut command: Command, way: Way) -> Result<(), TaskError> {
    let start = |source| TaskError::Start { program: "qemu-system-x86_64".to_owned(), source };
    let begin = Instant::now();
    let mut machine = Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(start)?);
    let mut serial = machine.0.stdout.take().ok_or_else(|| TaskError::Found("no serial port".to_owned()))?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let mut byte = [0];
        while serial.read_exact(&mut byte).is_ok() {
            if byte[0] != b'\n' {
                line.push(byte[0]);
            } else if sender.send(plain(&std::mem::take(&mut line))).is_err() {
                return;
            }
        }
    });
    let address = if way == Way::Static { STATIC_ADDRESS } else { DHCP_ADDRESS };
    let mut expected =
        vec![MARK.to_owned(), "roost: userspace".to_owned(), format!(" {address}"), "roost: hcp-agent ".to_owned()];
    loop {
        let line = match lines.recv_timeout(PATIENCE.saturating_sub(begin.elapsed())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Err(TaskError::Found(format!("the machine did not say {expected:?} in time")));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TaskError::Found(format!("the machine ended without saying {expected:?}")));
            }
        };
        if !line.trim().is_empty() {
            println!("{:>6.1} s  {line}", begin.elapsed().as_secs_f64());
        }
        expected.retain(|words| !line.contains(words.as_str()));
        if expected.is_empty() {
            println!("{way:?}: the agent runs {:.1} s after power-on", begin.elapsed().as_secs_f64());
            return Ok(());
        }
    }
}

/// A line without what moves cursors and paints.
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next() == Some('[') {
                let _ = characters.by_ref().find(char::is_ascii_alphabetic);
            }
        } else if !character.is_control() {
            plain.push(character);
        }
    }
    plain
}
