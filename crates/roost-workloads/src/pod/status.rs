//! How a pod is.

use jiff::Timestamp;
use serde::Deserialize;

/// How a pod is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// Where in its life it is.
    pub phase: String,
    /// What can be said about it.
    pub conditions: Vec<Condition>,
    /// Its containers.
    pub container_statuses: Vec<ContainerStatus>,
    /// Its containers that run before, or beside, the others.
    pub init_container_statuses: Vec<ContainerStatus>,
    /// When its node took it in.
    #[serde(deserialize_with = "crate::metadata::moment")]
    pub start_time: Option<Timestamp>,
    /// The node on which room is being made for it.
    pub nominated_node_name: String,
    /// Why it is as it is.
    pub reason: String,
    /// Its first address.
    #[serde(rename = "podIP")]
    pub pod_ip: String,
    /// Its addresses.
    #[serde(rename = "podIPs")]
    pub pod_ips: Vec<PodAddress>,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodAddress {
    /// The address.
    pub ip: String,
}

/// A condition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why.
    pub message: String,
    /// Since when.
    #[serde(deserialize_with = "crate::metadata::moment")]
    pub last_transition_time: Option<Timestamp>,
}

/// How a container is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Its name.
    pub name: String,
    /// How often it was started again.
    pub restart_count: i64,
    /// Where in its life it is.
    pub state: ContainerState,
}

/// Where in its life a container is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerState {
    /// How it ended, if it did.
    pub terminated: Option<Terminated>,
}

/// How a container ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminated {
    /// What it said.
    pub exit_code: i64,
    /// When.
    #[serde(deserialize_with = "crate::metadata::moment")]
    pub finished_at: Option<Timestamp>,
}

impl PodStatus {
    /// A condition by its type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}
