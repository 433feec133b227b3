//! Running rules over an object, with transition rules, ratcheting and budgets.

use roost_object::field::{Error, Kind, Path};
use serde_json::Value;

use super::compile::{CompiledRule, NO_TYPE};
use super::{Rule, RuleOutcome};
use crate::cel::{EvalError, PER_CALL_LIMIT, Place, Program, REQUEST_BUDGET, Value as CelValue, View};
use crate::structural::Type;
use crate::validate::correlation::{Correlated, KeyedElements};
use crate::{Structural, wording};

/// Messages that expressions make are no longer than this.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

impl Structural {
    /// Runs the rules of x-kubernetes-validations over a new object, or over a changed one with its old state.
    ///
    /// The object must be valid otherwise: rules rely on the types of the schema.
    pub fn validate_rules(&self, new: &Value, old: Option<&Value>) -> RuleOutcome {
        let mut runner = Runner { outcome: RuleOutcome::default(), budget: REQUEST_BUDGET };
        let correlation = Correlation { current: old.map(|old| Correlated { new, old, schema: self }), parent: None };
        // A stopped run has already said why.
        let _ = runner.walk(self, new, old, &Path::ROOT, correlation);
        runner.outcome
    }

    /// Runs rules over a default value at a place of a definition. Returns what is left of the budget, if anything is.
    pub(crate) fn validate_default_rules(
        &self,
        value: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        budget: u64,
    ) -> (Vec<Error>, Option<u64>) {
        let mut runner = Runner { outcome: RuleOutcome::default(), budget };
        if !is_visible(self) {
            if self.rules.is_some() {
                let words = format!("rule compiler initialization error: {NO_TYPE}");
                runner.outcome.errors.push(invalid(path, self, words));
            }
            return (runner.outcome.errors, Some(budget));
        }
        let stopped = runner.walk(self, value, old, path, Correlation::default()).is_err();
        (runner.outcome.errors, (!stopped).then_some(runner.budget))
    }
}

/// Whether rules have a type for values here. Where they do not, no rule runs, nor any below.
fn is_visible(schema: &Structural) -> bool {
    Place::root(schema, schema.root || schema.embedded).is_visible()
}

/// No further rules may run.
struct Stop;

/// The old state of a place, or of the nearest place above that has one.
#[derive(Clone, Copy, Default)]
struct Correlation<'a> {
    current: Option<Correlated<'a>>,
    parent: Option<Correlated<'a>>,
}

impl<'a> Correlation<'a> {
    fn key(self, name: &str) -> Correlation<'a> {
        match self.current {
            None => self,
            // Both objects have been converted to the same type, so its names say nothing of the old one.
            Some(_) if self.parent.is_none() && matches!(name, "apiVersion" | "kind") => Correlation::default(),
            Some(current) => Correlation { current: current.key(name), parent: Some(current) },
        }
    }

    fn element(self, found: Option<Correlated<'a>>) -> Correlation<'a> {
        match self.current {
            None => self,
            Some(current) => Correlation { current: found, parent: Some(current) },
        }
    }

    fn is_unchanged(self) -> bool {
        self.current.or(self.parent).is_some_and(Correlated::is_unchanged)
    }
}

struct Runner {
    outcome: RuleOutcome,
    budget: u64,
}

fn field(path: &Path<'_>, below: Option<&str>) -> String {
    let text = path.to_string();
    match (text.is_empty(), below) {
        (true, None) => "<nil>".to_owned(),
        (true, Some(below)) => below.to_owned(),
        (false, None) => text,
        (false, Some(below)) => format!("{text}.{below}"),
    }
}

/// The old value of a rule for which it is optional. Stock's evaluator takes lists and objects out of an optional without
/// their schemas, so that fields that no schema names are seen, and names are not escaped.
fn in_optional<'a>(value: CelValue<'a>, json: &'a Value) -> Result<CelValue<'a>, EvalError> {
    let held = match value {
        CelValue::Map(_) | CelValue::List(_) | CelValue::Preserved(_) => View::Untyped.value(json)?,
        scalar => scalar,
    };
    Ok(CelValue::Optional(Some(held.into())))
}

