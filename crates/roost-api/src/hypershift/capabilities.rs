//! The optional parts of OpenShift that a cluster has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self == oldSelf",
        "Capabilities is immutable. Changes might result in unpredictable and disruptive behavior.",
    ),
    Rule::new(
        "has(self.enabled) && has(self.disabled) ? self.enabled.all(e, !(e in self.disabled)) : true",
        "Capabilities can not be both enabled and disabled at once.",
    ),
]))]
pub struct Capabilities {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = Rules([
        Rule::new(
            "self == oldSelf",
            "Disabled is immutable. Changes might result in unpredictable and disruptive behavior.",
        ),
        Rule::new(
            "!self.exists(cap, cap == 'Ingress') || self.exists(cap, cap == 'Console')",
            "Ingress capability can only be disabled if Console capability is also disabled",
        ),
    ]))]
    pub disabled: Vec<Capability>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = Rules([
        Rule::new(
            "self == oldSelf",
            "Enabled is immutable. Changes might result in unpredictable and disruptive behavior.",
        ),
    ]))]
    pub enabled: Vec<Capability>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Capability {
    ImageRegistry,
    #[serde(rename = "openshift-samples")]
    OpenshiftSamples,
    Insights,
    #[serde(rename = "baremetal")]
    Baremetal,
    Console,
    NodeTuning,
    Ingress,
}
