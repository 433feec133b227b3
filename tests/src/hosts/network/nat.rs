//! A node behind a router that translates addresses: nothing reaches it, and kubectl does, by the tunnel that its agent keeps.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::HostsError;
use super::super::host::Host;
use super::super::journey::PATIENCE;
use super::super::plane::ControlPlane;
use super::super::shell::{output, until};
use super::{pods, ways};

/// Longer than either side believes in a tunnel without hearing anything.
const DARK: Duration = Duration::from_secs(36);

/// Takes kubectl to a pod of the hidden node, also after its router forgot everything.
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
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "far", "namespace": "default"},
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
    for host in others {
        until("a word on the node that has no route", PATIENCE, || {
            let path = "jsonpath={.status.conditions[?(@.type==\"PodNetworkReady\")].message}";
            let words = plane.guest(&["get", "node", &host.name, "-o", path]).map_err(|error| error.to_string())?;
            if words.contains(&hidden.name) { Ok(()) } else { Err(words) }
        })?;
    }
    tell("the other nodes say that they have no route to its pods");
    router(hidden, "add table ip dark { chain f { type filter hook forward priority -200; drop; }; }")?;
    std::thread::sleep(DARK);
    router(hidden, "delete table ip dark")?;
    let begin = Instant::now();
    until("the tunnel after its router was dark", PATIENCE, || {
        ways::one(plane, work, "far").map_err(|error| error.to_string())
    })?;
    tell(&format!(
        "its router was dark for {} s; {} s later all of it works again",
        DARK.as_secs(),
        begin.elapsed().as_secs()
    ));
    plane.guest(&["delete", "pod", "far"]).map(drop)
}

fn router(host: &Host, rules: &str) -> Result<(), HostsError> {
    let net = format!("--net=/run/netns/{}-r", host.name);
    output(Command::new("nsenter").args([&net, "nft", rules])).map(drop)
}