/// An error that shows the type of the place instead of the value.
fn invalid(path: &Path<'_>, schema: &Structural, detail: String) -> Error {
    let value = Some(schema.kind.name().into());
    Error { kind: Kind::Invalid, field: field(path, None), value, detail }
}

impl Runner {
    fn walk(
        &mut self,
        schema: &Structural,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        correlation: Correlation<'_>,
    ) -> Result<(), Stop> {
        if new.is_null() || !schema.below.rules {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        if let Some(rules) = &schema.rules {
            self.run(schema, rules.rules(), rules.compiled(schema), (new, old), path, correlation)?;
        }
        match new {
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref().filter(|items| items.below.rules) else { return Ok(()) };
                let before = old.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let keyed = KeyedElements::new(schema, before);
                let elements = correlation.current.map(Correlated::elements);
                for (index, element) in list.iter().enumerate() {
                    let found = elements.as_ref().and_then(|elements| elements.get(element));
                    let below = correlation.element(found);
                    self.walk(items, element, keyed.get(element), &path.index(index), below)?;
                }
            }
            Value::Object(map) => {
                let before = old.and_then(Value::as_object);
                let old_entry = |name: &str| before.and_then(|before| before.get(name));
                if let Some(additional) = schema.additional.schema().filter(|schema| schema.below.rules) {
                    for (name, value) in map {
                        let below = correlation.key(name);
                        self.walk(additional, value, old_entry(name), &path.key(name), below)?;
                    }
                }
                let has_rules = |property: &Structural| property.below.rules && is_visible(property);
                for (name, property) in schema.properties.iter().filter(|(_, property)| has_rules(property)) {
                    if let Some(value) = map.get(name.as_ref()) {
                        let below = correlation.key(name);
                        self.walk(property, value, old_entry(name), &path.child(name), below)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn run(
        &mut self,
        schema: &Structural,
        rules: &[Rule],
        compiled: &[CompiledRule],
        (new, old): (&Value, Option<&Value>),
        path: &Path<'_>,
        correlation: Correlation<'_>,
    ) -> Result<(), Stop> {
        if self.budget == 0 {
            self.outcome.errors.push(invalid(path, schema, OUT_OF_BUDGET.to_owned()));
            return Err(Stop);
        }
        let view = View::Schema { schema, resource: schema.root || schema.embedded };
        let this = view.value(new);
        for (rule, compiled) in rules.iter().zip(compiled) {
            let program = match &compiled.program {
                Ok(Some(program)) => program,
                Ok(None) => continue,
                Err(words) => {
                    self.outcome.errors.push(invalid(path, schema, format!("rule compile error: {words}")));
                    continue;
                }
            };
            let optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let before = match (compiled.uses_old_self, old) {
                (false, _) => None,
                (true, None) => optional.then_some(Ok(CelValue::Optional(None))),
                (true, Some(old)) => {
                    let value = view.value(old);
                    Some(if optional { value.and_then(|value| in_optional(value, old)) } else { value })
                }
            };
            let variables = [Some(this.clone()), before];
            let evaluation = program.run(&variables, PER_CALL_LIMIT);
            if evaluation.cost > self.budget {
                self.outcome.errors.push(invalid(path, schema, OUT_OF_BUDGET.to_owned()));
                return Err(Stop);
            }
            self.budget -= evaluation.cost;
            match evaluation.outcome {
                Ok(CelValue::Bool(true)) => {}
                Ok(_) => {
                    let failed = Failed { schema, rule, compiled, new, path, correlation };
                    self.fail(&failed, &variables)?;
                }
                Err(EvalError::CostExceeded) => {
                    let words = format!(
                        "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                        EvalError::CostExceeded,
                        rule.shown()
                    );
                    self.outcome.errors.push(invalid(path, schema, words));
                    return Err(Stop);
                }
                Err(EvalError::Failed(words)) => {
                    let detail = if words.starts_with("no such overload") {
                        format!(
                            "'{words}': call arguments did not match a supported operator, function or macro signature \
                             for rule: {}",
                            rule.shown()
                        )
                    } else {
                        format!("{words} evaluating rule: {}", rule.shown())
                    };
                    self.outcome.errors.push(invalid(path, schema, detail));
                }
            }
        }
        Ok(())
    }

    /// Reports a rule that does not hold: with the message that its expression makes, its own, or the rule itself.
    fn fail(&mut self, failed: &Failed<'_>, variables: &[Option<Result<CelValue<'_>, EvalError>>]) -> Result<(), Stop> {
        let mut detail = None;
        if let Some(program) = &failed.compiled.message {
            match self.message(program, &failed.rule.message_expression, variables) {
                Ok(message) => detail = message,
                Err(words) => {
                    let field = field(failed.path, failed.compiled.field_path.as_deref());
                    let value = Some(failed.schema.kind.name().into());
                    let error = Error { kind: Kind::Invalid, field, value, detail: words };
                    self.add(failed, error);
                    return Err(Stop);
                }
            }
        }
        let detail = detail.unwrap_or_else(|| {
            if failed.rule.message.is_empty() {
                format!("failed rule: {}", failed.rule.shown())
            } else {
                failed.rule.message.trim().to_owned()
            }
        });
        self.add(failed, failed.error(detail));
        Ok(())
    }

    fn add(&mut self, failed: &Failed<'_>, error: Error) {
        if !failed.compiled.uses_old_self && failed.correlation.is_unchanged() {
            self.outcome.warnings.push(error.to_string());
        } else {
            self.outcome.errors.push(error);
        }
    }

    /// The message that an expression makes; none when it cannot be used, an error when the budget is spent.
    fn message(
        &mut self,
        program: &Program,
        source: &str,
        variables: &[Option<Result<CelValue<'_>, EvalError>>],
    ) -> Result<Option<String>, String> {
        let evaluation = program.run(variables, PER_CALL_LIMIT);
        if evaluation.cost > self.budget {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation \
                        rules will be run"
                    .to_owned(),
            );
        }
        let spent = evaluation.cost;
        match evaluation.outcome {
            Err(EvalError::CostExceeded) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                roost_object::field::quote(source)
            )),
            Ok(CelValue::String(text)) => {
                self.budget -= spent;
                let text = text.trim();
                let usable = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
                Ok(usable.then(|| text.to_owned()))
            }
            _ => {
                self.budget -= spent;
                Ok(None)
            }
        }
    }
}

/// A rule that does not hold, and where.
struct Failed<'a> {
    schema: &'a Structural,
    rule: &'a Rule,
    compiled: &'a CompiledRule,
    new: &'a Value,
    path: &'a Path<'a>,
    correlation: Correlation<'a>,
}

impl Failed<'_> {
    fn error(&self, detail: String) -> Error {
        let field = field(self.path, self.compiled.field_path.as_deref());
        let omitted = matches!(self.schema.kind, Type::Object | Type::Array);
        match self.rule.reason.as_deref() {
            Some("FieldValueForbidden") => Error { kind: Kind::Forbidden, field, value: None, detail },
            Some("FieldValueRequired") => Error { kind: Kind::Required, field, value: None, detail },
            Some("FieldValueDuplicate") if omitted => {
                Error { kind: Kind::Duplicate, field, value: None, detail: String::new() }
            }
            Some("FieldValueDuplicate") => wording::error(Kind::Duplicate, field, self.new, String::new()),
            _ if omitted => Error { kind: Kind::Invalid, field, value: None, detail },
            _ => wording::error(Kind::Invalid, field, self.new, detail),
        }
    }
}
