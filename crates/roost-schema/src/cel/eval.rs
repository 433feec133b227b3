//! Running a plan. Costs are charged where cel-go charges them, also for steps that fail.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Context;
use super::compare::equal;
use super::libraries::{Invocation, to_text};
use super::meter::{Meter, call_cost};
use super::patch::Instance;
use super::plan::{Append, Attribute, Base, Call, Fold, Message, Plan, Qualifier, Step, is_literal};
use super::value::{EvalError, Key, List, Map, Outcome, Value};

const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const MESSAGE_COST: u64 = 40;

/// The state of an evaluation.
pub(crate) struct Machine<'p, 'a> {
    variables: Variables<'p, 'a>,
    locals: Vec<Local<'p, 'a>>,
    meter: &'p Meter,
}

/// Where variables come from.
#[derive(Clone, Copy)]
enum Variables<'p, 'a> {
    /// They are all there, in the order in which they were declared.
    Known(&'p [Option<Outcome<'a>>]),
    /// They are found when they are used.
    Asked(&'p dyn Context<'a>),
}

/// A variable of a fold.
enum Local<'p, 'a> {
    /// An accumulator that nothing has looked at yet.
    Pending(&'p Plan),
    Value(Outcome<'a>),
}

/// What a step of a fold did.
enum Stepped<'a> {
    /// It changed the accumulator itself, or left it alone.
    InPlace,
    Value(Outcome<'a>),
}

/// Runs a plan. Variables that are not there fail when they are used.
pub(crate) fn run<'a>(plan: &Plan, variables: &[Option<Outcome<'a>>], meter: &Meter) -> Outcome<'a> {
    Machine { variables: Variables::Known(variables), locals: Vec::new(), meter }.eval(plan)
}

/// Runs a plan whose variables are found when they are used.
pub(crate) fn run_in<'a>(plan: &Plan, context: &dyn Context<'a>, meter: &Meter) -> Outcome<'a> {
    Machine { variables: Variables::Asked(context), locals: Vec::new(), meter }.eval(plan)
}

fn exceeded<T>(outcome: &Result<T, EvalError>) -> bool {
    matches!(outcome, Err(EvalError::CostExceeded))
}

