//! Asks a query: every value that a part of it yields is handed to what follows, one after the other.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::QueryError;
use super::datum::Datum;
use super::parse::{Expression, Literal, Operator};

/// How deep an evaluation may go, every pipe being one step deeper: it uses the stack.
pub(super) const DEPTH: usize = 200;
/// The longest text and list that a query may make.
const LARGEST: usize = 1 << 16;

/// Why an evaluation ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// What `try` and `?` catch.
    Error(Datum),
    /// Nobody wants to know more.
    Enough,
    /// What nothing catches.
    Refused(QueryError),
}

pub(super) type Step = Result<(), Failure>;
/// Who takes the values.
pub(super) type Out<'a> = &'a mut dyn FnMut(&mut Run, Datum) -> Step;

/// A variable, and those that were bound before it.
#[derive(Clone, Copy)]
pub(super) struct Bound<'a> {
    name: &'a str,
    value: &'a Datum,
    before: Option<&'a Bound<'a>>,
}

pub(super) type Scope<'a> = Option<&'a Bound<'a>>;

/// An evaluation that is under way.
pub(super) struct Run {
    steps: u32,
    depth: usize,
}

pub(super) fn error(problem: impl Into<Rc<str>>) -> Failure {
    Failure::Error(Datum::Text(problem.into()))
}

impl Run {
    pub(super) fn new(steps: u32) -> Self {
        Self { steps, depth: 0 }
    }

    /// Counts steps.
    pub(super) fn charge(&mut self, steps: usize) -> Step {
        let left = u32::try_from(steps).ok().and_then(|steps| self.steps.checked_sub(steps));
        self.steps = left.ok_or(Failure::Refused(QueryError::TooManySteps))?;
        Ok(())
    }

    pub(super) fn compare(&mut self, one: &Datum, other: &Datum) -> Result<Ordering, Failure> {
        one.compare(other, &mut self.steps).ok_or(Failure::Refused(QueryError::TooManySteps))
    }

    pub(super) fn text_of(&mut self, value: &Datum) -> Result<Rc<str>, Failure> {
        if let Datum::Text(text) = value {
            return Ok(Rc::clone(text));
        }
        self.json_of(value)
    }

    pub(super) fn json_of(&mut self, value: &Datum) -> Result<Rc<str>, Failure> {
        let mut text = String::new();
        value.write(&mut text, &mut self.steps).ok_or(Failure::Refused(QueryError::TooManySteps))?;
        Ok(Rc::from(text))
    }

    /// All values that an expression yields.
    pub(super) fn collect(
        &mut self,
        expression: &Expression,
        input: &Datum,
        scope: Scope<'_>,
    ) -> Result<Vec<Datum>, Failure> {
        let mut values = Vec::new();
        self.evaluate(expression, input, scope, &mut |_, value| {
            values.push(value);
            Ok(())
        })?;
        Ok(values)
    }

