//! Removing what a schema does not name.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Additional, Structural};

impl Structural {
    /// Removes the fields that the schema does not name and returns their paths, as they appear in
    /// `unknown field "spec.foo"`. The root's apiVersion, kind and metadata stay; unknown or malformed fields inside
    /// metadata, the root's and that of embedded objects, are removed as when stock reads a stored object.
    ///
    /// Requests go through [`Structural::decode`], which refuses malformed metadata.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        self.decode_with(object, true, Nulls::Dropped).unwrap_or_default()
    }

    /// The same for what is applied, which keeps its nulls.
    pub fn prune_applied(&self, object: &mut Value) {
        let _ = self.decode_with(object, true, Nulls::Kept);
    }

    pub(super) fn prune_fields(&self, object: &mut Value, unknown: &mut Vec<String>) {
        let before = unknown.len();
        prune(object, Some(self), true, &Trail::Root, unknown);
        unknown[before..].sort();
    }

    /// Whether pruning would leave a value as it is. Only resource roots and embedded objects keep their metadata.
    pub(crate) fn keeps_all_of(&self, value: &Value) -> bool {
        let mut pruned = value.clone();
        prune(&mut pruned, Some(self), self.embedded, &Trail::Root, &mut Vec::new());
        pruned == *value
    }
}

/// What becomes of the nulls that a schema does not allow and has no default for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Nulls {
    Dropped,
    Kept,
}

/// The way to a value, as unknown fields are named: text only when something is found.
pub(super) enum Trail<'a> {
    Root,
    Key(&'a Trail<'a>, &'a str),
    /// A key that the schema does not name.
    Entry(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    pub(super) fn key(&self, name: &str) -> String {
        let mut text = String::new();
        self.write(&mut text);
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(name);
        text
    }

    /// The way as errors write it: keys that the schema does not name are in brackets.
    pub(super) fn field(&self, name: &str) -> String {
        let mut text = String::new();
        self.write_field(&mut text);
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(name);
        text
    }

    fn write_field(&self, text: &mut String) {
        match self {
            Trail::Root => {}
            Trail::Key(parent, name) => text.push_str(&parent.field(name)),
            Trail::Entry(parent, name) => {
                parent.write_field(text);
                let _ = write!(text, "[{name}]");
            }
            Trail::Index(parent, index) => {
                parent.write_field(text);
                let _ = write!(text, "[{index}]");
            }
        }
    }

    pub(super) fn write(&self, text: &mut String) {
        match self {
            Trail::Root => {}
            Trail::Key(parent, name) | Trail::Entry(parent, name) => {
                parent.write(text);
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Trail::Index(parent, index) => {
                parent.write(text);
                let _ = write!(text, "[{index}]");
            }
        }
    }
}

pub(super) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn prune(value: &mut Value, schema: Option<&Structural>, resource: bool, trail: &Trail<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let Some(schema) = schema else {
                unknown.extend(map.keys().map(|name| trail.key(name)));
                map.clear();
                return;
            };
            let resource = resource || schema.embedded;
            let at_root = matches!(trail, Trail::Root);
            map.retain(|name, inner| {
                if resource && is_meta(name) {
                    return true;
                }
                let below = Trail::Key(trail, name);
                if let Some(property) = schema.property(name) {
                    prune(inner, Some(property), false, &below, unknown);
                    return true;
                }
                match &schema.additional {
                    Additional::Schema(additional) => prune(inner, Some(additional), false, &below, unknown),
                    Additional::Allowed(_) => prune(inner, None, false, &below, unknown),
                    Additional::Unset if schema.preserve_unknown => {}
                    Additional::Unset => {
                        if !(at_root && is_meta(name)) {
                            unknown.push(trail.key(name));
                        }
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(list) => {
            // Items below a list that keeps unknown fields keep theirs too when they have no schema of their own.
            let keeps = schema.is_some_and(|schema| schema.preserve_unknown);
            let items = schema.and_then(|schema| schema.items.as_deref());
            if keeps && items.is_none() {
                return;
            }
            for (index, inner) in list.iter_mut().enumerate() {
                let below = Trail::Index(trail, index);
                if keeps {
                    keep_unknown(inner, items, &below, unknown);
                } else {
                    prune(inner, items, false, &below, unknown);
                }
            }
        }
        _ => {}
    }
}

/// Prunes only what the schema names below a list that keeps unknown fields.
fn keep_unknown(value: &mut Value, schema: Option<&Structural>, trail: &Trail<'_>, unknown: &mut Vec<String>) {
    let Some(schema) = schema else { return };
    match value {
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                if schema.embedded && is_meta(name) {
                    continue;
                }
                let below = Trail::Key(trail, name);
                if let Some(property) = schema.property(name) {
                    prune(inner, Some(property), false, &below, unknown);
                } else if schema.additional.is_set() {
                    prune(inner, schema.additional.schema(), false, &below, unknown);
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter_mut().enumerate() {
                keep_unknown(inner, schema.items.as_deref(), &Trail::Index(trail, index), unknown);
            }
        }
        _ => {}
    }
}
