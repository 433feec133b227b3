//! Type checking: which overloads a call means, and whether the parts of an expression fit together.

use std::collections::HashMap;

use super::ast::{Comprehension, Expr, Field, Id, Kind, Literal};
use super::declarations::{Function, function, type_named};
use super::object::ObjectType;
use super::patch;
use super::source::{Offset, Problems};
use super::types::{Mapping, Param, Type};

/// What a node refers to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reference {
    /// A variable, by its full name.
    Variable(Box<str>),
    /// A type, by the name it was given.
    TypeName(Box<str>),
    /// A function by the overloads that fit.
    Overloads(Vec<&'static str>),
}

/// An expression whose types are known.
pub(crate) struct Checked<'s> {
    pub(crate) root: Expr,
    pub(crate) types: Vec<Type<'s>>,
    pub(crate) references: Vec<Option<Reference>>,
    pub(crate) locations: Vec<Offset>,
}

impl<'s> Checked<'s> {
    pub(crate) fn type_of(&self, expr: &Expr) -> &Type<'s> {
        &self.types[expr.id]
    }

    pub(crate) fn overloads(&self, id: Id) -> &[&'static str] {
        match &self.references[id] {
            Some(Reference::Overloads(overloads)) => overloads,
            _ => &[],
        }
    }
}

/// Checks a parsed expression against variables. Problems are reported; the result is of use only without any.
pub(crate) fn check<'s>(
    parsed: super::parser::Parsed,
    variables: &[(Box<str>, Type<'s>)],
    constructs: bool,
    problems: &mut Problems<'_>,
) -> Checked<'s> {
    let super::parser::Parsed { mut root, locations } = parsed;
    let mut checker = Checker {
        types: vec![Type::Error; locations.len()],
        references: vec![None; locations.len()],
        locations: &locations,
        scope: variables.to_vec(),
        mapping: Mapping::default(),
        problems,
        constructs,
    };
    checker.check(&mut root);
    let Checker { mut types, references, mapping, .. } = checker;
    for known in &mut types {
        *known = known.substitute(&mapping, true);
    }
    Checked { root, types, references, locations }
}

struct Checker<'c, 's, 'p, 'a> {
    types: Vec<Type<'s>>,
    references: Vec<Option<Reference>>,
    locations: &'c [Offset],
    scope: Vec<(Box<str>, Type<'s>)>,
    mapping: Mapping<'s>,
    problems: &'p mut Problems<'a>,
    /// Whether objects can be made.
    constructs: bool,
}

impl<'s> Checker<'_, 's, '_, '_> {
    fn report(&mut self, id: Id, message: String) {
        self.problems.report(self.locations[id], message);
    }

    fn undeclared(&mut self, id: Id, name: &str) {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
    }

    fn mismatch(&mut self, id: Id, expected: &Type<'s>, actual: &Type<'s>) {
        self.report(id, format!("expected type '{expected}' but found '{actual}'"));
    }

