//! The metrics that a hosted control plane gives away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metrics that a control plane gives away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Monitoring {
    /// Whether metrics are forwarded into the hosted cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_forwarding: Option<MetricsForwarding>,
    /// Which metrics are collected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_set: Option<MetricsSet>,
}

/// Metrics of the control plane inside the hosted cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsForwarding {
    /// Whether metrics are forwarded.
    pub mode: MetricsForwardingMode,
    /// Which metrics are forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_set: Option<MetricsSet>,
}

/// Whether metrics are forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MetricsForwardingMode {
    /// They are.
    Forward,
    /// They are not.
    None,
}

/// A choice of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MetricsSet {
    /// Those that telemetry needs.
    Telemetry,
    /// Those that the people who run the service need.
    #[serde(rename = "SRE")]
    Sre,
    /// All that there are.
    All,
}
