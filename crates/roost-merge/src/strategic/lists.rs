//! Merging lists by key or by value.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::effort::Effort;
use super::{DIRECTIVE, Fields, PatchField, StrategicSchema, bad_type, merge_maps, unknown_directive};
use crate::{PatchError, go_text};

/// How the elements of one list are told apart and merged.
#[derive(Clone, Copy)]
pub(super) struct Lists<'effort, S> {
    /// Empty for a list of scalars.
    pub(super) merge_key: &'static str,
    pub(super) element: Option<S>,
    pub(super) effort: &'effort Effort,
}

impl<'effort, S: StrategicSchema> Lists<'effort, S> {
    pub(super) fn new(field: PatchField<S>, effort: &'effort Effort) -> Self {
        Self { merge_key: field.merge_key(), element: field.schema, effort }
    }

    pub(super) fn merge(
        &self,
        original: Vec<Value>,
        patch: Vec<Value>,
        deletes: bool,
    ) -> Result<Vec<Value>, PatchError> {
        self.merge_and_reuse(original, patch, deletes).map(|(merged, _)| merged)
    }

    /// Merges, and tells what the memory of the original list holds afterwards.
    ///
    /// Stock deletes and appends in place, and then orders by what it finds where the original list was: an element
    /// that was added takes the place of one that was deleted. Clients see that order, so it is kept.
    pub(super) fn merge_and_reuse(
        &self,
        original: Vec<Value>,
        patch: Vec<Value>,
        deletes: bool,
    ) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
        if original.is_empty() && patch.is_empty() {
            return Ok((Vec::new(), original));
        }
        self.effort.spend(&original, &patch)?;
        if !check_elements(&original, &patch)? {
            if deletes {
                let deleted: HashSet<_> = patch.iter().map(Value::to_string).collect();
                let kept = original.iter().filter(|item| !deleted.contains(&item.to_string()));
                return Ok((kept.cloned().collect(), original));
            }
            let mut seen = HashSet::with_capacity(original.len() + patch.len());
            let both = original.iter().chain(&patch).filter(|item| seen.insert(item.to_string()));
            let both = both.cloned().collect();
            return Ok((self.arrange(both, &patch, &original)?, original));
        }
        if self.merge_key.is_empty() {
            return Err(PatchError::Internal("cannot merge lists without merge key for struct".to_owned()));
        }
        let length = original.len();
        let (original, patch) = self.obey_directives(original, patch)?;
        let mut memory = original.clone();
        let mut merged = original.clone();
        let mut places = self.places(&merged);
        for item in &patch {
            let fields = fields_of(item)?;
            let key = self.key_of(fields)?.to_string();
            if let Some(&at) = places.get(&key) {
                let Value::Object(present) = merged[at].take() else { continue };
                merged[at] = Value::Object(merge_maps(present, fields.clone(), self.element, self.effort)?);
            } else {
                places.insert(key, merged.len());
                if memory.len() < length {
                    memory.push(item.clone());
                }
                merged.push(item.clone());
            }
        }
        Ok((self.arrange(merged, &patch, &original)?, memory))
    }

    /// Deletes the elements that the patch deletes, and takes the directives out of the patch.
    fn obey_directives(
        &self,
        mut original: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
        let mut plain = Vec::with_capacity(patch.len());
        let mut deleted = HashSet::new();
        let mut replace = false;
        for item in patch {
            let fields = fields_of(&item)?;
            let Some(directive) = fields.get(DIRECTIVE) else {
                plain.push(item);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    deleted.insert(self.key_of(fields)?.to_string());
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    let message = "merging lists cannot yet be specified in the patch";
                    return Err(PatchError::Internal(message.to_owned()));
                }
                _ => return Err(unknown_directive(directive, fields)),
            }
        }
        if replace {
            return Ok((plain, Vec::new()));
        }
        if !deleted.is_empty() {
            original.retain(|item| !self.identity(item).is_some_and(|key| deleted.contains(&key)));
        }
        Ok((original, plain))
    }

    fn key_of<'f>(&self, fields: &'f Fields) -> Result<&'f Value, PatchError> {
        fields.get(self.merge_key).ok_or_else(|| {
            let map = go_text::plain(&Value::Object(fields.clone()));
            PatchError::Internal(format!("map: {map} does not contain declared merge key: {}", self.merge_key))
        })
    }

    /// Checks that a prescribed order names the elements of the patch in the order of the patch.
    pub(super) fn check_order(&self, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        let mut left = Vec::with_capacity(patch.len());
        for item in patch {
            let deleted =
                !self.merge_key.is_empty() && fields_of(item)?.get(DIRECTIVE).and_then(Value::as_str) == Some("delete");
            if !deleted {
                left.push(item);
            }
        }
        let (mut at, mut order_at) = (0, 0);
        while at < left.len() && order_at < order.len() {
            if left[at].get(DIRECTIVE).is_some() {
                at += 1;
                continue;
            }
            at += usize::from(self.same(left[at], &order[order_at])?);
            order_at += 1;
        }
        if at >= left.len() {
            return Ok(());
        }
        let show = |list: &[Value]| go_text::plain(&Value::Array(list.to_vec()));
        Err(PatchError::Internal(format!(
            "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
            show(patch),
            show(order)
        )))
    }

    fn same(&self, left: &Value, right: &Value) -> Result<bool, PatchError> {
        if self.merge_key.is_empty() {
            return Ok(left == right);
        }
        Ok(self.key_of(fields_of(left)?)? == self.key_of(fields_of(right)?)?)
    }

    /// Puts elements that `order` names in that order, and the others where they were in `server`.
    pub(super) fn arrange(
        &self,
        merged: Vec<Value>,
        order: &[Value],
        server: &[Value],
    ) -> Result<Vec<Value>, PatchError> {
        for item in merged.iter().chain(order).chain(server) {
            if !self.merge_key.is_empty() || item.is_object() {
                self.key_of(fields_of(item)?)?;
            }
        }
        let (in_order, in_server) = (self.places(order), self.places(server));
        let place = |places: &HashMap<String, usize>, item: &Value| {
            self.identity(item).and_then(|identity| places.get(&identity).copied())
        };
        let placed = merged.into_iter().map(|item| (place(&in_order, &item), place(&in_server, &item), item));
        let (mut named, mut server_only): (Vec<_>, Vec<_>) = placed.partition(|(in_order, _, _)| in_order.is_some());
        // Deletions that a patch with repeated elements left behind come last.
        let is_deletion = |item: &Value| item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete");
        named.sort_by_key(|(in_order, _, item)| (is_deletion(item), *in_order));
        server_only.sort_by_key(|(_, in_server, item)| (is_deletion(item), *in_server));
        let mut arranged = Vec::with_capacity(named.len() + server_only.len());
        let mut left = server_only.into_iter().peekable();
        let mut right = named.into_iter().peekable();
        while let (Some((_, server_place, _)), Some((_, named_place, _))) = (left.peek(), right.peek()) {
            let server_first = server_place.zip(*named_place).is_some_and(|(server, named)| server < named);
            arranged.extend(if server_first { left.next() } else { right.next() });
        }
        arranged.extend(left);
        arranged.extend(right);
        Ok(arranged.into_iter().map(|(_, _, item)| item).collect())
    }

    /// What tells an element apart: its key, or the element itself where there is none.
    fn identity(&self, item: &Value) -> Option<String> {
        if self.merge_key.is_empty() { Some(item.to_string()) } else { item.get(self.merge_key).map(Value::to_string) }
    }

    /// Where elements stand; of repeated ones the first counts.
    fn places(&self, items: &[Value]) -> HashMap<String, usize> {
        let mut places = HashMap::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            if let Some(identity) = self.identity(item) {
                places.entry(identity).or_insert(at);
            }
        }
        places
    }
}

/// Checks that all elements are of one type, and tells whether they are maps.
pub(super) fn check_elements(original: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut all = original.iter().chain(patch);
    let Some(first) = all.next() else {
        return Err(PatchError::Internal("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(PatchError::Unprocessable("lists of lists are not supported".to_owned()));
    }
    let kind = go_text::type_name(first);
    if all.any(|item| go_text::type_name(item) != kind) {
        let show = |list: &[Value]| go_text::plain(&Value::Array(list.to_vec()));
        let lists = format!("[{} {}]", show(original), show(patch));
        return Err(PatchError::Internal(format!("list element types are not identical: {lists}")));
    }
    Ok(first.is_object())
}

fn fields_of(item: &Value) -> Result<&Fields, PatchError> {
    item.as_object().ok_or_else(|| bad_type("map[string]interface {}", item))
}
