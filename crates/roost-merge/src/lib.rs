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
pub mod managed;
pub mod merge_patch;
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

/// Whether a value nests deeper than a limit, found without a stack of its own.
fn is_deeper_than(value: &serde_json::Value, limit: usize) -> bool {
    use serde_json::Value;

    let mut rest = vec![(value, 0)];
    while let Some((value, depth)) = rest.pop() {
        let below = depth + 1;
        match value {
            Value::Array(_) | Value::Object(_) if below > limit => return true,
            Value::Array(items) => rest.extend(items.iter().map(|item| (item, below))),
            Value::Object(fields) => rest.extend(fields.values().map(|item| (item, below))),
            _ => {}
        }
    }
    false
}
