//! The two sides that a node hears from while it lives: its own Node object, and the ignition server.

use std::time::Duration;

use roost_ignition::Config;
use roost_ignition::payload::{IgnitionServer, paths};
use serde_json::Value;

use crate::change::Plane;
use crate::cluster::Cluster;
use crate::https::{self, Address, Identity, Request, Trust};
use crate::root::Root;
use crate::words;

/// The largest payload that is taken.
const LARGEST_PAYLOAD: u64 = 32 << 20;
/// How often a state is looked at while it is waited for.
const PAUSE: Duration = Duration::from_secs(1);

/// A node's view, with the kubelet's own credential. That is renewed by the kubelet, and so read anew for every request.
#[derive(Debug)]
pub struct NodePlane<'a> {
    root: &'a Root,
    node_name: String,
    server: IgnitionServer,
}

impl<'a> NodePlane<'a> {
    /// Reads who this node is; none where no payload has made this host a node that is changed in place.
    pub fn read(root: &'a Root) -> Option<Self> {
        let node_name = node_name(root)?;
        let server = IgnitionServer::read(root.text(paths::AGENT_CONFIG)?.as_bytes())?;
        Some(Self { root, node_name, server })
    }

    /// Whom to trust for files that payloads name.
    pub fn trust(&self) -> Result<Trust, String> {
        Trust::from_pem(self.server.certificate_authority.as_bytes()).map_err(|error| words::with_causes(&error))
    }
}

/// The name of this host's node, once a payload has made it one.
pub fn node_name(root: &Root) -> Option<String> {
    let environment = root.text(paths::KUBELET_ENV)?;
    let name = environment.lines().find_map(|line| line.strip_prefix("KUBELET_NODE_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

impl Plane for NodePlane<'_> {
    fn node(&mut self) -> Result<Value, String> {
        let cluster = Cluster::of_node(self.root).map_err(|error| words::with_causes(&error))?;
        cluster.node(&self.node_name).map_err(|error| words::with_causes(&error))
    }

    fn annotate(&mut self, annotations: &Value) -> Result<(), String> {
        let cluster = Cluster::of_node(self.root).map_err(|error| words::with_causes(&error))?;
        cluster.annotate_node(&self.node_name, annotations).map_err(|error| words::with_causes(&error))
    }

    fn payload(&mut self, hash: &str) -> Result<Config, String> {
        let said = |error: &(dyn std::error::Error + 'static)| words::with_causes(error);
        let address = Address::parse(&self.server.url).map_err(|error| said(&error))?;
        let path = format!("{}/kubelet-client-current.pem", paths::KUBELET_CERTIFICATES);
        let pem = std::fs::read(self.root.at(&path)).map_err(|error| said(&error))?;
        let identity = Identity::from_pem(&pem, &pem).map_err(|error| said(&error))?;
        let headers = [
            ("Accept".to_owned(), "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1".to_owned()),
            ("TargetConfigVersionHash".to_owned(), hash.to_owned()),
        ];
        let request =
            Request { method: "GET", address: &address, headers: &headers, body: b"", largest: LARGEST_PAYLOAD };
        let answer = https::send(&request, &self.trust()?, Some(&identity)).map_err(|error| said(&error))?;
        if answer.status != 200 {
            let text = String::from_utf8_lossy(&answer.body);
            return Err(format!("{} answered {}: {}", address.authority(), answer.status, text.trim()));
        }
        Config::parse(&answer.body).map_err(|error| said(&error))
    }

    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
    }
}
