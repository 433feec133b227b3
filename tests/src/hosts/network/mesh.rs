//! Pods of a node behind a router and pods of other nodes: they reach each other through the mesh, policies hold there, and the
//! router sees nothing of it but what is sealed.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::HostsError;
use super::super::host::Host;
use super::super::journey::PATIENCE;
use super::super::plane::ControlPlane;
use super::super::shell::{output, until};
use super::pods;

/// How long a change has to reach all nodes.
const SOON: Duration = Duration::from_secs(20);
/// What is fetched to see how fast that is.
const MEBIBYTES: u32 = 256;
/// The pods beside the one of the hidden node, each with the number of its host.
const NEAR: [(&str, usize); 3] = [("near-0", 0), ("near-1", 1), ("other", 0)];

/// The pods of all three nodes, of which `far` is on the hidden one.
pub(super) struct Mesh<'a> {
    plane: &'a ControlPlane,
    router: String,
    far: String,
}

fn application(pod: &str) -> &str {
    pod.split('-').next().unwrap_or(pod)
}

/// Starts pods beside `far`, and a router that counts.
pub(super) fn start<'a>(plane: &'a ControlPlane, hidden: &Host, others: [&Host; 2]) -> Result<Mesh<'a>, HostsError> {
    let pod = |(name, host): (&str, usize)| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": application(name)}},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": others[host].name}, "terminationGracePeriodSeconds": 1,
                "containers": [pods::container()]}})
    };
    let service = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}})
    };
    let mut items: Vec<Value> = NEAR.into_iter().map(pod).collect();
    items.extend(["far", "near"].map(service));
    plane.apply_to_guest(&json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
    for (name, _) in NEAR {
        plane.guest(&["wait", &format!("pod/{name}"), "--for=condition=Ready", "--timeout=120s"])?;
    }
    let mesh = Mesh { plane, router: format!("--net=/run/netns/{}-r", hidden.name), far: mesh_address(plane, "far")? };
    let networks = plane.guest(&["get", "nodes", "-o", "jsonpath={.items[*].spec.podCIDR}"])?;
    let networks = networks.split_whitespace().collect::<Vec<_>>().join(", ");
    mesh.nft(&format!(
        "add table ip seen {{ counter clear {{}}; counter sealed {{}}; chain forwarded {{
            type filter hook forward priority -300;
            ip saddr {{ {networks} }} counter name clear; ip daddr {{ {networks} }} counter name clear;
            udp sport 51840 counter name sealed; udp dport 51840 counter name sealed; }}; }}"
    ))?;
    Ok(mesh)
}

fn mesh_address(plane: &ControlPlane, pod: &str) -> Result<String, HostsError> {
    plane.guest(&["get", "pod", pod, "-o", "jsonpath={.status.podIP}"]).map(|text| text.trim().to_owned())
}

