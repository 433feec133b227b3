//! x-kubernetes-validations: rules in CEL, compiled and run over objects.

#[cfg(test)]
mod cases;
mod compile;
mod field_path;
mod run;

use std::sync::OnceLock;

use roost_object::field::Errors;
use serde_json::{Map, Value};

pub(crate) use compile::{CompiledRule, compile_rule};
pub(crate) use field_path::{NO_SUCH_FIELD, find as find_field};

use crate::Structural;

/// What rules found: errors that refuse the write, and warnings about values that were already invalid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleOutcome {
    /// What refuses the write.
    pub errors: Errors,
    /// What the writer should know; sent as Warning headers.
    pub warnings: Vec<String>,
}

/// The rules of one place.
#[derive(Debug)]
pub(crate) struct RuleSet {
    rules: Box<[Rule]>,
    compiled: OnceLock<Box<[CompiledRule]>>,
}

/// One rule as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule {
    pub(crate) expression: String,
    pub(crate) message: String,
    pub(crate) message_expression: String,
    pub(crate) reason: Option<String>,
    pub(crate) field_path: String,
    pub(crate) optional_old_self: Option<bool>,
}

impl Rule {
    pub(crate) fn read(rule: &Value) -> Rule {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Rule {
            expression: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: rule.get("reason").and_then(Value::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }

    /// The rule's message, or the rule itself.
    fn shown(&self) -> &str {
        if self.message.is_empty() { self.expression.trim() } else { self.message.trim() }
    }
}

impl RuleSet {
    /// The rules that a schema declares.
    pub(crate) fn declared(schema: &Map<String, Value>) -> Option<RuleSet> {
        let rules = schema.get("x-kubernetes-validations")?.as_array()?;
        let rules: Box<[Rule]> = rules.iter().map(Rule::read).collect();
        (!rules.is_empty()).then(|| RuleSet { rules, compiled: OnceLock::new() })
    }
}

/// Compiles all rules of a schema, so that the first write does not have to.
pub(crate) fn compile(root: &Structural) {
    if !root.below.rules {
        return;
    }
    if let Some(rules) = &root.rules {
        rules.compiled(root);
    }
    let properties = root.properties.iter().map(|(_, child)| child);
    properties.chain(root.additional.schema()).chain(root.items.as_deref()).for_each(compile);
}
