//! Names and addresses of machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A name or an address of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineAddress {
    /// The name or the address.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
    /// What it is, and from where it is reached.
    #[serde(rename = "type")]
    pub type_: MachineAddressType,
}

/// What a name or an address is, and from where it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum MachineAddressType {
    /// What the machine calls itself.
    Hostname,
    /// An address that is reached from everywhere.
    #[serde(rename = "ExternalIP")]
    ExternalIp,
    /// An address that is reached from within.
    #[serde(rename = "InternalIP")]
    InternalIp,
    /// A name that resolves everywhere.
    #[serde(rename = "ExternalDNS")]
    ExternalDns,
    /// A name that resolves within.
    #[serde(rename = "InternalDNS")]
    InternalDns,
}
