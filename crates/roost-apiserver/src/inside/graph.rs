//! Who owns whom, across all tenants.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roost_store::Collection;

use super::Task;
use super::metadata::Metadata;

/// The finalizer of an object that waits until its dependents are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object that waits until its dependents have forgotten it.
pub(super) const ORPHAN: &str = "orphan";

/// One object of one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectId {
    pub(crate) collection: Collection,
    pub(crate) name: Arc<str>,
}

/// The edges from owners to dependents, by the owner's uid.
#[derive(Default)]
pub(crate) struct Graph {
    dependents: HashMap<String, HashSet<ObjectId>>,
    owners: HashMap<ObjectId, Vec<String>>,
    /// Objects that wait for their dependents.
    waiting: HashMap<String, ObjectId>,
}

impl Graph {
    /// Takes in an object as it is, or as it was when it ended, and says what to look at.
    pub(super) fn observe(&mut self, id: &ObjectId, metadata: &Metadata, alive: bool) -> Vec<Task> {
        let mut tasks = Vec::new();
        let before = self.owners.remove(id).unwrap_or_default();
        let now: Vec<String> =
            if alive { metadata.owner_references.iter().map(|owner| owner.uid.clone()).collect() } else { Vec::new() };
        for uid in before.iter().filter(|uid| !now.contains(uid)) {
            self.drop_edge(uid, id);
            tasks.extend(self.waiting.get(uid).cloned().map(Task::ReleaseDependents));
        }
        if !now.is_empty() {
            for uid in &now {
                self.dependents.entry(uid.clone()).or_default().insert(id.clone());
            }
            if before != now {
                tasks.push(Task::CheckOwners(id.clone()));
            }
            self.owners.insert(id.clone(), now);
        }
        if !alive {
            self.waiting.remove(&metadata.uid);
            let orphans = self.dependents.get(&metadata.uid).into_iter().flatten();
            tasks.extend(orphans.cloned().map(Task::CheckOwners));
        } else if metadata.deletion_timestamp.is_some()
            && metadata.finalizers.iter().any(|finalizer| finalizer == FOREGROUND || finalizer == ORPHAN)
        {
            self.waiting.insert(metadata.uid.clone(), id.clone());
            tasks.push(Task::ReleaseDependents(id.clone()));
            let dependents = self.dependents.get(&metadata.uid).into_iter().flatten();
            if metadata.finalizers.iter().any(|finalizer| finalizer == FOREGROUND) {
                tasks.extend(dependents.cloned().map(Task::CheckOwners));
            }
        }
        tasks
    }

    /// The objects that name an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<ObjectId> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Forgets a tenant whose data were dropped.
    pub(super) fn forget_tenant(&mut self, tenant: &str) {
        self.owners.retain(|id, _| id.collection.tenant() != tenant);
        self.waiting.retain(|_, id| id.collection.tenant() != tenant);
        self.dependents.retain(|_, ids| {
            ids.retain(|id| id.collection.tenant() != tenant);
            !ids.is_empty()
        });
    }

    fn drop_edge(&mut self, uid: &str, id: &ObjectId) {
        if let Some(ids) = self.dependents.get_mut(uid) {
            ids.remove(id);
            if ids.is_empty() {
                self.dependents.remove(uid);
            }
        }
    }
}
