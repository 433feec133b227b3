//! Defaults inside definitions: each must be valid where it stands.

use roost_object::field::{Errors, Kind, Path, aggregate};
use serde_json::{Map, Value, json};

use super::props::Props;
use crate::cel::REQUEST_BUDGET;
use crate::structural::{Structural, embedded};
use crate::wording;

/// Checks all defaults of a schema. With `pruned`, they must not have fields that the schema would remove.
pub(super) fn validate(root: &Structural, path: &Path<'_>, pruned: bool) -> Errors {
    let mut walker = Walker { pruned, budget: REQUEST_BUDGET, errors: Errors::new() };
    // A spent budget has already been reported.
    let _ = walker.walk(root, true, &Around::Root, false, path);
    walker.errors
}

struct Spent;

/// The object in which a default inside metadata would stand.
enum Around<'a> {
    Root,
    Field(&'a Around<'a>, &'a str),
    Element(&'a Around<'a>),
}

impl Around<'_> {
    /// The smallest resource that has a value at this place.
    fn resource(&self, value: Value) -> Value {
        match self {
            Around::Root => {
                let mut resource = value;
                if let Value::Object(fields) = &mut resource {
                    fields.entry("kind").or_insert_with(|| json!("Validation"));
                    fields.entry("apiVersion").or_insert_with(|| json!("validation/v1"));
                }
                resource
            }
            Around::Field(outer, name) => {
                let fields: Map<_, _> = [((*name).to_owned(), value)].into_iter().collect();
                outer.resource(Value::Object(fields))
            }
            Around::Element(outer) => outer.resource(Value::Array(vec![value])),
        }
    }
}

struct Walker {
    pruned: bool,
    budget: u64,
    errors: Errors,
}

impl Walker {
    fn walk(
        &mut self,
        schema: &Structural,
        resource: bool,
        around: &Around<'_>,
        inside_metadata: bool,
        path: &Path<'_>,
    ) -> Result<(), Spent> {
        if !schema.below.defaults {
            return Ok(());
        }
        let resource = resource || schema.embedded;
        let (around, inside_metadata) = if resource { (&Around::Root, false) } else { (around, inside_metadata) };
        if let Some(value) = schema.default.as_deref() {
            self.check(schema, value, around, inside_metadata, &path.child("default"))?;
        }
        if let Some(items) = schema.items.as_deref() {
            self.walk(items, false, &Around::Element(around), inside_metadata, &path.child("items"))?;
        }
        let properties = path.child("properties");
        for (name, property) in &schema.properties {
            let meta = resource && matches!(name.as_ref(), "metadata" | "apiVersion" | "kind");
            let around = Around::Field(around, name);
            self.walk(property, false, &around, inside_metadata || meta, &properties.key(name))?;
        }
        Ok(())
    }

    fn check(
        &mut self,
        schema: &Structural,
        value: &Value,
        around: &Around<'_>,
        inside_metadata: bool,
        path: &Path<'_>,
    ) -> Result<(), Spent> {
        if inside_metadata {
            let resource = around.resource(value.clone());
            let mut found = Errors::new();
            if let Value::Object(fields) = &resource {
                embedded::validate_resource(fields, &Path::ROOT, &mut found);
            }
            if !found.is_empty() {
                let words = format!("must result in valid metadata: {}", aggregate(&found));
                self.errors.push(wording::error(Kind::Invalid, path.to_string(), value, words));
                return Ok(());
            }
        } else {
            if self.pruned && !schema.keeps_all_of(value) {
                let words = "must not have unknown fields".to_owned();
                self.errors.push(wording::error(Kind::Invalid, path.to_string(), value, words));
            }
            let mut coerced = value.clone();
            if let Err(mut error) = schema.coerce_embedded(&mut coerced) {
                error.field = format!("{path}.{}", error.field);
                self.errors.push(error);
                return Ok(());
            }
            let before = self.errors.len();
            schema.validate_embedded(value, path, &mut self.errors);
            if self.errors.len() > before {
                return Ok(());
            }
        }
        let mut found = schema.validate_default(value, &path.to_string());
        if !found.is_empty() {
            self.errors.append(&mut found);
            return Ok(());
        }
        if !schema.below.rules {
            return Ok(());
        }
        let (mut found, left) = schema.validate_default_rules(value, Some(value), path, self.budget);
        let mut left = left.ok_or(Spent);
        if found.is_empty() {
            // Rules whose old state is optional must also hold when there is none.
            let (mut again, without) = schema.validate_default_rules(value, None, path, self.budget);
            found.append(&mut again);
            left = match (left, without) {
                (Ok(a), Some(b)) => Ok(a.min(b)),
                _ => Err(Spent),
            };
        }
        self.errors.append(&mut found);
        self.budget = left?;
        Ok(())
    }
}

/// Whether a schema has defaults with fields that it would remove.
pub(super) fn has_unpruned(schema: Props<'_>) -> bool {
    let json = Value::Object(schema.json().clone());
    Structural::compile_part(&json).is_ok_and(|root| is_unpruned(&root))
}

fn is_unpruned(schema: &Structural) -> bool {
    if !schema.below.defaults {
        return false;
    }
    schema.default.as_deref().is_some_and(|value| !schema.keeps_all_of(value))
        || schema.items.as_deref().is_some_and(is_unpruned)
        || schema.additional.schema().is_some_and(is_unpruned)
        || schema.properties.iter().any(|(_, property)| is_unpruned(property))
}
