//! From power-on to Ready and back: an empty machine boots what an InfraEnv links to, appears as an Agent, is approved, is
//! taken by a pool, installs its disk, restarts from it, and is a node; given back, it is free.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::HostsError;
use super::host::namespace;
use super::journey::{copy, ready_without_taint};
use super::machine::{Delivery, FirstBoot, Machine};
use super::plane::{CLUSTER, ControlPlane, Network, Supplies, write};
use super::shell::{output, until};
use crate::assets;

const SPACE: &str = "hardware";
const ENVIRONMENT: &str = "pool-a";
const POOL: &str = "workers";
/// What the management plane may need for anything.
const PATIENCE: Duration = Duration::from_mins(1);
/// What an emulated machine may need for anything, on a machine that does other things, too.
const MACHINE_PATIENCE: Duration = Duration::from_mins(12);

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
    plane.apply_to_management(&environment())?;
    let status = until("an InfraEnv with an image", PATIENCE, || {
        let found = object(&plane, &["get", "infraenv", "-n", SPACE, ENVIRONMENT])?;
        let condition = &found["status"]["conditions"][0];
        if condition["status"] == "True" { Ok(found["status"].clone()) } else { Err(condition.to_string()) }
    })?;
    tell("the hosted cluster answers, and the InfraEnv has an image");
    let link = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let disc = work.join("discovery.iso");
    if journey.first == FirstBoot::Disc {
        download(&plane, &link(&status["isoDownloadURL"]), work, &disc)?;
        tell("the image was downloaded by its link");
    }
    let script = link(&status["bootArtifacts"]["ipxeScript"]);
    let begin = Instant::now();
    let machine = Machine::turn_on(&Delivery { directory: work, first: journey.first, disc: &disc, script: &script })?;
    let life = live(&plane, journey, begin, tell);
    life.map_err(|error| HostsError::Wrong(format!("{error}\nthe machine said last:\n{}", machine.last_words())))
}

fn live(
    plane: &ControlPlane,
    journey: &MetalJourney,
    begin: Instant,
    tell: &mut dyn FnMut(&str),
) -> Result<(), HostsError> {
    let mut tell = |words: &str| tell(&format!("{words} ({:.0} s after power-on)", begin.elapsed().as_secs_f64()));
    let id = until("an Agent that may be used", MACHINE_PATIENCE, || {
        let agent = only_agent(plane)?;
        let state = &agent["status"]["debugInfo"];
        if state["state"] != "known-unbound" {
            return Err(state.to_string());
        }
        Ok(agent["metadata"]["name"].as_str().unwrap_or_default().to_owned())
    })?;
    tell(&format!("the machine appeared as the Agent {id}"));
    plane.hcp(&journey.hcp, &["approve", "host", &id, "-n", SPACE])?;
    plane.apply_to_management(&pool())?;
    plane.management(&["scale", "nodepool", "-n", "clusters", POOL, "--replicas=1"])?;
    tell("approved, and a pool wants a machine");
    let mut stage = String::new();
    until("a host that is a node", MACHINE_PATIENCE, || {
        let agent = only_agent(plane)?;
        let (state, progress) = (&agent["status"]["debugInfo"], &agent["status"]["progress"]);
        let now = progress["currentStage"].as_str().unwrap_or_default();
        if now != stage {
            now.clone_into(&mut stage);
            let info = progress["progressInfo"].as_str().unwrap_or_default();
            tell(&format!("stage: {now} {info}"));
        }
        match state["state"].as_str() {
            Some("added-to-existing-cluster") => Ok(Ok(())),
            Some("error") => Ok(Err(HostsError::Wrong(format!("{state} {progress}")))),
            _ => Err(format!("{state} {progress}")),
        }
    })??;
    let node = until("a Ready node", MACHINE_PATIENCE, || {
        let text = plane.guest(&["get", "nodes", "-o", "json"]).map_err(|error| error.to_string())?;
        let nodes: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let node = &nodes["items"][0];
        ready_without_taint(node)?;
        Ok(node.clone())
    })?;
    let info = &node["status"]["nodeInfo"];
    tell(&format!(
        "the node {} is Ready: kubelet {}, {}, Linux {}",
        node["metadata"]["name"].as_str().unwrap_or_default(),
        info["kubeletVersion"].as_str().unwrap_or_default(),
        info["osImage"].as_str().unwrap_or_default(),
        info["kernelVersion"].as_str().unwrap_or_default(),
    ));
    println!("{}", plane.management(&["get", "agents", "-n", SPACE])?.trim_end());
    plane.management(&["scale", "nodepool", "-n", "clusters", POOL, "--replicas=0"])?;
    until("a free host", MACHINE_PATIENCE, || {
        let agent = only_agent(plane)?;
        let state = &agent["status"]["debugInfo"];
        let is_bound = agent["spec"]["clusterDeploymentName"]["name"].is_string();
        if state["state"] == "known-unbound" && !is_bound { Ok(()) } else { Err(state.to_string()) }
    })?;
    until("a cluster without nodes", MACHINE_PATIENCE, || {
        let nodes = plane.guest(&["get", "nodes", "-o", "name"]).map_err(|error| error.to_string())?;
        if nodes.trim().is_empty() { Ok(()) } else { Err(nodes) }
    })?;
    tell("given back: the host left its cluster and is free again");
    Ok(())
}

fn object(plane: &ControlPlane, arguments: &[&str]) -> Result<Value, String> {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
    let text = plane.management(&arguments).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn only_agent(plane: &ControlPlane) -> Result<Value, String> {
    let list = object(plane, &["get", "agents", "-n", SPACE])?;
    match list["items"].as_array().map(Vec::as_slice) {
        Some([agent]) => Ok(agent.clone()),
        other => Err(format!("{} Agents", other.map_or(0, <[Value]>::len))),
    }
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

fn environment() -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret", "namespace": SPACE},
            "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{\"auths\":{}}"}},
        {"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": ENVIRONMENT, "namespace": SPACE, "annotations": {
                // Emulated memory is the memory of this machine.
                "agent-install.openshift.io/ignored-host-validations": "has-min-memory,has-memory-for-role"}},
            "spec": {"pullSecretRef": {"name": "pull-secret"}}},
    ]})
}

/// A pool that brings the network of its pods: one host needs no more than a bridge.
fn pool() -> Value {
    let network = json!({"cniVersion": "0.4.0", "name": "pods", "plugins": [
        {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.212.1.0/24"}]]}},
    ]});
    let source = format!("data:text/plain;base64,{}", STANDARD.encode(network.to_string()));
    let machine = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": {"name": "network"},
        "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [
            {"path": "/etc/cni/net.d/10-pods.conflist", "mode": 0o644, "overwrite": true, "contents": {"source": source}},
        ]}}},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "network", "namespace": "clusters"},
            "data": {"config": machine.to_string()}},
        {"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
            "metadata": {"name": POOL, "namespace": "clusters"},
            "spec": {"clusterName": CLUSTER, "replicas": 0, "arch": "amd64", "config": [{"name": "network"}],
                "management": {"upgradeType": "InPlace", "autoRepair": false},
                "platform": {"type": "Agent", "agent": {}}, "release": {"image": "embedded:v1.36.3"}}},
    ]})
}
