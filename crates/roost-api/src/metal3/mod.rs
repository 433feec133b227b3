//! `metal3.io/v1alpha1`: bare-metal hosts that are powered and booted through their management controllers.

mod bare_metal_host;
mod hardware;
mod image;
pub mod names;
mod network;
mod raid;
mod root_device;
mod status;

pub use bare_metal_host::{
    AutomatedCleaningMode, BareMetalHost, BareMetalHostSpec, BootMode, CustomDeploy, Firmware, InspectionMode,
    ManagementController, SecretReference,
};
pub use hardware::{
    Bios, DiskType, HardwareCpu, HardwareDetails, HardwareFirmware, HardwareSystemVendor, LinkNeighbour, Nic, Storage,
    Vlan,
};
pub use image::{ChecksumType, DiskFormat, Image};
pub use network::{HostNetworkAttachment, NetworkInterface, SwitchPort};
pub use raid::{HardwareRaidLevel, HardwareRaidVolume, Raid, SoftwareRaidLevel, SoftwareRaidVolume};
pub use root_device::RootDeviceHints;
pub use status::{
    BareMetalHostStatus, CredentialsStatus, ErrorType, OperationHistory, OperationTimes, OperationalStatus,
    ProvisioningState, ProvisioningStatus,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::definition::definition;
use crate::variation::with_optional_spec;

/// The group of these kinds.
pub const GROUP: &str = "metal3.io";

/// The definitions of the kinds of this group.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![with_optional_spec(definition::<BareMetalHost>(
        "A computer with a management controller that turns it on and off and chooses what it boots.",
        &[],
    ))]
}
