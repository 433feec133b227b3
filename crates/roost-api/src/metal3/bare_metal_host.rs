//! `BareMetalHost`: what is wanted from the computer.

use k8s_openapi::api::core::v1::Taint;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::image::Image;
use super::network::NetworkInterface;
use super::raid::Raid;
use super::root_device::RootDeviceHints;
use super::status::BareMetalHostStatus;
use crate::cluster_api::ObjectReference;
use crate::variation::absent_is_default;

/// What is wanted from the host.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    namespaced,
    shortname = "bmh",
    shortname = "bmhost",
    status = "BareMetalHostStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A computer with a management controller that turns it on and off and chooses what it boots.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Status", "type": "string", "priority": 1, "jsonPath": ".status.operationalStatus",
        "description": "Whether the host can be used."}"#,
    printcolumn = r#"{"name": "State", "type": "string", "jsonPath": ".status.provisioning.state",
        "description": "What happens with the host."}"#,
    printcolumn = r#"{"name": "Consumer", "type": "string", "jsonPath": ".spec.consumerRef.name",
        "description": "Who uses the host."}"#,
    printcolumn = r#"{"name": "BMC", "type": "string", "priority": 1, "jsonPath": ".spec.bmc.address",
        "description": "Where the management controller is."}"#,
    printcolumn = r#"{"name": "Online", "type": "string", "jsonPath": ".spec.online",
        "description": "Whether the host shall be on."}"#,
    printcolumn = r#"{"name": "Error", "type": "string", "jsonPath": ".status.errorType",
        "description": "What failed last."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "How long the object has existed."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct BareMetalHostSpec {
    /// The architecture of the processors, where it cannot be found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Whether disks are cleaned before and after the host is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "metadata"))]
    pub automated_cleaning_mode: Option<AutomatedCleaningMode>,
    /// How the management controller is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<ManagementController>,
    /// The hardware address of the interface that the host boots from.
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"))]
    pub boot_mac_address: Option<String>,
    /// How the firmware starts the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<BootMode>,
    /// The object that uses the host. A host that is used is not given to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
    /// How the host is deployed, if not by writing an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// What a person wrote about the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The host is never turned off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_power_off: Option<bool>,
    /// Something runs on the host that others put there; it is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub externally_provisioned: Option<bool>,
    /// Settings of the firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Firmware>,
    /// The name of a set of settings. It is not used any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_profile: Option<String>,
    /// What is written to the disk, or booted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// How the host is inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspection_mode: Option<InspectionMode>,
    /// A secret with what the system learns about its host when it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretReference>,
    /// A secret with the network configuration of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
    /// The interfaces, and what the switch does with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_interfaces: Vec<NetworkInterface>,
    /// Whether the host shall be on.
    pub online: bool,
    /// A secret with the network configuration of what runs before the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preprovisioning_network_data_name: Option<String>,
    /// Which disks act as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<Raid>,
    /// Which disk the system goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Taints that the node gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// A secret with what the system does when it starts for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
}

absent_is_default!(BareMetalHostSpec);

/// Whether disks are cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AutomatedCleaningMode {
    /// What makes the disk look used is removed.
    Metadata,
    /// Nothing is.
    Disabled,
}

/// How a management controller is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagementController {
    /// Where it is. The scheme says which protocol it speaks.
    pub address: String,
    /// A secret with a user name and a password.
    pub credentials_name: String,
    /// It is talked to whatever certificate it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_certificate_verification: Option<bool>,
}

/// How firmware starts a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootMode {
    /// The new way.
    #[serde(rename = "UEFI")]
    Uefi,
    /// The new way, and only what is signed.
    #[serde(rename = "UEFISecureBoot")]
    UefiSecureBoot,
    /// The old way.
    #[serde(rename = "legacy")]
    Legacy,
}

/// A way to deploy a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CustomDeploy {
    /// The name of the step that does it.
    pub method: String,
}

/// Settings of the firmware, for those drivers that can make them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Firmware {
    /// A core runs several threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [true, false]))]
    pub simultaneous_multithreading_enabled: Option<bool>,
    /// Virtual machines can use devices of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [true, false]))]
    pub sriov_enabled: Option<bool>,
    /// Processors can run virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [true, false]))]
    pub virtualization_enabled: Option<bool>,
}

/// How a host is inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InspectionMode {
    /// Not at all.
    Disabled,
    /// By a program that runs on it.
    Agent,
    /// By a program that runs on it, without another boot in between.
    Fast,
}

/// A secret, by default in the host's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretReference {
    /// The name of the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace that the secret is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
