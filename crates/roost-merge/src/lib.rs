//! How changes meet an object: JSON patch, merge patch, strategic merge patch and server-side apply.
//!
//! Everything here is a pure function over [`serde_json::Value`]. What a place of an object looks like comes from a
//! schema behind [`roost_object::merge::Node`]; the time comes from the caller.

pub mod apply;
pub mod built_in;
mod conflict;
mod go_text;
pub mod json_patch;
mod last_applied;
mod lazy;
pub mod managed;
pub mod merge_patch;
pub mod overlay;
mod patch_error;
pub mod scale;
pub mod strategic;
mod typed;
mod unchanged;

pub use conflict::Conflict;
pub use patch_error::PatchError;
pub use unchanged::{equal_ignoring_managed_time, revert_managed_times};

/// How deep objects are merged field by field; what lies deeper is one leaf.
///
/// Walks are recursive, and no kind comes near this depth, so a deeper value is a free-form one that nobody owns in
/// parts.
pub const MAX_DEPTH: usize = 256;

/// How many values there are in a value, itself included; none if it nests deeper than a limit. Needs no deep stack.
fn count_within(value: &serde_json::Value, limit: usize) -> Option<usize> {
    use serde_json::Value;

    let mut count = 0;
    let mut rest = vec![(value, 1)];
    while let Some((value, depth)) = rest.pop() {
        count += 1;
        match value {
            Value::Array(_) | Value::Object(_) if depth > limit => return None,
            Value::Array(items) => rest.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => rest.extend(fields.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Some(count)
}
