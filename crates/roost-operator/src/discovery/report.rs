//! What a host said that its Agent's status has no field for: a small document in an annotation.

use std::collections::BTreeMap;

use roost_host::measurement::Reachability;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::annotation;

/// On an Agent: what its host reported beside its inventory.
pub(crate) const REPORT: &str = "roost.dev/host-report";

/// What a host reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Report {
    /// Whether packets for the world leave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) has_default_route: Option<bool>,
    /// `partial` or `full` when its inventory was too long.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) truncation: String,
    /// Whether the medium that it runs from could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_media_lost: bool,
    /// Whether it reached its configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_reached: Option<bool>,
    /// Why it did not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reach_error: String,
    /// Which agent speaks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) agent: String,
    /// The version of its trusted platform module.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) tpm: String,
    /// What the names resolve to that lead to its cluster.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// How fast its disk is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk_sync: Option<DiskSync>,
    /// How it reaches other hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reachability: Option<Reachability>,
}

/// What came of the measurement of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DiskSync {
    /// What was measured.
    pub(crate) path: String,
    /// How long a write took to be safe.
    pub(crate) milliseconds: u64,
    /// Why that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
}

impl Report {
    pub(crate) fn of(agent: &Value) -> Self {
        serde_json::from_str(annotation(agent, REPORT)).unwrap_or_default()
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What a host has to say anew after it registered.
    pub(crate) fn registered(agent_version: &str) -> Self {
        Self { agent: agent_version.chars().take(253).collect(), ..Self::default() }
    }

    /// Whether the host runs our own agent, which stays there and tries the ignition endpoint.
    pub(crate) fn is_own_agent(&self) -> bool {
        self.agent.starts_with(roost_host::wire::OWN_AGENT)
    }
}
