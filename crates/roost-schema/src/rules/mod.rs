//! x-kubernetes-validations: rules in CEL.

use serde_json::{Map, Value};

use crate::Structural;

/// The rules of one place.
#[derive(Debug)]
pub(crate) struct RuleSet;

impl RuleSet {
    pub(crate) fn declared(_schema: &Map<String, Value>) -> Option<RuleSet> {
        None
    }
}

/// What rules found: errors that refuse the write, and warnings about values that were already invalid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleOutcome {
    /// What refuses the write.
    pub errors: roost_object::field::Errors,
    /// What the writer should know; sent as Warning headers.
    pub warnings: Vec<String>,
}

impl Structural {
    /// Runs the rules of x-kubernetes-validations over a new object, or over a changed one with its old state.
    pub fn validate_rules(&self, _new: &Value, _old: Option<&Value>) -> RuleOutcome {
        RuleOutcome::default()
    }
}

pub(crate) fn compile(_root: &mut Structural) {}
