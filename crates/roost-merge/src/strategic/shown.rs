//! What is left of a patch once stock has followed it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::effort::Effort;
use super::lists::Lists;
use super::{
    DIRECTIVE, ELEMENT_ORDER, Fields, PatchField, RETAIN_KEYS, StrategicSchema, discard_nulls, lookup, lookup_list,
    merge_maps, without_directives,
};
use crate::go_text;

/// A patch as stock shows it in messages about what came out of it: `map[metadata:map[labels:map[a:b]]]`. Stock takes
/// directives out of the patch as it follows them, so some are gone by then; and an item that others repeat has become what
/// all of them say together.
pub fn show<S: StrategicSchema>(document: &Value, patch: &Value, schema: S) -> String {
    let mut patch = patch.clone();
    if let (Value::Object(original), Value::Object(patch)) = (document, &mut patch) {
        take_directives(original, patch, Some(schema), &Effort::default());
    }
    go_text::plain(&patch)
}

fn take_directives<S: StrategicSchema>(original: &Fields, patch: &mut Fields, schema: Option<S>, effort: &Effort) {
    if let Some(directive) = patch.get(DIRECTIVE) {
        if directive == "replace" {
            patch.remove(DIRECTIVE);
        }
        return;
    }
    patch.remove(RETAIN_KEYS);
    let is_order = |name: &&String| name.strip_prefix(ELEMENT_ORDER).is_some_and(|rest| rest.starts_with('/'));
    let orders: Vec<String> = patch.keys().filter(is_order).cloned().collect();
    for order in orders {
        patch.remove(&order);
        patch.remove(order.split_once('/').map_or("", |(_, list)| list));
    }
    for (name, value) in patch {
        match (original.get(name), &mut *value) {
            (Some(Value::Object(present)), Value::Object(value)) => {
                if let Some(field) = lookup(schema, name).ok().filter(|field| !field.replaces()) {
                    take_directives(present, value, field.schema, effort);
                }
            }
            (Some(Value::Array(present)), Value::Array(items)) => {
                if let Some(field) = lookup_list(schema, name).ok().filter(PatchField::merges) {
                    Lists::new(field, effort).take_directives(present, items);
                }
            }
            (_, Value::Object(fields)) if fields.contains_key(DIRECTIVE) => {}
            (_, Value::Object(_)) => {
                discard_nulls(value);
                *value = without_directives(value.take()).unwrap_or_default();
            }
            _ => {
                discard_nulls(value);
                take_from_items(value);
            }
        }
    }
}

/// Takes directives out of the objects of a list, which itself stays as it is.
fn take_from_items(list: &mut Value) {
    for item in list.as_array_mut().into_iter().flatten() {
        match item {
            Value::Object(fields) if fields.contains_key(DIRECTIVE) => {}
            Value::Object(_) => *item = without_directives(item.take()).unwrap_or_default(),
            _ => take_from_items(item),
        }
    }
}

impl<S: StrategicSchema> Lists<'_, S> {
    /// Follows how the items of a list are merged. One that the document does not have becomes part of it as it is, and a
    /// later one with the same key is merged into it where it stands.
    fn take_directives(&self, original: &[Value], patch: &mut [Value]) {
        let says = |item: &Value, word: &str| item.get(DIRECTIVE).is_some_and(|directive| directive == word);
        let is_plain = original.iter().chain(&*patch).any(|item| !item.is_object());
        if is_plain || patch.iter().any(|item| says(item, "replace")) {
            return;
        }
        let key = |item: &Value| item.get(self.merge_key).map(Value::to_string);
        let deleted: HashSet<_> = patch.iter().filter(|item| says(item, "delete")).filter_map(key).collect();
        // The first of a key stands in front: it is the one that is merged into, in the document or in the patch.
        let mut first: HashMap<String, (Value, Option<usize>)> = HashMap::new();
        for item in original {
            if let Some(key) = key(item).filter(|key| !deleted.contains(key)) {
                first.entry(key).or_insert_with(|| (item.clone(), None));
            }
        }
        for (index, item) in patch.iter_mut().enumerate() {
            let Some(key) = key(item).filter(|_| item.get(DIRECTIVE).is_none()) else { continue };
            let Some((present, _)) = first.get_mut(&key) else {
                first.insert(key, (item.clone(), Some(index)));
                continue;
            };
            let (Value::Object(before), Value::Object(item)) = (present, item) else { continue };
            let sent = item.clone();
            take_directives(before, item, self.element, self.effort);
            // Moved, not copied: thousands of items may have one key.
            let Ok(merged) = merge_maps(std::mem::take(before), sent, self.element, self.effort) else { return };
            *before = merged;
        }
        for (item, place) in first.into_values() {
            if let Some(place) = place {
                patch[place] = item;
            }
        }
    }
}
