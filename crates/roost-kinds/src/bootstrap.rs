//! The objects that a stock server creates by itself: namespaces, default RBAC, flow control and priority classes.

use serde_json::Value;

use crate::generated::bootstrap::OBJECTS;

/// Each object as JSON text, in an order in which they can be created. What depends on the moment of creation is left to
/// the creator: uid, generation, managed fields and all times, those of conditions included.
pub fn objects() -> &'static [&'static str] {
    OBJECTS
}

/// The objects as values.
pub fn values() -> impl Iterator<Item = Value> {
    OBJECTS.iter().map(|text| serde_json::from_str(text).expect("generated objects are valid JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_has_a_known_type_and_a_name() {
        let mut roles = 0;
        for object in values() {
            let api_version = object["apiVersion"].as_str().unwrap();
            let kind = object["kind"].as_str().unwrap();
            assert!(crate::type_of(api_version, kind).is_some(), "{api_version} {kind}");
            assert!(object["metadata"]["name"].is_string());
            roles += usize::from(kind == "ClusterRole");
        }
        assert_eq!(roles, 69);
    }
}
