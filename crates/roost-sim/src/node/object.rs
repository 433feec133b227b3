//! What a node says about itself: pure functions of what it is and the time.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::clock::seconds;
use crate::configure::Configuration;
use crate::spec::{Capacity, NodeSpec};

/// The conditions that a kubelet reports beside Ready, and what it says when all is well.
const WELL: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

/// Which configuration the host has.
pub(crate) const CURRENT_CONFIG: &str = "roost.dev/current-config";

/// What a node knows of itself when it registers.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) name: String,
    host_id: String,
    pub(crate) address: IpAddr,
    /// Where its kubelet listens.
    pub(crate) port: u16,
    labels: Map<String, Value>,
    taints: Vec<Value>,
    provider_id: Option<String>,
    capacity: Capacity,
    version: String,
    /// The content hash of its configuration.
    hash: Option<String>,
}

impl Facts {
    pub(crate) fn of(spec: &NodeSpec, configuration: &Configuration, port: u16) -> Self {
        let mut labels = Map::new();
        for (key, value) in &configuration.labels {
            labels.insert(key.clone(), json!(value));
        }
        let taints = configuration.taints.iter();
        let taints = taints.map(|taint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect.name()}));
        Self {
            name: configuration.name.clone(),
            host_id: spec.host_id.clone(),
            address: spec.address,
            port,
            labels,
            taints: taints.collect(),
            provider_id: configuration.provider_id.clone(),
            capacity: spec.capacity,
            version: spec.version.clone(),
            hash: configuration.hash.clone(),
        }
    }

    /// The object that the node registers with: not ready yet, since it has just begun.
    pub(crate) fn registration(&self, now: Timestamp) -> Value {
        let mut labels = self.labels.clone();
        labels.extend(self.own_labels());
        let mut spec = Map::new();
        if let Some(provider_id) = &self.provider_id {
            spec.insert("providerID".to_owned(), json!(provider_id));
        }
        if !self.taints.is_empty() {
            spec.insert("taints".to_owned(), json!(self.taints));
        }
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": labels,
                "annotations": self.annotations(),
            },
            "spec": spec,
            "status": self.status(now, now, false),
        })
    }

    /// The annotations that the host sets, also on a Node that is there already.
    pub(crate) fn annotations(&self) -> Map<String, Value> {
        let mut annotations = Map::new();
        annotations.insert("volumes.kubernetes.io/controller-managed-attach-detach".to_owned(), json!("true"));
        if let Some(hash) = &self.hash {
            annotations.insert(CURRENT_CONFIG.to_owned(), json!(hash));
        }
        annotations
    }

    /// The labels that every kubelet sets, also on a Node that is there already.
    pub(crate) fn own_labels(&self) -> Map<String, Value> {
        let label = |key: &str, value: &str| (key.to_owned(), json!(value));
        Map::from_iter([
            label("beta.kubernetes.io/arch", "amd64"),
            label("beta.kubernetes.io/os", "linux"),
            label("kubernetes.io/arch", "amd64"),
            label("kubernetes.io/hostname", &self.name),
            label("kubernetes.io/os", "linux"),
        ])
    }

    /// The status, which has been as it is since some time.
    pub(crate) fn status(&self, now: Timestamp, since: Timestamp, ready: bool) -> Value {
        let condition = |kind: &str, status: &str, reason: &str, message: &str| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastHeartbeatTime": seconds(now), "lastTransitionTime": seconds(since),
            })
        };
        let mut conditions: Vec<Value> =
            WELL.iter().map(|(kind, reason, message)| condition(kind, "False", reason, message)).collect();
        conditions.push(if ready {
            condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
        } else {
            let message = "[container runtime status check may not have completed yet]";
            condition("Ready", "False", "KubeletNotReady", message)
        });
        json!({
            "addresses": [
                {"type": "InternalIP", "address": self.address},
                {"type": "Hostname", "address": self.name},
            ],
            "allocatable": resources(self.capacity, true),
            "capacity": resources(self.capacity, false),
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            "nodeInfo": self.information(),
        })
    }

    fn information(&self) -> Value {
        json!({
            "architecture": "amd64",
            "bootID": self.host_id,
            "containerRuntimeVersion": concat!("roost-sim://", env!("CARGO_PKG_VERSION")),
            "kernelVersion": "simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": self.version,
            "machineID": self.host_id,
            "operatingSystem": "linux",
            "osImage": "Simulated Linux",
            "systemUUID": self.host_id,
        })
    }
}

/// A kubelet keeps 100 MiB of memory and a tenth of the disk for itself.
fn resources(capacity: Capacity, allocatable: bool) -> Value {
    let Capacity { processors, memory_mebibytes, storage_gibibytes, pods } = capacity;
    let (memory, storage) = if allocatable {
        (memory_mebibytes.saturating_sub(100), storage_gibibytes * 1024 * 9 / 10)
    } else {
        (memory_mebibytes, storage_gibibytes * 1024)
    };
    json!({
        "cpu": processors.to_string(),
        "ephemeral-storage": format!("{storage}Mi"),
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": format!("{memory}Mi"),
        "pods": pods.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use roost_ignition::payload::{Taint, TaintEffect};
    use roost_pki::{Credential, Kubeconfig, Secret};
    use serde_json::json;

    use super::Facts;
    use crate::access::Access;
    use crate::configure::Configuration;
    use crate::spec::{NodeSpec, Start};

    #[test]
    fn a_node_says_what_it_is() {
        let spec = NodeSpec::new("a", Start::Kubeconfig(Vec::new()));
        let token = Credential::Token(Secret::new("t".to_owned()));
        let kubeconfig = Kubeconfig::new("c", "https://h:1", "A", "u", token).to_yaml();
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut configuration = Configuration {
            name: "a".to_owned(),
            access: Access::from_kubeconfig(kubeconfig.expose().as_bytes()).unwrap(),
            labels: [label("zone", "x"), label("kubernetes.io/hostname", "forged")].into(),
            taints: vec![Taint { key: "k".to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }],
            provider_id: Some("roost://1/a".to_owned()),
            callers: String::new(),
            hash: Some("abc".to_owned()),
        };
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let node = Facts::of(&spec, &configuration, 10_250).registration(now);
        assert_eq!(node["metadata"]["annotations"]["roost.dev/current-config"], "abc");
        assert_eq!(node["metadata"]["labels"]["zone"], "x");
        assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "a");
        assert_eq!(node["spec"]["providerID"], "roost://1/a");
        assert_eq!(node["spec"]["taints"], json!([{"key": "k", "value": "", "effect": "NoSchedule"}]));
        assert_eq!(node["status"]["conditions"][3]["status"], "False");
        assert_eq!(node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"], 10_250);
        assert_eq!(node["status"]["allocatable"]["memory"], "16284Mi");
        assert_eq!(node["status"]["capacity"]["cpu"], "4");
        configuration.taints.clear();
        configuration.provider_id = None;
        assert_eq!(Facts::of(&spec, &configuration, 1).registration(now)["spec"], json!({}));
    }
}
