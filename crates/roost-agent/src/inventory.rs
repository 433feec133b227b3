//! What a host is and has, as one value. [`crate::collect`] fills it in; [`crate::preflight`] judges it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use crate::os_release::OsRelease;

/// What a host is and has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The operating system, if it names itself.
    pub system: Option<OsRelease>,
    /// The kernel's name for the processor, such as `x86_64`.
    pub architecture: String,
    /// The running kernel.
    pub kernel: String,
    /// The version of systemd, when it runs this host.
    pub systemd: Option<u32>,
    /// Processors that can be used.
    pub processors: usize,
    /// Memory in bytes.
    pub memory: u64,
    /// Swap in bytes.
    pub swap: u64,
    /// Room for files, by the directory that needs it.
    pub disks: Vec<Disk>,
    /// How processes are grouped.
    pub control_groups: ControlGroups,
    /// What the kernel can do.
    pub features: BTreeMap<Feature, Presence>,
    /// The host's name.
    pub host_name: String,
    /// What tells this host from its clones.
    pub identity: String,
    /// Addresses that others could use.
    pub addresses: Vec<IpAddr>,
    /// TCP ports on which something listens.
    pub listening: BTreeSet<u16>,
    /// What of a node was there before, by path.
    pub existing: Vec<Existing>,
    /// Firewalls that are on.
    pub firewalls: Vec<String>,
    /// What could be reached, and what not.
    pub endpoints: Vec<Endpoint>,
    /// Whether this agent has joined, or begun to join, the host already.
    pub joined: bool,
}

/// Room on the disk under a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// The directory.
    pub path: String,
    /// Free bytes.
    pub free: u64,
}

/// How processes are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ControlGroups {
    /// There are none.
    #[default]
    None,
    /// One hierarchy per controller.
    V1,
    /// One hierarchy.
    V2,
}

/// A part of the kernel that nodes need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// The file system under containers.
    Overlay,
    /// Filters see what crosses a bridge.
    BridgeFilter,
    /// The packet filter.
    NfTables,
    /// Pairs of interfaces.
    Veth,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Overlay, Self::BridgeFilter, Self::NfTables, Self::Veth];

    /// The kernel's name of the module.
    pub fn module(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::BridgeFilter => "br_netfilter",
            Self::NfTables => "nf_tables",
            Self::Veth => "veth",
        }
    }

    /// The option with which the kernel is built.
    pub fn option(self) -> &'static str {
        match self {
            Self::Overlay => "CONFIG_OVERLAY_FS",
            Self::BridgeFilter => "CONFIG_BRIDGE_NETFILTER",
            Self::NfTables => "CONFIG_NF_TABLES",
            Self::Veth => "CONFIG_VETH",
        }
    }
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is, or can be loaded.
    Present,
    /// It is not.
    Absent,
    /// That could not be found out.
    Unknown,
}

/// Something of a node that was there before this agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Existing {
    /// What it is.
    pub part: Part,
    /// Where it was found.
    pub path: String,
}

/// A part of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// A kubelet's configuration or credentials: the host belongs to a cluster.
    Membership,
    /// A kubelet binary.
    Kubelet,
    /// A container runtime.
    Runtime,
}

/// An address that the host has to reach, and whether it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// What is served there.
    pub purpose: Purpose,
    /// The address.
    pub address: String,
    /// What came of it.
    pub outcome: Reached,
}

/// What is served at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The hosted cluster's API.
    Api,
    /// The ignition server.
    Ignition,
}

impl fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Api => "API server",
            Self::Ignition => "ignition server",
        })
    }
}

/// What came of reaching for an endpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reached {
    /// It answered over TLS with a certificate that is trusted.
    Answered {
        /// How far this host's clock is ahead of the server's, in seconds, when the server told the time.
        clock_ahead: Option<i64>,
    },
    /// It did not; the text says why.
    Failed(String),
}
