//! A node behind a router that translates addresses: nothing reaches it, and yet kubectl does, by the tunnel that its agent keeps,
//! and pods do, through the mesh.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::HostsError;
use super::super::host::Host;
use super::super::journey::PATIENCE;
use super::super::plane::ControlPlane;
use super::super::shell::{output, until};
use super::{mesh, pods, ways};

/// Longer than either side believes in a tunnel without hearing anything.
const DARK: Duration = Duration::from_secs(36);

/// Takes kubectl and other pods to a pod of the hidden node, also after its router was dark.
pub(super) fn behind(
    plane: &ControlPlane,
    work: &Path,
    hidden: &Host,
    others: [&Host; 2],
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), HostsError> {
    let path = "jsonpath={.status.addresses[?(@.type==\"InternalIP\")].address}";
    let address = plane.guest(&["get", "node", &hidden.name, "-o", path])?;
    if output(ControlPlane::beside(Path::new("busybox")).args(["nc", "-w", "2", address.trim(), "10250"])).is_ok() {
        return Err(HostsError::Wrong(format!("{address} is reached, so nothing would be shown")));
    }
    plane.apply_to_guest(&json!({"apiVersion": "v1", "kind": "List", "items": [{
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "far", "namespace": "default", "labels": {"app": "far"}},
        "spec": {"nodeSelector": {"kubernetes.io/hostname": hidden.name}, "terminationGracePeriodSeconds": 1,
            "containers": [pods::container()]},
    }]}))?;
    plane.guest(&["wait", "pod/far", "--for=condition=Ready", "--timeout=120s"])?;
    ways::one(plane, work, "far")?;
    tell(&format!(
        "{}: at {}, where nothing reaches it: logs, exec, cp and port-forward work",
        hidden.name,
        address.trim()
    ));
    let mesh = mesh::start(plane, hidden, others)?;
    mesh.carries(tell)?;
    mesh.measure(tell)?;
    router(hidden, "add table ip dark { chain f { type filter hook forward priority -200; drop; }; }")?;
    std::thread::sleep(DARK);
    router(hidden, "delete table ip dark")?;
    let begin = Instant::now();
    until("the tunnel after its router was dark", PATIENCE, || {
        ways::one(plane, work, "far").map_err(|error| error.to_string())
    })?;
    let tunnel = begin.elapsed().as_secs();
    until("the mesh after its router was dark", PATIENCE, || mesh.reached())?;
    tell(&format!(
        "its router was dark for {} s; {tunnel} s later kubectl reaches its pod, and after {} s all pods do",
        DARK.as_secs(),
        begin.elapsed().as_secs()
    ));
    mesh.was_sealed(tell)?;
    mesh.stop()
}

fn router(host: &Host, rules: &str) -> Result<(), HostsError> {
    let net = format!("--net=/run/netns/{}-r", host.name);
    output(Command::new("nsenter").args([&net, "nft", rules])).map(drop)
}
