//! The cluster autoscaler's settings for a whole hosted cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.scaling == 'ScaleUpAndScaleDown' ? true : !has(self.scaleDown)",
        "scaleDown can only be set when scaling is ScaleUpAndScaleDown",
    ),
]))]
pub struct ClusterAutoscaling {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 317)))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.all(l, l.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?$'))",
            "Each balancingIgnoredLabels item must be a valid label key",
        ),
    ]))]
    pub balancing_ignored_labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 3))]
    pub expanders: Vec<Expander>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub max_free_difference_ratio_percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), regex(pattern = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"))]
    pub max_node_provision_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_nodes_total: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_pod_grace_period: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_priority_threshold: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScaleDown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "ScaleUpAndScaleDown"))]
    pub scaling: Option<ScalingDirection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Expander {
    LeastWaste,
    Priority,
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ScalingDirection {
    ScaleUpOnly,
    #[default]
    ScaleUpAndScaleDown,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScaleDown {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub delay_after_add_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub delay_after_delete_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub delay_after_failure_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub unneeded_duration_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub utilization_threshold_percent: Option<i32>,
}
