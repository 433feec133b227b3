//! Custom resources: structural schemas, pruning, defaulting, validation, CEL rules and printer columns.
//!
//! This crate does no I/O and has no clock. What it says, it says in the words of the stock API server.

pub mod cel;
pub mod columns;
mod definition;
mod duration;
mod pattern;
mod rules;
mod structural;
mod time;
mod validate;
mod wording;

pub use definition::{
    Conversion, Definition, ScalePaths, Version, default_definition, definition_warnings, validate_definition,
    validate_definition_status, validate_definition_update,
};
pub use roost_object::field::Errors;
pub use rules::RuleOutcome;
pub use structural::{CompileError, MetadataError, SchemaRef, Structural, Values};
pub use time::Instant;
