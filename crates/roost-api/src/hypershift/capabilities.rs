//! The optional parts of OpenShift that a cluster has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// The optional parts of OpenShift that a cluster has.
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
    /// Parts to have beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = Rules([
        Rule::new(
            "self == oldSelf",
            "Enabled is immutable. Changes might result in unpredictable and disruptive behavior.",
        ),
    ]))]
    pub enabled: Vec<Capability>,
    /// Parts to do without.
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
}

/// An optional part of OpenShift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Capability {
    /// The image registry inside the cluster.
    ImageRegistry,
    /// The samples of images and templates.
    #[serde(rename = "openshift-samples")]
    OpenshiftSamples,
    /// The operator that reports to Red Hat Insights.
    Insights,
    /// The operator that manages bare metal hosts.
    #[serde(rename = "baremetal")]
    Baremetal,
    /// The web console.
    Console,
    /// The operator that tunes nodes.
    NodeTuning,
    /// The ingress controller. Can be disabled only together with the console.
    Ingress,
}