    /// Hands all values that an expression yields for an input to `out`.
    pub(super) fn evaluate(&mut self, expression: &Expression, input: &Datum, scope: Scope<'_>, out: Out<'_>) -> Step {
        self.charge(1)?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Failure::Refused(QueryError::Failed(format!("the query goes more than {DEPTH} deep"))));
        }
        let step = self.one(expression, input, scope, out);
        self.depth -= 1;
        step
    }

    fn one(&mut self, expression: &Expression, input: &Datum, scope: Scope<'_>, out: Out<'_>) -> Step {
        match expression {
            Expression::Identity => out(self, input.clone()),
            Expression::Literal(literal) => out(self, literal.datum()),
            Expression::RecurseDefault => self.all(input, out),
            Expression::Variable(name) => {
                let mut bound = scope;
                while let Some(variable) = bound {
                    if variable.name == name {
                        return out(self, variable.value.clone());
                    }
                    bound = variable.before;
                }
                Err(error(format!("the variable ${name} is not defined")))
            }
            Expression::Interpolated(parts) => self.interpolate(parts, input, scope, String::new(), out),
            Expression::Pipe(first, second) => {
                self.evaluate(first, input, scope, &mut |run, value| run.evaluate(second, &value, scope, out))
            }
            Expression::Both(first, second) => {
                self.evaluate(first, input, scope, out)?;
                self.evaluate(second, input, scope, out)
            }
            Expression::Bind(value, name, rest) => self.evaluate(value, input, scope, &mut |run, value| {
                run.evaluate(rest, input, Some(&Bound { name, value: &value, before: scope }), out)
            }),
            Expression::Index(base, key) => self.evaluate(base, input, scope, &mut |run, base| {
                run.evaluate(key, input, scope, &mut |run, key| {
                    let found = index(&base, &key)?;
                    out(run, found)
                })
            }),
            Expression::Slice(base, start, end) => self.evaluate(base, input, scope, &mut |run, base| {
                let bound = |run: &mut Self, bound: &Option<Box<Expression>>| match bound {
                    None => Ok(vec![Datum::Null]),
                    Some(bound) => run.collect(bound, input, scope),
                };
                for end in bound(run, end)? {
                    for start in bound(run, start)? {
                        let part = slice(&base, &start, &end)?;
                        out(run, part)?;
                    }
                }
                Ok(())
            }),
            Expression::Each(base) => self.evaluate(base, input, scope, &mut |run, base| run.each(&base, out)),
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right, input, scope, out),
            Expression::Negate(inner) => self.evaluate(inner, input, scope, &mut |run, value| match value {
                Datum::Number(number) => out(run, Datum::Number(-number)),
                other => Err(error(format!("cannot negate: {}", other.shown()))),
            }),
            Expression::Try(body, caught) => self.attempt(body, caught.as_deref(), input, scope, out),
            Expression::If(question, yes, no) => {
                self.evaluate(question, input, scope, &mut |run, answer| match (answer.is_true(), no) {
                    (true, _) => run.evaluate(yes, input, scope, out),
                    (false, Some(no)) => run.evaluate(no, input, scope, out),
                    (false, None) => out(run, input.clone()),
                })
            }
            Expression::List(None) => out(self, Datum::list(Vec::new())),
            Expression::List(Some(inner)) => {
                let values = self.collect(inner, input, scope)?;
                out(self, Datum::list(values))
            }
            Expression::Map(entries) => self.map(entries, input, scope, &BTreeMap::new(), out),
            Expression::Call(name, arguments) => super::function::call(self, name, arguments, input, scope, out),
        }
    }

    /// Every value within a value, itself first.
    fn all(&mut self, value: &Datum, out: Out<'_>) -> Step {
        self.charge(1)?;
        out(self, value.clone())?;
        match value {
            Datum::List(list) => list.iter().try_for_each(|item| self.all(item, out)),
            Datum::Map(map) => map.values().try_for_each(|item| self.all(item, out)),
            _ => Ok(()),
        }
    }

    pub(super) fn each(&mut self, value: &Datum, out: Out<'_>) -> Step {
        match value {
            Datum::List(list) => list.iter().try_for_each(|item| out(self, item.clone())),
            Datum::Map(map) => map.values().try_for_each(|item| out(self, item.clone())),
            other => Err(error(format!("cannot iterate over: {}", other.shown()))),
        }
    }

    fn interpolate(
        &mut self,
        parts: &[Expression],
        input: &Datum,
        scope: Scope<'_>,
        start: String,
        out: Out<'_>,
    ) -> Step {
        let Some((first, rest)) = parts.split_first() else { return out(self, Datum::text(&start)) };
        if let Expression::Literal(Literal::Text(text)) = first {
            return self.interpolate(rest, input, scope, start + text, out);
        }
        self.evaluate(first, input, scope, &mut |run, value| {
            let text = run.text_of(&value)?;
            check_size(start.len() + text.len())?;
            run.charge(text.len() / 64)?;
            run.interpolate(rest, input, scope, format!("{start}{text}"), out)
        })
    }

    fn map(
        &mut self,
        entries: &[(Expression, Expression)],
        input: &Datum,
        scope: Scope<'_>,
        known: &BTreeMap<Rc<str>, Datum>,
        out: Out<'_>,
    ) -> Step {
        self.charge(1 + known.len())?;
        let Some(((key, value), rest)) = entries.split_first() else {
            return out(self, Datum::Map(Rc::new(known.clone())));
        };
        self.evaluate(key, input, scope, &mut |run, key| {
            let Datum::Text(key) = key else {
                return Err(error(format!("expected a string for object key but got: {}", key.shown())));
            };
            run.evaluate(value, input, scope, &mut |run, value| {
                let mut known = known.clone();
                known.insert(Rc::clone(&key), value);
                run.map(rest, input, scope, &known, out)
            })
        })
    }

    /// What `out` says of values is not caught, only what the body itself says.
    fn attempt(
        &mut self,
        body: &Expression,
        caught: Option<&Expression>,
        input: &Datum,
        scope: Scope<'_>,
        out: Out<'_>,
    ) -> Step {
        let mut outside: Step = Ok(());
        let ended = self.evaluate(body, input, scope, &mut |run, value| match out(run, value) {
            Ok(()) => Ok(()),
            Err(failure) => {
                outside = Err(failure);
                Err(Failure::Enough)
            }
        });
        outside?;
        match ended {
            Err(Failure::Error(value)) => caught.map_or(Ok(()), |caught| self.evaluate(caught, &value, scope, out)),
            other => other,
        }
    }

    /// The first values of an expression, as many as wanted.
    pub(super) fn first(
        &mut self,
        count: usize,
        expression: &Expression,
        input: &Datum,
        scope: Scope<'_>,
    ) -> Result<Vec<Datum>, Failure> {
        let mut values = Vec::new();
        if count == 0 {
            return Ok(values);
        }
        let ended = self.evaluate(expression, input, scope, &mut |_, value| {
            values.push(value);
            if values.len() < count { Ok(()) } else { Err(Failure::Enough) }
        });
        match ended {
            Ok(()) | Err(Failure::Enough) => Ok(values),
            Err(failure) => Err(failure),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &Expression,
        right: &Expression,
        input: &Datum,
        scope: Scope<'_>,
        out: Out<'_>,
    ) -> Step {
        match operator {
            Operator::And | Operator::Or => self.evaluate(left, input, scope, &mut |run, one| {
                if one.is_true() == (operator == Operator::Or) {
                    return out(run, Datum::Bool(operator == Operator::Or));
                }
                run.evaluate(right, input, scope, &mut |run, other| out(run, Datum::Bool(other.is_true())))
            }),
            Operator::Alternative => {
                let mut good = Vec::new();
                let ended = self.evaluate(left, input, scope, &mut |_, value| {
                    if value.is_true() {
                        good.push(value);
                    }
                    Ok(())
                });
                if let Err(failure @ Failure::Refused(_)) = ended {
                    return Err(failure);
                }
                if good.is_empty() {
                    return self.evaluate(right, input, scope, out);
                }
                good.into_iter().try_for_each(|value| out(self, value))
            }
            _ => self.evaluate(right, input, scope, &mut |run, other| {
                run.evaluate(left, input, scope, &mut |run, one| {
                    let value = run.calculate(operator, &one, &other)?;
                    out(run, value)
                })
            }),
        }
    }

    fn calculate(&mut self, operator: Operator, one: &Datum, other: &Datum) -> Result<Datum, Failure> {
        let is = |wanted: &dyn Fn(Ordering) -> bool, order: Ordering| Ok(Datum::Bool(wanted(order)));
        match operator {
            Operator::Equal => is(&Ordering::is_eq, self.compare(one, other)?),
            Operator::Unequal => is(&Ordering::is_ne, self.compare(one, other)?),
            Operator::Less => is(&Ordering::is_lt, self.compare(one, other)?),
            Operator::AtMost => is(&Ordering::is_le, self.compare(one, other)?),
            Operator::More => is(&Ordering::is_gt, self.compare(one, other)?),
            Operator::AtLeast => is(&Ordering::is_ge, self.compare(one, other)?),
            Operator::Add => self.add(one, other),
            Operator::Subtract => match (one, other) {
                (Datum::Number(one), Datum::Number(other)) => Ok(Datum::Number(one - other)),
                (Datum::List(one), Datum::List(gone)) => {
                    let mut rest = Vec::new();
                    for item in one.iter() {
                        let mut is_gone = false;
                        for other in gone.iter() {
                            is_gone |= self.compare(item, other)?.is_eq();
                        }
                        if !is_gone {
                            rest.push(item.clone());
                        }
                    }
                    Ok(Datum::list(rest))
                }
                _ => Err(error(format!("cannot subtract: {} and {}", one.shown(), other.shown()))),
            },
            Operator::Multiply => match (one, other) {
                (Datum::Number(one), Datum::Number(other)) => Ok(Datum::Number(one * other)),
                _ => Err(error(format!("cannot multiply: {} and {}", one.shown(), other.shown()))),
            },
            Operator::Divide | Operator::Remainder => match (one, other) {
                (Datum::Number(_), Datum::Number(by)) if *by == 0.0 => {
                    Err(error(format!("cannot divide {} by: {}", one.shown(), other.shown())))
                }
                (Datum::Number(one), Datum::Number(by)) if operator == Operator::Divide => Ok(Datum::Number(one / by)),
                (Datum::Number(one), Datum::Number(by)) => match (one.trunc(), by.trunc()) {
                    (_, 0.0) => Err(error(format!("cannot divide by: {}", other.shown()))),
                    (one, by) => Ok(Datum::Number(one % by.abs())),
                },
                (Datum::Text(text), Datum::Text(by)) if operator == Operator::Divide => self.split(text, by),
                _ => Err(error(format!("cannot divide {} by: {}", one.shown(), other.shown()))),
            },
            Operator::And | Operator::Or | Operator::Alternative => Ok(Datum::Null),
        }
    }

    pub(super) fn split(&mut self, text: &str, by: &str) -> Result<Datum, Failure> {
        self.charge(text.len() / 16)?;
        let parts = if text.is_empty() {
            Vec::new()
        } else if by.is_empty() {
            text.chars().map(|letter| Datum::text(letter.encode_utf8(&mut [0; 4]))).collect()
        } else {
            text.split(by).map(Datum::text).collect()
        };
        Ok(Datum::list(parts))
    }

    pub(super) fn add(&mut self, one: &Datum, other: &Datum) -> Result<Datum, Failure> {
        Ok(match (one, other) {
            (Datum::Null, value) | (value, Datum::Null) => value.clone(),
            (Datum::Number(one), Datum::Number(other)) => Datum::Number(one + other),
            (Datum::Text(one), Datum::Text(other)) => {
                check_size(one.len() + other.len())?;
                self.charge((one.len() + other.len()) / 64)?;
                Datum::text(&format!("{one}{other}"))
            }
            (Datum::List(one), Datum::List(other)) => {
                check_size(one.len() + other.len())?;
                self.charge(one.len() + other.len())?;
                Datum::list(one.iter().chain(other.iter()).cloned().collect())
            }
            (Datum::Map(one), Datum::Map(other)) => {
                self.charge(one.len() + other.len())?;
                let mut map = (**one).clone();
                map.extend(other.iter().map(|(key, value)| (Rc::clone(key), value.clone())));
                Datum::Map(Rc::new(map))
            }
            _ => return Err(error(format!("cannot add: {} and {}", one.shown(), other.shown()))),
        })
    }
}

