//! Patches and ownership of fields, as callers see them.

mod applies;
mod bounds;
mod built_in;
mod properties;
mod schema;
mod strategic;
mod updates;
