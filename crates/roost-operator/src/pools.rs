//! Which NodePools a cluster has, as the watch of all NodePools tells: asking the API for it means reading all of them.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

/// The names of all NodePools by the cluster that they name.
#[derive(Default)]
pub(crate) struct Pools(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Whether all pools are known, rather than those that were told of so far.
    is_complete: bool,
    by_cluster: HashMap<(String, String), HashSet<String>>,
}

impl Pools {
    /// The watch begins anew: what is known may no longer be so.
    pub(crate) fn begin(&self) {
        *self.0.lock() = Known::default();
    }

    /// All that there were have been told of.
    pub(crate) fn complete(&self) {
        self.0.lock().is_complete = true;
    }

    /// A pool is there.
    pub(crate) fn add(&self, namespace: &str, cluster: &str, pool: &str) {
        let place = (namespace.to_owned(), cluster.to_owned());
        self.0.lock().by_cluster.entry(place).or_default().insert(pool.to_owned());
    }

    /// A pool is gone.
    pub(crate) fn remove(&self, namespace: &str, cluster: &str, pool: &str) {
        let place = (namespace.to_owned(), cluster.to_owned());
        let mut known = self.0.lock();
        if let Some(pools) = known.by_cluster.get_mut(&place) {
            pools.remove(pool);
            if pools.is_empty() {
                known.by_cluster.remove(&place);
            }
        }
    }

    /// The pools of a cluster that were told of.
    pub(crate) fn known_of(&self, namespace: &str, cluster: &str) -> Vec<String> {
        let known = self.0.lock();
        let pools = known.by_cluster.get(&(namespace.to_owned(), cluster.to_owned()));
        pools.into_iter().flatten().cloned().collect()
    }

    /// All pools of a cluster; none while the watch has not told of all.
    pub(crate) fn all_of(&self, namespace: &str, cluster: &str) -> Option<Vec<String>> {
        let is_complete = self.0.lock().is_complete;
        is_complete.then(|| self.known_of(namespace, cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_all_before_all_are_known() {
        let pools = Pools::default();
        pools.add("clusters", "demo", "one");
        assert_eq!(pools.all_of("clusters", "demo"), None);
        pools.complete();
        assert_eq!(pools.all_of("clusters", "demo"), Some(vec!["one".to_owned()]));
        assert_eq!(pools.all_of("clusters", "other"), Some(Vec::new()));
        pools.remove("clusters", "demo", "one");
        assert!(pools.0.lock().by_cluster.is_empty());
        pools.begin();
        assert_eq!(pools.all_of("clusters", "demo"), None);
    }
}
