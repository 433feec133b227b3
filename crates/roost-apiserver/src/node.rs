//! Kubelets: what they may read and write.

use roost_access::{Attributes as Request, Decision, Reason};
use roost_object::{Status, Value};

use crate::admission::Attributes;
use crate::cluster::Cluster;

/// The node authorizer's opinion on a request.
pub(crate) fn authorize(_cluster: &Cluster, _request: &Request<'_>) -> Decision {
    Decision::NoOpinion(Reason::NONE)
}

/// `NodeRestriction`: what a kubelet may write.
pub(crate) fn restrict(_attributes: &Attributes<'_>, _object: &mut Value) -> Result<(), Status> {
    Ok(())
}
