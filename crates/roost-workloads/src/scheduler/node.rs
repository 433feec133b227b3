//! A node as the scheduler sees it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::metadata::Metadata;
use crate::pod::Resources;

/// A node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Whether it takes no pods.
    pub unschedulable: bool,
    /// What it has to give.
    pub allocatable: Resources,
    /// How many pods it takes.
    pub allowed_pods: i64,
    /// What it has pulled.
    pub images: Vec<Image>,
}

/// A taint.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it does.
    pub effect: String,
}

/// An image that a node has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    /// What it is called.
    pub names: Vec<String>,
    /// How large it is.
    pub size_bytes: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: bool,
    taints: Vec<Taint>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    allocatable: BTreeMap<String, Value>,
    images: Vec<Image>,
}

impl Node {
    /// Reads a node from JSON; none when it is not one.
    pub fn from_json(bytes: &[u8]) -> Option<Node> {
        let written: Written = serde_json::from_slice(bytes).ok()?;
        let allowed = written.status.allocatable.get("pods");
        Some(Node {
            name: written.metadata.name,
            labels: written.metadata.labels,
            taints: written.spec.taints,
            unschedulable: written.spec.unschedulable,
            allowed_pods: allowed
                .and_then(|pods| roost_object::Quantity::from_value(pods).ok())
                .map_or(0, |pods| pods.value()),
            allocatable: Resources::read(&written.status.allocatable),
            images: written.status.images,
        })
    }

    /// A node from a tree.
    pub fn from_value(value: &Value) -> Option<Node> {
        Node::from_json(value.to_string().as_bytes())
    }
}
