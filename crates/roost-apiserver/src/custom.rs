//! The custom resources of a tenant, compiled from its CustomResourceDefinitions.

use std::collections::HashMap;
use std::sync::Arc;

use roost_object::Value;
use roost_schema::Definition;
use roost_store::Revision;

use crate::derived::Index;
use crate::resource::{Custom, Resource};
use crate::stored::Stored;

/// All served custom resources, by definition.
#[derive(Default)]
pub(crate) struct CustomTable {
    definitions: HashMap<String, Vec<Arc<Resource>>>,
}

impl CustomTable {
    /// The resource at a path.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.definitions.get(&format!("{plural}.{group}"))?.iter().find(|resource| resource.version == version).cloned()
    }

    /// Every served version of every definition, sorted by definition.
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        let mut names: Vec<_> = self.definitions.keys().collect();
        names.sort();
        names.into_iter().flat_map(|name| self.definitions[name].iter().cloned()).collect()
    }
}

impl Index for CustomTable {
    fn insert(&mut self, _: usize, name: &str, object: &Stored, revision: Revision) {
        self.definitions.remove(name);
        let Ok(object) = object.decode("apiextensions.k8s.io/v1", "CustomResourceDefinition", revision) else { return };
        if !is_true(&object, "Established") {
            return;
        }
        match Definition::compile(&object) {
            Ok(definition) => {
                let definition = Arc::new(definition);
                let terminating = is_true(&object, "Terminating");
                let served = (0..definition.versions.len()).filter(|index| definition.versions[*index].served);
                let resources = served
                    .map(|index| {
                        let definition = Arc::clone(&definition);
                        Arc::new(Resource::custom(Custom {
                            definition,
                            index,
                            name: name.to_owned(),
                            since: revision,
                            terminating,
                        }))
                    })
                    .collect();
                self.definitions.insert(name.to_owned(), resources);
            }
            Err(errors) => {
                let why = roost_object::field::aggregate(&errors);
                tracing::error!(
                    definition = name,
                    why,
                    "a stored definition does not compile; its resources are not served"
                );
            }
        }
    }

    fn remove(&mut self, _: usize, name: &str) {
        self.definitions.remove(name);
    }
}

/// Whether a condition of a definition holds.
pub(crate) fn is_true(object: &Value, condition: &str) -> bool {
    object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|entry| entry["type"] == condition && entry["status"] == "True")
}
