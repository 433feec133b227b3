//! Nodes that pretend: pods that come to them do what their labels say, on both planes alike.

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::WorkloadsError;
use super::api::Api;

/// How many nodes a plane has.
const NODES: usize = 3;
/// How often pods are looked at.
const INTERVAL: Duration = Duration::from_millis(100);
/// How often nodes say that they are alive.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Which addresses pods get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addresses {
    /// All the same, so that what is made of them can be compared.
    Same,
    /// Each its own.
    Own,
}

/// The kubelets of a plane; dropping them ends them.
pub struct Kubelets(Vec<JoinHandle<()>>);

impl Drop for Kubelets {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Makes nodes and lets pods run on them.
pub(super) async fn start(api: &Api, addresses: Addresses) -> Result<Kubelets, WorkloadsError> {
    make_nodes(api).await?;
    let (heart, pods) = (api.clone(), api.clone());
    let heart = tokio::spawn(async move {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            let _ = beat(&heart).await;
        }
    });
    let pods = tokio::spawn(async move {
        loop {
            let _ = look(&pods, addresses).await;
            tokio::time::sleep(INTERVAL).await;
        }
    });
    Ok(Kubelets(vec![heart, pods]))
}

/// Makes nodes that are ready.
pub(super) async fn make_nodes(api: &Api) -> Result<(), WorkloadsError> {
    for number in 0..NODES {
        make_node(api, number).await?;
    }
    beat(api).await?;
    for number in 0..NODES {
        free_node(api, number).await?;
    }
    Ok(())
}

/// Makes a node.
pub(super) async fn make_node(api: &Api, number: usize) -> Result<(), WorkloadsError> {
    let name = format!("node-{number}");
    let labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": format!("zone-{}", number % 2)});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
    api.send(Method::POST, "/api/v1/nodes", Some(&node)).await.map(drop)
}

/// Takes away the taint that a node has until it is seen to be ready.
pub(super) async fn free_node(api: &Api, number: usize) -> Result<(), WorkloadsError> {
    let free = json!({"spec": {"taints": null}});
    api.send(Method::PATCH, &format!("/api/v1/nodes/node-{number}"), Some(&free)).await.map(drop)
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Says that the nodes are alive.
pub(super) async fn beat(api: &Api) -> Result<(), WorkloadsError> {
    for number in 0..NODES {
        beat_one(api, number).await?;
    }
    Ok(())
}

/// Says that a node is alive.
pub(super) async fn beat_one(api: &Api, number: usize) -> Result<(), WorkloadsError> {
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "200", "ephemeral-storage": "10Gi"});
    let addresses = json!([{"type": "InternalIP", "address": address_of_node(number)},
        {"type": "Hostname", "address": format!("node-{number}")}]);
    let status = json!({"status": {"capacity": resources, "allocatable": resources, "addresses": addresses,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}]}});
    api.send(Method::PATCH, &format!("/api/v1/nodes/node-{number}/status"), Some(&status)).await.map(drop)
}

fn address_of_node(number: usize) -> String {
    format!("10.2.{}.{}", number / 250, number % 250 + 1)
}

/// The address of the node that a pod is on.
fn host_address(pod: &Value) -> String {
    let number = pod["spec"]["nodeName"].as_str().and_then(|name| name.strip_prefix("node-")?.parse().ok());
    address_of_node(number.unwrap_or_default())
}

/// The address of a pod: one of its own is made of its uid, of whose values 24 bits are enough to tell pods apart.
fn address(pod: &Value, addresses: Addresses) -> String {
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let number = u32::from_str_radix(uid.get(..6).unwrap_or_default(), 16).ok();
    match number.filter(|_| addresses == Addresses::Own) {
        Some(number) => format!("100.{}.{}.{}", number >> 16, number >> 8 & 0xff, number & 0xff),
        None => "10.1.0.1".to_owned(),
    }
}

async fn look(api: &Api, addresses: Addresses) -> Result<(), WorkloadsError> {
    let (_, pods) = api.send(Method::GET, "/api/v1/pods", None).await?;
    for pod in pods["items"].as_array().into_iter().flatten() {
        step(api, pod, addresses).await?;
    }
    Ok(())
}

/// Whether a pod on a node was asked to go, and nothing else holds it.
pub(super) fn is_to_end(pod: &Value) -> bool {
    let (metadata, node) = (&pod["metadata"], &pod["spec"]["nodeName"]);
    !node.is_null() && !metadata["deletionTimestamp"].is_null() && metadata["finalizers"].is_null()
}

/// Does what a kubelet would do next about a pod.
pub(super) async fn step(api: &Api, pod: &Value, addresses: Addresses) -> Result<(), WorkloadsError> {
    let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default();
    let path = format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"));
    if is_to_end(pod) {
        let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": text("uid")}});
        api.send(Method::DELETE, &path, Some(&options)).await?;
    } else if !pod["spec"]["nodeName"].is_null() && pod["metadata"]["deletionTimestamp"].is_null() {
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        if let Some(status) = next_status(pod, phase, addresses) {
            api.send(Method::PATCH, &format!("{path}/status"), Some(&json!({"status": status}))).await?;
        }
    }
    Ok(())
}

/// What a kubelet would say next about a pod.
fn next_status(pod: &Value, phase: &str, addresses: Addresses) -> Option<Value> {
    let labels = &pod["metadata"]["labels"];
    let container = pod["spec"]["containers"][0]["name"].as_str().unwrap_or_default();
    if let Some(end) = labels["ends"].as_str() {
        if phase == end {
            return None;
        }
        let code = labels["code"].as_str().and_then(|code| code.parse::<i64>().ok()).unwrap_or_default();
        let terminated = json!({"exitCode": code, "finishedAt": now(), "startedAt": now()});
        return Some(json!({"phase": end, "startTime": now(), "containerStatuses": [{"name": container, "image": "a",
            "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": terminated}}]}));
    }
    let generation = &pod["metadata"]["generation"];
    if phase != "Pending" {
        // A kubelet says which generation it goes by.
        let behind = phase == "Running" && pod["status"]["observedGeneration"] != *generation;
        return behind.then(|| json!({"observedGeneration": generation}));
    }
    let ready = if labels["broken"].is_string() { "False" } else { "True" };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": now(), "observedGeneration": generation});
    let (host, address) = (host_address(pod), address(pod, addresses));
    Some(json!({"phase": "Running", "startTime": now(), "observedGeneration": generation,
        "hostIP": host, "hostIPs": [{"ip": host}], "podIP": address, "podIPs": [{"ip": address}],
        "conditions": [condition("PodScheduled", "True"), condition("ContainersReady", ready), condition("Ready", ready)]}))
}
