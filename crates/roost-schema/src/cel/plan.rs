//! A checked expression made ready to run: names become places, literals values, patterns compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ast::{Comprehension, Expr, Kind, Literal};
use super::checker::{Checked, Reference};
use super::escape::unescape;
use super::libraries::{Builtin, Invocation, builtin};
use super::meter::Meter;
use super::value::{Key, List, Map, Outcome, Value};
use crate::pattern::Pattern;

/// A step of evaluation.
pub(crate) enum Plan {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    /// Whether the last qualifier finds something.
    Has(Box<Attribute>),
    And(Box<[Plan]>),
    Or(Box<[Plan]>),
    Equal(Box<[Plan; 2]>),
    NotEqual(Box<[Plan; 2]>),
    Call(Box<Call>),
    /// Membership in a list of literals.
    InLiterals(Box<(Plan, BTreeSet<Key<'static>>)>),
    List(Box<[(Plan, bool)]>),
    Map(Box<[(Plan, Plan, bool)]>),
    Fold(Box<Fold>),
    /// An object with a name for its type; optional fields may be left out.
    Message(Box<Message>),
    /// Adds elements to the accumulator of the surrounding fold, instead of copying it.
    Append(Box<Append>),
    OptionalOr(Box<[Plan; 2]>),
    OptionalOrValue(Box<[Plan; 2]>),
}

/// An object to be made.
pub(crate) struct Message {
    pub(crate) name: Arc<str>,
    pub(crate) fields: Vec<(Box<str>, Plan, bool)>,
}

/// A value that is found by following qualifiers from a base.
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
}

pub(crate) enum Base {
    /// A variable of the environment, by place and name.
    Variable(usize, Box<str>),
    /// A variable of a fold.
    Local(usize),
    /// Whatever an expression yields.
    Relative(Plan),
    Conditional(Box<[Plan; 3]>),
}

pub(crate) struct Qualifier {
    pub(crate) step: Step,
    pub(crate) optional: bool,
}

pub(crate) enum Step {
    /// A field by its identifier, and the property that it names.
    Field { identifier: Box<str>, property: Option<Box<str>> },
    /// A literal index or key.
    Constant(Value<'static>),
    /// An index or key that is evaluated.
    Dynamic(Plan),
}

pub(crate) struct Call {
    pub(crate) function: Box<str>,
    pub(crate) overload: &'static str,
    pub(crate) implementation: Builtin,
    pub(crate) args: Box<[Plan]>,
    pub(crate) pattern: Option<Pattern>,
}

impl Call {
    /// Whether the operands after one that fails are not evaluated.
    pub(crate) fn stops_early(&self) -> bool {
        self.args.len() > 2 || self.pattern.is_some() || self.function.as_ref() == "format"
    }
}

pub(crate) struct Fold {
    /// The place of the accumulator; the variables follow it.
    pub(crate) slot: usize,
    pub(crate) two: bool,
    pub(crate) range: Plan,
    pub(crate) init: Plan,
    pub(crate) condition: Plan,
    pub(crate) step: Plan,
    pub(crate) result: Plan,
}

pub(crate) struct Append {
    pub(crate) slot: usize,
    pub(crate) elements: Vec<Plan>,
    /// The elements are literals, whose list costs nothing to make.
    pub(crate) constant: bool,
}

/// Plans a checked expression. The error is in cel-go's words.
pub(crate) fn plan(checked: &Checked<'_>, variables: &[&str]) -> Result<Plan, String> {
    Planner { checked, variables, locals: Vec::new() }.plan(&checked.root)
}

struct Planner<'c, 's> {
    checked: &'c Checked<'s>,
    variables: &'c [&'c str],
    locals: Vec<Box<str>>,
}

impl Planner<'_, '_> {
    fn plan(&mut self, expr: &Expr) -> Result<Plan, String> {
        match &expr.kind {
            Kind::Literal(literal) => Ok(Plan::Constant(constant(literal))),
            Kind::Ident(name) => self.name(expr, name),
            Kind::Select { operand, field, test_only } => {
                let mut attribute = self.attribute(operand)?;
                let property = unescape(field).map(|property| property.into_owned().into_boxed_str());
                let step = Step::Field { identifier: field.clone(), property };
                attribute.qualifiers.push(Qualifier { step, optional: false });
                Ok(if *test_only { Plan::Has(attribute) } else { Plan::Attribute(attribute) })
            }
            Kind::Call { target, function, args } => self.call(expr, target.as_deref(), function, args),
            Kind::List { elements, optional } => self.list(elements, optional),
            Kind::Map { entries } => {
                let mut planned = Vec::with_capacity(entries.len());
                for entry in entries {
                    planned.push((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional));
                }
                Ok(folded_map(planned))
            }
            Kind::Message { name, fields } => {
                let mut planned = Vec::with_capacity(fields.len());
                for field in fields {
                    planned.push((field.name.clone(), self.plan(&field.value)?, field.optional));
                }
                let name = name.strip_prefix('.').unwrap_or(name);
                Ok(Plan::Message(Box::new(Message { name: name.into(), fields: planned })))
            }
            Kind::Comprehension(fold) => self.fold(fold),
        }
    }

