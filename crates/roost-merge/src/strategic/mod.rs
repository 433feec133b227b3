//! Strategic merge patch: a merge patch that knows which lists merge, and by which key.

pub(crate) mod effort;
mod lists;
mod schema;
mod shown;

use std::collections::HashSet;

use effort::Effort;
use lists::Lists;
use roost_object::json;
pub use schema::{PatchField, StrategicSchema};
use serde_json::{Map, Value};
pub use shown::show;

use crate::{PatchError, count_within, go_text};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch.
pub fn apply<S: StrategicSchema>(document: Value, patch: Value, schema: S) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        other => {
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                json::Kind::of(&other).go()
            )));
        }
    };
    let document = match document {
        Value::Object(document) => document,
        _ => Map::new(),
    };
    if patch.values().any(|value| count_within(value, json::MAX_DEPTH).is_none()) {
        return Err(PatchError::Malformed("exceeded max depth".to_owned()));
    }
    merge_maps(document, patch, Some(schema), &Effort::default()).map(Value::Object)
}

type Fields = Map<String, Value>;

fn merge_maps<S: StrategicSchema>(
    mut original: Fields,
    mut patch: Fields,
    schema: Option<S>,
    effort: &Effort,
) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, schema, effort)?;
    for (key, value) in patch {
        let (name, deletes) = match key.strip_prefix(DELETE_FROM_LIST) {
            Some(rest) => match rest.strip_prefix('/') {
                Some(name) => (name.to_owned(), true),
                None => return Err(PatchError::Malformed("invalid patch format of primitive list".to_owned())),
            },
            None => (key, false),
        };
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        match (original.remove(&name), value) {
            (Some(Value::Object(present)), Value::Object(value)) => {
                let field = lookup(schema, &name)?;
                let merged = if field.replaces() { value } else { merge_maps(present, value, field.schema, effort)? };
                original.insert(name, Value::Object(merged));
            }
            (Some(Value::Array(present)), Value::Array(value)) => {
                let field = lookup_list(schema, &name)?;
                let merged = if field.merges() || deletes {
                    Lists::new(field, effort).merge(present, value, deletes)?
                } else {
                    value
                };
                original.insert(name, Value::Array(merged));
            }
            (present, _) if deletes => {
                original.extend(present.map(|present| (name, present)));
            }
            (present, mut value) => {
                if present.as_ref().is_none_or(|present| go_text::type_name(present) != go_text::type_name(&value)) {
                    discard_nulls(&mut value);
                }
                original.extend(without_directives(value).map(|value| (name, value)));
            }
        }
    }
    Ok(original)
}

fn unknown_directive(directive: &Value, patch: &Fields) -> PatchError {
    let directive = match directive {
        Value::String(text) => text.clone(),
        other => format!("%!s({}={})", go_text::type_name(other), go_text::plain(other)),
    };
    let patch = go_text::plain(&Value::Object(patch.clone()));
    PatchError::Internal(format!("unknown patch type: {directive} in map: {patch}"))
}

/// Keeps of the original only the keys that the patch lists.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Value::Array(keys) = keys else { return Err(malformed()) };
    let keys: HashSet<_> = keys.iter().filter_map(Value::as_str).collect();
    let listed = |name: &str| keys.contains(name);
    let is_directive = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(ELEMENT_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !listed(name)) {
        return Err(malformed());
    }
    original.retain(|name, _| listed(name));
    Ok(())
}

/// Merges the lists whose order the patch prescribes, and puts them in that order.
fn order_lists<S: StrategicSchema>(
    original: &mut Fields,
    patch: &mut Fields,
    schema: Option<S>,
    effort: &Effort,
) -> Result<(), PatchError> {
    let directives: Vec<_> = patch.keys().filter(|key| key.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return Err(bad_type("[]interface {}", &other.unwrap_or_default())),
        };
        let Some(name) = directive[ELEMENT_ORDER.len()..].strip_prefix('/') else {
            return Err(PatchError::Malformed("invalid patch format of setElementOrder list".to_owned()));
        };
        let list = |fields: &Fields| match fields.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(bad_type("[]interface {}", other)),
        };
        let (present, patched) = (list(original)?, list(patch)?);
        let field = lookup_list(schema, name)?;
        let merges = field.merges();
        let lists = Lists::new(field, effort);
        effort.spend(present.as_deref().unwrap_or_default(), patched.as_deref().unwrap_or_default())?;
        lists.check_order(patched.as_deref().unwrap_or_default(), &order)?;
        let items = patched.clone().unwrap_or_default();
        let (merged, present) = match (present, patched) {
            (Some(present), None) => (present.clone(), present),
            (None, Some(patched)) => (patched.into_iter().filter_map(without_directives).collect(), Vec::new()),
            (Some(present), Some(patched)) if merges => lists.merge_and_reuse(present, patched, false)?,
            (Some(present), Some(patched)) => (patched, present),
            (None, None) => continue,
        };
        lists::check_elements(&present, &items)?;
        let ordered = lists.arrange(merged, &order, &present)?;
        original.insert(name.to_owned(), Value::Array(ordered));
        patch.remove(name);
    }
    Ok(())
}

fn bad_type(expected: &str, actual: &Value) -> PatchError {
    PatchError::Internal(format!("expected a {expected}, but received a {}", go_text::type_name(actual)))
}

fn lookup<S: StrategicSchema>(schema: Option<S>, name: &str) -> Result<PatchField<S>, PatchError> {
    match schema {
        Some(schema) => schema.patch_field(name).map_err(PatchError::Internal),
        None => Err(PatchError::Internal(format!("unable to find api field \"{name}\""))),
    }
}

fn lookup_list<S: StrategicSchema>(schema: Option<S>, name: &str) -> Result<PatchField<S>, PatchError> {
    let field = lookup(schema, name)?;
    Ok(PatchField { schema: field.schema.and_then(StrategicSchema::patch_element), ..field })
}

/// Removes what only speaks to the merge; none if the value itself does.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, item)| Some((name, without_directives(item)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        scalar => Some(scalar),
    }
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, item| !item.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}
