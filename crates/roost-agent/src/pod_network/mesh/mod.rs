//! The mesh on this host: its key, its link, and a few threads that carry packets between link and network.
//!
//! ```text
//! pods ──► roost-mesh ──outward──► tunnel of the peer behind the address ──► UDP
//! pods ◄── roost-mesh ◄──inward── tunnel that the datagram names, if the peer may have sent this ◄── UDP
//! ```

mod carrier;
mod table;

use std::io;
use std::sync::Arc;

use roost_network::mesh::{KEY_ANNOTATION, PORT};
use roost_network::model::Node;
use roost_network::routes::Plan;
use roost_wireguard::{Identity, PrivateKey};
use serde_json::json;

use self::carrier::Carrier;
use super::host;
use crate::cluster::Cluster;
use crate::journal::DIRECTORY;
use crate::root::{Owner, Root};
use crate::system::SystemError;

/// Why this host is not in the mesh.
#[derive(Debug, thiserror::Error)]
pub(super) enum MeshError {
    #[error("the key of this node cannot be kept")]
    Key(#[source] io::Error),
    #[error("the link {} cannot be made", roost_network::mesh::LINK)]
    Link(#[source] io::Error),
    #[error("UDP port {PORT} cannot be used")]
    Port(#[source] io::Error),
    #[error(transparent)]
    System(#[from] SystemError),
}

/// This host's part of the mesh. There is none until somebody is apart.
#[derive(Default)]
pub(super) struct Mesh {
    identity: Option<Arc<Identity>>,
    carrier: Option<Arc<Carrier>>,
}

impl Mesh {
    /// Brings it to what is planned.
    pub(super) fn keep(&mut self, root: &Root, plan: &Plan, own: &Node) -> Result<(), MeshError> {
        if plan.peers.is_empty() && self.carrier.is_none() {
            return Ok(());
        }
        let identity = self.identity(root)?;
        let carrier = match &self.carrier {
            Some(carrier) => carrier,
            None => self.carrier.insert(Carrier::start(identity)?),
        };
        host::set_mesh_link(&own.pod_networks)?;
        carrier.set(&plan.peers, &own.pod_networks);
        Ok(())
    }

    /// Shows this node's key to the others, where somebody needs it and it is not shown.
    pub(super) fn show(
        &mut self,
        root: &Root,
        name: &str,
        plan: &Plan,
        own: &Node,
    ) -> Result<(), Box<dyn std::error::Error>> {
        if !plan.needs_mesh() {
            return Ok(());
        }
        let key = self.identity(root)?.public();
        if own.mesh_key != Some(*key.as_bytes()) {
            Cluster::of_node(root)?.annotate_node(name, &json!({KEY_ANNOTATION: key.to_string()}))?;
        }
        Ok(())
    }

    /// Peers that nothing is heard of, each in a sentence.
    pub(super) fn silent(&self) -> Vec<String> {
        self.carrier.as_ref().map(|carrier| carrier.silent()).unwrap_or_default()
    }

    fn identity(&mut self, root: &Root) -> Result<Arc<Identity>, MeshError> {
        if let Some(identity) = &self.identity {
            return Ok(Arc::clone(identity));
        }
        let private = private_key(root).map_err(MeshError::Key)?;
        let identity = Identity::new(private).map_err(|error| MeshError::Key(io::Error::other(error)))?;
        Ok(Arc::clone(self.identity.insert(Arc::new(identity))))
    }
}

/// The private key of this host, made when it is first needed. It goes with everything else when the host leaves.
fn private_key(root: &Root) -> io::Result<PrivateKey> {
    let path = format!("{DIRECTORY}/mesh-key");
    if let Some(key) = root.text(&path).and_then(|text| text.parse().ok()) {
        return Ok(key);
    }
    let key = PrivateKey::generate().map_err(io::Error::other)?;
    root.write(&path, &mut key.to_secret_text().as_bytes(), 0o600, Owner::own())?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::private_key;
    use crate::root::Root;

    #[test]
    fn the_key_is_made_once_and_nobody_else_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        std::fs::create_dir_all(root.at(crate::journal::DIRECTORY)).unwrap();
        let key = private_key(&root).unwrap();
        assert_eq!(private_key(&root).unwrap().public(), key.public());
        let file = root.at(&format!("{}/mesh-key", crate::journal::DIRECTORY));
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
