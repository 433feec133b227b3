//! The resources of Kubernetes itself, and what is known of their types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use roost_object::{Value, group};
use roost_rules::Rules;

use super::{Origin, Resource};

/// A built-in type with nothing set.
pub(super) fn empty_of(ty: &'static roost_kinds::Type) -> &'static Value {
    static EMPTY: LazyLock<Mutex<HashMap<&'static str, &'static Value>>> = LazyLock::new(Mutex::default);
    EMPTY.lock().entry(ty.openapi).or_insert_with(|| {
        let empty = Value::Object(roost_object::Map::new());
        let decoded = roost_kinds::json::decode(empty, ty).map(|decoded| decoded.value).unwrap_or_default();
        Box::leak(Box::new(decoded))
    })
}

/// All of them, in the order of the discovery documents.
pub(super) static RESOURCES: LazyLock<Vec<Arc<Resource>>> = LazyLock::new(|| {
    let entry = |resource: &'static roost_kinds::Resource| {
        Arc::new(Resource {
            group: resource.group.to_owned(),
            version: resource.version.to_owned(),
            api_version: group::api_version(resource.group, resource.version),
            plural: resource.plural.to_owned(),
            kind: resource.kind.to_owned(),
            list_kind: format!("{}List", resource.kind),
            namespaced: resource.namespaced,
            origin: Origin::BuiltIn(resource, rules_of(resource)),
        })
    };
    roost_kinds::resources().iter().map(entry).collect()
});

/// The rules of a built-in kind.
pub(super) fn rules_of(resource: &roost_kinds::Resource) -> &'static Rules {
    let definitions = &crate::definition::RULES;
    if resource.group == definitions.group && resource.kind == definitions.kind {
        return definitions;
    }
    crate::admission::rules_of(resource.group, resource.kind)
        .unwrap_or_else(|| roost_rules::of(resource.group, resource.kind))
}
