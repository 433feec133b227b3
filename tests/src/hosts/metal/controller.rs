//! A machine with a management controller: nobody but its controller turns it on.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::machine::{CARD, IDENTITY, MEBIBYTES, empty_disk};
use crate::assets::repository;
use crate::hosts::HostsError;
use crate::hosts::host::namespace;
use crate::hosts::plane::write;
use crate::hosts::shell::{output, until};
use crate::process::Process;

/// The port of the controller, in the network of the control plane alone.
const PORT: u16 = 8000;
/// How long libvirt and the emulator may take to start.
const PATIENCE: Duration = Duration::from_mins(2);

/// A machine that is off until its controller is told otherwise. Dropping it takes it and its controller away.
pub(super) struct ManagedMachine {
    /// Where its controller has it.
    system: String,
    _controller: Process,
}

impl ManagedMachine {
    /// Plugs a new machine and its controller in. `emulator` is the program of sushy-tools.
    pub(super) fn deliver(directory: &Path, emulator: &Path, serial: &Path) -> Result<Self, HostsError> {
        let disk = empty_disk(directory)?;
        write(&directory.join("domain.xml"), domain(&disk, serial).as_bytes())?;
        let configuration = format!(
            "SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {PORT}\n\
             SUSHY_EMULATOR_LIBVIRT_URI = 'qemu:///system'\nSUSHY_EMULATOR_STATE_DIR = '{}'\n",
            directory.display()
        );
        write(&directory.join("emulator.conf"), configuration.as_bytes())?;
        let mut arguments = vec![format!("--net=/run/netns/{}", namespace()).into()];
        // With its first process goes all of it: libvirt, the emulator and the machine.
        let apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh"];
        arguments.extend(apart.map(Into::into));
        arguments.push(repository().join("tests/src/hosts/metal/controller.sh").into());
        arguments.extend([directory.into(), emulator.into()]);
        let mut controller = Process::start("controller", Path::new("nsenter"), arguments, directory)?;
        let system = format!("http://127.0.0.1:{PORT}/redfish/v1/Systems/{IDENTITY}");
        until("a management controller", PATIENCE, || {
            if let Err(error) = controller.check_running() {
                return Ok(Err(error));
            }
            get(&system).map(|_| Ok(())).map_err(|error| error.to_string())
        })??;
        Ok(Self { system, _controller: controller })
    }

    /// Where the controller is, as a BareMetalHost writes it.
    pub(super) fn address(&self) -> String {
        format!("redfish-virtualmedia+{}", self.system)
    }

    /// Whether the machine is on, as its controller says.
    pub(super) fn is_on(&self) -> Result<bool, HostsError> {
        Ok(get(&self.system)?["PowerState"] == "On")
    }

    /// Whether something is in the virtual drive, as the controller says.
    pub(super) fn is_drive_full(&self) -> Result<bool, HostsError> {
        Ok(get(&format!("{}/VirtualMedia/Cd", self.system))?["Inserted"] == true)
    }
}

fn get(url: &str) -> Result<Value, HostsError> {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{}", namespace())).args(["curl", "--fail", "--silent", "--show-error"]);
    let text = output(command.args(["--max-time", "30", url]))?;
    serde_json::from_str(&text).map_err(|error| HostsError::Wrong(format!("{url}: {error}: {text}")))
}

/// The same machine as one without a controller. A restart turns it off, and its controller turns it on again: what
/// sushy-tools changes, media and boot order, is seen by a machine of libvirt only when it starts from cold.
fn domain(disk: &Path, serial: &Path) -> String {
    format!(
        "<domain type='qemu'>
  <name>metal</name>
  <uuid>{IDENTITY}</uuid>
  <memory unit='MiB'>{MEBIBYTES}</memory>
  <vcpu>2</vcpu>
  <cpu mode='maximum'/>
  <os><type arch='x86_64' machine='pc'>hvm</type><boot dev='hd'/></os>
  <features><acpi/></features>
  <on_reboot>destroy</on_reboot>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' cache='unsafe'/><source file='{}'/><target dev='vda' bus='virtio'/>
    </disk>
    <interface type='user'><mac address='{CARD}'/><model type='virtio'/></interface>
    <serial type='file'><source path='{}' append='on'/></serial>
  </devices>
</domain>
",
        disk.display(),
        serial.display()
    )
}