    fn name(&self, expr: &Expr, name: &str) -> Result<Plan, String> {
        if let Some(Reference::TypeName(name)) = &self.checked.references[expr.id] {
            let known = match name.as_ref() {
                "bool" => "bool",
                "bytes" => "bytes",
                "double" => "double",
                "google.protobuf.Duration" => "google.protobuf.Duration",
                "google.protobuf.Timestamp" => "google.protobuf.Timestamp",
                "int" => "int",
                "list" => "list",
                "map" => "map",
                "null_type" => "null_type",
                "string" => "string",
                "type" => "type",
                "uint" => "uint",
                "optional_type" => "optional_type",
                "net.IP" => "net.IP",
                "net.CIDR" => "net.CIDR",
                other => return Err(format!("reference to undefined type: {other}")),
            };
            return Ok(Plan::Constant(Value::Type(known)));
        }
        let base = match self.locals.iter().rposition(|local| local.as_ref() == name) {
            Some(slot) => Base::Local(slot),
            None => match self.variables.iter().position(|variable| *variable == name) {
                Some(index) => Base::Variable(index, name.into()),
                None => return Err(format!("undeclared reference to '{name}'")),
            },
        };
        Ok(Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() })))
    }

    /// An expression as something to which qualifiers can be added.
    fn attribute(&mut self, operand: &Expr) -> Result<Box<Attribute>, String> {
        Ok(match self.plan(operand)? {
            Plan::Attribute(attribute) => attribute,
            other => Box::new(Attribute { base: Base::Relative(other), qualifiers: Vec::new() }),
        })
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Box<[Plan]>, String> {
        exprs.iter().map(|expr| self.plan(expr)).collect()
    }

    fn pair(&mut self, args: &[Expr]) -> Result<Box<[Plan; 2]>, String> {
        let [left, right] = args else { return Err("no such overload".to_owned()) };
        Ok(Box::new([self.plan(left)?, self.plan(right)?]))
    }

    fn call(&mut self, expr: &Expr, target: Option<&Expr>, function: &str, args: &[Expr]) -> Result<Plan, String> {
        match function {
            "_&&_" => return Ok(Plan::And(self.all(args)?)),
            "_||_" => return Ok(Plan::Or(self.all(args)?)),
            "_==_" => return Ok(Plan::Equal(self.pair(args)?)),
            "_!=_" => return Ok(Plan::NotEqual(self.pair(args)?)),
            "_?_:_" => {
                let [condition, truthy, falsy] = args else { return Err("no such overload".to_owned()) };
                let parts = [self.plan(condition)?, self.plan(truthy)?, self.plan(falsy)?];
                let base = Base::Conditional(Box::new(parts));
                return Ok(Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() })));
            }
            "_[_]" => return self.index(args, false),
            "_[?_]" | "_?._" => return self.index(args, true),
            _ => {}
        }
        let overloads = self.checked.overloads(expr.id);
        let overload = if let [single] = overloads { single } else { "" };
        let mut planned = Vec::with_capacity(args.len() + 1);
        for operand in target.into_iter().chain(args) {
            planned.push(self.plan(operand)?);
        }
        if planned.len() == 2 && matches!(function, "or" | "orValue") {
            let parts: Box<[Plan; 2]> = Box::new(planned.try_into().map_err(|_| "no such overload".to_owned())?);
            return Ok(if function == "or" { Plan::OptionalOr(parts) } else { Plan::OptionalOrValue(parts) });
        }
        let implementation = builtin(function).ok_or_else(|| format!("no such overload: {function}"))?;
        let mut call =
            Call { function: function.into(), overload, implementation, args: planned.into(), pattern: None };
        if overload == "in_list"
            && let Some(planned) = in_literals(&mut call)
        {
            return Ok(planned);
        }
        if is_conversion(function)
            && let [Plan::Constant(argument)] = &call.args[..]
        {
            return converted(&call, argument).map(Plan::Constant);
        }
        if matches!(function, "matches" | "find" | "findAll")
            && let Some(Plan::Constant(Value::String(pattern))) = call.args.get(1)
        {
            call.pattern = Some(Pattern::checked(pattern)?);
        }
        Ok(Plan::Call(Box::new(call)))
    }

    fn index(&mut self, args: &[Expr], optional: bool) -> Result<Plan, String> {
        let [operand, index] = args else { return Err("no such overload".to_owned()) };
        let mut attribute = self.attribute(operand)?;
        let step = match self.plan(index)? {
            Plan::Constant(value) => Step::Constant(value),
            other => Step::Dynamic(other),
        };
        attribute.qualifiers.push(Qualifier { step, optional });
        Ok(Plan::Attribute(attribute))
    }

    fn list(&mut self, elements: &[Expr], optional: &[usize]) -> Result<Plan, String> {
        let mut planned = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            planned.push((self.plan(element)?, optional.contains(&index)));
        }
        let all_constant = planned.iter().all(|(plan, optional)| matches!(plan, Plan::Constant(_)) && !optional);
        if !all_constant {
            return Ok(Plan::List(planned.into()));
        }
        let values = planned.into_iter().filter_map(|(plan, _)| match plan {
            Plan::Constant(value) => Some(value),
            _ => None,
        });
        Ok(Plan::Constant(Value::list(values.collect())))
    }

    fn fold(&mut self, fold: &Comprehension) -> Result<Plan, String> {
        let range = self.plan(&fold.range)?;
        let slot = self.locals.len();
        // The accumulator is made when it is first used, with the fold's places already taken.
        self.locals.extend([Box::default(), Box::default(), Box::default()]);
        let init = self.plan(&fold.init)?;
        self.locals.truncate(slot);
        self.locals.push(fold.accumulator.clone());
        self.locals.push(fold.variable.clone());
        // Every fold takes three places, so that places do not depend on the kind of fold.
        self.locals.push(fold.second.clone().unwrap_or_default());
        let condition = self.plan(&fold.condition)?;
        let step = self.step(&fold.step, slot)?;
        self.locals.truncate(slot + 1);
        self.locals.push(Box::default());
        self.locals.push(Box::default());
        let result = self.plan(&fold.result)?;
        self.locals.truncate(slot);
        let two = fold.second.is_some();
        Ok(Plan::Fold(Box::new(Fold { slot, two, range, init, condition, step, result })))
    }

    /// The step of a fold, where appending to the accumulator is done in place.
    fn step(&mut self, expr: &Expr, slot: usize) -> Result<Plan, String> {
        let is_accumulator = |expr: &Expr| matches!(&expr.kind, Kind::Ident(name) if name.as_ref() == "@result");
        match &expr.kind {
            Kind::Call { target: None, function, args } if function.as_ref() == "_+_" => {
                let [left, Expr { kind: Kind::List { elements, optional }, .. }] = &args[..] else {
                    return self.plan(expr);
                };
                if !is_accumulator(left) || !optional.is_empty() {
                    return self.plan(expr);
                }
                let elements = self.all(elements)?.into_vec();
                let constant = elements.iter().all(|element| matches!(element, Plan::Constant(_)));
                Ok(Plan::Append(Box::new(Append { slot, elements, constant })))
            }
            Kind::Call { target: None, function, args } if function.as_ref() == "_?_:_" => {
                let [condition, truthy, falsy] = &args[..] else { return self.plan(expr) };
                let parts = [self.plan(condition)?, self.step(truthy, slot)?, self.plan(falsy)?];
                let base = Base::Conditional(Box::new(parts));
                Ok(Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() })))
            }
            _ => self.plan(expr),
        }
    }
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::text(text.as_ref()),
        Literal::Bytes(bytes) => Value::Bytes(bytes.as_ref().into()),
    }
}

