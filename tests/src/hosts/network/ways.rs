//! Every way to a pod that kubectl has.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::super::HostsError;
use super::super::plane::{ControlPlane, write};
use super::super::shell::{output, until};

/// A local port of the control plane's namespace.
const PORT: &str = "18080";

/// Ends a command that goes on.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `logs`, `exec`, `cp` and `port-forward` to one pod of each node.
pub(super) fn to_a_pod(plane: &ControlPlane, work: &Path, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
    for pod in ["db-0", "db-1"] {
        one(plane, work, pod)?;
    }
    tell("logs, exec, cp both ways and port-forward work with pods of both nodes");
    Ok(())
}

/// The same with one pod.
pub(super) fn one(plane: &ControlPlane, work: &Path, pod: &str) -> Result<(), HostsError> {
    let expect = |what: &str, found: &str, wanted: &str| {
        if found.trim() == wanted { Ok(()) } else { Err(HostsError::Wrong(format!("{what} of {pod} gave {found:?}"))) }
    };
    expect("logs", &plane.guest(&["logs", pod])?, pod)?;
    expect("exec", &plane.guest(&["exec", pod, "--", "hostname"])?, pod)?;
    let (there, back) = (work.join("there"), work.join("back"));
    write(&there, format!("for {pod}\n").as_bytes())?;
    plane.guest(&["cp", &there.to_string_lossy(), &format!("{pod}:/tmp/there")])?;
    expect("cp", &plane.guest(&["exec", pod, "--", "cat", "/tmp/there"])?, &format!("for {pod}"))?;
    plane.guest(&["cp", &format!("{pod}:/tmp/there"), &back.to_string_lossy()])?;
    let copied = std::fs::read_to_string(&back).map_err(|source| HostsError::File { path: back, source })?;
    expect("cp back", &copied, &format!("for {pod}"))?;
    let mut command = plane.guest_command(&["port-forward", pod, &format!("{PORT}:8080")]);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _running = Running(started.map_err(|source| HostsError::File { path: "kubectl".into(), source })?);
    let answer = until("port-forward", Duration::from_secs(30), || {
        let mut fetch = ControlPlane::beside(Path::new("busybox"));
        output(fetch.args(["wget", "-q", "-O", "-", &format!("http://127.0.0.1:{PORT}/")]))
            .map_err(|error| error.to_string())
    })?;
    expect("port-forward", &answer, pod)
}
