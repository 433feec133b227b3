//! An emulated machine: firmware, a network card, and a disk that is empty when it is bought.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::HostsError;
use super::host::namespace;

/// The smallest disk that a worker may have, and a little: it takes no more room than what is written to it.
const DISK: u64 = 110 << 30;
const MEMORY: &str = "2560";
/// What a machine says of itself is at most so long in a failure.
const LAST_LINES: usize = 25;

/// What a machine starts from while its disk is empty. Its firmware tries the disk first, as of any server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstBoot {
    /// A disc with the discovery image.
    Disc,
    /// The network: iPXE, which fetches a script.
    Network,
}

/// What a new machine is given.
pub(super) struct Delivery<'a> {
    /// Where its files are.
    pub(super) directory: &'a Path,
    pub(super) first: FirstBoot,
    /// The discovery image, for those who start from a disc.
    pub(super) disc: &'a Path,
    /// The address of the boot script, for those who start from the network.
    pub(super) script: &'a str,
}

/// A machine with its power on. Dropping it cuts the power.
pub(super) struct Machine {
    child: Child,
    serial: PathBuf,
}

impl Machine {
    /// Turns a new machine on.
    pub(super) fn turn_on(delivery: &Delivery<'_>) -> Result<Self, HostsError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| HostsError::File { path, source }
        };
        let disk = delivery.directory.join("disk.raw");
        std::fs::File::create(&disk).and_then(|file| file.set_len(DISK)).map_err(failed(&disk))?;
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", namespace())).arg("qemu-system-x86_64");
        command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", MEMORY, "-machine", "pc"]);
        command.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
        command.args(["-uuid", "5e1f7c1a-0b7e-4c1e-9d55-0c0ffee00001"]);
        command.arg("-drive").arg(format!("file={},if=virtio,format=raw,cache=unsafe", disk.display()));
        command.args(["-device", "virtio-net-pci,netdev=n0,mac=52:54:00:00:00:21"]);
        let mut network = "user,id=n0".to_owned();
        match delivery.first {
            FirstBoot::Disc => {
                command.arg("-cdrom").arg(delivery.disc).args(["-boot", "order=cd"]);
            }
            FirstBoot::Network => {
                // What a DHCP server can name is too short for a link with a token, here as anywhere.
                let path = delivery.directory.join("boot.ipxe");
                std::fs::write(&path, format!("#!ipxe\nchain {}\n", delivery.script)).map_err(failed(&path))?;
                network = format!("{network},tftp={},bootfile=boot.ipxe", delivery.directory.display());
                command.args(["-boot", "order=cn"]);
            }
        }
        command.args(["-netdev", &network]);
        let serial = delivery.directory.join("serial.log");
        let mut log = std::fs::File::create(&serial).map_err(failed(&serial))?;
        let start = |error: std::io::Error| HostsError::Command {
            command: "qemu-system-x86_64".to_owned(),
            output: error.to_string(),
        };
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(start)?;
        if let Some(port) = child.stdout.take() {
            // Written line by line, so that whoever looks sees what is there.
            std::thread::spawn(move || {
                let mut port = BufReader::new(port);
                let mut line = Vec::new();
                while port.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                    if log.write_all(&line).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
        Ok(Self { child, serial })
    }

    /// What it said last.
    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read(&self.serial).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
