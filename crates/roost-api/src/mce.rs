//! `MultiClusterEngine` of `multicluster.openshift.io/v1`: which parts of the management plane are turned on.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::definition;
use crate::open_string::open_string;
use crate::variation::{absent_is_default, with_optional_spec};

/// The group of this kind.
pub const GROUP: &str = "multicluster.openshift.io";

/// The name that the only object of the kind usually has.
pub const USUAL_NAME: &str = "multiclusterengine";

/// The namespace that the parts run in unless another is named.
pub const USUAL_NAMESPACE: &str = "multicluster-engine";

/// Names of parts that can be turned on and off.
pub mod component {
    /// Hosted control planes.
    pub const HYPERSHIFT: &str = "hypershift";
    /// Hosted control planes, before they were finished.
    pub const HYPERSHIFT_PREVIEW: &str = "hypershift-preview";
    /// Hosted control planes on the management cluster itself.
    pub const HYPERSHIFT_LOCAL_HOSTING: &str = "hypershift-local-hosting";
    /// The discovery of hosts.
    pub const ASSISTED_SERVICE: &str = "assisted-service";
    /// The management cluster as a managed cluster.
    pub const LOCAL_CLUSTER: &str = "local-cluster";
    /// The pages in the console.
    pub const CONSOLE: &str = "console-mce";
    /// The registration of clusters.
    pub const CLUSTER_MANAGER: &str = "cluster-manager";
}

/// What is turned on, and where it runs.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "multicluster.openshift.io",
    version = "v1",
    kind = "MultiClusterEngine",
    shortname = "mce",
    status = "MultiClusterEngineStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "Which parts of the management plane are turned on.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Status", "type": "string", "jsonPath": ".status.phase",
        "description": "How far the engine is."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "CurrentVersion", "type": "string", "jsonPath": ".status.currentVersion",
        "description": "The version that runs."}"#,
    printcolumn = r#"{"name": "DesiredVersion", "type": "string", "jsonPath": ".status.desiredVersion",
        "description": "The version that shall run."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct MultiClusterEngineSpec {
    /// How many of each part run: `Basic` is one, `High` is several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_config: Option<Availability>,
    /// The secret that images are pulled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secret: Option<String>,
    /// What the management cluster is called among the managed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "local-cluster"))]
    pub local_cluster_name: Option<String>,
    /// The labels of nodes that the parts run on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Which parts are turned on or off, and how their images are pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Overrides>,
    /// The namespace that the parts run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_namespace: Option<String>,
    /// Taints that the parts do not mind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

absent_is_default!(MultiClusterEngineSpec);

open_string! {
    /// How many of each part run.
    pub enum Availability {
        /// One.
        Basic = "Basic",
        /// Several.
        High = "High",
    }
}

/// Which parts are turned on or off, and how their images are pulled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overrides {
    /// The parts. Those that are not named stay as they are by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    /// When images are pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<String>,
    /// The namespace that the discovery service runs in, if not in that of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_custom_namespace: Option<String>,
}

/// A part, and whether it is turned on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Whether it is turned on.
    pub enabled: bool,
    /// Its name.
    pub name: String,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How far the engine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MultiClusterEngineStatus {
    /// How each part does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentCondition>,
    /// The aspects of the engine's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<EngineCondition>,
    /// The version that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<String>,
    /// The version that shall run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_version: Option<String>,
    /// How far the engine is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<EnginePhase>,
}

open_string! {
    /// How far an engine is.
    pub enum EnginePhase {
        /// Its parts are being started.
        Progressing = "Progressing",
        /// Its parts run.
        Available = "Available",
        /// It goes.
        Uninstalling = "Uninstalling",
        /// Something does not run.
        Error = "Error",
        /// Nobody acts on it.
        Paused = "Paused",
        /// What it needs is not there.
        Unimplemented = "Unimplemented",
    }
}

/// How a part does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentCondition {
    /// The kind of object that the part is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// When the status changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The name of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why the status is what it is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it holds: True, False or Unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Which aspect this is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// One aspect of the engine's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineCondition {
    /// When the status changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// When this was looked at last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why the status is what it is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it holds: True, False or Unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Which aspect this is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// The definition of this kind.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![with_optional_spec(definition::<MultiClusterEngine>(
        "Which parts of the management plane are turned on. There is one.",
        &[],
    ))]
}
