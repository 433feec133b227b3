//! The kind `NodePool`: nodes of a hosted cluster that are alike.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::node_pool::management::NodePoolManagement;
use crate::hypershift::node_pool::platform::NodePoolPlatform;
use crate::hypershift::node_pool::status::NodePoolStatus;
use crate::hypershift::reference::LocalObjectReference;
use crate::hypershift::release::Release;
use crate::rules::{Rule, Rules};
use crate::variation::absent_is_default;

pub mod kubevirt;
pub mod management;
pub mod platform;
pub mod status;

/// What is wanted of a node pool.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "NodePool",
    plural = "nodepools",
    shortname = "np",
    shortname = "nps",
    namespaced,
    status = "NodePoolStatus",
    derive = "Default",
    derive = "PartialEq",
    schema = "disabled",
    crates(kube_core = "kube_core"),
    doc = "Nodes of one hosted cluster that are alike.",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas"),
    printcolumn = r#"{"name": "Cluster", "type": "string", "description": "Cluster",
        "jsonPath": ".spec.clusterName"}"#,
    printcolumn = r#"{"name": "Desired Nodes", "type": "integer", "description": "Desired Nodes",
        "jsonPath": ".spec.replicas"}"#,
    printcolumn = r#"{"name": "Current Nodes", "type": "integer", "description": "Available Nodes",
        "jsonPath": ".status.replicas"}"#,
    printcolumn = r#"{"name": "Autoscaling", "type": "string", "description": "Autoscaling Enabled",
        "jsonPath": ".status.conditions[?(@.type==\"AutoscalingEnabled\")].status"}"#,
    printcolumn = r#"{"name": "Autorepair", "type": "string", "description": "Node Autorepair Enabled",
        "jsonPath": ".status.conditions[?(@.type==\"AutorepairEnabled\")].status"}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "description": "Current version",
        "jsonPath": ".status.version"}"#,
    printcolumn = r#"{"name": "UpdatingVersion", "type": "string", "description": "UpdatingVersion in progress",
        "jsonPath": ".status.conditions[?(@.type==\"UpdatingVersion\")].status"}"#,
    printcolumn = r#"{"name": "UpdatingConfig", "type": "string", "description": "UpdatingConfig in progress",
        "jsonPath": ".status.conditions[?(@.type==\"UpdatingConfig\")].status"}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "description": "Message",
        "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new("!has(oldSelf.arch) || has(self.arch)", "Arch is required once set"),
    Rule::new(
        "self.arch != 'arm64' || has(self.platform.aws) || has(self.platform.azure) \
         || has(self.platform.agent) || self.platform.type == 'GCP' || self.platform.type == 'None'",
        "Setting Arch to arm64 is only supported for AWS, Azure, Agent, GCP and None",
    ),
    Rule::new("!has(self.replicas) || !has(self.autoScaling)", "Both replicas or autoScaling should not be set"),
    Rule::new("self.arch != 's390x' || has(self.platform.kubevirt)", "s390x is only supported on KubeVirt platform"),
    Rule::new(
        "!has(self.platform.aws) || !has(self.platform.aws.imageType) \
         || self.platform.aws.imageType != 'Windows' || self.arch == 'amd64'",
        "ImageType 'Windows' requires arch 'amd64' (AWS only)",
    ),
    Rule::new(
        "!has(self.autoScaling) || self.autoScaling.min > 0 || self.platform.type == 'AWS' \
         || self.platform.type == 'Azure'",
        "Scale-from-zero (autoScaling.min=0) is currently only supported for AWS and Azure platforms",
    ),
]))]
pub struct NodePoolSpec {
    /// The hosted cluster of the same namespace that the nodes belong to. Immutable.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "ClusterName is immutable"),
        Rule::new(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            "clusterName must consist of lowercase alphanumeric characters or '-', start and end with an alphanumeric character, and be between 1 and 253 characters",
        ),
    ]))]
    pub cluster_name: String,
    /// The release that the nodes run. It must not be newer than the cluster's.
    pub release: Release,
    /// What the nodes are.
    pub platform: NodePoolPlatform,
    /// How many nodes there are. Not together with `autoScaling`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// How many nodes there may be. Not together with `replicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_scaling: Option<NodePoolAutoscaling>,
    /// How nodes are upgraded and repaired.
    pub management: NodePoolManagement,
    /// `ConfigMaps` of the same namespace whose key `config` holds machine configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub config: Vec<LocalObjectReference>,
    /// `ConfigMaps` of the same namespace whose key `tuning` holds the tuning of nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub tuning_config: Vec<LocalObjectReference>,
    /// Labels that nodes register with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// Taints that nodes register with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub taints: Vec<NodePoolTaint>,
    /// How long a node may take to drain; forever when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout: Option<String>,
    /// How long volumes may take to detach from a node; forever when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout: Option<String>,
    /// The nodes' processor architecture. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "amd64"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Arch is immutable")]))]
    pub arch: Option<Architecture>,
    /// While set, nothing is reconciled: a time, until when, or a truth value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 35))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^\\\\d{4}-\\\\d{2}-\\\\d{2}T\\\\d{2}:\\\\d{2}:\\\\d{2}.*$') \
             || self in ['true', 'false', 'True', 'False']",
            "PausedUntil must be a date in RFC3339 format or 'True', 'true', 'False' or 'false'",
        ),
    ]))]
    pub paused_until: Option<String>,
}

absent_is_default!(NodePoolSpec);

/// A processor architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Architecture {
    /// 64-bit ARM.
    #[serde(rename = "arm64")]
    Arm64,
    /// 64-bit x86.
    #[default]
    #[serde(rename = "amd64")]
    Amd64,
    /// 64-bit POWER, little endian.
    #[serde(rename = "ppc64le")]
    Ppc64le,
    /// IBM Z.
    #[serde(rename = "s390x")]
    S390x,
}

/// How many nodes a pool may have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([Rule::new("self.max >= self.min", "max must be equal or greater than min")]))]
pub struct NodePoolAutoscaling {
    /// The fewest nodes.
    #[schemars(range(min = 0))]
    pub min: i32,
    /// The most nodes.
    #[schemars(range(min = 1))]
    pub max: i32,
}

/// A taint that nodes register with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolTaint {
    /// The taint's key.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",
            "key must be a qualified name with an optional subdomain prefix e.g. example.com/MyName",
        ),
    ]))]
    pub key: String,
    /// The taint's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
            "Value must start and end with alphanumeric characters and can only contain '-', '_', '.' in the middle",
        ),
    ]))]
    pub value: Option<String>,
    /// What the taint does to pods.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not put up with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// They are not scheduled to the node.
    NoSchedule,
    /// They are scheduled to another node if possible.
    PreferNoSchedule,
    /// They are also evicted from the node.
    NoExecute,
}
