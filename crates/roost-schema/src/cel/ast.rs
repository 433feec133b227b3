//! The tree of an expression, after macros are expanded.

/// Names a node, for its type and its place in the source.
pub(crate) type Id = usize;

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Ident(Box<str>),
    Select { operand: Box<Expr>, field: Box<str>, test_only: bool },
    Call { target: Option<Box<Expr>>, function: Box<str>, args: Vec<Expr> },
    List { elements: Vec<Expr>, optional: Vec<usize> },
    Map { entries: Vec<Entry> },
    Message { name: Box<str>, fields: Vec<Field> },
    Comprehension(Box<Comprehension>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) id: Id,
    pub(crate) name: Box<str>,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A loop over a range that folds into an accumulator. All macros over lists and maps become this.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expr,
    pub(crate) variable: Box<str>,
    pub(crate) second: Option<Box<str>>,
    pub(crate) accumulator: Box<str>,
    pub(crate) init: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

/// The accumulator that macros use; no identifier in source can be spelled so.
pub(crate) const ACCUMULATOR: &str = "@result";

impl Expr {
    /// Calls a function with each direct part of this expression.
    pub(crate) fn for_each_part<'a>(&'a self, mut visit: impl FnMut(&'a Expr)) {
        match &self.kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => visit(operand),
            Kind::Call { target, args, .. } => {
                if let Some(target) = target {
                    visit(target);
                }
                args.iter().for_each(visit);
            }
            Kind::List { elements, .. } => elements.iter().for_each(visit),
            Kind::Map { entries } => entries.iter().for_each(|entry| {
                visit(&entry.key);
                visit(&entry.value);
            }),
            Kind::Message { fields, .. } => fields.iter().for_each(|field| visit(&field.value)),
            Kind::Comprehension(fold) => {
                [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result].into_iter().for_each(visit);
            }
        }
    }

    /// The dotted name that an expression of plain selections spells, such as `a.b.c`.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.to_string()),
            Kind::Select { operand, field, test_only: false } => {
                let mut name = operand.qualified_name()?;
                name.push('.');
                name.push_str(field);
                Some(name)
            }
            _ => None,
        }
    }
}