fn folded_map(entries: Vec<(Plan, Plan, bool)>) -> Plan {
    let mut values = BTreeMap::new();
    for (key, value, optional) in &entries {
        let (Plan::Constant(key), Plan::Constant(value), false) = (key, value, optional) else {
            return Plan::Map(entries.into());
        };
        let Some(key) = Key::of(key) else { return Plan::Map(entries.into()) };
        values.insert(key, value.clone());
    }
    Plan::Constant(Value::Map(Map::Values(Arc::new(values))))
}

fn is_conversion(function: &str) -> bool {
    matches!(
        function,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    )
}

fn converted(call: &Call, argument: &Value<'static>) -> Result<Value<'static>, String> {
    let meter = Meter::new(u64::MAX);
    let args = [argument.clone()];
    let invocation =
        Invocation { function: &call.function, args: &args, meter: &meter, authorizer: None, pattern: None };
    let outcome: Outcome<'static> = (call.implementation)(&invocation);
    outcome.map_err(|error| error.to_string())
}

/// `x in [1, 2]`: a set of the literals, unless one cannot be a key.
fn in_literals(call: &mut Call) -> Option<Plan> {
    let Plan::Constant(Value::List(List::Values(elements))) = call.args.get(1)? else { return None };
    if elements.is_empty() {
        return Some(Plan::Constant(Value::Bool(false)));
    }
    // Fractions equal no key, and other types have no keys at all.
    if elements.iter().any(|element| matches!(element, Value::Double(number) if number.fract() != 0.0)) {
        return None;
    }
    let keys: Option<BTreeSet<Key<'static>>> = elements.iter().map(Key::of).collect();
    let keys = keys?;
    let args = std::mem::take(&mut call.args);
    let value = args.into_vec().into_iter().next()?;
    Some(Plan::InLiterals(Box::new((value, keys))))
}

/// Whether a value is one of literals.
pub(crate) fn is_literal<'a>(value: &Value<'a>, keys: &BTreeSet<Key<'a>>) -> bool {
    Key::of(value).is_some_and(|key| keys.contains(&key))
}
