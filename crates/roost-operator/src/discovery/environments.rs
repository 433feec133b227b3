//! Which InfraEnv a token's id means.

use std::collections::HashMap;

use parking_lot::RwLock;

use super::presence::Place;

/// All InfraEnvs by their id. Filled by the passes over them, and so there again soon after a restart.
#[derive(Default)]
pub(crate) struct Environments(RwLock<HashMap<String, Place>>);

impl Environments {
    pub(crate) fn put(&self, id: &str, namespace: &str, name: &str) {
        let mut all = self.0.write();
        if all.get(id).is_none_or(|known| known.0 != namespace || known.1 != name) {
            all.insert(id.to_owned(), (namespace.to_owned(), name.to_owned()));
        }
    }

    pub(crate) fn remove(&self, namespace: &str, name: &str) {
        self.0.write().retain(|_, known| known.0 != namespace || known.1 != name);
    }

    pub(crate) fn find(&self, id: &str) -> Option<Place> {
        self.0.read().get(id).cloned()
    }

    /// All of them, by namespace and name.
    pub(crate) fn all(&self) -> Vec<Place> {
        self.0.read().values().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }
}
