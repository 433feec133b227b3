//! What two hosts go through as nodes of one pod network: pods that find each other, policies that keep them apart, every way
//! to a pod that kubectl has, a node that is cut off and comes back, a third one behind a router, and leaving without a trace.

mod mesh;
mod nat;
mod outage;
mod pods;
mod policies;
mod ways;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use super::HostsError;
use super::host::{Host, SHARED_SETTINGS, script};
use super::journey::{Journey, PATIENCE, Settings, copy, difference, image, ready_without_taint, settle};
use super::plane::{ControlPlane, Network, Supplies, write};
use super::shell::{output, until};
use crate::assets;

/// Where the binaries and files of all hosts lie, as hosts see them.
const AGENT: &str = "/opt/shared/hcp-agent";

/// One host that is a node, and how it was before.
struct Member {
    host: Host,
    before: String,
}

/// Takes the hosts through all of it.
pub fn run(journey: &Journey, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
    let _settings = Settings::remember();
    let work = tempfile::Builder::new().prefix("roost-network-").tempdir();
    let work = work.map_err(|source| HostsError::File { path: "a temporary directory".into(), source })?;
    let work = work.path();
    output(&mut script("base", &[&journey.cache.to_string_lossy()]))?;
    let shared = work.join("shared");
    std::fs::create_dir(&shared).map_err(|source| HostsError::File { path: shared.clone(), source })?;
    copy(&journey.agent, &shared.join("hcp-agent"))?;
    let busybox = output(Command::new("sh").args(["-c", "command -v busybox"]))?;
    copy(Path::new(busybox.trim()), &shared.join("busybox"))?;
    image(&shared)?;
    let artifacts = work.join("artifacts");
    copy(&journey.agent, &artifacts.join("any/amd64/usr/local/bin/hcp-agent"))?;
    copy(&assets::binary("kubelet")?, &artifacts.join("1.36.3/amd64/usr/local/bin/kubelet"))?;
    let platform = json!({"type": "None"});
    let supplies = Supplies { artifacts: &artifacts, images: None, platform, network: Network::Default };
    let plane = ControlPlane::start(&journey.hcp, work, &supplies)?;
    let admin = shared.join("admin.kubeconfig");
    std::fs::copy(plane.guest_kubeconfig(), &admin).map_err(|source| HostsError::File { path: admin, source })?;
    tell("the hosted cluster answers");
    let (first, second) = std::thread::scope(|scope| {
        let (plane, shared) = (&plane, shared.as_path());
        let other = scope.spawn(move || joined(journey, plane, work, shared, 22, false, tell));
        let first = joined(journey, plane, work, shared, 21, false, tell);
        let other = other.join().unwrap_or_else(|_| Err(HostsError::Wrong("a host's thread panicked".to_owned())));
        Ok::<_, HostsError>((first?, other?))
    })?;
    let pods = pods::start(&plane, &first.host, &second.host, tell)?;
    pods.find_each_other(tell)?;
    policies::hold(&plane, &pods, tell)?;
    ways::to_a_pod(&plane, work, tell)?;
    outage::and_return(&plane, &pods, &first.host, &second.host, tell)?;
    pods.stop()?;
    let hidden = joined(journey, &plane, work, &shared, 23, true, tell)?;
    nat::behind(&plane, work, &hidden.host, [&first.host, &second.host], tell)?;
    [hidden, first, second].iter().try_for_each(|member| leave(&plane, member, tell))
}

fn joined(
    journey: &Journey,
    plane: &ControlPlane,
    work: &Path,
    shared: &Path,
    number: u8,
    is_hidden: bool,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Member, HostsError> {
    let host = Host::make(&journey.cache.join("base"), work, shared, number)?;
    if is_hidden {
        host.hide()?;
    }
    host.power_on()?;
    write(&shared.join(format!("{}.ign", host.name)), &plane.user_data(&host.name, host.number)?)?;
    settle(&host)?;
    let before = host.snapshot()?;
    let begin = Instant::now();
    host.run(&[AGENT, "join", "--user-data", &format!("/opt/shared/{}.ign", host.name)])?;
    until(&format!("{} as a node", host.name), PATIENCE, || {
        let text = plane.guest(&["get", "node", &host.name, "-o", "json"]).map_err(|error| error.to_string())?;
        ready_without_taint(&serde_json::from_str(&text).map_err(|error| error.to_string())?)
    })?;
    host.run(&["ctr", "-n", "k8s.io", "images", "import", "/opt/shared/image.tar"])?;
    tell(&format!("{}: Ready without a taint {} s after the join began", host.name, begin.elapsed().as_secs()));
    Ok(Member { host, before })
}

fn leave(plane: &ControlPlane, member: &Member, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
    let host = &member.host;
    host.run(&[AGENT, "leave", "--kubeconfig", "/opt/shared/admin.kubeconfig"])?;
    if plane.guest(&["get", "node", &host.name]).is_ok() {
        return Err(HostsError::Wrong(format!("the node {} is still there", host.name)));
    }
    let mut changed = difference(&member.before, &host.snapshot()?);
    // These belong to the kernel that both hosts share here.
    changed.retain(|line| {
        !SHARED_SETTINGS.iter().any(|setting| line.get(2..).is_some_and(|line| line.starts_with(setting)))
    });
    if !changed.is_empty() {
        return Err(HostsError::Wrong(format!("{} is not as it was:\n{}", host.name, changed.join("\n"))));
    }
    tell(&format!("{}: left, and nothing of {} things is different", host.name, member.before.lines().count()));
    Ok(())
}
