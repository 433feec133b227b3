//! What a simulated node is asked to be.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use roost_ignition::payload::Taint;

use crate::faults::Faults;

/// What a node begins with.
#[derive(Clone)]
pub enum Start {
    /// The kubeconfig with which it asks for its first certificate.
    Kubeconfig(Vec<u8>),
    /// The Ignition config that it is booted with, which says where the payload is.
    UserData(Vec<u8>),
}

/// What the node has to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Processors.
    pub processors: u32,
    /// Memory in mebibytes.
    pub memory_mebibytes: u64,
    /// Disk in gibibytes.
    pub storage_gibibytes: u64,
    /// How many pods it runs at most.
    pub pods: u32,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { processors: 4, memory_mebibytes: 16 * 1024, storage_gibibytes: 100, pods: 110 }
    }
}

/// What a simulated node is asked to be.
#[derive(Clone)]
pub struct NodeSpec {
    /// The name that it asks for; the payload has the last word.
    pub name: String,
    /// What tells this host from others, such as a machine's serial number.
    pub host_id: String,
    /// Its own address, from which it speaks and under which it can be reached.
    pub address: IpAddr,
    /// What it begins with.
    pub start: Start,
    /// Labels beside those that every node has.
    pub labels: BTreeMap<String, String>,
    /// Taints from the first registration.
    pub taints: Vec<Taint>,
    /// The name of the machine at its provider.
    pub provider_id: Option<String>,
    /// What it has to offer.
    pub capacity: Capacity,
    /// The version that its kubelet claims, such as `v1.36.3`.
    pub version: String,
    /// Where it keeps its keys, so that it is the same node after a restart; without it everything is in memory.
    pub disk: Option<PathBuf>,
    /// How it misbehaves.
    pub faults: Faults,
}

impl NodeSpec {
    /// A node with nothing special about it.
    pub fn new(name: impl Into<String>, start: Start) -> Self {
        let name = name.into();
        Self {
            host_id: name.clone(),
            name,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            start,
            labels: BTreeMap::new(),
            taints: Vec::new(),
            provider_id: None,
            capacity: Capacity::default(),
            version: "v1.36.3".to_owned(),
            disk: None,
            faults: Faults::default(),
        }
    }
}
