//! From a rule's text to programs.

use super::{Rule, RuleSet, find_field};
use crate::Structural;
use crate::cel::{self, Estimator, Place, Program, Type};

/// What stock says of rules at a place that expressions cannot see.
pub(super) const NO_TYPE: &str = "failed to convert to declType for CEL validation rules";

/// A rule made ready to run.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    /// The rule; nothing when it is empty, or why it cannot run.
    pub(crate) program: Result<Option<Program>, String>,
    pub(crate) message: Option<Program>,
    pub(crate) uses_old_self: bool,
    /// Where failures are reported, below the rule's place.
    pub(crate) field_path: Option<String>,
}

/// What is wrong with a rule or its message, and what they cost.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    pub(crate) rule: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) max_cost: u64,
    pub(crate) message_max_cost: u64,
    /// How often the rule can run in the largest request when no schema bounds it.
    pub(crate) max_cardinality: u64,
}

impl RuleSet {
    /// The compiled rules of a place.
    pub(super) fn compiled(&self, schema: &Structural) -> &[CompiledRule] {
        self.compiled.get_or_init(|| {
            let place = Place::root(schema, schema.root || schema.embedded);
            self.rules.iter().map(|rule| compile_rule(rule, schema, place, false).0).collect()
        })
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

/// Compiles a rule, and if asked estimates what it can cost.
pub(crate) fn compile_rule(
    rule: &Rule,
    schema: &Structural,
    place: Place<'_>,
    estimate: bool,
) -> (CompiledRule, Failure) {
    let mut compiled = CompiledRule { program: Ok(None), message: None, uses_old_self: false, field_path: None };
    let mut failure = Failure::default();
    if rule.expression.trim().is_empty() {
        return (compiled, failure);
    }
    // The name is a placeholder that expressions must not rely on; stock makes up a new one each time.
    let Some(this) = place.declared_type("selfType") else {
        compiled.program = Err(NO_TYPE.to_owned());
        return (compiled, failure);
    };
    let old = if rule.optional_old_self == Some(true) { Type::Optional(this.clone().into()) } else { this.clone() };
    let variables = [("self", this), ("oldSelf", old)];
    let estimator = Estimator { root: Some(place) };
    let found = match cel::compile(&rule.expression, &variables) {
        Err(error @ cel::CompileError::Issues(_)) => {
            let words = format!("compilation failed: {error}");
            failure.rule = Some(words.clone());
            compiled.program = Err(words);
            return (compiled, failure);
        }
        Err(error) => {
            failure.rule = Some(error.to_string());
            compiled.program = Err(error.to_string());
            return (compiled, failure);
        }
        Ok(found) => found,
    };
    if !matches!(found.output, Type::Bool) {
        let words = "cel expression must evaluate to a bool".to_owned();
        failure.rule = Some(words.clone());
        compiled.program = Err(words);
        return (compiled, failure);
    }
    compiled.uses_old_self = found.uses.iter().any(|name| name == "oldSelf");
    if estimate {
        failure.max_cost = found.max_cost(&estimator);
        failure.max_cardinality = cel::MAX_REQUEST_BYTES / (place.min_serialized_size() + 1);
    }
    compiled.program = Ok(Some(found.program));
    if !rule.message_expression.is_empty() {
        match cel::compile(&rule.message_expression, &variables) {
            Err(error @ cel::CompileError::Issues(_)) => {
                failure.message = Some(format!("messageExpression compilation failed: {error}"));
            }
            Err(cel::CompileError::Instantiation { reason, .. }) => {
                failure.message = Some(format!("messageExpression instantiation failed: {reason}"));
            }
            Ok(found) if !matches!(found.output, Type::String) => {
                failure.message = Some("messageExpression must evaluate to a string".to_owned());
            }
            Ok(found) => {
                if estimate {
                    failure.message_max_cost = found.max_cost(&estimator);
                }
                compiled.message = Some(found.program);
            }
        }
    }
    if !rule.field_path.is_empty() {
        compiled.field_path = find_field(&rule.field_path, schema, true).ok().map(|found| found.text);
    }
    (compiled, failure)
}
