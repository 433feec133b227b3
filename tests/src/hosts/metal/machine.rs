//! An emulated machine: firmware, a network card, and a disk that is empty when it is bought.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::FirstBoot;
use crate::hosts::HostsError;
use crate::hosts::host::namespace;
use crate::hosts::shell::until;

/// The smallest disk that a worker may have, and a little: it takes no more room than what is written to it.
const DISK: u64 = 110 << 30;
/// Its memory.
pub(super) const MEBIBYTES: u32 = 2560;
/// Its number, which its firmware knows.
pub(super) const IDENTITY: &str = "5e1f7c1a-0b7e-4c1e-9d55-0c0ffee00001";
/// The address of its network card.
pub(super) const CARD: &str = "52:54:00:00:00:21";
/// How long a system may take to stop when somebody presses the button.
const STOP: Duration = Duration::from_mins(4);

/// What a new machine is given.
pub(super) struct Delivery<'a> {
    /// Where its files are.
    pub(super) directory: &'a Path,
    pub(super) first: &'a FirstBoot,
    /// The discovery image, for those who start from a disc.
    pub(super) disc: &'a Path,
    /// The address of the boot script, for those who start from the network.
    pub(super) script: &'a str,
}

/// A machine with its power on. Dropping it cuts the power.
pub(super) struct Machine {
    child: Child,
    button: PathBuf,
}

/// A disk that nothing was written to.
pub(super) fn empty_disk(directory: &Path) -> Result<PathBuf, HostsError> {
    let disk = directory.join("disk.raw");
    let made = std::fs::File::create(&disk).and_then(|file| file.set_len(DISK));
    made.map_err(|source| HostsError::File { path: disk.clone(), source })?;
    Ok(disk)
}

impl Machine {
    /// Turns a new machine on. What it says on its serial port comes into a file.
    pub(super) fn turn_on(delivery: &Delivery<'_>, serial: &Path) -> Result<Self, HostsError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| HostsError::File { path, source }
        };
        let disk = empty_disk(delivery.directory)?;
        let button = delivery.directory.join("button");
        let memory = MEBIBYTES.to_string();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", namespace())).arg("qemu-system-x86_64");
        command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", &memory, "-machine", "pc"]);
        command.args(["-display", "none", "-monitor", "none", "-serial", "stdio", "-uuid", IDENTITY]);
        command.arg("-qmp").arg(format!("unix:{},server=on,wait=off", button.display()));
        command.arg("-drive").arg(format!("file={},if=virtio,format=raw,cache=unsafe", disk.display()));
        command.args(["-device", &format!("virtio-net-pci,netdev=n0,mac={CARD}")]);
        let mut network = "user,id=n0".to_owned();
        // Its firmware tries the disk first, as that of any server.
        if *delivery.first == FirstBoot::Network {
            // What a DHCP server can name is too short for a link with a token, here as anywhere.
            let path = delivery.directory.join("boot.ipxe");
            std::fs::write(&path, format!("#!ipxe\nchain {}\n", delivery.script)).map_err(failed(&path))?;
            network = format!("{network},tftp={},bootfile=boot.ipxe", delivery.directory.display());
            command.args(["-boot", "order=cn"]);
        } else {
            command.arg("-cdrom").arg(delivery.disc).args(["-boot", "order=cd"]);
        }
        command.args(["-netdev", &network]);
        let mut log = std::fs::File::create(serial).map_err(failed(serial))?;
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
        Ok(Self { child, button })
    }

    /// Presses the button, and waits until the system has stopped.
    pub(super) fn turn_off(&mut self) -> Result<(), HostsError> {
        let failed = |source| HostsError::File { path: self.button.clone(), source };
        let mut button = UnixStream::connect(&self.button).map_err(failed)?;
        let words = "{\"execute\": \"qmp_capabilities\"}\n{\"execute\": \"system_powerdown\"}\n";
        button.write_all(words.as_bytes()).map_err(failed)?;
        // What is answered has to be taken, or nothing more is heard; it ends with the machine.
        std::thread::spawn(move || button.read_to_end(&mut Vec::new()));
        until("a machine that stopped", STOP, || match self.child.try_wait() {
            Ok(Some(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
