//! Where a pod would like to be, and where it must be.

use serde::Deserialize;
use serde_json::Value;

/// Where a pod would like to be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// On which nodes.
    pub node_affinity: Option<NodeAffinity>,
    /// Near which pods.
    pub pod_affinity: Option<PodAffinity>,
    /// Away from which pods.
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// On which nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeAffinity {
    /// Where it must be.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
    /// Where it would rather be.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<PreferredNodeTerm>,
}

/// Nodes that one of the terms describes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    /// The terms.
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Nodes that all requirements describe.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTerm {
    /// Of labels.
    pub match_expressions: Vec<NodeTermRequirement>,
    /// Of fields.
    pub match_fields: Vec<NodeTermRequirement>,
}

/// A requirement of one label or field.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeTermRequirement {
    /// Which.
    pub key: String,
    /// How it compares.
    pub operator: String,
    /// With what.
    pub values: Vec<String>,
}

/// Nodes that are liked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PreferredNodeTerm {
    /// How much.
    pub weight: i64,
    /// Which.
    pub preference: NodeSelectorTerm,
}

/// Near, or away from, which pods.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodAffinity {
    /// What must be.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Vec<PodAffinityTerm>,
    /// What is liked.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<PreferredPodTerm>,
}

/// Pods, and what near means.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTerm {
    /// Which pods.
    pub label_selector: Value,
    /// In which namespaces.
    pub namespaces: Vec<String>,
    /// In namespaces with which labels.
    pub namespace_selector: Value,
    /// Nodes with the same value of this label are near.
    pub topology_key: String,
    /// Labels of the pod itself that the others must share.
    pub match_label_keys: Vec<String>,
    /// Labels of the pod itself that the others must not share.
    pub mismatch_label_keys: Vec<String>,
}

/// Pods that are liked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PreferredPodTerm {
    /// How much.
    pub weight: i64,
    /// Which.
    pub pod_affinity_term: PodAffinityTerm,
}
