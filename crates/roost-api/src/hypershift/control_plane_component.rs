//! The kind `ControlPlaneComponent`: how far one part of a hosted control plane has come.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::conditions;
use crate::variation::absent_is_default;

/// What is wanted of a component: nothing, for the control plane it belongs to says it all.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "ControlPlaneComponent",
    plural = "controlplanecomponents",
    shortname = "cpc",
    shortname = "cpcs",
    namespaced,
    status = "ControlPlaneComponentStatus",
    derive = "Default",
    derive = "PartialEq",
    schema = "disabled",
    crates(kube_core = "kube_core"),
    doc = "One part of a hosted control plane, such as kube-apiserver, and how far it has come.",
    printcolumn = r#"{"name": "Version", "type": "string", "description": "Version", "jsonPath": ".status.version"}"#,
    printcolumn = r#"{"name": "Available", "type": "string", "description": "Available", "jsonPath": ".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name": "RolloutComplete", "type": "string", "description": "RolloutComplete",
        "jsonPath": ".status.conditions[?(@.type==\"RolloutComplete\")].status"}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "description": "Message", "jsonPath": ".status.conditions[?(@.type==\"Available\")].message"}"#,
    printcolumn = r#"{"name": "RolloutCompleteMessage", "type": "string", "description": "RolloutCompleteMessage", "priority": 1,
        "jsonPath": ".status.conditions[?(@.type==\"RolloutComplete\")].message"}"#
)]
#[serde(remote = "Self")]
pub struct ControlPlaneComponentSpec {}

absent_is_default!(ControlPlaneComponentSpec);

/// What is observed of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneComponentStatus {
    /// Whether the component is available, and whether its rollout is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
    /// The version that the component has fully rolled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub version: Option<String>,
    /// The objects that make up the component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 100),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["group", "kind", "name"]),
    )]
    pub resources: Vec<ComponentResource>,
}

/// One object of a component, in its control plane's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentResource {
    /// The API group of the object; empty for the core group.
    #[schemars(length(max = 255))]
    pub group: String,
    /// The kind of the object.
    #[schemars(length(max = 255))]
    pub kind: String,
    /// The name of the object.
    #[schemars(length(max = 255))]
    pub name: String,
}
