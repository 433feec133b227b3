//! What is known about a bare-metal host, and what happens with it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bare_metal_host::{BootMode, CustomDeploy, Firmware, SecretReference};
use super::hardware::HardwareDetails;
use super::image::Image;
use super::raid::Raid;
use super::root_device::RootDeviceHints;
use crate::open_string::open_string;
use crate::rules::{any_width, conditions};

/// What is known about the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostStatus {
    /// The aspects of the host's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), transform = conditions)]
    pub conditions: Vec<Condition>,
    /// How often the last operation failed, one time after the other.
    #[schemars(extend("default" = 0), transform = any_width)]
    pub error_count: i64,
    /// What failed last, for people.
    pub error_message: String,
    /// What failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// The credentials that worked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub good_credentials: Option<CredentialsStatus>,
    /// What the host consists of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
    /// The name of a set of settings. It is not used any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_profile: Option<String>,
    /// The image that was tried last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempted_image: Option<Image>,
    /// When this was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// When operations began and ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_history: Option<OperationHistory>,
    /// Whether the host can be used.
    pub operational_status: OperationalStatus,
    /// Whether the host is on.
    pub powered_on: bool,
    /// What happens with the host.
    pub provisioning: ProvisioningStatus,
    /// How often the image could not be put onto the host, one time after the other.
    #[schemars(extend("default" = 0), transform = any_width)]
    pub provisioning_fail_count: i64,
    /// The credentials that were tried last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried_credentials: Option<CredentialsStatus>,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ErrorType {
    /// A host that is in use is not known to its controller any more.
    #[serde(rename = "provisioned registration error")]
    ProvisionedRegistration,
    /// The management controller cannot be used.
    #[serde(rename = "registration error")]
    Registration,
    /// The host could not be inspected.
    #[serde(rename = "inspection error")]
    Inspection,
    /// The host could not be cleaned or set up.
    #[serde(rename = "preparation error")]
    Preparation,
    /// The image could not be put onto the host.
    #[serde(rename = "provisioning error")]
    Provisioning,
    /// The host could not be turned on or off.
    #[serde(rename = "power management error")]
    PowerManagement,
    /// A host that is in use could not be changed.
    #[serde(rename = "servicing error")]
    Servicing,
}

/// Whether a host can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperationalStatus {
    /// Nobody looked yet.
    #[default]
    #[serde(rename = "")]
    Unset,
    /// It can.
    #[serde(rename = "OK")]
    Ok,
    /// Its management controller is not known well enough.
    Discovered,
    /// Something failed.
    Error,
    /// Others come first.
    Delayed,
    /// It is left alone.
    Detached,
    /// It is being changed while it is in use.
    Servicing,
}

/// Credentials that were used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsStatus {
    /// The secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<SecretReference>,
    /// The version of the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_version: Option<String>,
}

/// When operations began and ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationHistory {
    /// When the host was freed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprovision: Option<OperationTimes>,
    /// When the host was inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect: Option<OperationTimes>,
    /// When the image was put onto the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provision: Option<OperationTimes>,
    /// When the management controller was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<OperationTimes>,
}

/// When an operation began and ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationTimes {
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub end: Option<Time>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub start: Option<Time>,
}

/// What happens with a host, and what it was told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisioningStatus {
    /// What the program that does the work knows the host by.
    #[serde(rename = "ID")]
    pub id: String,
    /// How its firmware starts the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<BootMode>,
    /// How it was deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// The settings of its firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Firmware>,
    /// The image that was put onto it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Which of its disks act as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<Raid>,
    /// Which disk the system went to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// What happens with it.
    pub state: ProvisioningState,
}

open_string! {
    /// What happens with a bare-metal host.
    #[derive(Default)]
    pub enum ProvisioningState {
        /// Nothing yet.
        #[default]
        None = "",
        /// Nothing, because nobody said how its management controller is reached.
        Unmanaged = "unmanaged",
        /// Its management controller is tried.
        Registering = "registering",
        /// A set of settings is looked for. Hosts do not come here any more.
        MatchProfile = "match profile",
        /// It is cleaned and set up.
        Preparing = "preparing",
        /// It is inspected.
        Inspecting = "inspecting",
        /// It can be used. Hosts do not come here any more.
        Ready = "ready",
        /// It can be used.
        Available = "available",
        /// Its image is put onto it.
        Provisioning = "provisioning",
        /// It is in use.
        Provisioned = "provisioned",
        /// It is in use, and others put there what runs on it.
        ExternallyProvisioned = "externally provisioned",
        /// It is freed.
        Deprovisioning = "deprovisioning",
        /// It is turned off before it goes.
        PoweringOffBeforeDelete = "powering off before delete",
        /// It goes.
        Deleting = "deleting",
    }
}
