//! Custom resource definitions: compiled for use, defaulted and validated.

mod defaults;
mod object;
mod validate;
mod version_order;

use roost_object::field::{Error, Errors, Path};
use serde_json::Value;

pub use defaults::default_definition;
pub use validate::{definition_warnings, validate_definition, validate_definition_status, validate_definition_update};

use crate::Structural;
use crate::columns::{Column, JsonPath};

/// A custom resource definition, compiled for use.
#[derive(Debug)]
pub struct Definition {
    /// The API group.
    pub group: String,
    /// The resource's name in URLs.
    pub plural: String,
    /// The name of one object for people.
    pub singular: String,
    /// The kind of one object.
    pub kind: String,
    /// The kind of a list.
    pub list_kind: String,
    /// Abbreviations for people.
    pub short_names: Vec<String>,
    /// Groups of resources such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The version in which objects are stored.
    pub storage_version: String,
    /// All versions, in the order of the definition.
    pub versions: Vec<Version>,
    /// How objects change between versions.
    pub conversion: Conversion,
    /// Whether fields that no schema names are kept, an old setting that new definitions may not use.
    pub preserve_unknown_fields: bool,
}

/// How objects change between versions.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// Only the apiVersion changes.
    None,
    /// A webhook converts them.
    Webhook {
        /// How to reach the webhook: a service or a URL, and the CA to trust.
        client_config: Value,
        /// The versions of `ConversionReview` that the webhook reads.
        review_versions: Vec<String>,
    },
}

/// One version of a custom resource.
#[derive(Debug)]
pub struct Version {
    /// Such as `v1beta1`.
    pub name: String,
    /// Whether the API serves it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// The warning that comes with every answer, if the version is deprecated.
    pub deprecated: Option<String>,
    /// What objects may contain. Nothing at all when missing.
    pub schema: Option<Structural>,
    /// Whether there is a status subresource.
    pub status: bool,
    /// Where the scale subresource finds its numbers, if there is one.
    pub scale: Option<ScalePaths>,
    /// The columns after the name.
    pub columns: Vec<Column>,
    /// The fields by which lists can be selected.
    pub selectable_fields: Vec<JsonPath>,
}

/// Where the scale subresource finds its numbers, each as a path such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The wanted number of replicas.
    pub spec_replicas: String,
    /// The observed number of replicas.
    pub status_replicas: String,
    /// The selector of the replicas as text.
    pub label_selector: Option<String>,
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let list = value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// The names that were accepted, which others of the group do not have; the wanted ones where none were yet.
fn served_names(crd: &Value) -> &Value {
    let accepted = &crd["status"]["acceptedNames"];
    let complete = ["plural", "kind"].iter().all(|name| !text(accepted, name).is_empty());
    if complete { accepted } else { &crd["spec"]["names"] }
}

