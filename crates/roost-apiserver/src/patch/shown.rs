//! Patched objects as text, as stock's patch library makes it: messages show it, and what is wrong with an object is told in
//! its order.

use roost_merge::{json_patch, merge_patch};
use roost_object::Value;

use super::{Patch, PatchType};
use crate::resource::{Origin, Resource};

impl Patch {
    /// The text of the live object after a JSON or merge patch that applies to it.
    pub(super) fn text(&self, live: &Value, resource: &Resource) -> Option<String> {
        let mut document = Vec::new();
        match &resource.origin {
            Origin::BuiltIn(built_in, _) => roost_kinds::json::write(&mut document, live, built_in.ty),
            Origin::Custom(_) => document = live.to_string().into_bytes(),
        }
        let document = String::from_utf8(document).ok()?;
        match self.kind {
            PatchType::Json => json_patch::text(&document, &self.bytes),
            _ => merge_patch::text(&document, std::str::from_utf8(&self.bytes).ok()?),
        }
    }
}
