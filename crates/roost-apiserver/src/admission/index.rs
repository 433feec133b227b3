//! What admission knows of a tenant beside the object at hand: its namespaces, classes, limits and quotas, read once
//! and kept up to date from the log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use roost_admission::limits::LimitRange;
use roost_admission::pod_security::Policy;
use roost_admission::quota::Quota;
use roost_object::Value;
use roost_object::field::Errors;
use roost_store::Revision;

use crate::derived::Index;
use crate::stored::Stored;

/// A namespace as admission sees it.
pub(crate) struct Namespace {
    /// The object.
    pub(crate) object: Value,
    /// What its labels ask of pods.
    pub(super) pod_security: Policy,
    /// What is wrong with those labels.
    pub(super) pod_security_errors: Errors,
}

impl Namespace {
    /// Whether it is on its way out.
    pub(super) fn is_terminating(&self) -> bool {
        self.object["status"]["phase"] == "Terminating" || self.object["metadata"].get("deletionTimestamp").is_some()
    }
}

/// All namespaces by name.
#[derive(Default)]
pub(super) struct Namespaces(HashMap<String, Arc<Namespace>>);

impl Namespaces {
    pub(super) fn get(&self, name: &str) -> Option<Arc<Namespace>> {
        self.0.get(name).cloned()
    }
}

impl Index for Namespaces {
    fn insert(&mut self, _: usize, name: &str, object: &Stored, revision: Revision) {
        let Ok(object) = object.decode("v1", "Namespace", revision) else { return };
        let (pod_security, pod_security_errors) = Policy::read(&object["metadata"]["labels"]);
        self.0.insert(name.to_owned(), Arc::new(Namespace { object, pod_security, pod_security_errors }));
    }

    fn remove(&mut self, _: usize, name: &str) {
        self.0.remove(name);
    }
}

/// Objects outside of namespaces that pods, claims and ingresses name: classes of all kinds.
#[derive(Default)]
pub(super) struct Classes(BTreeMap<String, Arc<Value>>);

impl Classes {
    pub(super) fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.0.values()
    }
}

impl Index for Classes {
    fn insert(&mut self, _: usize, name: &str, object: &Stored, revision: Revision) {
        let Ok(object) = object.decode("", "", revision) else { return };
        self.0.insert(name.to_owned(), Arc::new(object));
    }

    fn remove(&mut self, _: usize, name: &str) {
        self.0.remove(name);
    }
}

/// Objects by namespace, then by name.
pub(super) struct ByNamespace<T>(HashMap<String, BTreeMap<String, Arc<T>>>);

impl<T> Default for ByNamespace<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> ByNamespace<T> {
    /// All of a namespace, by name.
    pub(super) fn of(&self, namespace: &str) -> Vec<Arc<T>> {
        self.0.get(namespace).into_iter().flat_map(|objects| objects.values().cloned()).collect()
    }

    /// Whether a namespace has any.
    pub(super) fn has(&self, namespace: &str) -> bool {
        !self.0.is_empty() && self.0.contains_key(namespace)
    }
}

/// What can be read from a stored object.
pub(super) trait Read {
    fn read(object: Value, revision: Revision) -> Self;
}

impl Read for LimitRange {
    fn read(object: Value, _: Revision) -> Self {
        LimitRange::read(&object)
    }
}

/// A quota, with what is needed to write it back.
pub(super) struct StoredQuota {
    pub(super) quota: Quota,
    pub(super) object: Value,
    pub(super) revision: Revision,
}

impl Read for StoredQuota {
    fn read(object: Value, revision: Revision) -> Self {
        Self { quota: Quota::read(&object), object, revision }
    }
}

impl<T: Read + Send + Sync> Index for ByNamespace<T> {
    fn insert(&mut self, _: usize, name: &str, object: &Stored, revision: Revision) {
        let Ok(object) = object.decode("v1", "", revision) else { return };
        let Some((namespace, name)) = name.split_once('/') else { return };
        self.0.entry(namespace.to_owned()).or_default().insert(name.to_owned(), Arc::new(T::read(object, revision)));
    }

    fn remove(&mut self, _: usize, name: &str) {
        let Some((namespace, name)) = name.split_once('/') else { return };
        if let Some(objects) = self.0.get_mut(namespace) {
            objects.remove(name);
            if objects.is_empty() {
                self.0.remove(namespace);
            }
        }
    }
}
