//! What is wanted of a pod.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::affinity::Affinity;

/// What is wanted of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node it is on.
    pub node_name: String,
    /// Labels that its node must have.
    pub node_selector: BTreeMap<String, String>,
    /// Where it would like to be.
    pub affinity: Affinity,
    /// Taints that it bears.
    pub tolerations: Vec<Toleration>,
    /// How it is to be spread.
    pub topology_spread_constraints: Vec<SpreadConstraint>,
    /// How important it is.
    pub priority: i64,
    /// Whether it may drive others away.
    pub preemption_policy: String,
    /// Who is to find it a node.
    pub scheduler_name: String,
    /// What must be lifted before it gets a node.
    pub scheduling_gates: Vec<Gate>,
    /// Its containers.
    pub containers: Vec<Container>,
    /// Its containers that run before, or beside, the others.
    pub init_containers: Vec<Container>,
    /// What it costs beside its containers.
    pub overhead: BTreeMap<String, Value>,
    /// What the whole pod needs, where that is said.
    pub resources: Option<ContainerResources>,
    /// Whether it uses its node's network.
    pub host_network: bool,
    /// When its containers are started again.
    pub restart_policy: String,
    /// Its own name in the network.
    pub hostname: String,
    /// The Service under whose name it is found.
    pub subdomain: String,
    /// Its volumes.
    pub volumes: Vec<Volume>,
}

/// Something that must be lifted before a pod gets a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// Its name.
    pub name: String,
}

/// A volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// The claim behind it.
    pub persistent_volume_claim: Option<ClaimSource>,
}

/// A claim as a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSource {
    /// Its name.
    pub claim_name: String,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// What it needs.
    pub resources: ContainerResources,
    /// Its ports.
    pub ports: Vec<ContainerPort>,
    /// When it is started again, for one that runs beside the others from the start.
    pub restart_policy: String,
}

/// What a container needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerResources {
    /// What it must have.
    pub requests: BTreeMap<String, Value>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Its name.
    pub name: String,
    /// The port in the container.
    pub container_port: i64,
    /// The port on the node, if one is taken.
    pub host_port: i64,
    /// The address on the node; all where none is named.
    #[serde(rename = "hostIP")]
    pub host_ip: String,
    /// Its protocol.
    pub protocol: String,
}

/// Taints that a pod bears.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Which key; empty for all.
    pub key: String,
    /// How values compare.
    pub operator: String,
    /// Which value.
    pub value: String,
    /// Which effect; empty for all.
    pub effect: String,
    /// For how long.
    pub toleration_seconds: Option<i64>,
}

impl Toleration {
    /// Whether it bears a taint.
    pub fn bears(&self, key: &str, value: &str, effect: &str) -> bool {
        if !self.effect.is_empty() && self.effect != effect {
            return false;
        }
        if !self.key.is_empty() && self.key != key {
            return false;
        }
        match self.operator.as_str() {
            "" | "Equal" => self.value == value,
            "Exists" => true,
            _ => false,
        }
    }
}

/// How a pod is to be spread over the values of a label of nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpreadConstraint {
    /// How uneven it may be.
    pub max_skew: i64,
    /// The label.
    pub topology_key: String,
    /// Whether it is a must.
    pub when_unsatisfiable: String,
    /// Which pods count.
    pub label_selector: Value,
    /// How many values there must be.
    pub min_domains: Option<i64>,
    /// Whether nodes that the pod does not want count.
    pub node_affinity_policy: Option<String>,
    /// Whether nodes whose taints the pod does not bear count.
    pub node_taints_policy: Option<String>,
    /// Labels of the pod itself that pods must share to count.
    pub match_label_keys: Vec<String>,
}
