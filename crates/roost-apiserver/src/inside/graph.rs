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
    waiting: HashMap<String, Waiting>,
    /// Owners that were seen to end while they had dependents. It is how one knows when their kind ends with them.
    gone: HashSet<String>,
    /// Dependents of kinds that nobody serves, by tenant: they are looked at again when a definition comes.
    unresolved: HashMap<String, HashSet<ObjectId>>,
}

struct Waiting {
    id: ObjectId,
    foreground: bool,
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
        }
        // Whatever changed about a dependent, it may no longer stand in the way of its owner.
        let owners = before.iter().filter(|uid| !now.contains(uid)).chain(&now);
        tasks.extend(
            owners.filter_map(|uid| self.waiting.get(uid)).map(|owner| Task::ReleaseDependents(owner.id.clone())),
        );
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
            if let Some(orphans) = self.dependents.get(&metadata.uid) {
                self.gone.insert(metadata.uid.clone());
                tasks.extend(orphans.iter().cloned().map(Task::CheckOwners));
            }
            if let Some(unresolved) = self.unresolved.get_mut(id.collection.tenant()) {
                unresolved.remove(id);
            }
        } else if metadata.deletion_timestamp.is_some()
            && metadata.finalizers.iter().any(|finalizer| finalizer == FOREGROUND || finalizer == ORPHAN)
        {
            let foreground = metadata.finalizers.iter().any(|finalizer| finalizer == FOREGROUND);
            self.waiting.insert(metadata.uid.clone(), Waiting { id: id.clone(), foreground });
            tasks.push(Task::ReleaseDependents(id.clone()));
            let dependents = self.dependents.get(&metadata.uid).into_iter().flatten();
            if foreground {
                tasks.extend(dependents.cloned().map(Task::CheckOwners));
            }
        }
        tasks
    }

    /// The objects that name an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<ObjectId> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Whether an object has dependents, and whether one of them waits for dependents of its own.
    pub(super) fn dependents_of(&self, uid: &str) -> (bool, bool) {
        let Some(dependents) = self.dependents.get(uid) else { return (false, false) };
        let waits = self.waiting.values().any(|waiting| waiting.foreground && dependents.contains(&waiting.id));
        (!dependents.is_empty(), waits)
    }

    /// Whether an owner was seen to end.
    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }

    /// Remembers a dependent whose owner is of a kind that nobody serves.
    pub(super) fn set_unresolved(&mut self, id: &ObjectId) {
        self.unresolved.entry(id.collection.tenant().to_owned()).or_default().insert(id.clone());
    }

    /// The dependents whose owners may be found now that a definition has come.
    pub(super) fn take_unresolved(&mut self, tenant: &str) -> impl Iterator<Item = Task> + use<> {
        self.unresolved.remove(tenant).into_iter().flatten().map(Task::CheckOwners)
    }

    /// Forgets a tenant whose data were dropped.
    pub(super) fn forget_tenant(&mut self, tenant: &str) {
        self.unresolved.remove(tenant);
        self.owners.retain(|id, _| id.collection.tenant() != tenant);
        self.waiting.retain(|_, waiting| waiting.id.collection.tenant() != tenant);
        self.dependents.retain(|_, ids| {
            ids.retain(|id| id.collection.tenant() != tenant);
            !ids.is_empty()
        });
        let dependents = &self.dependents;
        self.gone.retain(|uid| dependents.contains_key(uid));
    }

    fn drop_edge(&mut self, uid: &str, id: &ObjectId) {
        if let Some(ids) = self.dependents.get_mut(uid) {
            ids.remove(id);
            if ids.is_empty() {
                self.dependents.remove(uid);
                self.gone.remove(uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::OwnerReference;
    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId { collection: Collection::new("t", "", "configmaps"), name: format!("n/{name}").into() }
    }

    fn object(uid: &str, owners: &[&str]) -> Metadata {
        let reference = |uid: &&str| OwnerReference { uid: (*uid).to_owned(), ..OwnerReference::default() };
        Metadata {
            uid: uid.to_owned(),
            owner_references: owners.iter().map(reference).collect(),
            ..Metadata::default()
        }
    }

    #[test]
    fn a_dependent_is_looked_at_when_it_comes_and_when_its_owner_goes() {
        let mut graph = Graph::default();
        assert_eq!(graph.observe(&id("owner"), &object("o", &[]), true), []);
        assert_eq!(graph.observe(&id("child"), &object("c", &["o"]), true), [Task::CheckOwners(id("child"))]);
        assert_eq!(graph.observe(&id("child"), &object("c", &["o"]), true), []);
        assert_eq!(graph.observe(&id("owner"), &object("o", &[]), false), [Task::CheckOwners(id("child"))]);
        assert!(graph.is_gone("o"));
        assert_eq!(graph.observe(&id("child"), &object("c", &["o"]), false), []);
        assert!(!graph.is_gone("o") && graph.dependents.is_empty() && graph.owners.is_empty());
    }

    #[test]
    fn a_waiting_owner_is_looked_at_when_a_dependent_changes() {
        let mut graph = Graph::default();
        graph.observe(&id("child"), &object("c", &["o"]), true);
        let going = Metadata {
            deletion_timestamp: Some("now".to_owned()),
            finalizers: vec![FOREGROUND.to_owned()],
            ..object("o", &[])
        };
        let tasks = graph.observe(&id("owner"), &going, true);
        assert_eq!(tasks, [Task::ReleaseDependents(id("owner")), Task::CheckOwners(id("child"))]);
        let release = [Task::ReleaseDependents(id("owner"))];
        assert_eq!(graph.observe(&id("child"), &object("c", &["o"]), true), release);
        assert_eq!(graph.observe(&id("child"), &object("c", &[]), true), release);
        assert_eq!(graph.observe(&id("child"), &object("c", &[]), true), []);
    }
}