    fn substituted(&self, id: Id) -> Type<'s> {
        self.types[id].substitute(&self.mapping, false)
    }

    fn variable(&self, name: &str) -> Option<Type<'s>> {
        self.scope.iter().rev().find(|(known, _)| known.as_ref() == name).map(|(_, kind)| kind.clone())
    }

    /// What a full name means: a variable or a type.
    fn lookup(&self, name: &str) -> Option<(Type<'s>, Reference)> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some(kind) = self.variable(name) {
            return Some((kind, Reference::Variable(name.into())));
        }
        let named = if self.constructs && patch::is_constructed(name) {
            Type::Object(ObjectType::Constructed(name.into()))
        } else {
            type_named(name)?
        };
        let kind =
            if name == "type" { Type::Type(Some(Type::Type(None).into())) } else { Type::Type(Some(named.into())) };
        Some((kind, Reference::TypeName(name.into())))
    }

    fn check(&mut self, expr: &mut Expr) {
        let kind = match &mut expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(_) | Kind::Select { .. } => return self.check_name(expr),
            Kind::Call { .. } => return self.check_call(expr),
            Kind::List { elements, optional } => self.check_list(elements, optional),
            Kind::Map { entries } => self.check_map(entries),
            Kind::Message { name, fields } => {
                let name = name.clone();
                for field in fields.iter_mut() {
                    self.check(&mut field.value);
                }
                self.check_message(expr.id, &name, fields)
            }
            Kind::Comprehension(fold) => self.check_comprehension(fold),
        };
        self.types[expr.id] = kind;
    }

    fn check_message(&mut self, id: Id, name: &str, fields: &[Field]) -> Type<'s> {
        let plain = name.strip_prefix('.').unwrap_or(name);
        if self.constructs && patch::is_constructed(plain) {
            for field in fields {
                self.check_message_field(plain, field);
            }
            return Type::Object(ObjectType::Constructed(plain.into()));
        }
        match self.lookup(name) {
            None => self.undeclared(id, name),
            Some((Type::Type(_), _)) => self.report(id, format!("'{name}' is not a message type")),
            Some((kind, _)) => self.report(id, format!("'{kind}' is not a type")),
        }
        Type::Error
    }

    fn check_message_field(&mut self, message: &str, field: &Field) {
        let name = &field.name;
        let given = self.element_type(field.value.id, field.optional);
        let wanted = patch::field_type(message, name);
        if wanted.as_ref().is_none_or(|wanted| !self.mapping.assign(&given, wanted)) {
            let wanted = wanted.map(|wanted| wanted.to_string()).unwrap_or_default();
            let words = format!("expected type of field '{name}' is '{wanted}' but provided type is '{given}'");
            self.report(field.id, words);
        }
    }

    fn check_name(&mut self, expr: &mut Expr) {
        let id = expr.id;
        if let Some((kind, reference)) = expr.qualified_name().and_then(|name| self.lookup(&name)) {
            self.types[id] = kind;
            let name = match &reference {
                Reference::Variable(name) | Reference::TypeName(name) => name.clone(),
                Reference::Overloads(_) => Box::default(),
            };
            self.references[id] = Some(reference);
            expr.kind = Kind::Ident(name);
            return;
        }
        match &mut expr.kind {
            Kind::Select { operand, field, test_only } => {
                let (field, test_only) = (field.clone(), *test_only);
                let result = self.check_field(id, operand, &field, false);
                self.types[id] = if test_only { Type::Bool } else { result.substitute(&self.mapping, false) };
            }
            Kind::Ident(name) => {
                let name = name.clone();
                self.undeclared(id, &name);
            }
            _ => {}
        }
    }

    /// The type of a field of an operand.
    fn check_field(&mut self, id: Id, operand: &mut Expr, field: &str, optional: bool) -> Type<'s> {
        self.check(operand);
        let (target, was_optional) = self.substituted(operand.id).unwrap_optional();
        let result = match &target {
            Type::Map(_, value) => value.as_ref().clone(),
            Type::Object(object) => object.field(field).unwrap_or_else(|| {
                self.report(id, format!("undefined field '{field}'"));
                Type::Error
            }),
            Type::Param(_) => {
                self.mapping.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.report(id, format!("type '{other}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(result) } else { result }
    }

    fn check_call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Call { target, function: name, args } = &mut expr.kind else { return };
        if name.as_ref() == "_?._" {
            let [operand, field] = &mut args[..] else { return };
            let Kind::Literal(Literal::String(field_name)) = &field.kind else { return };
            let field_name = field_name.clone();
            let result = self.check_field(id, operand, &field_name, true);
            self.types[id] = result.substitute(&self.mapping, false);
            self.references[id] = Some(Reference::Overloads(vec!["select_optional_field"]));
            return;
        }
        for arg in args.iter_mut() {
            self.check(arg);
        }
        let plain = name.strip_prefix('.').unwrap_or(name);
        let constructs = self.constructs;
        let function = |name: &str| function(name).filter(|found| constructs || !found.name.starts_with("jsonpatch."));
        if let Some(receiver) = target {
            // Either the receiver is part of the function's name, or it is an operand.
            let qualified = receiver.qualified_name().and_then(|prefix| {
                let prefix = prefix.strip_prefix('.').unwrap_or(&prefix);
                function(&format!("{prefix}.{name}"))
            });
            if let Some(found) = qualified {
                *target = None;
                *name = found.name.into();
                return self.resolve(id, found, None, args);
            }
            self.check(receiver);
            if let Some(found) = function(name) {
                self.resolve(id, found, Some(receiver.id), args);
            } else {
                let name = name.clone();
                self.undeclared(id, &name);
            }
            return;
        }
        if let Some(found) = function(plain) {
            *name = found.name.into();
            self.resolve(id, found, None, args);
        } else {
            let name = name.clone();
            self.undeclared(id, &name);
        }
    }

    fn resolve(&mut self, id: Id, found: &'static Function, target: Option<Id>, args: &[Expr]) {
        if matches!(found.name, "_&&_" | "_||_") {
            return self.resolve_logical(id, found, args);
        }
        let given: Vec<Type<'s>> =
            target.into_iter().chain(args.iter().map(|arg| arg.id)).map(|id| self.types[id].clone()).collect();
        let mut result: Option<Type<'s>> = None;
        let mut fitting = Vec::new();
        for overload in &found.overloads {
            if overload.member != target.is_some() {
                continue;
            }
            let mut names = HashMap::new();
            let wanted: Vec<Type<'s>> = overload.args.iter().map(|arg| self.instantiate(arg, &mut names)).collect();
            let overload_result = self.instantiate(&overload.result, &mut names);
            if !self.mapping.assign_all(&given, &wanted) {
                continue;
            }
            fitting.push(overload.id);
            let overload_result = overload_result.substitute(&self.mapping, false);
            result = Some(match result {
                None => overload_result,
                Some(known) if !known.is_dyn() && !overload_result.is_exactly(&known) => Type::Dyn,
                Some(known) => known,
            });
        }
        if let Some(result) = result {
            self.types[id] = result;
            self.references[id] = Some(Reference::Overloads(fitting));
            return;
        }
        let shown: Vec<String> = given.iter().map(|kind| kind.substitute(&self.mapping, true).to_string()).collect();
        let signature = match (target, &shown[..]) {
            (Some(_), [target, args @ ..]) => format!("{target}.({})", args.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        self.report(id, format!("found no matching overload for '{}' applied to '{signature}'", found.name));
    }

    fn resolve_logical(&mut self, id: Id, found: &'static Function, args: &[Expr]) {
        let mut valid = true;
        for arg in args {
            let given = self.types[arg.id].clone();
            if !self.mapping.assign(&given, &Type::Bool) {
                self.mismatch(arg.id, &Type::Bool, &given);
                valid = false;
            }
        }
        if valid {
            self.types[id] = Type::Bool;
            self.references[id] = Some(Reference::Overloads(vec![found.overloads[0].id]));
        }
    }

    /// A declared type with fresh parameters in place of its letters.
    fn instantiate(&mut self, declared: &Type<'static>, names: &mut HashMap<char, Type<'s>>) -> Type<'s> {
        match declared {
            Type::Param(Param::Declared(letter)) => {
                names.entry(*letter).or_insert_with(|| self.mapping.fresh()).clone()
            }
            Type::List(inner) => Type::list(self.instantiate(inner, names)),
            Type::Optional(inner) => Type::optional(self.instantiate(inner, names)),
            Type::Map(key, value) => {
                let key = self.instantiate(key, names);
                Type::map(key, self.instantiate(value, names))
            }
            Type::Type(Some(inner)) => Type::Type(Some(self.instantiate(inner, names).into())),
            other => other.clone(),
        }
    }

    /// The type of an element, taken out of its optional when the element is marked so.
    fn element_type(&mut self, id: Id, optional: bool) -> Type<'s> {
        let kind = self.types[id].clone();
        if !optional {
            return kind;
        }
        let (inner, was_optional) = kind.unwrap_optional();
        if !was_optional && !inner.is_dyn() {
            self.mismatch(id, &Type::optional(inner.clone()), &inner);
        }
        inner
    }

    fn join(&mut self, previous: Option<Type<'s>>, current: Type<'s>) -> Type<'s> {
        let Some(previous) = previous else { return current };
        if self.mapping.assign(&previous, &current) {
            return previous.most_general(current);
        }
        // Mixed literals are reported later, except where a function takes them.
        Type::Dyn
    }

    fn check_list(&mut self, elements: &mut [Expr], optional: &[usize]) -> Type<'s> {
        let mut joined = None;
        for (index, element) in elements.iter_mut().enumerate() {
            self.check(element);
            let kind = self.element_type(element.id, optional.contains(&index));
            joined = Some(self.join(joined, kind));
        }
        let element = joined.unwrap_or_else(|| self.mapping.fresh());
        Type::list(element)
    }

    fn check_map(&mut self, entries: &mut [super::ast::Entry]) -> Type<'s> {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let kind = self.types[entry.key.id].clone();
            keys = Some(self.join(keys, kind));
            self.check(&mut entry.value);
            let kind = self.element_type(entry.value.id, entry.optional);
            values = Some(self.join(values, kind));
        }
        let key = keys.unwrap_or_else(|| self.mapping.fresh());
        let value = values.unwrap_or_else(|| self.mapping.fresh());
        Type::map(key, value)
    }

    fn check_comprehension(&mut self, fold: &mut Comprehension) -> Type<'s> {
        self.check(&mut fold.range);
        self.check(&mut fold.init);
        let range = self.substituted(fold.range.id);
        let accumulated = self.types[fold.init.id].clone();
        let outer = self.scope.len();
        self.scope.push((fold.accumulator.clone(), accumulated.clone()));
        let two = fold.second.is_some();
        let (first, second) = match &range {
            Type::List(element) if two => (Type::Int, element.as_ref().clone()),
            Type::List(element) => (element.as_ref().clone(), Type::Error),
            Type::Map(key, value) => (key.as_ref().clone(), value.as_ref().clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.mapping.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let words = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.report(fold.range.id, format!("expression of type '{other}' {words}"));
                (Type::Error, Type::Error)
            }
        };
        self.scope.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second {
            self.scope.push((name.clone(), second));
        }
        self.check(&mut fold.condition);
        self.assert(fold.condition.id, &Type::Bool);
        self.check(&mut fold.step);
        self.assert(fold.step.id, &accumulated);
        self.scope.truncate(outer + 1);
        self.check(&mut fold.result);
        self.scope.truncate(outer);
        self.substituted(fold.result.id)
    }

    fn assert(&mut self, id: Id, expected: &Type<'s>) {
        let actual = self.types[id].clone();
        if !self.mapping.assign(expected, &actual) {
            self.mismatch(id, expected, &actual);
        }
    }
}

fn literal_type<'s>(literal: &Literal) -> Type<'s> {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
