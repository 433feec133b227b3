//! The `x-kubernetes-…` extensions of schemas: types of lists and maps, and the keys of lists.

use roost_object::field::{Error, Errors, Kind, Path};

use super::props::{Items, Props};
use super::shown;
use crate::wording;

/// Checks the extensions of one place.
pub(super) fn validate(schema: Props<'_>, atomic_sets: bool, path: &Path<'_>, errors: &mut Errors) {
    let kind = schema.kind();
    if schema.get("x-kubernetes-preserve-unknown-fields").is_some_and(|value| value == false) {
        let path = path.child("x-kubernetes-preserve-unknown-fields");
        errors.push(Error::invalid(&path, false, "must be true or undefined"));
    }
    let wrong_type = |wanted: &str, extension: &str| {
        let words = format!("must be {wanted} if {extension} is specified");
        if kind.is_empty() {
            Error::required(&path.child("type"), words)
        } else {
            Error::invalid(&path.child("type"), kind, words)
        }
    };
    let map_type = schema.text_if_given("x-kubernetes-map-type");
    if map_type.is_some() && kind != "object" {
        errors.push(wrong_type("object", "x-kubernetes-map-type"));
    }
    if let Some(given) = map_type.filter(|given| !matches!(*given, "atomic" | "granular")) {
        errors.push(Error::not_supported(&path.child("x-kubernetes-map-type"), given, &["atomic", "granular"]));
    }
    let list_type = schema.text_if_given("x-kubernetes-list-type");
    if list_type.is_some() && kind != "array" {
        errors.push(wrong_type("array", "x-kubernetes-list-type"));
    } else if atomic_sets && let Some(item) = schema.item().filter(|_| has_compound_set(schema)) {
        let name = if item.kind() == "array" { "x-kubernetes-list-type" } else { "x-kubernetes-map-type" };
        let items_path = path.child("items");
        // Stock shows the list type in both cases.
        let shown = item.get("x-kubernetes-list-type").cloned().unwrap_or_default();
        let words = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(Error::invalid(&items_path.child(name), shown, words));
    }
    if let Some(given) = list_type.filter(|given| !matches!(*given, "atomic" | "set" | "map")) {
        let path = path.child("x-kubernetes-list-type");
        errors.push(Error::not_supported(&path, given, &["atomic", "set", "map"]));
    }
    let keys = schema.names("x-kubernetes-list-map-keys");
    if !keys.is_empty() {
        let words = "must be map if x-kubernetes-list-map-keys is non-empty";
        let path = path.child("x-kubernetes-list-type");
        match list_type {
            None => errors.push(Error::required(&path, words)),
            Some("map") => {}
            Some(other) => errors.push(Error::invalid(&path, other, words)),
        }
    }
    if list_type == Some("map") {
        map_list(schema, &keys, path, errors);
    }
}

fn map_list(schema: Props<'_>, keys: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if keys.is_empty() {
        let words = "must not be empty if x-kubernetes-list-type is map";
        errors.push(Error::required(&path.child("x-kubernetes-list-map-keys"), words));
    }
    let items_path = path.child("items");
    match schema.items() {
        None => {
            errors.push(Error::required(&items_path, "must have a schema if x-kubernetes-list-type is map"));
        }
        Some(Items::Nothing | Items::Many(_)) => {
            let words = "must only have a single schema if x-kubernetes-list-type is map";
            let shown = shown::items(schema);
            errors.push(wording::error_showing(Kind::Invalid, items_path.to_string(), &shown, words));
        }
        Some(Items::One(item)) if item.kind() != "object" => {
            let words = "must be object if parent array's x-kubernetes-list-type is map";
            errors.push(Error::invalid(&items_path.child("type"), item.kind(), words));
        }
        Some(Items::One(item)) => {
            let keys_path = path.child("x-kubernetes-list-map-keys");
            let refuse =
                |words: &str| wording::error_showing(Kind::Invalid, keys_path.to_string(), &shown::names(keys), words);
            let properties_path = items_path.child("properties");
            for (index, key) in keys.iter().enumerate() {
                match item.property(key) {
                    Some(property) if matches!(property.kind(), "array" | "object") => {
                        let key_path = properties_path.key(key);
                        let words = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                        errors.push(Error::invalid(&key_path.child("type"), item.kind(), words));
                    }
                    Some(_) => {}
                    None => errors.push(refuse("entries must all be names of item properties")),
                }
                if keys[..index].contains(key) {
                    errors.push(refuse("must not contain duplicate entries"));
                }
            }
        }
    }
}

/// The keys of a list must always be there.
pub(super) fn list_keys(schema: Props<'_>, path: &Path<'_>, errors: &mut Errors) {
    let list_type = schema.text("x-kubernetes-list-type");
    let Some(item) = schema.item().filter(|_| matches!(list_type, "set" | "map")) else { return };
    let items_path = path.child("items");
    if item.flag("nullable") {
        let words = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(Error::forbidden(&items_path.child("nullable"), words));
    }
    if list_type != "map" {
        return;
    }
    let required = item.names("required");
    let properties_path = items_path.child("properties");
    for key in schema.names("x-kubernetes-list-map-keys") {
        let Some(property) = item.property(key) else { continue };
        let key_path = properties_path.key(key);
        if !required.contains(&key) && property.get("default").is_none() {
            let words =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(Error::required(&key_path.child("default"), words));
        }
        if property.flag("nullable") {
            let words = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(Error::forbidden(&key_path.child("nullable"), words));
        }
    }
}

pub(super) fn has_invalid_list_keys(schema: Props<'_>) -> bool {
    let mut errors = Errors::new();
    list_keys(schema, &Path::ROOT, &mut errors);
    !errors.is_empty()
}

/// A set whose elements merge instead of being replaced.
pub(super) fn has_compound_set(schema: Props<'_>) -> bool {
    if schema.text("x-kubernetes-list-type") != "set" {
        return false;
    }
    schema.item().is_some_and(|item| match item.kind() {
        "array" => item.text_if_given("x-kubernetes-list-type").is_some_and(|given| given != "atomic"),
        "object" => item.text("x-kubernetes-map-type") != "atomic",
        _ => false,
    })
}

pub(super) fn has_extension(schema: Props<'_>) -> bool {
    schema.flag("x-kubernetes-embedded-resource")
        || schema.get("x-kubernetes-preserve-unknown-fields").is_some()
        || schema.flag("x-kubernetes-int-or-string")
        || !schema.list("x-kubernetes-list-map-keys").is_empty()
        || schema.get("x-kubernetes-list-type").is_some()
        || !schema.list("x-kubernetes-validations").is_empty()
}
