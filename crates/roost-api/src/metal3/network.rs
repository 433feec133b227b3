//! The network interfaces of a bare-metal host, and what the switch does with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interface, and what the switch does with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkInterface {
    /// The object that says how the switch's port is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_network_attachment: Option<HostNetworkAttachment>,
    /// The interface's hardware address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"))]
    pub mac_address: Option<String>,
    /// The interface's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-zA-Z0-9._-]+$"))]
    pub name: Option<String>,
    /// The switch's port that the interface is plugged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_port: Option<SwitchPort>,
}

/// The object that says how a switch's port is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostNetworkAttachment {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// Its namespace, by default the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
}

/// A port of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchPort {
    /// What the switch calls the port.
    #[serde(rename = "portID")]
    pub port_id: String,
    /// The switch's hardware address.
    #[serde(rename = "switchID")]
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"))]
    pub switch_id: String,
}
