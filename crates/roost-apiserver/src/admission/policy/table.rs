//! The policies of a tenant, compiled once, each with its bindings.

use std::collections::BTreeMap;
use std::sync::Arc;

use roost_admission::policy::{Binding, MutatingPolicy, ValidatingPolicy};
use roost_store::Revision;

use crate::derived::Index;
use crate::stored::Stored;

/// A policy and what binds it.
pub(super) struct Bound<P> {
    pub(super) policy: Arc<P>,
    pub(super) bindings: Vec<Arc<Binding>>,
}

/// Policies of one kind.
struct Policies<P> {
    by_name: BTreeMap<String, Arc<P>>,
    bindings: BTreeMap<String, Arc<Binding>>,
    bound: Arc<[Bound<P>]>,
}

impl<P> Default for Policies<P> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), bindings: BTreeMap::new(), bound: Arc::new([]) }
    }
}

impl<P> Policies<P> {
    /// Those that something binds, sorted by name; the others have no effect.
    fn rebuild(&mut self) {
        let bound = self.by_name.iter().filter_map(|(name, policy)| {
            let bindings: Vec<_> = self.bindings.values().filter(|one| one.policy == *name).cloned().collect();
            (!bindings.is_empty()).then(|| Bound { policy: Arc::clone(policy), bindings })
        });
        self.bound = bound.collect();
    }

    fn list(&self) -> Option<Arc<[Bound<P>]>> {
        (!self.bound.is_empty()).then(|| Arc::clone(&self.bound))
    }
}

/// All policies of a tenant.
#[derive(Default)]
pub(in super::super) struct PolicyTable {
    validating: Policies<ValidatingPolicy>,
    mutating: Policies<MutatingPolicy>,
}

impl PolicyTable {
    /// The collections that hold policies and bindings, by place.
    pub(in super::super) const SOURCES: [&'static str; 4] = [
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    ];

    pub(super) fn validating(&self) -> Option<Arc<[Bound<ValidatingPolicy>]>> {
        self.validating.list()
    }

    pub(super) fn mutating(&self) -> Option<Arc<[Bound<MutatingPolicy>]>> {
        self.mutating.list()
    }
}

impl Index for PolicyTable {
    fn insert(&mut self, source: usize, name: &str, object: &Stored, revision: Revision) {
        let Ok(object) = object.decode("admissionregistration.k8s.io/v1", "", revision) else { return };
        let name = name.to_owned();
        match source {
            0 => {
                self.validating.by_name.insert(name, Arc::new(ValidatingPolicy::compile(&object)));
            }
            1 => {
                self.validating.bindings.insert(name, Arc::new(Binding::read(&object)));
            }
            2 => {
                self.mutating.by_name.insert(name, Arc::new(MutatingPolicy::compile(&object)));
            }
            _ => {
                self.mutating.bindings.insert(name, Arc::new(Binding::read(&object)));
            }
        }
        if source < 2 { self.validating.rebuild() } else { self.mutating.rebuild() }
    }

    fn remove(&mut self, source: usize, name: &str) {
        match source {
            0 => drop(self.validating.by_name.remove(name)),
            1 => drop(self.validating.bindings.remove(name)),
            2 => drop(self.mutating.by_name.remove(name)),
            _ => drop(self.mutating.bindings.remove(name)),
        }
        if source < 2 { self.validating.rebuild() } else { self.mutating.rebuild() }
    }
}
