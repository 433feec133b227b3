//! Stock's own components on our plane: kube-controller-manager, kube-scheduler and a kubelet, beside the same on stock.
//!
//! Each plane gets the same components, the same workload and the same disturbances. What a component complains about
//! only on our plane is ours to explain.

mod complaints;
mod exercise;
mod forward;
mod kubectl;
mod node;
mod parts;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::assets::AssetError;
use crate::client::ClientError;
use crate::kubeconfig::{Kubeconfig, KubeconfigError};
use crate::pki::PkiError;
use crate::plane::{Plane, PlaneError};
use crate::process::ProcessError;

use complaints::Complaints;
use exercise::Exercise;
use node::Node;
use parts::Parts;

/// Why the components could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ComponentsError {
    /// A plane is of no use.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// A binary is missing.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A component did not run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A certificate could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A kubeconfig could not be read or written.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The plane could not be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("on {plane}, `{command}` failed: {output}")]
    Command {
        /// The plane it was for.
        plane: String,
        /// The command.
        command: String,
        /// What it said.
        output: String,
    },
    /// Something that should have happened did not.
    #[error("on {plane}, {what} did not happen in {seconds} s; last seen:\n{seen}")]
    Missed {
        /// The plane it was waited for on.
        plane: String,
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What was there instead.
        seen: String,
    },
}

/// Whose node the pods run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nodes {
    /// Nobody's: a Node object that says it is ready, and pods that are said to run.
    Pretended,
    /// A stock kubelet's, with containerd, in namespaces of its own. Needs root.
    Kubelet,
}

/// What the comparison found.
#[derive(Debug)]
pub struct Comparison {
    /// Complaints that a component made on our plane only, and how often.
    pub only_ours: Vec<(String, usize)>,
    /// Distinct complaints that were made on both planes.
    pub on_both: usize,
    /// Distinct complaints that were made on the stock plane only.
    pub only_stock: usize,
}

/// Runs the components on both planes at once for at least `duration`, and compares what they complain about.
pub async fn compare(
    ours: &Plane,
    stock: &Plane,
    nodes: Nodes,
    duration: Duration,
) -> Result<Comparison, ComponentsError> {
    // A node that ends removes directories under which the other one has its mounts, so both end here.
    let ((ours, _our_node), (stock, _stock_node)) =
        tokio::try_join!(run(ours, nodes, "10.213.77", duration), run(stock, nodes, "10.213.79", duration))?;
    let only_ours = ours.beyond(&stock);
    let on_both = ours.distinct() - only_ours.len();
    Ok(Comparison { only_ours, on_both, only_stock: stock.beyond(&ours).len() })
}

/// Runs the components on one plane and gathers their complaints; the node goes on until it is dropped.
async fn run(
    plane: &Plane,
    nodes: Nodes,
    network: &str,
    duration: Duration,
) -> Result<(Complaints, Node), ComponentsError> {
    let end = Instant::now() + duration;
    let directory = plane.directory().unwrap_or_else(|| std::path::Path::new("."));
    let mut parts = Parts::start(plane, directory)?;
    let kubectl = kubectl::Kubectl::new(plane)?;
    let server = Kubeconfig::read(&plane.kubeconfig)?;
    let mut complaints = Complaints::default();
    let node = match nodes {
        Nodes::Pretended => Node::pretend(plane).await?,
        Nodes::Kubelet => Node::kubelet(&plane.name, &server, &kubectl, directory, network).await?,
    };
    let exercise = Exercise { kubectl: &kubectl, nodes };
    exercise.begin().await?;
    exercise.reach().await?;
    exercise.disturb().await?;
    while Instant::now() < end {
        parts.check_running()?;
        exercise.again().await?;
    }
    parts.check_running()?;
    for log in parts.logs().into_iter().chain(node.log()) {
        complaints.read(&log)?;
    }
    Ok((complaints, node))
}