impl Definition {
    /// Compiles a stored, valid definition.
    pub fn compile(crd: &Value) -> Result<Definition, Errors> {
        let spec = &crd["spec"];
        let names = served_names(crd);
        let mut definition = Definition {
            group: text(spec, "group"),
            plural: text(names, "plural"),
            singular: text(names, "singular"),
            kind: text(names, "kind"),
            list_kind: text(names, "listKind"),
            short_names: texts(names, "shortNames"),
            categories: texts(names, "categories"),
            namespaced: spec["scope"] == "Namespaced",
            storage_version: String::new(),
            versions: Vec::new(),
            conversion: conversion(&spec["conversion"]),
            preserve_unknown_fields: flag(spec, "preserveUnknownFields"),
        };
        let mut errors = Errors::new();
        let spec_path = Path::new("spec");
        let versions_path = spec_path.child("versions");
        let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, version) in versions.iter().enumerate() {
            let path = versions_path.index(index);
            match definition.version(version, versions, &path) {
                Ok(version) => definition.versions.push(version),
                Err(error) => errors.push(error),
            }
        }
        definition.storage_version =
            definition.versions.iter().find(|version| version.storage).map(|v| v.name.clone()).unwrap_or_default();
        if errors.is_empty() { Ok(definition) } else { Err(errors) }
    }

    /// A version by name.
    pub fn version_named(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    fn version(&self, version: &Value, all: &[Value], path: &Path<'_>) -> Result<Version, Error> {
        let schema = match version.pointer("/schema/openAPIV3Schema").filter(|schema| !schema.is_null()) {
            None => None,
            Some(schema) => Some(Structural::compile(schema).map_err(|error| {
                let schema_path = path.child("schema");
                Error::invalid(&schema_path.child("openAPIV3Schema"), "", error.to_string())
            })?),
        };
        let subresources = &version["subresources"];
        let scale = subresources.get("scale").filter(|scale| !scale.is_null()).map(|scale| ScalePaths {
            spec_replicas: text(scale, "specReplicasPath"),
            status_replicas: text(scale, "statusReplicasPath"),
            label_selector: Some(text(scale, "labelSelectorPath")).filter(|path| !path.is_empty()),
        });
        let columns = version["additionalPrinterColumns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let columns = match columns {
            [] => vec![Column::age()],
            // A path that cannot be read ends the row, as in stock.
            given => given.iter().map_while(Column::compile).collect(),
        };
        let fields = version["selectableFields"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Version {
            name: text(version, "name"),
            served: flag(version, "served"),
            storage: flag(version, "storage"),
            deprecated: flag(version, "deprecated").then(|| self.deprecation(version, all)),
            schema,
            status: subresources.get("status").is_some_and(|status| !status.is_null()),
            scale,
            columns,
            selectable_fields: fields
                .iter()
                .filter_map(|field| JsonPath::parse(field["jsonPath"].as_str()?).ok())
                .collect(),
        })
    }

    /// The warning of a deprecated version: its own words, or a sentence that names the newest version to use instead.
    fn deprecation(&self, version: &Value, all: &[Value]) -> String {
        if let Some(words) = version.get("deprecationWarning").and_then(Value::as_str) {
            return words.to_owned();
        }
        let name = text(version, "name");
        let mut words = format!("{}/{name} {} is deprecated", self.group, self.kind);
        let newest = all
            .iter()
            .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
            .filter_map(|other| other["name"].as_str())
            .filter(|other| version_order::compare(&name, other).is_lt())
            .max_by(|a, b| version_order::compare(a, b));
        if let Some(newest) = newest {
            use std::fmt::Write as _;
            let _ = write!(words, "; use {}/{newest} {}", self.group, self.kind);
        }
        words
    }
}

fn conversion(conversion: &Value) -> Conversion {
    if conversion["strategy"] != "Webhook" {
        return Conversion::None;
    }
    let webhook = &conversion["webhook"];
    Conversion::Webhook {
        client_config: webhook["clientConfig"].clone(),
        review_versions: texts(webhook, "conversionReviewVersions"),
    }
}

impl Version {
    /// The selectable fields of an object with their values, for field selectors: paths without the leading dot.
    pub fn selectable_values(&self, object: &Value) -> Vec<(String, String)> {
        let name = |path: &JsonPath| path.text().trim_start_matches('.').to_owned();
        let value = |path: &JsonPath| match path.first(object) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        self.selectable_fields.iter().map(|path| (name(path), value(path))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_compiles() {
        let mut crd = json!({"spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1alpha1", "served": true, "storage": false, "deprecated": true, "schema": {"openAPIV3Schema":
                {"type": "object"}}},
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas"}},
                "selectableFields": [{"jsonPath": ".spec.size"}]},
        ]}});
        default_definition(&mut crd);
        let definition = Definition::compile(&crd).unwrap();
        assert_eq!(definition.list_kind, "WidgetList");
        assert_eq!(definition.singular, "widget");
        assert_eq!(definition.storage_version, "v1");
        assert_eq!(
            definition.versions[0].deprecated.as_deref(),
            Some("example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget")
        );
        let version = definition.version_named("v1").unwrap();
        assert!(version.status && version.scale.is_some());
        assert_eq!(version.columns[0].name, "Age");
        let object = json!({"spec": {"size": 3}});
        assert_eq!(version.selectable_values(&object), [("spec.size".to_owned(), "3".to_owned())]);
    }
}
