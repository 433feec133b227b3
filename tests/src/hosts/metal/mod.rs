//! From power-on to Ready and back: an empty machine boots what an InfraEnv links to, appears as an Agent, is approved, is
//! taken by a pool, installs its disk, restarts from it, and is a node; given back, it is free, and is taken once more.

mod controller;
mod disk;
mod life;
mod machine;
mod objects;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use self::controller::ManagedMachine;
use self::life::{Life, Power};
use self::machine::{Delivery, Machine};
use self::objects::{ENVIRONMENT, SPACE};
use super::HostsError;
use super::host::namespace;
use super::journey::copy;
use super::plane::{ControlPlane, Network, Supplies, write};
use super::shell::{output, until};
use crate::assets;

/// What the management plane may need for anything.
const PATIENCE: Duration = Duration::from_mins(1);
/// What a machine says of itself is at most so long in a failure.
const LAST_LINES: usize = 40;

/// What a machine starts from while its disk is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstBoot {
    /// A disc with the discovery image.
    Disc,
    /// The network: iPXE, which fetches a script.
    Network,
    /// The virtual drive of its management controller, which this program of sushy-tools speaks for.
    VirtualMedia(PathBuf),
}

/// What the machine is taken through.
#[derive(Debug)]
pub struct MetalJourney {
    /// The server.
    pub hcp: PathBuf,
    /// The agent, without libraries.
    pub agent: PathBuf,
    /// A live image and the disk that belongs to it.
    pub images: PathBuf,
    /// What the machine starts from.
    pub first: FirstBoot,
}

/// Runs all of it.
pub fn run(journey: &MetalJourney, tell: &mut dyn FnMut(&str)) -> Result<(), HostsError> {
    let work = tempfile::tempdir().map_err(|source| HostsError::File { path: "a directory".into(), source })?;
    let work = work.path();
    let artifacts = work.join("artifacts");
    copy(&journey.agent, &artifacts.join("any/amd64/usr/local/bin/hcp-agent"))?;
    copy(&assets::binary("kubelet")?, &artifacts.join("1.36.3/amd64/usr/local/bin/kubelet"))?;
    let platform = json!({"type": "Agent", "agent": {"agentNamespace": SPACE}});
    let supplies = Supplies { artifacts: &artifacts, images: Some(&journey.images), platform, network: Network::Other };
    let plane = ControlPlane::start(&journey.hcp, work, &supplies)?;
    plane.apply_to_management(&objects::environment())?;
    let status = until("an InfraEnv with an image", PATIENCE, || {
        let found = life::object(&plane, &["get", "infraenv", "-n", SPACE, ENVIRONMENT])?;
        let condition = &found["status"]["conditions"][0];
        if condition["status"] == "True" { Ok(found["status"].clone()) } else { Err(condition.to_string()) }
    })?;
    tell("the hosted cluster answers, and the InfraEnv has an image");
    let serial = work.join("serial.log");
    let power = turn_on(&plane, journey, work, &status, &serial, tell)?;
    let mut life = Life { plane: &plane, hcp: &journey.hcp, power, begin: Instant::now(), tell };
    let lived = life.live().and_then(|()| disk::is_clean(&work.join("disk.raw")));
    lived.map_err(|error| HostsError::Wrong(format!("{error}\nthe machine said last:\n{}", last_words(&serial))))?;
    tell("the disk has nothing of the clusters that the host was in");
    Ok(())
}

/// Has a new machine start from what an InfraEnv links to.
fn turn_on(
    plane: &ControlPlane,
    journey: &MetalJourney,
    work: &Path,
    status: &Value,
    serial: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<Power, HostsError> {
    let link = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let disc = work.join("discovery.iso");
    if journey.first == FirstBoot::Disc {
        download(plane, &link(&status["isoDownloadURL"]), work, &disc)?;
        tell("the image was downloaded by its link");
    }
    if let FirstBoot::VirtualMedia(emulator) = &journey.first {
        let machine = ManagedMachine::deliver(work, emulator, serial)?;
        plane.apply_to_management(&objects::bare_metal_host(&machine.address()))?;
        tell("a BareMetalHost names the controller of a machine that is off");
        return Ok(Power::Controller(machine));
    }
    let script = link(&status["bootArtifacts"]["ipxeScript"]);
    let delivery = Delivery { directory: work, first: &journey.first, disc: &disc, script: &script };
    Machine::turn_on(&delivery, serial).map(Power::Person)
}

/// Fetches an image as an administrator does: by its link, trusting the authority that the management plane names.
fn download(plane: &ControlPlane, link: &str, work: &Path, to: &Path) -> Result<(), HostsError> {
    let path = "jsonpath={.data.tls\\.crt}";
    let text = plane.management(&["get", "secret", "-n", "hypershift", "assisted-service-ca", "-o", path])?;
    let authority = work.join("authority.pem");
    write(&authority, &STANDARD.decode(text.trim()).unwrap_or_default())?;
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{}", namespace())).args(["curl", "--fail", "--silent", "--show-error"]);
    output(command.arg("--cacert").arg(authority).arg("--output").arg(to).arg(link)).map(drop)
}

/// What a machine said last on its serial port.
fn last_words(serial: &Path) -> String {
    let text = std::fs::read(serial).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
