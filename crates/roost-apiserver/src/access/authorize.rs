//! Authorization: superusers, then the node authorizer, then RBAC, over indexes that follow the log.

use parking_lot::Mutex;
use roost_access::rbac::{ObjectKind, RbacIndex};
use roost_access::{Attributes, Authorizer as _, Decision, Superusers, Union};
use roost_store::{Collection, Cursor, ListQuery, Store};

use crate::cluster::Cluster;
use crate::stored::Stored;

const GROUP: &str = "rbac.authorization.k8s.io";
const SOURCES: [(&str, ObjectKind); 4] = [
    ("clusterroles", ObjectKind::ClusterRole),
    ("clusterrolebindings", ObjectKind::ClusterRoleBinding),
    ("roles", ObjectKind::Role),
    ("rolebindings", ObjectKind::RoleBinding),
];

/// The authorizer of one tenant.
pub(crate) struct Authorizer {
    rbac: Mutex<Rbac>,
}

impl Authorizer {
    /// An authorizer that reads the tenant's roles at the first question.
    pub(crate) fn new(tenant: &str) -> Authorizer {
        let sources = SOURCES.map(|(plural, kind)| Source { collection: Collection::new(tenant, GROUP, plural), kind, cursor: None });
        Authorizer { rbac: Mutex::new(Rbac { index: RbacIndex::default(), sources }) }
    }

    /// Decides on a request.
    pub(crate) fn decide(&self, cluster: &Cluster, attributes: &Attributes<'_>) -> Decision {
        match Superusers.authorize(attributes) {
            allowed @ Decision::Allow(_) => allowed,
            _ => self.with(cluster, |_, authorizer| authorizer.authorize(attributes)),
        }
    }

    /// Answers a question that needs both the roles and the whole chain of authorizers.
    pub(crate) fn with<R>(&self, cluster: &Cluster, question: impl FnOnce(&RbacIndex, &dyn roost_access::Authorizer) -> R) -> R {
        self.read(&cluster.store, |rbac| {
            let node = |attributes: &Attributes<'_>| crate::node::authorize(cluster, attributes);
            question(rbac, &Union(&[&Superusers, &node, rbac]))
        })
    }

    /// Answers a question from the roles as of now.
    pub(crate) fn read<R>(&self, store: &Store, question: impl FnOnce(&RbacIndex) -> R) -> R {
        let mut rbac = self.rbac.lock();
        rbac.catch_up(store);
        question(&rbac.index)
    }
}

struct Rbac {
    index: RbacIndex,
    sources: [Source; 4],
}

struct Source {
    collection: Collection,
    kind: ObjectKind,
    cursor: Option<Cursor>,
}

impl Rbac {
    fn catch_up(&mut self, store: &Store) {
        for source in &mut self.sources {
            if !source.follow(&mut self.index) {
                self.rebuild(store);
                return;
            }
        }
    }

    /// Reads everything anew: at first, and when the log has run ahead of its history.
    fn rebuild(&mut self, store: &Store) {
        self.index = RbacIndex::default();
        for source in &mut self.sources {
            let Ok(page) = store.list(&source.collection, ListQuery::default()) else { continue };
            for entry in &page.entries {
                source.take(&mut self.index, &entry.value);
            }
            source.cursor = store.watch(&source.collection, page.revision).ok();
        }
    }
}

impl Source {
    /// Takes in what the log has gained; false when that cannot be told.
    fn follow(&mut self, index: &mut RbacIndex) -> bool {
        loop {
            let Some(cursor) = &mut self.cursor else { return false };
            let Ok(events) = cursor.try_next() else {
                self.cursor = None;
                return false;
            };
            if events.is_empty() {
                return true;
            }
            for event in events {
                match &event.value {
                    Some(value) => self.take(index, value),
                    None => {
                        let (namespace, name) = event.name.split_once('/').unwrap_or(("", &event.name));
                        index.remove(self.kind, namespace, name);
                    }
                }
            }
        }
    }

    fn take(&self, index: &mut RbacIndex, value: &bytes::Bytes) {
        let object = Stored::new(value.clone()).and_then(|stored| stored.decode("", "", 0));
        match object {
            Ok(object) => index.apply(self.kind, &object),
            Err(error) => tracing::error!(%error, "a stored role or binding cannot be read"),
        }
    }
}
