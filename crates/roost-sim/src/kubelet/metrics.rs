//! What the pods of a simulated node use: a share for every container that runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clock::seconds;
use crate::pods::{ContainerView, PodView};

/// What a container that runs uses of the memory, in bytes.
const MEMORY: u64 = 32 << 20;
/// What the node uses itself, in thousandths of a processor and in bytes.
const OWN: (u64, u64) = (50, 512 << 20);

type Pods = BTreeMap<(String, String), PodView>;

fn running(pod: &PodView) -> u64 {
    pod.containers.iter().filter(|container| container.running.is_some()).count() as u64
}

/// What the containers that run use of a processor, in thousandths.
fn cores(pod: &PodView) -> u64 {
    pod.containers.iter().filter(|container| container.running.is_some()).map(|container| container.milli_cores).sum()
}

/// Processor time since a container runs, in seconds.
fn spent(container: &ContainerView, since: Timestamp, now: Timestamp) -> f64 {
    now.duration_since(since).as_secs_f64().max(0.0) * container.milli_cores as f64 / 1000.0
}

/// The resource metrics, as a metrics server reads them.
pub(super) fn resource(pods: &Pods, now: Timestamp) -> String {
    let milliseconds = now.as_millisecond();
    let all: u64 = pods.values().map(running).sum();
    let mut containers = (String::new(), String::new());
    let mut whole = (String::new(), String::new());
    let mut total = 0.0;
    for ((namespace, name), pod) in pods {
        let mut of_pod = 0.0;
        for container in &pod.containers {
            let Some(since) = container.running else { continue };
            let (spent, labels) = (
                spent(container, since, now),
                format!("{{container=\"{}\",namespace=\"{namespace}\",pod=\"{name}\"}}", container.name),
            );
            of_pod += spent;
            let _ = writeln!(containers.0, "container_cpu_usage_seconds_total{labels} {spent} {milliseconds}");
            let _ = writeln!(containers.1, "container_memory_working_set_bytes{labels} {MEMORY} {milliseconds}");
        }
        total += of_pod;
        let labels = format!("{{namespace=\"{namespace}\",pod=\"{name}\"}}");
        let _ = writeln!(whole.0, "pod_cpu_usage_seconds_total{labels} {of_pod} {milliseconds}");
        let _ = writeln!(whole.1, "pod_memory_working_set_bytes{labels} {} {milliseconds}", running(pod) * MEMORY);
    }
    let node_memory = OWN.1 + all * MEMORY;
    let node_spent = total + now.as_second() as f64 % 1e6 * OWN.0 as f64 / 1000.0;
    let mut text = String::new();
    for (name, kind, lines) in [
        ("container_cpu_usage_seconds_total", "counter", containers.0),
        ("container_memory_working_set_bytes", "gauge", containers.1),
        (
            "node_cpu_usage_seconds_total",
            "counter",
            format!("node_cpu_usage_seconds_total {node_spent} {milliseconds}\n"),
        ),
        (
            "node_memory_working_set_bytes",
            "gauge",
            format!("node_memory_working_set_bytes {node_memory} {milliseconds}\n"),
        ),
        ("pod_cpu_usage_seconds_total", "counter", whole.0),
        ("pod_memory_working_set_bytes", "gauge", whole.1),
        ("resource_scrape_error", "gauge", "resource_scrape_error 0\n".to_owned()),
    ] {
        let _ = write!(text, "# TYPE {name} {kind}\n{lines}");
    }
    text
}

/// The summary of the node and its pods.
pub(super) fn summary(node: &str, pods: &Pods, now: Timestamp) -> Value {
    let usage = |millicores: u64, memory: u64| {
        json!({
            "cpu": {"time": seconds(now), "usageNanoCores": millicores * 1_000_000},
            "memory": {"time": seconds(now), "workingSetBytes": memory},
        })
    };
    let of_pods = pods.iter().map(|((namespace, name), pod)| {
        let mut stats = usage(cores(pod), running(pod) * MEMORY);
        stats["podRef"] = json!({"name": name, "namespace": namespace, "uid": pod.uid});
        let containers = pod.containers.iter().filter_map(|container| {
            let mut stats = usage(container.milli_cores, MEMORY);
            stats["name"] = json!(container.name);
            stats["startTime"] = json!(seconds(container.running?));
            Some(stats)
        });
        stats["containers"] = containers.collect();
        stats
    });
    let all: u64 = pods.values().map(running).sum();
    let mut of_node = usage(OWN.0 + pods.values().map(cores).sum::<u64>(), OWN.1 + all * MEMORY);
    of_node["nodeName"] = json!(node);
    json!({"node": of_node, "pods": of_pods.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Pods, resource, summary};
    use crate::pods::{ContainerView, PodView};

    fn pods() -> Pods {
        let container = |name: &str, running: Option<i64>| ContainerView {
            name: name.to_owned(),
            running: running.map(|second| Timestamp::from_second(second).unwrap()),
            over: false,
            lines: Vec::new(),
            milli_cores: 10,
        };
        let pod = PodView { uid: "u".to_owned(), containers: vec![container("a", Some(900)), container("b", None)] };
        [(("n".to_owned(), "p".to_owned()), pod)].into()
    }

    #[test]
    fn what_runs_is_counted() {
        let now = Timestamp::from_second(1000).unwrap();
        let text = resource(&pods(), now);
        let line = "container_cpu_usage_seconds_total{container=\"a\",namespace=\"n\",pod=\"p\"} 1 1000000\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("pod_memory_working_set_bytes{namespace=\"n\",pod=\"p\"} 33554432 1000000\n"), "{text}");
        assert!(!text.contains("container=\"b\""), "{text}");
        let summary = summary("node", &pods(), now);
        assert_eq!(summary["node"]["cpu"]["usageNanoCores"], 60_000_000);
        assert_eq!(summary["pods"][0]["containers"][0]["name"], "a");
        assert_eq!(summary["pods"][0]["containers"].as_array().unwrap().len(), 1);
    }
}
