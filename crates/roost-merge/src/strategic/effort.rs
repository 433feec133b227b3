//! Owns how much work one patch may ask for.

use std::cell::Cell;

use serde_json::Value;

use crate::PatchError;

/// More than an object of the largest size takes, whatever the patch does to all of its lists once.
pub(crate) const MAX_EFFORT: usize = 5_000_000;

/// A text counts once more for every so many bytes.
const TEXT_BYTES: usize = 64;

/// What a merge has cost so far, in values that it went through.
///
/// Items of one key are merged one after the other, and each time all lists in them are gone through as a whole. So a patch
/// that repeats itself asks for far more work than its size says. Stock does that work, however long it takes.
#[derive(Default)]
pub(super) struct Effort {
    spent: Cell<usize>,
}

impl Effort {
    /// Counts two lists that are about to be merged.
    pub(super) fn spend(&self, original: &[Value], patch: &[Value]) -> Result<(), PatchError> {
        let mut spent = self.spent.get();
        let mut rest: Vec<&Value> = original.iter().chain(patch).collect();
        while let Some(value) = rest.pop() {
            spent += 1;
            match value {
                Value::Array(items) => rest.extend(items),
                Value::Object(fields) => rest.extend(fields.values()),
                Value::String(text) => spent += text.len() / TEXT_BYTES,
                _ => {}
            }
            if spent > MAX_EFFORT {
                return Err(PatchError::TooCostly);
            }
        }
        self.spent.set(spent);
        Ok(())
    }
}