impl<'p, 'a> Machine<'p, 'a> {
    fn eval(&mut self, plan: &'p Plan) -> Outcome<'a> {
        match plan {
            Plan::Constant(value) => Ok(value.clone()),
            Plan::Attribute(attribute) => self.attribute(attribute, true),
            Plan::Has(attribute) => self.has(attribute),
            Plan::And(terms) => self.logical(terms, false),
            Plan::Or(terms) => self.logical(terms, true),
            Plan::Equal(sides) => self.equality(sides, true),
            Plan::NotEqual(sides) => self.equality(sides, false),
            Plan::Call(call) => self.call(call),
            Plan::InLiterals(parts) => {
                let value = self.eval(&parts.0)?;
                Ok(Value::Bool(is_literal(&value, &parts.1)))
            }
            Plan::List(elements) => self.list(elements),
            Plan::Map(entries) => self.map(entries),
            Plan::Message(message) => self.message(message),
            Plan::Fold(fold) => self.fold(fold),
            Plan::Append(append) => match self.append(append) {
                Stepped::Value(outcome) => outcome,
                Stepped::InPlace => self.local(append.slot),
            },
            Plan::OptionalOr(sides) => match self.eval(&sides[0])? {
                Value::Optional(None) => self.eval(&sides[1]),
                other => Ok(other),
            },
            Plan::OptionalOrValue(sides) => match self.eval(&sides[0])? {
                Value::Optional(None) => self.eval(&sides[1]),
                Value::Optional(Some(value)) => Ok(value.as_ref().clone()),
                other => Ok(other),
            },
        }
    }

    /// `&&` and `||`: the first term that decides wins over failures before it.
    fn logical(&mut self, terms: &'p [Plan], decides: bool) -> Outcome<'a> {
        let mut failed = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(flag)) if flag == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    failed.get_or_insert_with(EvalError::no_such_overload);
                }
                Err(EvalError::CostExceeded) => return Err(EvalError::CostExceeded),
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    #[inline(never)]
    fn equality(&mut self, sides: &'p [Plan; 2], wanted: bool) -> Outcome<'a> {
        let args = [self.eval(&sides[0]), self.eval(&sides[1])];
        if args.iter().any(exceeded) {
            return Err(EvalError::CostExceeded);
        }
        let outcome = match &args {
            [Ok(left), Ok(right)] => match equal(left, right, self.meter) {
                Ok(found) => Ok(Value::Bool(found == wanted)),
                // Values that cannot be compared are certainly not equal.
                Err(EvalError::Failed(_)) if !wanted => Ok(Value::Bool(true)),
                Err(error) => Err(error),
            },
            [Err(error), _] | [_, Err(error)] => Err(error.clone()),
        };
        let (function, overload) = if wanted { ("_==_", "equals") } else { ("_!=_", "not_equals") };
        self.meter.charge(call_cost(function, overload, &args, &outcome))?;
        outcome
    }

    #[inline(never)]
    fn call(&mut self, call: &'p Call) -> Outcome<'a> {
        let mut args: Vec<Outcome<'a>> = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let value = self.eval(arg);
            if exceeded(&value) {
                return value;
            }
            let failed = value.is_err();
            args.push(value);
            // Some calls stop at the first operand that fails, and then cost nothing.
            if failed && call.stops_early() {
                break;
            }
        }
        if args.len() < call.args.len() {
            return args.pop().unwrap_or_else(|| Err(EvalError::no_such_overload()));
        }
        if call.function.as_ref() == "@not_strictly_false" {
            self.meter.charge(1)?;
            return match args.pop() {
                Some(Ok(Value::Bool(flag))) => Ok(Value::Bool(flag)),
                _ => Ok(Value::Bool(true)),
            };
        }
        let failed = args.iter().find_map(|arg| arg.as_ref().err().cloned());
        let outcome = if let Some(error) = failed {
            Err(error)
        } else {
            let values: Vec<Value<'a>> = args.iter().filter_map(|arg| arg.as_ref().ok().cloned()).collect();
            let invocation = Invocation {
                function: &call.function,
                args: &values,
                meter: self.meter,
                authorizer: match self.variables {
                    Variables::Known(_) => None,
                    Variables::Asked(context) => context.authorizer(),
                },
                pattern: call.pattern.as_ref().and_then(|pattern| pattern.matcher().ok()),
            };
            (call.implementation)(&invocation)
        };
        self.meter.charge(call_cost(&call.function, call.overload, &args, &outcome))?;
        outcome
    }

    #[inline(never)]
    fn list(&mut self, elements: &'p [(Plan, bool)]) -> Outcome<'a> {
        let outcome = self.list_elements(elements);
        if !exceeded(&outcome) {
            self.meter.charge(LIST_COST)?;
        }
        outcome.map(Value::list)
    }

    fn list_elements(&mut self, elements: &'p [(Plan, bool)]) -> Result<Vec<Value<'a>>, EvalError> {
        let mut values = Vec::with_capacity(elements.len());
        for (plan, optional) in elements {
            match (self.eval(plan)?, optional) {
                (Value::Optional(None), true) => {}
                (Value::Optional(Some(value)), true) => values.push(value.as_ref().clone()),
                (other, true) => {
                    let words = "cannot initialize optional list element from non-optional value";
                    return Err(EvalError::Failed(format!("{words} {}", to_text(&other))));
                }
                (value, false) => values.push(value),
            }
        }
        Ok(values)
    }

    #[inline(never)]
    fn map(&mut self, entries: &'p [(Plan, Plan, bool)]) -> Outcome<'a> {
        let outcome = self.map_entries(entries);
        if !exceeded(&outcome) {
            self.meter.charge(MAP_COST)?;
        }
        outcome.map(|entries| Value::Map(Map::Values(Arc::new(entries))))
    }

    #[inline(never)]
    fn message(&mut self, message: &'p Message) -> Outcome<'a> {
        let mut fields = BTreeMap::new();
        for (name, plan, optional) in &message.fields {
            let value = match (self.eval(plan)?, optional) {
                (Value::Optional(None), true) => continue,
                (Value::Optional(Some(value)), true) => value.as_ref().clone(),
                (other, true) => {
                    let words = format!("cannot initialize optional entry '{name}' from non-optional value");
                    return Err(EvalError::Failed(format!("{words} {}", to_text(&other))));
                }
                (value, false) => value,
            };
            fields.insert(name.clone(), value);
        }
        self.meter.charge(MESSAGE_COST)?;
        Ok(Value::Instance(Arc::new(Instance { name: Arc::clone(&message.name), fields })))
    }

    fn map_entries(&mut self, entries: &'p [(Plan, Plan, bool)]) -> Result<BTreeMap<Key<'a>, Value<'a>>, EvalError> {
        let mut values = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            let Some(found) = Key::of(&key) else {
                return Err(EvalError::Failed(format!("unsupported key type: {}", key.type_name())));
            };
            match (value, optional) {
                (Value::Optional(None), true) => {
                    values.remove(&found);
                }
                (Value::Optional(Some(value)), true) => {
                    values.insert(found, value.as_ref().clone());
                }
                (other, true) => {
                    let (key, other) = (to_text(&key), to_text(&other));
                    let words = format!("cannot initialize optional entry '{key}' from non-optional value {other}");
                    return Err(EvalError::Failed(words));
                }
                (value, false) => {
                    values.insert(found, value);
                }
            }
        }
        Ok(values)
    }

    fn local(&mut self, slot: usize) -> Outcome<'a> {
        if let Some(Local::Pending(init)) = self.locals.get(slot) {
            let value = self.eval(init);
            if exceeded(&value) {
                return value;
            }
            self.locals[slot] = Local::Value(value);
        }
        match self.locals.get(slot) {
            Some(Local::Value(outcome)) => outcome.clone(),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    #[inline(never)]
    fn fold(&mut self, fold: &'p Fold) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        let outer = self.locals.len();
        // Folds beside each other reuse places; those inside this one come after.
        self.locals.truncate(fold.slot);
        self.locals.resize_with(fold.slot, || Local::Value(Ok(Value::Null)));
        self.locals.push(Local::Pending(&fold.init));
        self.locals.push(Local::Value(Ok(Value::Null)));
        self.locals.push(Local::Value(Ok(Value::Null)));
        let looped = self.fold_range(fold, &range);
        let outcome = match looped {
            Ok(()) => self.eval(&fold.result),
            Err(error) => Err(error),
        };
        self.locals.truncate(outer.min(fold.slot));
        outcome
    }

    fn fold_range(&mut self, fold: &'p Fold, range: &Value<'a>) -> Result<(), EvalError> {
        match range {
            Value::List(list) => {
                for index in 0..list.len() {
                    let Some(element) = list.get(index) else { break };
                    let item = if fold.two { (Ok(Value::Int(index as i64)), Some(element)) } else { (element, None) };
                    if !self.iterate(fold, item)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for key in map.keys() {
                    let value =
                        if fold.two { Some(map.find(&key).map(|value| value.unwrap_or(Value::Null))) } else { None };
                    if !self.iterate(fold, (Ok(key), value))? {
                        break;
                    }
                }
            }
            other => {
                let words = format!("got '{}', expected iterable type", go_name(other));
                return Err(EvalError::Failed(words));
            }
        }
        Ok(())
    }

    /// One turn of a fold; false when the condition ended it.
    fn iterate(&mut self, fold: &'p Fold, item: (Outcome<'a>, Option<Outcome<'a>>)) -> Result<bool, EvalError> {
        self.locals.truncate(fold.slot + 3);
        self.locals[fold.slot + 1] = Local::Value(item.0);
        if let Some(second) = item.1 {
            self.locals[fold.slot + 2] = Local::Value(second);
        }
        match self.eval(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(EvalError::CostExceeded) => return Err(EvalError::CostExceeded),
            _ => {}
        }
        match self.step(&fold.step, fold.slot) {
            Stepped::InPlace => {}
            Stepped::Value(Err(EvalError::CostExceeded)) => return Err(EvalError::CostExceeded),
            Stepped::Value(outcome) => self.locals[fold.slot] = Local::Value(outcome),
        }
        Ok(true)
    }

    fn step(&mut self, plan: &'p Plan, slot: usize) -> Stepped<'a> {
        match plan {
            Plan::Append(append) => self.append(append),
            Plan::Attribute(attribute) if attribute.qualifiers.is_empty() => match &attribute.base {
                Base::Conditional(parts) => match self.condition(&parts[0]) {
                    Err(error) => Stepped::Value(Err(error)),
                    Ok(true) => self.branch_step(&parts[1], slot),
                    Ok(false) => self.branch_step(&parts[2], slot),
                },
                _ => Stepped::Value(self.eval(plan)),
            },
            _ => Stepped::Value(self.eval(plan)),
        }
    }

    fn branch_step(&mut self, plan: &'p Plan, slot: usize) -> Stepped<'a> {
        match plan {
            Plan::Append(append) => self.append(append),
            Plan::Attribute(attribute) => match &attribute.base {
                Base::Local(place) if *place == slot && attribute.qualifiers.is_empty() => Stepped::InPlace,
                _ => Stepped::Value(self.attribute(attribute, false)),
            },
            _ => Stepped::Value(self.eval(plan)),
        }
    }

    #[inline(never)]
    fn append(&mut self, append: &'p Append) -> Stepped<'a> {
        let slot = append.slot;
        if matches!(self.locals.get(slot), Some(Local::Pending(_)))
            && let Err(EvalError::CostExceeded) = self.local(slot)
        {
            return Stepped::Value(Err(EvalError::CostExceeded));
        }
        let mut elements = Vec::with_capacity(append.elements.len());
        let mut failed = None;
        for plan in &append.elements {
            match self.eval(plan) {
                Ok(value) => elements.push(value),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let list_cost = if append.constant { 0 } else { LIST_COST };
        if self.meter.charge(2 + list_cost).is_err() {
            return Stepped::Value(Err(EvalError::CostExceeded));
        }
        match (&mut self.locals[slot], failed) {
            (Local::Value(Err(_)), _) => Stepped::InPlace,
            (_, Some(error)) => Stepped::Value(Err(error)),
            (Local::Value(Ok(Value::List(List::Values(list)))), None) => {
                Arc::make_mut(list).append(&mut elements);
                Stepped::InPlace
            }
            _ => Stepped::Value(Err(EvalError::no_such_overload())),
        }
    }

    fn condition(&mut self, plan: &'p Plan) -> Result<bool, EvalError> {
        match self.eval(plan)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// A branch of a condition. Following a name there costs one less, because it is not evaluated for itself.
    fn branch(&mut self, plan: &'p Plan) -> Outcome<'a> {
        match plan {
            Plan::Attribute(attribute) => self.attribute(attribute, false),
            _ => self.eval(plan),
        }
    }

    fn base(&mut self, base: &'p Base) -> Outcome<'a> {
        match base {
            Base::Variable(index, name) => {
                let found = match self.variables {
                    Variables::Known(values) => values.get(*index).cloned().flatten(),
                    Variables::Asked(context) => context.variable(name),
                };
                found.unwrap_or_else(|| Err(EvalError::Failed(format!("no such attribute(s): {name}"))))
            }
            Base::Local(slot) => self.local(*slot),
            Base::Relative(plan) => self.eval(plan),
            Base::Conditional(parts) => {
                if self.condition(&parts[0])? {
                    self.branch(&parts[1])
                } else {
                    self.branch(&parts[2])
                }
            }
        }
    }

    fn attribute(&mut self, attribute: &'p Attribute, charged: bool) -> Outcome<'a> {
        let outcome = match self.base(&attribute.base) {
            Ok(value) if attribute.qualifiers.is_empty() => Ok(value),
            Ok(value) => self.follow(value, &attribute.qualifiers),
            Err(error) => Err(error),
        };
        if charged && !matches!(attribute.base, Base::Conditional(_)) && !exceeded(&outcome) {
            self.meter.charge(1)?;
        }
        outcome
    }

    fn follow(&mut self, value: Value<'a>, qualifiers: &'p [Qualifier]) -> Outcome<'a> {
        let (mut value, mut optional) = match value {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => (inner.as_ref().clone(), true),
            other => (other, false),
        };
        for qualifier in qualifiers {
            optional = optional || qualifier.optional;
            let key = self.key(&qualifier.step)?;
            let found = qualify(&value, &qualifier.step, key.as_ref());
            if optional {
                let Some(found) = found? else { return Ok(Value::Optional(None)) };
                self.charge_step(&qualifier.step)?;
                value = found;
                continue;
            }
            self.charge_step(&qualifier.step)?;
            value = match found? {
                Some(found) => found,
                None => return Err(missing(&value, &qualifier.step, key.as_ref())),
            };
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    /// The key of a step that is evaluated.
    fn key(&mut self, step: &'p Step) -> Result<Option<Value<'a>>, EvalError> {
        match step {
            // The last unit of a name is paid for when the step is taken.
            Step::Dynamic(Plan::Attribute(attribute)) => self.attribute(attribute, false).map(Some),
            Step::Dynamic(plan) => self.eval(plan).map(Some),
            Step::Constant(value) => Ok(Some(value.clone())),
            Step::Field { .. } => Ok(None),
        }
    }

    /// Following a step costs one, unless a condition or a test chose it.
    fn charge_step(&self, step: &Step) -> Result<(), EvalError> {
        match step {
            Step::Dynamic(Plan::Has(_)) => Ok(()),
            Step::Dynamic(Plan::Attribute(attribute)) if matches!(attribute.base, Base::Conditional(_)) => Ok(()),
            _ => self.meter.charge(1),
        }
    }

    #[inline(never)]
    fn has(&mut self, attribute: &'p Attribute) -> Outcome<'a> {
        let Some((last, before)) = attribute.qualifiers.split_last() else { return Ok(Value::Bool(true)) };
        let value = self.base(&attribute.base)?;
        let (value, optional) = match self.follow(value, before)? {
            Value::Optional(None) => return Ok(Value::Bool(false)),
            Value::Optional(Some(inner)) => (inner.as_ref().clone(), true),
            other => (other, false),
        };
        let found = qualify(&value, &last.step, None)?.is_some();
        if found || !optional {
            self.meter.charge(1)?;
        }
        Ok(Value::Bool(found))
    }
}

/// The value that a step finds; none when there is none.
fn qualify<'a>(value: &Value<'a>, step: &Step, key: Option<&Value<'a>>) -> Result<Option<Value<'a>>, EvalError> {
    match (value, step, key) {
        (Value::Map(Map::Json(map)), Step::Field { identifier, property }, _) => {
            if map.is_untyped() {
                return map.property(identifier);
            }
            match property {
                Some(property) if map.has_fields() => map.property(property),
                _ => map.find(identifier),
            }
        }
        (Value::Instance(instance), Step::Field { identifier, .. }, _) => Ok(instance.fields.get(identifier).cloned()),
        (Value::Map(map), Step::Field { identifier, .. }, _) => map.find(&Value::text(identifier.as_ref())),
        (Value::Map(map), _, Some(key)) => map.find(key),
        (Value::List(list), _, Some(key)) => {
            let index = match key {
                Value::Int(index) => *index,
                Value::Uint(index) => i64::try_from(*index).unwrap_or(-1),
                Value::Double(index) if index.fract() == 0.0 => *index as i64,
                other => {
                    let words = format!("unsupported index type '{}' in list", other.type_name());
                    return Err(EvalError::Failed(words));
                }
            };
            usize::try_from(index).ok().and_then(|index| list.get(index)).transpose()
        }
        (Value::List(_), Step::Field { .. }, _) => Err(EvalError::new("unsupported index type 'string' in list")),
        _ => Ok(None),
    }
}

fn missing(value: &Value<'_>, step: &Step, key: Option<&Value<'_>>) -> EvalError {
    let shown = match (step, key) {
        (Step::Field { identifier, .. }, _) => identifier.to_string(),
        (_, Some(key)) => to_text(key),
        _ => String::new(),
    };
    if matches!(value, Value::List(_)) {
        return EvalError::Failed(format!("index out of bounds: {shown}"));
    }
    EvalError::no_such_key(&shown)
}

/// The name of a value's type in cel-go.
fn go_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Optional(_) => "*types.Optional",
        other => other.type_name(),
    }
}
