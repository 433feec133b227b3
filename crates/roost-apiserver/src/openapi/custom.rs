//! The stored definitions as documents need them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use roost_kinds::openapi::CustomKind;
use roost_object::Value;

use super::hashes;
use crate::cluster::Cluster;
use crate::documents::KUBERNETES_VERSION;
use crate::resource::Resource;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// Served custom kinds with their definitions.
pub(super) struct Definitions {
    kinds: Vec<(Arc<Resource>, Arc<Value>)>,
}

/// The custom kinds of a document with a name such as `apis/example.com/v1`.
pub(super) fn of_document(cluster: &Cluster, name: &str) -> Vec<Arc<Resource>> {
    let Some((group, version)) = name.strip_prefix("apis/").and_then(|name| name.split_once('/')) else {
        return Vec::new();
    };
    let mut resources = of_tenant(cluster);
    resources.retain(|resource| resource.group == group && resource.version == version);
    resources
}

/// All custom kinds.
pub(super) fn of_tenant(cluster: &Cluster) -> Vec<Arc<Resource>> {
    cluster.definitions.read(&cluster.store, |table| table.all())
}

impl Definitions {
    /// Reads the definitions of custom kinds.
    pub(super) fn read(cluster: &Cluster, resources: &[Arc<Resource>]) -> Self {
        let mut definitions: HashMap<&str, Arc<Value>> = HashMap::new();
        let mut kinds = Vec::with_capacity(resources.len());
        for resource in resources {
            let Some(custom) = resource.as_custom() else { continue };
            let known = definitions.get(custom.name.as_str()).cloned();
            let Some(definition) = known.or_else(|| cluster.find(GROUP, PLURAL, "", &custom.name).map(Arc::new)) else {
                continue;
            };
            definitions.insert(&custom.name, Arc::clone(&definition));
            kinds.push((Arc::clone(resource), definition));
        }
        Self { kinds }
    }

    /// The kinds as documents describe them.
    pub(super) fn kinds(&self) -> Vec<CustomKind<'_>> {
        self.kinds.iter().filter_map(|(resource, definition)| kind(resource, definition)).collect()
    }
}

/// The hashes of the documents about custom kinds, by name.
pub(super) fn hashes(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut documents: BTreeMap<String, Vec<Arc<Resource>>> = BTreeMap::new();
    for resource in of_tenant(cluster) {
        documents.entry(format!("apis/{}", resource.api_version)).or_default().push(resource);
    }
    documents.into_iter().map(|(name, resources)| (name, hash(cluster, &resources))).collect()
}

/// What the definitions hold stands for what the document would say.
pub(super) fn hash(cluster: &Cluster, resources: &[Arc<Resource>]) -> String {
    let definitions = Resource::built_in(GROUP, "v1", PLURAL).map(|resource| resource.collection(&cluster.tenant));
    let stored: Vec<_> = resources
        .iter()
        .filter_map(|resource| {
            let name = &resource.as_custom()?.name;
            cluster.store.get(definitions.as_ref()?, name).map(|entry| entry.value)
        })
        .collect();
    let program = [KUBERNETES_VERSION.as_bytes(), env!("CARGO_PKG_VERSION").as_bytes()];
    let version = resources.first().map(|resource| resource.api_version.as_bytes());
    hashes::of(program.into_iter().chain(version).chain(stored.iter().map(|value| &**value)))
}

fn kind<'a>(resource: &'a Resource, definition: &'a Value) -> Option<CustomKind<'a>> {
    let version = resource.as_custom()?.version();
    let entries = definition["spec"]["versions"].as_array()?;
    let entry = entries.iter().find(|entry| entry["name"] == resource.version.as_str())?;
    let selectable = entry["selectableFields"].as_array().into_iter().flatten();
    Some(CustomKind {
        group: &resource.group,
        version: &resource.version,
        plural: &resource.plural,
        kind: &resource.kind,
        list_kind: &resource.list_kind,
        namespaced: resource.namespaced,
        status: version.status,
        scale: version.scale.is_some(),
        schema: entry["schema"].get("openAPIV3Schema"),
        selectable_fields: selectable.filter_map(|field| field["jsonPath"].as_str()).collect(),
    })
}
