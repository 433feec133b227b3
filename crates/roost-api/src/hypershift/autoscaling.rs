//! The cluster autoscaler's settings for a whole hosted cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// How the cluster autoscaler changes the node pools that allow it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.scaling == 'ScaleUpAndScaleDown' ? true : !has(self.scaleDown)",
        "scaleDown can only be set when scaling is ScaleUpAndScaleDown",
    ),
]))]
pub struct ClusterAutoscaling {
    /// Whether pools only grow, or shrink as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "ScaleUpAndScaleDown"))]
    pub scaling: Option<ScalingDirection>,
    /// When nodes are taken away. Only if pools may shrink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScaleDown>,
    /// The most nodes that the cluster may have, all pools together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_nodes_total: Option<i32>,
    /// How long a node may take to join before its attempt counts as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), regex(pattern = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"))]
    pub max_node_provision_time: Option<String>,
    /// How many seconds pods get to end before their node is taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_pod_grace_period: Option<i32>,
    /// Pods below this priority neither make the cluster grow nor keep it from shrinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_priority_threshold: Option<i32>,
    /// How to choose among pools that could grow, the first choice first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 3))]
    pub expanders: Vec<Expander>,
    /// Labels of nodes that do not count when pools are compared for being alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 317)))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.all(l, l.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?$'))",
            "Each balancingIgnoredLabels item must be a valid label key",
        ),
    ]))]
    pub balancing_ignored_labels: Vec<String>,
    /// By how many percent the free resources of two pools may differ while they count as alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub max_free_difference_ratio_percent: Option<i32>,
}

/// How to choose among pools that could grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Expander {
    /// The one that has the least to spare afterwards.
    LeastWaste,
    /// The one that the user ranks highest.
    Priority,
    /// Any.
    Random,
}

/// Which ways node pools may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ScalingDirection {
    /// They grow.
    ScaleUpOnly,
    /// They grow and shrink.
    #[default]
    ScaleUpAndScaleDown,
}

/// When nodes are taken away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScaleDown {
    /// Seconds to wait after a node was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub delay_after_add_seconds: Option<i32>,
    /// Seconds to wait after a node was taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub delay_after_delete_seconds: Option<i32>,
    /// Seconds to wait after a node could not be taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub delay_after_failure_seconds: Option<i32>,
    /// Seconds for which a node must have been unneeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub unneeded_duration_seconds: Option<i32>,
    /// A node whose use is below this many percent may be unneeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub utilization_threshold_percent: Option<i32>,
}
