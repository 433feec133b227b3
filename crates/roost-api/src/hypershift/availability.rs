//! How much of a hosted cluster survives the loss of a machine, and where its shared parts run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether something survives the loss of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AvailabilityPolicy {
    /// Several replicas, spread over machines and zones.
    #[default]
    HighlyAvailable,
    /// One replica.
    SingleReplica,
}

/// Where the catalogs of operators run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OlmCatalogPlacement {
    /// Beside the control plane.
    #[default]
    #[serde(rename = "management")]
    Management,
    /// On the nodes of the hosted cluster.
    #[serde(rename = "guest")]
    Guest,
}
