//! Asking kubelets what their nodes and pods use. They are asked when somebody wants to know, and not again for a while.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderMap, Method};
use jiff::Timestamp;
use roost_object::Value;
use roost_workloads::autoscaler::{ContainerUsage, PodUsage};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::cluster::Cluster;
use crate::subresource::backend_of_kubelet;
use crate::write::metadata_text;

/// How long an answer is good for: as often as a metrics server asks.
const RESOLUTION: Duration = Duration::from_secs(15);
/// How long one kubelet may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many kubelets are asked at a time.
const TOGETHER: usize = 32;
/// The largest answer: a node with as many pods as there can be has far less.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Where kubelets answer, and with no more than what is needed.
const PATH: &str = "/stats/summary";
const QUERY: &str = "only_cpu_and_memory=true";

/// What one node uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeUsage {
    pub(crate) nano_cores: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) time: Timestamp,
}

/// What all nodes and pods of a cluster used a moment ago.
#[derive(Default)]
pub(crate) struct Usage {
    pub(crate) nodes: HashMap<String, NodeUsage>,
    /// Pods by namespace and name.
    pub(crate) pods: HashMap<(String, String), PodUsage>,
}

/// The last answer of all kubelets of a cluster.
#[derive(Default)]
pub(crate) struct Collected(Mutex<Option<(Instant, Arc<Usage>)>>);

impl Collected {
    /// What is used, at most a few seconds ago. Who asks while others do waits for the same answer.
    pub(crate) async fn usage(&self, cluster: &Arc<Cluster>) -> Arc<Usage> {
        let mut kept = self.0.lock().await;
        if let Some((time, usage)) = kept.as_ref().filter(|(time, _)| time.elapsed() < RESOLUTION) {
            tracing::trace!(age = ?time.elapsed(), "what kubelets said is fresh enough");
            return Arc::clone(usage);
        }
        let nodes = cluster.find_all("", "nodes", "");
        let answers = stream::iter(nodes).map(|node| ask(Arc::clone(cluster), node)).buffer_unordered(TOGETHER);
        let mut usage = Usage::default();
        for (node, summary) in answers.filter_map(std::future::ready).collect::<Vec<_>>().await {
            usage.take_in(node, summary);
        }
        let usage = Arc::new(usage);
        *kept = Some((Instant::now(), Arc::clone(&usage)));
        usage
    }
}

impl Usage {
    fn take_in(&mut self, node: String, summary: Summary) {
        if let Some((nano_cores, memory_bytes, time)) = summary.node.amounts() {
            self.nodes.insert(node, NodeUsage { nano_cores, memory_bytes, time });
        }
        for pod in summary.pods {
            let containers: Option<Vec<(Timestamp, ContainerUsage)>> = pod
                .containers
                .into_iter()
                .map(|container| {
                    let (nano_cores, memory_bytes, time) = container.amounts()?;
                    Some((time, ContainerUsage { name: container.name, nano_cores, memory_bytes }))
                })
                .collect();
            // A pod of which a container is not known counts as one of which nothing is.
            let Some(containers) = containers.filter(|containers| !containers.is_empty()) else { continue };
            let Some(time) = containers.iter().map(|(time, _)| *time).min() else { continue };
            let containers = containers.into_iter().map(|(_, container)| container).collect();
            self.pods.insert((pod.pod_ref.namespace, pod.pod_ref.name), PodUsage { time, containers });
        }
    }
}

async fn ask(cluster: Arc<Cluster>, node: Value) -> Option<(String, Summary)> {
    let name = metadata_text(&node, "name").to_owned();
    match tokio::time::timeout(PATIENCE, summary(&cluster, &node)).await {
        Ok(Ok(summary)) => Some((name, summary)),
        Ok(Err(why)) => {
            tracing::debug!(node = name, why, "a kubelet does not say what it uses");
            None
        }
        Err(_) => {
            tracing::debug!(node = name, "a kubelet does not answer");
            None
        }
    }
}

async fn summary(cluster: &Arc<Cluster>, node: &Value) -> Result<Summary, String> {
    let backend = backend_of_kubelet(cluster, node, true, PATH, QUERY).map_err(|status| status.message)?;
    let answer = backend.send(Method::GET, &HeaderMap::new(), Bytes::new()).await?;
    if !answer.status().is_success() {
        return Err(format!("it answers with {}", answer.status()));
    }
    let body = roost_body::read(answer.into_body(), MAX_ANSWER_BYTES).await.map_err(|error| error.to_string())?;
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Summary {
    node: Amounts,
    pods: Vec<PodSummary>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSummary {
    pod_ref: PodReference,
    containers: Vec<Amounts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodReference {
    name: String,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Amounts {
    name: String,
    cpu: Processor,
    memory: Memory,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Processor {
    time: String,
    usage_nano_cores: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Memory {
    working_set_bytes: Option<u64>,
}

impl Amounts {
    fn amounts(&self) -> Option<(u64, u64, Timestamp)> {
        Some((self.cpu.usage_nano_cores?, self.memory.working_set_bytes?, self.cpu.time.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_counts_only_when_all_its_containers_are_known() {
        let known = |name: &str| {
            json!({"name": name, "cpu": {"time": "2026-01-01T00:00:00Z", "usageNanoCores": 5},
                "memory": {"workingSetBytes": 7}})
        };
        let summary = json!({"node": known(""), "pods": [
            {"podRef": {"namespace": "n", "name": "whole"}, "containers": [known("a"), known("b")]},
            {"podRef": {"namespace": "n", "name": "part"}, "containers": [known("a"), {"name": "b", "cpu": {}}]},
            {"podRef": {"namespace": "n", "name": "none"}},
        ]});
        let mut usage = Usage::default();
        usage.take_in("node".into(), serde_json::from_value(summary).expect("a summary"));
        assert_eq!(usage.nodes["node"].nano_cores, 5);
        assert_eq!(usage.pods.keys().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["whole"]);
        assert_eq!(usage.pods[&("n".to_owned(), "whole".to_owned())].containers.len(), 2);
    }
}
