//! Conditions of these kinds, which carry a severity instead of a generation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::open_string::open_string;

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When the status changed last.
    pub last_transition_time: Time,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10240))]
    pub message: Option<String>,
    /// Why the status is what it is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// How bad it is that the condition does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub severity: Option<ConditionSeverity>,
    /// Whether it holds: True, False or Unknown.
    pub status: ConditionStatus,
    /// Which aspect this is.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 256))]
    pub type_: String,
}

open_string! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// Nobody can say.
        Unknown = "Unknown",
    }
}

open_string! {
    /// How bad it is that a condition does not hold.
    pub enum ConditionSeverity {
        /// It will not hold unless somebody acts.
        Error = "Error",
        /// It may hold later, but somebody should look.
        Warning = "Warning",
        /// It will hold later.
        Info = "Info",
        /// The condition holds.
        None = "",
    }
}
