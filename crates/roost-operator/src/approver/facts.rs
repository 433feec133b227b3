//! What the approver knows of a machine, a node and a cluster when it decides.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;

/// A Machine: what one host may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) name: String,
    /// The one node name that the host may have.
    pub(crate) node_name: String,
    /// The bootstrap token that the host got last.
    pub(crate) token_id: String,
    /// When it got it.
    pub(crate) fetched_at: Timestamp,
    /// The addresses that the host had then.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) provider_id: String,
    /// The Node that the host became.
    pub(crate) node_uid: Option<String>,
    pub(crate) is_deleting: bool,
    /// Client certificates that were approved for the token.
    pub(crate) approvals: u32,
}

/// A Node of the hosted cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) provider_id: String,
    pub(crate) is_ready: bool,
}

impl Node {
    /// Whether a Machine's host became this Node.
    pub(crate) fn is_of(&self, machine: &Machine) -> bool {
        if self.provider_id.is_empty() {
            machine.node_uid.as_ref() == Some(&self.uid)
        } else {
            self.provider_id == machine.provider_id
        }
    }
}

/// The networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Networks {
    pub(crate) pods: Vec<IpNet>,
    pub(crate) services: Vec<IpNet>,
    /// Where nodes are, when the cluster says so.
    pub(crate) machines: Vec<IpNet>,
    /// Addresses that the cluster's own endpoints have.
    pub(crate) endpoints: Vec<IpAddr>,
}

/// All that a decision depends on beside the request and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    /// The Machine that the requester's credential or node name leads to.
    pub(crate) machine: Option<&'a Machine>,
    /// Another Machine that had the same node name first.
    pub(crate) rival: Option<&'a str>,
    /// The Node of the Machine's node name.
    pub(crate) node: Option<&'a Node>,
    /// Which node has which address.
    pub(crate) addresses: &'a HashMap<IpAddr, String>,
    pub(crate) networks: &'a Networks,
    /// A later open request of the same requester for the same signer.
    pub(crate) later: Option<&'a str>,
    /// Who has open requests of the last hour, this requester included.
    pub(crate) pending: usize,
    /// The Machines or Nodes of the cluster, whichever are more.
    pub(crate) known: usize,
}
