//! The kinds of Roost's API, as Rust types that generate their custom resource definitions. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

pub mod agent_install;
pub mod capi_provider;
pub mod cluster_api;
pub mod definition;
pub mod hypershift;
pub mod mce;
pub mod metal3;
pub mod ocm;
mod open_string;
pub mod preserved;
pub mod rules;
mod variation;

/// The definitions of every kind, in the order in which an engine creates them.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [
        hypershift::definitions(),
        agent_install::definitions(),
        capi_provider::definitions(),
        cluster_api::definitions(),
        metal3::definitions(),
        ocm::definitions(),
        mce::definitions(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    fn note_silent_fields(schema: &Value, path: &str, silent: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if field["description"].as_str().is_none_or(str::is_empty) && path != ".metadata" {
                silent.push(path.clone());
            }
            note_silent_fields(field, &path, silent);
            note_silent_fields(&field["items"], &path, silent);
            note_silent_fields(&field["additionalProperties"], &path, silent);
        }
    }

    #[test]
    fn every_kind_can_be_defined_and_explained() {
        for definition in super::definitions() {
            let mut definition = serde_json::to_value(definition).unwrap();
            let mut silent = Vec::new();
            note_silent_fields(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut silent);
            assert_eq!(silent, Vec::<String>::new(), "{}", definition["metadata"]["name"]);
            roost_schema::default_definition(&mut definition);
            let errors = roost_schema::validate_definition(&definition);
            assert!(errors.is_empty(), "{}: {errors:#?}", definition["metadata"]["name"]);
        }
    }
}
