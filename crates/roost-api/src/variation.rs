//! How some definitions depart from the usual form: a spec that may be left out, no status, an older version.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation,
    JSONSchemaProps,
};
use kube_core::crd::v1::CustomResourceExt;
use kube_core::object::HasSpec;
use schemars::JsonSchema;
use serde_json::json;

use crate::definition::schema_of;

/// Lets objects be without a spec, as most upstream definitions do by not mentioning it.
pub(crate) fn with_optional_spec(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(CustomResourceValidation { open_api_v3_schema: Some(schema) }) = &mut version.schema {
            schema.required = None;
        }
    }
    definition
}

/// The definition of a kind that has a spec, which may be left out, and no status.
pub(crate) fn definition_without_status<K>(description: &str) -> CustomResourceDefinition
where
    K: CustomResourceExt + HasSpec<Spec: JsonSchema>,
{
    let root = json!({
        "description": description,
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "description": "The group and version that this object is written in."},
            "kind": {"type": "string", "description": "The kind of this object."},
            "metadata": {"type": "object"},
            "spec": schema_of::<K::Spec>(),
        },
    });
    let schema: JSONSchemaProps = serde_json::from_value(root).expect("a schema of Rust types is a schema");
    let mut definition = K::crd();
    let names = &mut definition.spec.names;
    names.list_kind = Some(format!("{}List", names.kind));
    for version in &mut definition.spec.versions {
        version.schema = Some(CustomResourceValidation { open_api_v3_schema: Some(schema.clone()) });
    }
    definition
}

/// Adds the status subresource to a kind without a status: its writers may not touch the rest of the object.
pub(crate) fn with_status_subresource(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        let subresources = version.subresources.get_or_insert_with(CustomResourceSubresources::default);
        subresources.status = Some(CustomResourceSubresourceStatus(json!({})));
    }
    definition
}

/// Serves the first version's schema under an older name as well, with a warning to whoever asks for it.
pub(crate) fn with_deprecated_version(
    mut definition: CustomResourceDefinition,
    name: &str,
) -> CustomResourceDefinition {
    let kind = &definition.spec.names.kind;
    let warning = format!("{name} is a deprecated version for {kind}");
    if let Some(mut older) = definition.spec.versions.first().cloned() {
        name.clone_into(&mut older.name);
        older.storage = false;
        older.deprecated = Some(true);
        older.deprecation_warning = Some(warning);
        definition.spec.versions.push(older);
    }
    definition
}

/// Lets typed readers meet objects without a spec: what is absent is the default.
///
/// The spec derives its serialization with `#[serde(remote = "Self")]`, which leaves the traits to this macro. A single
/// object without a spec would otherwise make the list that it is in unreadable.
macro_rules! absent_is_default {
    ($spec:ident) => {
        impl serde::Serialize for $spec {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $spec::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Absent;

                impl<'de> serde::de::Visitor<'de> for Absent {
                    type Value = $spec;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter.write_str("a spec")
                    }

                    fn visit_none<E>(self) -> Result<$spec, E> {
                        Ok($spec::default())
                    }

                    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<$spec, D::Error> {
                        $spec::deserialize(deserializer)
                    }
                }

                deserializer.deserialize_option(Absent)
            }
        }
    };
}

pub(crate) use absent_is_default;