fn check_size(size: usize) -> Step {
    if size <= LARGEST { Ok(()) } else { Err(Failure::Refused(QueryError::TooManySteps)) }
}

fn index(base: &Datum, key: &Datum) -> Result<Datum, Failure> {
    match (base, key) {
        (Datum::Null, Datum::Null | Datum::Text(_) | Datum::Number(_)) => Ok(Datum::Null),
        (Datum::Map(map), Datum::Text(key)) => Ok(map.get(key).cloned().unwrap_or(Datum::Null)),
        (Datum::List(list), Datum::Number(number)) => {
            let at = number.floor();
            let at = if at < 0.0 { at + list.len() as f64 } else { at };
            let found = if at >= 0.0 { list.get(at as usize).cloned() } else { None };
            Ok(found.unwrap_or(Datum::Null))
        }
        (base, Datum::Text(_)) => Err(error(format!("expected an object but got: {}", base.shown()))),
        (base, Datum::Number(_)) => Err(error(format!("expected an array but got: {}", base.shown()))),
        (_, key) => Err(error(format!("cannot index with: {}", key.shown()))),
    }
}

fn slice(base: &Datum, start: &Datum, end: &Datum) -> Result<Datum, Failure> {
    let range = |length: usize| {
        let place = |bound: &Datum, default: usize| match bound {
            Datum::Null => Ok(default),
            Datum::Number(number) => {
                let at = if *number < 0.0 { number + length as f64 } else { *number };
                Ok(at.clamp(0.0, length as f64) as usize)
            }
            other => Err(error(format!("expected a number for slicing but got: {}", other.shown()))),
        };
        let (start, end) = (place(start, 0)?, place(end, length)?);
        Ok(start.min(end)..end)
    };
    match base {
        Datum::Null => Ok(Datum::Null),
        Datum::List(list) => Ok(Datum::list(list[range(list.len())?].to_vec())),
        Datum::Text(text) => {
            let range = range(text.chars().count())?;
            let part: String = text.chars().skip(range.start).take(range.len()).collect();
            Ok(Datum::text(&part))
        }
        other => Err(error(format!("expected an array but got: {}", other.shown()))),
    }
}
