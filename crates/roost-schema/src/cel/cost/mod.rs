//! What an expression can cost at most, estimated before it ever runs.
//!
//! Whether a definition is accepted depends on these numbers, so that they follow cel-go and Kubernetes to the unit.

mod calls;
mod libraries;
mod range;
mod route;

use std::collections::HashMap;

use super::ast::{Comprehension, Expr, Id, Kind, Literal};
use super::checker::Checked;
use super::object::Place;
use super::types::Type;
use range::Range;
use route::Route;

/// What is known about the sizes of variables.
pub(crate) struct Estimator<'s> {
    /// The place of `self`, from which all paths start; none when sizes are not known.
    pub(crate) root: Option<Place<'s>>,
}

impl Estimator<'_> {
    /// The size of the value at the end of a route; none when nothing is known.
    fn size(&self, route: &Route) -> Option<Range> {
        let mut place = self.root?;
        let names = route.names();
        let (_, rest) = names.split_first()?;
        for name in rest {
            place = match name.as_ref() {
                "@items" | "@values" => place.element()?,
                "@keys" => place.keys()?,
                field => place.field(field)?,
            };
        }
        Some(Range { min: 0, max: place.max_elements() })
    }
}

/// The largest cost that an expression can have.
pub(crate) fn estimate(checked: &Checked<'_>, estimator: &Estimator<'_>) -> u64 {
    let mut coster = Coster {
        checked,
        estimator,
        routes: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    coster.cost(&checked.root).max
}

/// The sizes of the keys and values of a list or map.
#[derive(Clone, Copy)]
struct Entries {
    list: bool,
    key: Range,
    value: Range,
}

impl Entries {
    fn union(self, other: Entries) -> Entries {
        Entries { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

struct Local {
    name: Box<str>,
    route: Route,
    size: Option<Range>,
    entries: Option<Entries>,
}

struct Coster<'c, 's> {
    checked: &'c Checked<'s>,
    estimator: &'c Estimator<'s>,
    routes: HashMap<Id, Route>,
    sizes: HashMap<Id, Range>,
    entries: HashMap<Id, Entries>,
    locals: Vec<Local>,
}

/// An operand of a call, as far as its cost depends on it.
struct Operand<'e, 's> {
    expr: &'e Expr,
    kind: Type<'s>,
    route: Route,
    size: Option<Range>,
}

impl Coster<'_, '_> {
    fn cost(&mut self, expr: &Expr) -> Range {
        match &expr.kind {
            Kind::Literal(_) => Range::ZERO,
            Kind::Ident(name) => {
                let route = self.local(name).map_or_else(|| Route::variable(name), |local| local.route.clone());
                self.routes.insert(expr.id, route);
                Range::ONE
            }
            Kind::Select { operand, field, test_only } => {
                let cost = self.cost(operand);
                if *test_only {
                    return cost;
                }
                let route = self.route(operand).extended(field);
                self.routes.insert(expr.id, route);
                match self.checked.type_of(operand) {
                    Type::Map(..) | Type::Object(_) | Type::Param(_) => cost.add(Range::ONE),
                    _ => cost,
                }
            }
            Kind::Call { target, function, args } => self.call(expr, target.as_deref(), function, args),
            Kind::List { elements, .. } => self.list(expr, elements),
            Kind::Map { entries } => self.map(expr, entries),
            Kind::Message { fields, .. } => {
                let mut sum = Range::fixed(40);
                for field in fields {
                    sum = sum.add(self.cost(&field.value));
                }
                sum
            }
            Kind::Comprehension(fold) if is_bind(fold) => self.bind(expr, fold),
            Kind::Comprehension(fold) => self.fold(expr, fold),
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name.as_ref() == name)
    }

    fn route(&self, expr: &Expr) -> Route {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.route.clone();
        }
        self.routes.get(&expr.id).cloned().unwrap_or_default()
    }

    /// The size of an expression's value, if anything is known about it.
    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expr) {
            return Some(size);
        }
        if let Some(size) = self.estimator.size(&self.route(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if self.checked.type_of(expr).is_scalar() {
            return Some(Range::ONE);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    fn entry_sizes(&self, expr: &Expr) -> Option<Entries> {
        if let Some(entries) = self.entries.get(&expr.id) {
            return Some(*entries);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.entries),
            _ => None,
        }
    }

    fn list(&mut self, expr: &Expr, elements: &[Expr]) -> Range {
        let mut sum = Range::fixed(10);
        let mut size = Range { min: if elements.is_empty() { 0 } else { u64::MAX }, max: 0 };
        for element in elements {
            sum = sum.add(self.cost(element));
            size = size.union(self.size_or_unknown(element));
        }
        self.entries.insert(expr.id, Entries { list: true, key: Range::ONE, value: size });
        sum
    }

    fn map(&mut self, expr: &Expr, entries: &[super::ast::Entry]) -> Range {
        let mut sum = Range::fixed(30);
        let empty = Range { min: if entries.is_empty() { 0 } else { u64::MAX }, max: 0 };
        let (mut keys, mut values) = (empty, empty);
        for entry in entries {
            sum = sum.add(self.cost(&entry.key)).add(self.cost(&entry.value));
            keys = keys.union(self.size_or_unknown(&entry.key));
            values = values.union(self.size_or_unknown(&entry.value));
        }
        self.entries.insert(expr.id, Entries { list: false, key: keys, value: values });
        sum
    }

    fn push(&mut self, name: &str, route: Route, size: Option<Range>, entries: Option<Entries>) {
        self.locals.push(Local { name: name.into(), route, size, entries });
    }

    fn push_accumulator(&mut self, fold: &Comprehension) {
        let route = self.route(&fold.init);
        let entries = self.entry_sizes(&fold.init);
        let size = self.size(&fold.init);
        self.push(&fold.accumulator, route, size, entries);
    }

    fn push_variables(&mut self, fold: &Comprehension) {
        let entries = self.entry_sizes(&fold.range);
        let list = match entries {
            Some(entries) => entries.list,
            None => matches!(self.checked.type_of(&fold.range), Type::List(_)),
        };
        let route = self.route(&fold.range);
        let (keys, values) = if list { ("@indices", "@items") } else { ("@keys", "@values") };
        let key_size = entries.map(|entries| entries.key);
        let value_size = entries.map(|entries| entries.value);
        match &fold.second {
            Some(second) => {
                self.push(&fold.variable, route.extended(keys), key_size, None);
                self.push(second, route.extended(values), value_size, None);
            }
            None if list => self.push(&fold.variable, route.extended(values), value_size, None),
            None => self.push(&fold.variable, route.extended("@keys"), key_size, None),
        }
    }

    fn fold(&mut self, expr: &Expr, fold: &Comprehension) -> Range {
        let mut sum = self.cost(&fold.range).add(self.cost(&fold.init));
        let outer = self.locals.len();
        self.push_accumulator(fold);
        self.push_variables(fold);
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        self.locals.truncate(outer + 1);
        sum = sum.add(self.cost(&fold.result));
        self.locals.truncate(outer);
        let count = self.size_or_unknown(&fold.range);
        sum = sum.add(count.multiply(step.add(condition)));
        match &fold.init.kind {
            Kind::Literal(_) => {
                if let Some(size) = self.size(&fold.init) {
                    self.sizes.insert(expr.id, size);
                }
            }
            Kind::List { .. } | Kind::Map { .. } => {
                self.sizes.insert(expr.id, count);
                if let Some(entries) = self.entry_sizes(&fold.step) {
                    self.entries.insert(expr.id, entries);
                }
            }
            _ => {}
        }
        sum
    }

    fn bind(&mut self, expr: &Expr, fold: &Comprehension) -> Range {
        let sum = self.cost(&fold.range).add(self.cost(&fold.init));
        let outer = self.locals.len();
        self.push_accumulator(fold);
        let sum = sum.add(self.cost(&fold.result));
        self.locals.truncate(outer);
        if let Some(size) = self.size(&fold.result) {
            self.sizes.insert(expr.id, size);
        }
        if let Some(entries) = self.entry_sizes(&fold.result) {
            self.entries.insert(expr.id, entries);
        }
        sum
    }
}

/// Whether a fold only binds a name.
fn is_bind(fold: &Comprehension) -> bool {
    matches!(&fold.range.kind, Kind::List { elements, .. } if elements.is_empty())
        && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)))
        && fold.accumulator.as_ref() != "__result__"
}

fn literal_size(expr: &Expr) -> Option<Range> {
    Some(Range::fixed(match &expr.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count() as u64,
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Kind::Literal(_) => 1,
        Kind::List { elements, .. } => elements.len() as u64,
        Kind::Map { entries } => entries.len() as u64,
        _ => return None,
    }))
}
