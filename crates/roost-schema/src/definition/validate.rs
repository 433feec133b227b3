//! Validation of definitions.

use roost_object::field::Errors;
use serde_json::Value;

/// Checks a new definition, after defaulting.
pub fn validate_definition(_crd: &Value) -> Errors {
    Errors::new()
}

/// Checks a changed definition against its old state.
pub fn validate_definition_update(_new: &Value, _old: &Value) -> Errors {
    Errors::new()
}
