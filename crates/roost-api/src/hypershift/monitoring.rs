//! The metrics that a hosted control plane gives away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Monitoring {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_forwarding: Option<MetricsForwarding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_set: Option<MetricsSet>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsForwarding {
    pub mode: MetricsForwardingMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_set: Option<MetricsSet>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MetricsForwardingMode {
    Forward,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MetricsSet {
    Telemetry,
    #[serde(rename = "SRE")]
    Sre,
    All,
}
