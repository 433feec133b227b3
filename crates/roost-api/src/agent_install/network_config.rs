//! `NMStateConfig`: the network configuration of one host.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::preserved::Preserved;
use crate::variation::absent_is_default;

/// The configuration, and the host that it is for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "NMStateConfig",
    plural = "nmstateconfigs",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "The network configuration of one host, applied when it boots the discovery image.",
    crates(kube_core = "::kube_core")
)]
#[serde(remote = "Self")]
pub struct NMStateConfigSpec {
    /// The desired state of the network, in the language of nmstate, with the names of `interfaces`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Preserved>,
    /// The interfaces of the host. It is the host that has any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub interfaces: Vec<NetworkInterface>,
}

absent_is_default!(NMStateConfigSpec);

/// An interface, by the name in the configuration and the address on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkInterface {
    /// Its hardware address.
    #[schemars(regex(pattern = r"^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$"))]
    pub mac_address: String,
    /// Its name in the configuration; the host may call it otherwise.
    pub name: String,
}
