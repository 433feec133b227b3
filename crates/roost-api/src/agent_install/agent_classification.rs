//! `AgentClassification`: a label for agents whose inventory answers a question with yes.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use crate::rules::any_width;
use crate::variation::absent_is_default;

/// What a label's value begins with when the query failed for an agent.
pub const QUERY_ERROR_PREFIX: &str = "QUERYERROR";

/// The question and the label.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentClassification",
    namespaced,
    status = "AgentClassificationStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A label that agents get when a question about their inventory is answered with yes.",
    crates(kube_core = "::kube_core")
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct AgentClassificationSpec {
    /// The name of the label, without the prefix that all such labels have. It cannot change.
    pub label_key: String,
    /// The value of the label. It cannot change, and does not begin with QUERYERROR.
    pub label_value: String,
    /// The question, in the language of jq. It is asked of an agent's inventory and answers true or false.
    pub query: String,
}

absent_is_default!(AgentClassificationSpec);

/// How many agents were labelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentClassificationStatus {
    /// Whether the question could be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Of how many agents it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub error_count: Option<i64>,
    /// How many agents answered yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = any_width)]
    pub matched_count: Option<i64>,
}
