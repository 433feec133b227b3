//! Network policies between the pods of two hosts: what they refuse, what they let through, and that all is as before without.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::HostsError;
use super::super::plane::ControlPlane;
use super::super::shell::until;
use super::pods::{Pods, text};

/// How long a change has to reach both nodes.
const SOON: Duration = Duration::from_secs(15);
/// Longer than a readiness probe that fails takes to show.
const PROBES: Duration = Duration::from_secs(6);

/// Closes the pods of `db`, opens them by label, closes the way out of `web`, and takes all of it away.
pub(super) fn hold(plane: &ControlPlane, pods: &Pods<'_>, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
    let wrong = HostsError::Wrong;
    let names = |app: &str| -> Result<Vec<(String, String)>, HostsError> {
        let found = pods.ready(app).map_err(wrong)?;
        Ok(found.iter().map(|pod| (text(pod, "/metadata/name"), text(pod, "/status/podIP"))).collect())
    };
    let (web, db) = (names("web")?, names("db")?);
    let flows = |from: &[(String, String)], to: &[(String, String)], wanted: bool| {
        until(if wanted { "packets that pass" } else { "packets that do not pass" }, SOON, || {
            for (pod, own) in from {
                for (name, address) in to.iter().filter(|(_, address)| address != own) {
                    let place = format!("http://{address}:8080/");
                    let line = ["exec", pod, "--", "busybox", "timeout", "2", "wget", "-q", "-O", "-", &place];
                    match (plane.guest(&line), wanted) {
                        (Ok(_), true) => {}
                        // Nothing came back, and the time was up.
                        (Err(HostsError::Command { output, .. }), false) if output.contains("exit code 143") => {}
                        (answer, _) => return Err(format!("{pod} to {name}: {answer:?}")),
                    }
                }
            }
            Ok(())
        })
    };
    flows(&web, &db, true)?;
    let db_pods = json!({"matchLabels": {"app": "db"}});
    apply(plane, "closed", &json!({"podSelector": db_pods, "policyTypes": ["Ingress"]}))?;
    flows(&web, &db, false)?;
    flows(&db, &db, false)?;
    flows(&db, &web, true)?;
    std::thread::sleep(PROBES);
    names("db")?;
    tell("a policy without rules: nobody reaches its pods, on the same node or the other, but their probes do");
    let from_web = json!({"from": [{"podSelector": {"matchLabels": {"app": "web"}}}], "ports": [{"port": "http"}]});
    apply(plane, "opened", &json!({"podSelector": db_pods, "ingress": [from_web]}))?;
    flows(&web, &db, true)?;
    flows(&db, &db, false)?;
    for (pod, _) in &web {
        pods.fetch(pod, "http://db-1.db:8080/")?;
    }
    tell("a second one lets pods in by label and by the name of a port, and only those");
    let web_pods = json!({"matchLabels": {"app": "web"}});
    let out = json!({"podSelector": web_pods, "policyTypes": ["Egress"],
        "egress": [{"to": [{"podSelector": web_pods}], "ports": [{"port": 8080}]}]});
    apply(plane, "inside", &out)?;
    flows(&web, &db, false)?;
    flows(&web, &web, true)?;
    for (pod, _) in &web {
        pods.fetch(pod, "http://web/")?;
    }
    tell("a third one lets pods out only to each other, also by Service and name");
    plane.guest(&["delete", "networkpolicy", "--all"])?;
    flows(&web, &db, true)?;
    flows(&db, &db, true)?;
    tell("without them everything is reached as before");
    Ok(())
}

fn apply(plane: &ControlPlane, name: &str, spec: &Value) -> Result<(), HostsError> {
    plane.apply_to_guest(&json!({"apiVersion": "v1", "kind": "List", "items": [{
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    }]}))
}
