//! The pod network of this node: what `roost-network` plans, done on this host by a few threads of `hcp-agent serve`.
//!
//! ```text
//! Nodes, Services, EndpointSlices, ──followers──► keeper ──► plugins' file, routes, packet filter
//! NetworkPolicies, Namespaces, Pods                 ├──► mesh, where nodes are not on one network
//!                                                   └──► names ──► resolver on the cluster's DNS address
//! ```
//!
//! While the cluster does not answer, the last state stays in force, also over a restart of the host.

mod follower;
mod forward;
mod host;
mod keeper;
mod mesh;
mod resolver;
mod state;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use roost_ignition::payload::paths;
use roost_network::model::Kind;
use roost_network::{Settings, plugin};

pub use state::Report;

use crate::node_plane::node_name;
use crate::root::Root;

/// Changes that wait for the keeper; followers wait when there are more.
const WAITING_CHANGES: usize = 1024;
/// What threads need that only copy bytes.
const SMALL_STACK: usize = 256 * 1024;

/// Where the plugins' configuration lies.
pub(crate) fn plugin_path() -> String {
    format!("{}/{}", paths::CNI_CONFIG, plugin::FILE)
}

/// Starts to make the network, where the payload says that this host does so.
pub fn start(root: &Root) -> std::io::Result<()> {
    let Some(text) = root.text(paths::NETWORK_CONFIG) else { return Ok(()) };
    let settings = Settings::read(text.as_bytes())
        .ok_or_else(|| std::io::Error::other(format!("{} makes no sense", paths::NETWORK_CONFIG)))?;
    let node = node_name(root)
        .ok_or_else(|| std::io::Error::other(format!("{} does not name this node", paths::KUBELET_ENV)))?;
    let (changes, waiting) = sync_channel(WAITING_CHANGES);
    let names = Arc::new(resolver::Names::new(settings.dns.clone()));
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_always_followed()) {
        let changes = changes.clone();
        spawn("follower", move || follower::follow(kind, &changes))?;
    }
    resolver::serve(&settings.dns, &names)?;
    let follow_pods = move || {
        if let Err(error) = spawn("follower", move || follower::follow(Kind::Pod, &changes)) {
            say(&format!("pods are not followed, and policies not enforced: {error}"));
        }
    };
    spawn("keeper", move || keeper::keep(&settings, &node, &waiting, &names, follow_pods))
}

/// Starts a thread. One that panics takes the process with it, which the service manager starts again.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            if std::thread::panicking() {
                std::process::exit(1);
            }
        }
    }
    let guarded = move || {
        let _guard = Guard;
        work();
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(guarded).map(drop)
}

/// Words for the service's log.
fn say(words: &str) {
    eprintln!("pod network: {words}");
}
