//! `NodeRestriction`: what kubelets may write.

use std::sync::Arc;

use roost_access::node::{AdmissionRequest, NodeObjects, Operation};
use roost_object::{Status, Value};

use crate::admission::{Attributes, Verb};
use crate::cluster::Cluster;
use crate::write::metadata_text;

/// Refuses writes of kubelets that are not about their own node.
pub(crate) fn restrict(attributes: &Attributes<'_>, object: Option<&Value>) -> Result<(), Status> {
    let target = &attributes.target;
    let call = target.call;
    if call.user.node_name().is_none() {
        return Ok(());
    }
    let name = match object.map(|object| metadata_text(object, "name")) {
        Some(name) if target.name.is_empty() => name,
        _ => target.name,
    };
    let request = AdmissionRequest {
        user: &call.user,
        operation: match attributes.verb {
            Verb::Create => Operation::Create,
            Verb::Update => Operation::Update,
            Verb::Delete => Operation::Delete,
        },
        group: &target.resource.group,
        resource: &target.resource.plural,
        subresource: target.subresource,
        namespace: target.namespace,
        name,
        object,
        old_object: attributes.old,
    };
    call.cluster.authorizer.with(&call.cluster, |_, authorizer| {
        roost_access::node::restrict(&request, &Objects(&call.cluster), authorizer)
    })
}

struct Objects<'a>(&'a Cluster);

impl NodeObjects for Objects<'_> {
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "pods", namespace, name).map(Arc::new)
    }

    fn node(&self, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "nodes", "", name).map(Arc::new)
    }

    fn persistent_volume_claim(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "persistentvolumeclaims", namespace, name).map(Arc::new)
    }

    fn persistent_volume(&self, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "persistentvolumes", "", name).map(Arc::new)
    }

    fn csi_driver(&self, name: &str) -> Option<Arc<Value>> {
        self.0.find("storage.k8s.io", "csidrivers", "", name).map(Arc::new)
    }
}
