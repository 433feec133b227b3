//! Authorization: superusers, then the node authorizer, then RBAC, over indexes that follow the log.

use roost_access::node::{NodeAuthorizer, NodeIndex, NodeIndexKind};
use roost_access::rbac::{GROUP, ObjectKind, RbacIndex};
use roost_access::{Attributes, Authorizer as _, Decision, Reason, Superusers, Union};
use roost_store::{Collection, Revision};

use crate::cluster::Cluster;
use crate::derived::{Derived, Index};
use crate::stored::Stored;

/// The authorizer of one tenant.
pub(crate) struct Authorizer {
    rbac: Derived<Roles>,
    nodes: Derived<Nodes>,
}

impl Authorizer {
    /// An authorizer that reads the tenant's roles at the first question.
    pub(crate) fn new(tenant: &str) -> Authorizer {
        let rbac = ROLE_SOURCES.map(|(plural, _)| Collection::new(tenant, GROUP, plural));
        let nodes = NODE_SOURCES.map(|(group, plural, _)| Collection::new(tenant, group, plural));
        Authorizer { rbac: Derived::new(rbac), nodes: Derived::new(nodes) }
    }

    /// Decides on a request.
    pub(crate) fn decide(&self, cluster: &Cluster, attributes: &Attributes<'_>) -> Decision {
        match Superusers.authorize(attributes) {
            allowed @ Decision::Allow(_) => allowed,
            _ => self.with(cluster, |_, authorizer| authorizer.authorize(attributes)),
        }
    }

    /// Answers a question that needs both the roles and the whole chain of authorizers.
    pub(crate) fn with<R>(
        &self,
        cluster: &Cluster,
        question: impl FnOnce(&RbacIndex, &dyn roost_access::Authorizer) -> R,
    ) -> R {
        self.rbac.read(&cluster.store, |roles| {
            let node = |attributes: &Attributes<'_>| self.ask_nodes(cluster, attributes);
            question(&roles.0, &Union(&[&Superusers, &node, &roles.0]))
        })
    }

    /// The node authorizer's word; only kubelets make it look at pods.
    fn ask_nodes(&self, cluster: &Cluster, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.node_name().is_none() {
            return Decision::NoOpinion(Reason::NONE);
        }
        self.nodes.read(&cluster.store, |nodes| NodeAuthorizer { graph: &nodes.0 }.authorize(attributes))
    }
}

const ROLE_SOURCES: [(&str, ObjectKind); 4] = [
    ("clusterroles", ObjectKind::ClusterRole),
    ("clusterrolebindings", ObjectKind::ClusterRoleBinding),
    ("roles", ObjectKind::Role),
    ("rolebindings", ObjectKind::RoleBinding),
];

/// All roles and bindings.
#[derive(Default)]
struct Roles(RbacIndex);

impl Index for Roles {
    fn insert(&mut self, source: usize, _: &str, object: &Stored, revision: Revision) {
        match object.decode("", "", revision) {
            Ok(object) => self.0.apply(ROLE_SOURCES[source].1, &object),
            Err(error) => tracing::error!(%error, "a stored role or binding cannot be read"),
        }
    }

    fn remove(&mut self, source: usize, name: &str) {
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        self.0.remove(ROLE_SOURCES[source].1, namespace, name);
    }
}

const NODE_SOURCES: [(&str, &str, NodeIndexKind); 4] = [
    ("", "pods", NodeIndexKind::Pod),
    ("", "persistentvolumes", NodeIndexKind::PersistentVolume),
    ("storage.k8s.io", "volumeattachments", NodeIndexKind::VolumeAttachment),
    ("resource.k8s.io", "resourceslices", NodeIndexKind::ResourceSlice),
];

/// What concerns which node.
#[derive(Default)]
struct Nodes(NodeIndex);

impl Index for Nodes {
    fn insert(&mut self, source: usize, _: &str, object: &Stored, revision: Revision) {
        match object.decode("", "", revision) {
            Ok(object) => self.0.apply(NODE_SOURCES[source].2, &object),
            Err(error) => tracing::error!(%error, "a stored object cannot be read"),
        }
    }

    fn remove(&mut self, source: usize, name: &str) {
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        self.0.remove(NODE_SOURCES[source].2, namespace, name);
    }
}
