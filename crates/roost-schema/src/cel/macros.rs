//! Macros: calls that stand for loops and tests.

use super::ast::{ACCUMULATOR, Comprehension, Expr, Id, Kind, Literal};
use super::parser::Parser;
use super::source::Offset;

/// What is wrong with a macro's arguments, and where.
type Refusal = (Offset, String);

/// A call without a receiver: `has` is a macro, all else a function.
pub(super) fn global_call(parser: &mut Parser<'_, '_>, id: Id, function: &str, args: Vec<Expr>) -> Expr {
    if function != "has" || args.len() != 1 {
        return Expr { id, kind: Kind::Call { target: None, function: function.into(), args } };
    }
    let at = parser.location(id);
    let argument = args.into_iter().next().expect("the length was checked");
    if let Kind::Select { operand, field, .. } = argument.kind {
        Expr { id: parser.new_id(at), kind: Kind::Select { operand, field, test_only: true } }
    } else {
        let at = parser.location(argument.id);
        parser.report(at, "invalid argument to has() macro".to_owned());
        parser.placeholder(at)
    }
}

/// A call on a receiver, expanded if its name and number of arguments are those of a macro.
pub(super) fn receiver_call(
    parser: &mut Parser<'_, '_>,
    id: Id,
    function: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Expr {
    let at = parser.location(id);
    let mut maker = Maker { parser, at };
    let expanded = match (function, args.len()) {
        ("all", 2 | 3) => maker.quantifier(Quantifier::All, target, args),
        ("exists", 2 | 3) => maker.quantifier(Quantifier::Exists, target, args),
        ("exists_one", 2 | 3) | ("existsOne", 3) => maker.quantifier(Quantifier::ExistsOne, target, args),
        ("map", 2 | 3) => maker.map(target, args),
        ("filter", 2) => maker.filter(target, args),
        ("optMap", 2) => maker.optional_map(target, args, true),
        ("optFlatMap", 2) => maker.optional_map(target, args, false),
        ("transformList", 3 | 4) => maker.transform(Transform::List, target, args),
        ("transformMap", 3 | 4) => maker.transform(Transform::Map, target, args),
        ("transformMapEntry", 3 | 4) => maker.transform(Transform::Entry, target, args),
        ("sortBy", 2) => maker.sort_by(target, args),
        ("bind", 3) if maker.parser.binds && is_namespace(&target) => maker.named_value(args),
        _ => {
            let kind = Kind::Call { target: Some(Box::new(target)), function: function.into(), args };
            return Expr { id, kind };
        }
    };
    expanded.unwrap_or_else(|(at, words)| {
        parser.report(at, words);
        parser.placeholder(at)
    })
}

fn is_namespace(target: &Expr) -> bool {
    matches!(&target.kind, Kind::Ident(name) if **name == *"cel")
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

#[derive(Clone, Copy)]
enum Transform {
    List,
    Map,
    Entry,
}

/// Makes nodes at the place of the macro's call.
struct Maker<'m, 'a, 'p> {
    parser: &'m mut Parser<'a, 'p>,
    at: Offset,
}

impl Maker<'_, '_, '_> {
    fn node(&mut self, kind: Kind) -> Expr {
        Expr { id: self.parser.new_id(self.at), kind }
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(Kind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(Kind::Ident(name.into()))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.node(Kind::Call { target: None, function: function.into(), args })
    }

    fn member_call(&mut self, function: &str, target: Expr) -> Expr {
        self.node(Kind::Call { target: Some(Box::new(target)), function: function.into(), args: Vec::new() })
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(Kind::List { elements, optional: Vec::new() })
    }

    fn fold(&mut self, fold: Comprehension) -> Expr {
        self.node(Kind::Comprehension(Box::new(fold)))
    }

    /// A copy whose nodes have their own ids but the same places.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let mut copy = expr.clone();
        self.renumber(&mut copy);
        copy
    }

    fn renumber(&mut self, expr: &mut Expr) {
        let at = self.parser.location(expr.id);
        expr.id = self.parser.new_id(at);
        match &mut expr.kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => self.renumber(operand),
            Kind::Call { target, args, .. } => {
                if let Some(target) = target {
                    self.renumber(target);
                }
                for arg in args {
                    self.renumber(arg);
                }
            }
            Kind::List { elements, .. } => elements.iter_mut().for_each(|element| self.renumber(element)),
            Kind::Map { entries } => entries.iter_mut().for_each(|entry| {
                self.renumber(&mut entry.key);
                self.renumber(&mut entry.value);
            }),
            Kind::Message { fields, .. } => fields.iter_mut().for_each(|field| self.renumber(&mut field.value)),
            Kind::Comprehension(fold) => {
                let Comprehension { range, init, condition, step, result, .. } = fold.as_mut();
                for part in [range, init, condition, step, result] {
                    self.renumber(part);
                }
            }
        }
    }

    fn variable(&self, expr: &Expr, otherwise: &str) -> Result<Box<str>, Refusal> {
        let at = self.parser.location(expr.id);
        match &expr.kind {
            Kind::Ident(name) if matches!(name.as_ref(), ACCUMULATOR | "__result__") => {
                Err((at, "iteration variable overwrites accumulator variable".to_owned()))
            }
            Kind::Ident(name) => Ok(name.clone()),
            _ => Err((at, otherwise.to_owned())),
        }
    }

    /// The variables of a macro: one, or two when there is an argument more than the macro needs.
    fn variables(
        &self,
        args: &mut std::vec::IntoIter<Expr>,
        two: bool,
    ) -> Result<(Box<str>, Option<Box<str>>), Refusal> {
        let simple = "argument must be a simple name";
        let mut next = || args.next().expect("the number of arguments was checked");
        let first = next();
        let first_name = self.variable(&first, simple)?;
        if !two {
            return Ok((first_name, None));
        }
        let second = next();
        let second_name = self.variable(&second, simple)?;
        if first_name == second_name {
            return Err((self.parser.location(second.id), format!("duplicate variable name: {first_name}")));
        }
        Ok((first_name, Some(second_name)))
    }

    fn quantifier(&mut self, quantifier: Quantifier, range: Expr, args: Vec<Expr>) -> Result<Expr, Refusal> {
        let two = args.len() == 3;
        let mut args = args.into_iter();
        let (variable, second) = self.variables(&mut args, two)?;
        let predicate = args.next().expect("the number of arguments was checked");
        let (init, condition, step, result);
        match quantifier {
            Quantifier::All => {
                init = self.literal(Literal::Bool(true));
                let so_far = self.accumulator();
                condition = self.call("@not_strictly_false", vec![so_far]);
                let so_far = self.accumulator();
                step = self.call("_&&_", vec![so_far, predicate]);
                result = self.accumulator();
            }
            Quantifier::Exists => {
                init = self.literal(Literal::Bool(false));
                let so_far = self.accumulator();
                let negated = self.call("!_", vec![so_far]);
                condition = self.call("@not_strictly_false", vec![negated]);
                let so_far = self.accumulator();
                step = self.call("_||_", vec![so_far, predicate]);
                result = self.accumulator();
            }
            Quantifier::ExistsOne => {
                init = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (so_far, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let more = self.call("_+_", vec![so_far, one]);
                let so_far = self.accumulator();
                step = self.call("_?_:_", vec![predicate, more, so_far]);
                let (so_far, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call("_==_", vec![so_far, one]);
            }
        }
        let accumulator = ACCUMULATOR.into();
        Ok(self.fold(Comprehension { range, variable, second, accumulator, init, condition, step, result }))
    }

    /// A fold that collects into a list or map.
    fn collect(
        &mut self,
        range: Expr,
        (variable, second): (Box<str>, Option<Box<str>>),
        init: Expr,
        mut step: Expr,
        filter: Option<Expr>,
    ) -> Expr {
        if let Some(filter) = filter {
            let so_far = self.accumulator();
            step = self.call("_?_:_", vec![filter, step, so_far]);
        }
        let condition = self.literal(Literal::Bool(true));
        let result = self.accumulator();
        let accumulator = ACCUMULATOR.into();
        self.fold(Comprehension { range, variable, second, accumulator, init, condition, step, result })
    }

    fn append(&mut self, element: Expr) -> Expr {
        let (so_far, element) = (self.accumulator(), self.list(vec![element]));
        self.call("_+_", vec![so_far, element])
    }

    fn map(&mut self, range: Expr, args: Vec<Expr>) -> Result<Expr, Refusal> {
        let filtered = args.len() == 3;
        let mut args = args.into_iter();
        let mut next = || args.next().expect("the number of arguments was checked");
        let variable = self.variable(&next(), "argument is not an identifier")?;
        let filter = if filtered { Some(next()) } else { None };
        let transform = next();
        let init = self.list(Vec::new());
        let step = self.append(transform);
        Ok(self.collect(range, (variable, None), init, step, filter))
    }

    fn filter(&mut self, range: Expr, args: Vec<Expr>) -> Result<Expr, Refusal> {
        let mut args = args.into_iter();
        let mut next = || args.next().expect("the number of arguments was checked");
        let element = next();
        let variable = self.variable(&element, "argument is not an identifier")?;
        let predicate = next();
        let init = self.list(Vec::new());
        let step = self.append(element);
        Ok(self.collect(range, (variable, None), init, step, Some(predicate)))
    }

    fn transform(&mut self, transform: Transform, range: Expr, args: Vec<Expr>) -> Result<Expr, Refusal> {
        let filtered = args.len() == 4;
        let mut args = args.into_iter();
        let variables = self.variables(&mut args, true)?;
        let mut next = || args.next().expect("the number of arguments was checked");
        let filter = if filtered { Some(next()) } else { None };
        let value = next();
        let (init, step) = match transform {
            Transform::List => (self.list(Vec::new()), self.append(value)),
            Transform::Map => {
                let (so_far, key) = (self.accumulator(), self.ident(&variables.0));
                let step = self.call("cel.@mapInsert", vec![so_far, key, value]);
                (self.node(Kind::Map { entries: Vec::new() }), step)
            }
            Transform::Entry => {
                let so_far = self.accumulator();
                let step = self.call("cel.@mapInsert", vec![so_far, value]);
                (self.node(Kind::Map { entries: Vec::new() }), step)
            }
        };
        Ok(self.collect(range, variables, init, step, filter))
    }

    /// A fold over nothing, which only binds a name to a value.
    fn bind(&mut self, name: &str, value: Expr, result: Expr) -> Expr {
        let (range, condition) = (self.list(Vec::new()), self.literal(Literal::Bool(false)));
        let step = self.ident(name);
        let (variable, accumulator) = ("#unused".into(), name.into());
        self.fold(Comprehension { range, variable, second: None, accumulator, init: value, condition, step, result })
    }

    fn named_value(&mut self, args: Vec<Expr>) -> Result<Expr, Refusal> {
        let mut args = args.into_iter();
        let mut next = || args.next().expect("the number of arguments was checked");
        let (name, value, result) = (next(), next(), next());
        let Kind::Ident(variable) = &name.kind else {
            let words = "cel.bind() variable names must be simple identifiers";
            return Err((self.parser.location(name.id), words.to_owned()));
        };
        Ok(self.bind(variable, value, result))
    }

    fn optional_map(&mut self, target: Expr, args: Vec<Expr>, wrap: bool) -> Result<Expr, Refusal> {
        let mut args = args.into_iter();
        let mut next = || args.next().expect("the number of arguments was checked");
        let name = next();
        let Kind::Ident(variable) = &name.kind else {
            let macro_name = if wrap { "optMap" } else { "optFlatMap" };
            let words = format!("{macro_name}() variable name must be a simple identifier");
            return Err((self.parser.location(name.id), words));
        };
        let body = next();
        if self.parser.is_too_large() {
            return Err((None, "expression is too large after its macros are expanded".to_owned()));
        }
        let copy = self.copy(&target);
        let present = self.member_call("hasValue", target);
        let value = self.member_call("value", copy);
        let mut bound = self.bind(variable, value, body);
        if wrap {
            bound = self.call("optional.of", vec![bound]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![present, bound, none]))
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Result<Expr, Refusal> {
        if matches!(target.kind, Kind::Literal(_) | Kind::Map { .. } | Kind::Message { .. }) {
            let words = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err((self.parser.location(target.id), words.to_owned()));
        }
        let input = "@__sortBy_input__";
        let range = self.ident(input);
        let keys = self.map(range, args)?;
        let list = self.ident(input);
        let function = "@sortByAssociatedKeys".into();
        let sorted = self.node(Kind::Call { target: Some(Box::new(list)), function, args: vec![keys] });
        Ok(self.bind(input, target, sorted))
    }
}
