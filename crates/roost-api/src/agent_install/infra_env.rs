//! `InfraEnv`: the image that hosts boot to be discovered.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::reference::{ClusterReference, LocalReference, NamespacedReference};
use crate::open_string::open_string;
use crate::rules::label_selector;
use crate::variation::absent_is_default;

/// What the image holds, and what becomes of the hosts that boot it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "InfraEnv",
    namespaced,
    status = "InfraEnvStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "An environment that hosts are discovered in: it describes the image that they boot.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "ISO Created At", "type": "string", "jsonPath": ".status.createdTime",
        "description": "When the image was made."}"#,
    printcolumn = r#"{"name": "ISO URL", "type": "string", "priority": 1, "jsonPath": ".status.isoDownloadURL",
        "description": "Where the image can be downloaded."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct InfraEnvSpec {
    /// Time servers beside those that the host finds by itself.
    #[serde(rename = "additionalNTPSources", default, skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    /// Certificates, in PEM, that the hosts trust beside the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_trust_bundle: Option<String>,
    /// How discovered hosts come to be approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_approval: Option<AgentApproval>,
    /// Labels that an agent gets when it is discovered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_labels: BTreeMap<String, String>,
    /// The cluster that all hosts of this environment belong to. Without it, hosts are bound later. It cannot change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterReference>,
    /// The architecture of the hosts. It cannot change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "x86_64"))]
    pub cpu_architecture: Option<CpuArchitecture>,
    /// An Ignition config, as JSON, that is merged over the one of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_config_override: Option<String>,
    /// How much of the system is in the image: all of it, or what is needed to download the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_type: Option<ImageType>,
    /// When a host that boots from the network gets the discovery image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "DiscoveryImageAlways"))]
    pub ipxe_script_type: Option<IpxeScriptType>,
    /// Changes of the kernel's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<KernelArgument>,
    /// A config map with the registries to pull from instead of the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<NamespacedReference>,
    /// How long a booting host waits for its network before it looks around.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub network_discovery_delay_seconds: Option<i64>,
    /// The network configurations that belong to this environment. An empty selector selects none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub nm_state_config_label_selector: Option<LabelSelector>,
    /// The only time servers that the host uses. Not together with additional ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    /// The version of the image, one of those that the service has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image_version: Option<String>,
    /// What stands between the hosts and the rest of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// The secret that images are pulled with.
    pub pull_secret_ref: LocalReference,
    /// The public key of whoever may log in to a host that runs the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_authorized_key: Option<String>,
}

absent_is_default!(InfraEnvSpec);

/// How discovered hosts come to be approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentApproval {
    /// Whether every host is approved that boots the image.
    #[serde(default)]
    pub auto_approve: bool,
}

open_string! {
    /// The architecture of a processor.
    pub enum CpuArchitecture {
        /// Intel and AMD.
        X86_64 = "x86_64",
        /// Arm, in the kernel's words.
        Aarch64 = "aarch64",
        /// Arm, in the words of container images.
        Arm64 = "arm64",
        /// Power.
        Ppc64le = "ppc64le",
        /// The mainframe.
        S390x = "s390x",
    }
}

open_string! {
    /// How much of the system is in an image.
    pub enum ImageType {
        /// All of it.
        Full = "full-iso",
        /// What is needed to download the rest.
        Minimal = "minimal-iso",
    }
}

/// When a host that boots from the network gets the discovery image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IpxeScriptType {
    /// As the service is configured.
    #[serde(rename = "")]
    Unset,
    /// Each time.
    DiscoveryImageAlways,
    /// Until it is installed; then it boots its disk.
    BootOrderControl,
}

/// A change of the kernel's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelArgument {
    /// What to do with the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<KernelArgumentOperation>,
    /// The argument, or several, separated by blanks that are not quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r#"^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$"#))]
    pub value: Option<String>,
}

/// What to do with an argument of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KernelArgumentOperation {
    /// It is added.
    Append,
    /// It takes the place of another.
    Replace,
    /// It is removed.
    Delete,
}

/// What stands between hosts and the rest of the world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proxy {
    /// The proxy for plain requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// The proxy for encrypted requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// Names and networks that are reached without it, separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
}

/// Where the image is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfraEnvStatus {
    /// Selects the agents of this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub agent_label_selector: Option<LabelSelector>,
    /// What hosts boot from the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_artifacts: Option<BootArtifacts>,
    /// Whether there is an image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// When the image was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_time: Option<Time>,
    /// What helps to find out why something does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<InfraEnvDebugInfo>,
    /// Where the image can be downloaded.
    #[serde(rename = "isoDownloadURL", skip_serializing_if = "Option::is_none")]
    pub iso_download_url: Option<String>,
}

/// What hosts boot from the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootArtifacts {
    /// The Ignition config of the image.
    #[serde(rename = "discoveryIgnitionURL", skip_serializing_if = "Option::is_none")]
    pub discovery_ignition_url: Option<String>,
    /// The first root file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initrd: Option<String>,
    /// The script that fetches the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipxe_script: Option<String>,
    /// The kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The root file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<String>,
}

/// What helps to find out why an environment does not work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfraEnvDebugInfo {
    /// Where the environment's events can be downloaded.
    #[serde(rename = "eventsURL", skip_serializing_if = "Option::is_none")]
    pub events_url: Option<String>,
    /// Where the network configurations can be downloaded, as they are in the image.
    #[serde(rename = "staticNetworkDownloadURL", skip_serializing_if = "Option::is_none")]
    pub static_network_download_url: Option<String>,
}
