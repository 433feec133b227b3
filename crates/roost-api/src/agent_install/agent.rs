//! `Agent`: a discovered host, and what is wanted from it.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_status::AgentStatus;
use super::host::HostRole;
use super::reference::{ClusterReference, NamespacedReference};
use crate::variation::absent_is_default;

/// What is wanted from the host.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "Agent",
    namespaced,
    status = "AgentStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A host that was discovered and can become a node.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".spec.clusterDeploymentName.name",
        "description": "The cluster that the host belongs to."}"#,
    printcolumn = r#"{"name": "Approved", "type": "boolean", "jsonPath": ".spec.approved",
        "description": "Whether the host may be used."}"#,
    printcolumn = r#"{"name": "Role", "type": "string", "jsonPath": ".status.role",
        "description": "What the host does in its cluster."}"#,
    printcolumn = r#"{"name": "Stage", "type": "string", "jsonPath": ".status.progress.currentStage",
        "description": "How far the installation is."}"#,
    printcolumn = r#"{"name": "Hostname", "type": "string", "priority": 1, "jsonPath": ".status.inventory.hostname",
        "description": "The name that the host gives itself."}"#,
    printcolumn = r#"{"name": "Requested Hostname", "type": "string", "priority": 1, "jsonPath": ".spec.hostname",
        "description": "The name that the host shall have."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct AgentSpec {
    /// Whether the host may be used. Nothing is installed on a host that nobody approved.
    pub approved: bool,
    /// The cluster that the host belongs to; without it, the host is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_name: Option<ClusterReference>,
    /// A secret in the agent's namespace with the credentials that fence the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing_credentials_secret_ref: Option<String>,
    /// The name that the host shall have as a node. Without it, the name that it was discovered with stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// An Ignition config, as JSON, that is merged over the generated one. What it says wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_config_overrides: Option<String>,
    /// Headers that the host sends when it asks for its Ignition config.
    #[serde(rename = "ignitionEndpointHTTPHeaders", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ignition_endpoint_http_headers: BTreeMap<String, String>,
    /// The secret with the bearer token that the host asks for its Ignition config with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint_token_reference: Option<NamespacedReference>,
    /// The disk to install to, by the id that the inventory gives it.
    #[serde(rename = "installation_disk_id", skip_serializing_if = "Option::is_none")]
    pub installation_disk_id: Option<String>,
    /// The disk to install to, by its path. Not together with an id.
    #[serde(rename = "installation_disk_path", skip_serializing_if = "Option::is_none")]
    pub installation_disk_path: Option<String>,
    /// Further arguments of the program that writes the disk, as a JSON list of strings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installer_args: Option<String>,
    /// The pool whose configuration the host gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_config_pool: Option<String>,
    /// Labels that the node gets once it is there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// What the host shall do: master, worker, arbiter, or auto-assign.
    pub role: HostRole,
}

absent_is_default!(AgentSpec);
