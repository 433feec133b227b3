//! What is kept on the disk: the last state of the cluster, and how the network of this node is.

use std::io;

use roost_network::model::Model;
use serde::{Deserialize, Serialize};

use crate::journal::DIRECTORY;
use crate::root::{Owner, Root};

fn path(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}

/// How the network of this node is, for `hcp-agent status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The addresses of this node's pods.
    pub pod_networks: Vec<String>,
    /// Routes to other nodes' pods.
    pub routes: usize,
    /// Those of them that lead through the mesh.
    #[serde(default)]
    pub through_mesh: usize,
    /// Services.
    pub services: usize,
    /// What does not work, each in a sentence.
    pub problems: Vec<String>,
}

impl Report {
    /// The last one, where this host makes its network.
    pub fn read(root: &Root) -> Option<Self> {
        serde_json::from_str(&root.text(&path("network-report.json"))?).ok()
    }

    pub(super) fn write(&self, root: &Root) -> io::Result<()> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        root.make_directory(DIRECTORY)?;
        root.write(&path("network-report.json"), &mut text.as_slice(), 0o644, Owner::own())
    }
}

/// The last state that was kept.
pub(super) fn read(root: &Root) -> Option<Model> {
    Model::read(&std::fs::read(root.at(&path("network-state.json"))).ok()?)
}

/// Keeps a state.
pub(super) fn write(root: &Root, model: &Model) -> io::Result<()> {
    root.make_directory(DIRECTORY)?;
    root.write(&path("network-state.json"), &mut model.to_bytes().as_slice(), 0o600, Owner::own())
}