impl Mesh<'_> {
    fn nft(&self, line: &str) -> Result<String, HostsError> {
        output(Command::new("nsenter").args([&self.router, "nft", line]))
    }

    /// What a pod gets from a place, in two seconds.
    fn fetch(&self, pod: &str, place: &str) -> Result<String, HostsError> {
        let place = format!("http://{place}/");
        let line = ["exec", pod, "--", "busybox", "timeout", "2", "wget", "-q", "-O", "-", &place];
        self.plane.guest(&line).map(|text| text.trim().to_owned())
    }

    /// Whether a pod gets the right answer from all places.
    pub(super) fn reached(&self) -> Result<(), String> {
        let ask = |from: &str, place: &str, wanted: &str| match self.fetch(from, place) {
            Ok(answer) if application(&answer) == wanted => Ok(()),
            other => Err(format!("{from} got {other:?} from {place}")),
        };
        let service = |name: &str| {
            let line = ["get", "service", name, "-o", "jsonpath={.spec.clusterIP}"];
            self.plane.guest(&line).map(|text| text.trim().to_owned()).map_err(|error| error.to_string())
        };
        for (pod, _) in NEAR {
            for place in [format!("{}:8080", self.far), service("far")?, "far.default.svc.cluster.local".to_owned()] {
                ask(pod, &place, "far")?;
            }
        }
        for pod in ["near-0", "near-1"] {
            let address = mesh_address(self.plane, pod).map_err(|error| error.to_string())?;
            ask("far", &format!("{address}:8080"), "near")?;
        }
        for place in [service("near")?, "near".to_owned()] {
            ask("far", &place, "near")?;
        }
        Ok(())
    }

    /// Pods find each other, all nodes say so, and policies see who is who.
    pub(super) fn carries(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
        let begin = Instant::now();
        until("pods that reach each other through the mesh", PATIENCE, || self.reached())?;
        let seconds = begin.elapsed().as_secs();
        tell(&format!("its pod and those of the others reach each other by address, Service and name ({seconds} s)"));
        until("nodes that reach all pods", PATIENCE, || {
            let path = "jsonpath={.items[*].status.conditions[?(@.type==\"PodNetworkReady\")].status}";
            let words = self.plane.guest(&["get", "nodes", "-o", path]).map_err(|error| error.to_string())?;
            if words.trim() == "True True True" { Ok(()) } else { Err(words) }
        })?;
        tell("all three nodes say that they reach the pods of all");
        self.plane.apply_to_guest(&json!({"apiVersion": "v1", "kind": "List", "items": [{
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": "far", "namespace": "default"},
            "spec": {"podSelector": {"matchLabels": {"app": "far"}},
                "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "near"}}}]}]},
        }]}))?;
        let place = format!("{}:8080", self.far);
        until("a policy that keeps one pod out and lets others in", SOON, || {
            match (self.fetch("near-0", &place), self.fetch("near-1", &place), self.fetch("other", &place)) {
                (Ok(_), Ok(_), Err(HostsError::Command { output, .. })) if output.contains("exit code 143") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })?;
        self.plane.guest(&["delete", "networkpolicy", "far"])?;
        until("all pods without the policy", SOON, || self.reached())?;
        tell("a policy by label holds over it, so addresses of pods are their own there");
        Ok(())
    }

    /// How fast pods fetch from each other, by plain routes and through the mesh.
    pub(super) fn measure(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
        let mut rates = Vec::new();
        for server in ["near-1", "far"] {
            let size = format!("{MEBIBYTES}M");
            self.plane.guest(&["exec", server, "--", "busybox", "truncate", "-s", &size, "/tmp/large"])?;
            let address = mesh_address(self.plane, server)?;
            let timed = |file: &str| {
                let begin = Instant::now();
                let place = format!("http://{address}:8080/{file}");
                self.plane.guest(&["exec", "near-0", "--", "wget", "-q", "-O", "/dev/null", &place])?;
                Ok::<_, HostsError>(begin.elapsed())
            };
            // What it takes to ask for anything at all is not counted.
            let small = timed("index.html")?;
            let seconds = timed("large")?.saturating_sub(small).as_secs_f64();
            rates.push(f64::from(MEBIBYTES) * 8.388_608 / seconds.max(0.001));
            self.plane.guest(&["exec", server, "--", "busybox", "rm", "/tmp/large"])?;
        }
        tell(&format!(
            "{MEBIBYTES} MiB by plain routes {:.0} Mbit/s, through the mesh {:.0} Mbit/s",
            rates[0], rates[1]
        ));
        Ok(())
    }

    /// Nothing of any pod went through the router but what was sealed.
    pub(super) fn was_sealed(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
        let packets = |name: &str| -> Result<u64, HostsError> {
            let text = self.nft(&format!("list counter ip seen {name}"))?;
            let count = text.split_once("packets ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            count.ok_or_else(|| HostsError::Wrong(format!("no count in {text:?}")))
        };
        let (clear, sealed) = (packets("clear")?, packets("sealed")?);
        if clear != 0 || sealed < 100 {
            return Err(HostsError::Wrong(format!("the router saw {clear} packets of pods and {sealed} sealed ones")));
        }
        tell(&format!("the router saw {sealed} sealed datagrams and no packet of a pod"));
        Ok(())
    }

    /// Removes what was started.
    pub(super) fn stop(&self) -> Result<(), HostsError> {
        self.plane.guest(&["delete", "service", "far", "near"])?;
        let mut line = vec!["delete", "pod", "far"];
        line.extend(NEAR.map(|(name, _)| name));
        self.plane.guest(&line).map(drop)
    }
}
