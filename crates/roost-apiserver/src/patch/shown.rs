//! Patched objects as text, as stock's patch library makes it: messages show it, and what is wrong with an object is told in
//! its order.

use roost_merge::{PatchError, json_patch, merge_patch};
use roost_object::Value;

use super::{Patch, PatchType};
use crate::resource::{Origin, Resource};

impl Patch {
    /// The text of the live object after a JSON or merge patch that applies to it.
    pub(super) fn text(&self, live: &Value, resource: &Resource) -> Option<String> {
        let document = text_of(live, resource)?;
        match self.kind {
            PatchType::Json => json_patch::text(&document, &self.bytes),
            _ => merge_patch::text(&document, std::str::from_utf8(&self.bytes).ok()?),
        }
    }

    /// Makes the tests of a JSON patch, if it has any, with the text of the live object.
    pub(super) fn check_tests(&self, live: &Value, resource: &Resource) -> Result<(), PatchError> {
        let mut operations = self.tree.as_array().into_iter().flatten();
        if !operations.any(|operation| operation["op"] == "test") {
            return Ok(());
        }
        text_of(live, resource).map_or(Ok(()), |document| json_patch::check_tests(&document, &self.bytes))
    }
}

/// A live object as stock writes it for a patch.
fn text_of(live: &Value, resource: &Resource) -> Option<String> {
    let Origin::BuiltIn(built_in, _) = &resource.origin else { return Some(live.to_string()) };
    let mut text = Vec::new();
    roost_kinds::json::write(&mut text, live, built_in.ty);
    String::from_utf8(text).ok()
}
