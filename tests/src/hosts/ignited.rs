//! A host that knows nothing but its pool's user-data: the real Ignition, a first boot, and a node. Nobody types a command
//! on it, and its kubelet comes from the management plane.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::HostsError;
use super::host::Host;
use super::journey::{Journey, PATIENCE, ready_without_taint, runs_a_pod};
use super::plane::{ControlPlane, write};
use super::shell::until;

/// Takes one such host from user-data to a pod that outlives a power cut.
pub(super) fn one_host(
    journey: &Journey,
    plane: &ControlPlane,
    work: &Path,
    shared: &Path,
    number: u8,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), HostsError> {
    let host = Host::make(&journey.cache.join("image"), work, shared, number)?;
    let say = |words: &str| tell(&format!("{}: {words}", host.name));
    let user_data = work.join(format!("{}.ign", host.name));
    write(&user_data, &plane.user_data(&host.name, host.number)?)?;
    let begin = Instant::now();
    host.ignite(&user_data)?;
    say(&format!("Ignition fetched and wrote everything in {:.1} s", begin.elapsed().as_secs_f64()));
    host.power_on()?;
    let node = until(&format!("{} as a node", host.name), PATIENCE, || node_of(plane, &host.name))?;
    say(&format!("Ready without a taint as {node} {} s after Ignition began", begin.elapsed().as_secs()));
    runs_a_pod(plane, &host, &node, &say)
}

/// The name of the one node of a pool, when it is ready.
fn node_of(plane: &ControlPlane, pool: &str) -> Result<String, String> {
    let text = plane.guest(&["get", "nodes", "-o", "json"]).map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let prefix = format!("{pool}-");
    let name = |node: &Value| node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let node = list["items"].as_array().into_iter().flatten().find(|node| name(node).starts_with(&prefix));
    let node = node.ok_or("no node has registered")?;
    ready_without_taint(node).map(|()| name(node))
}
