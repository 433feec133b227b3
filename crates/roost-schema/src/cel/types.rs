//! The types of expressions and the relations between them.

use std::fmt;
use std::sync::Arc;

use super::object::ObjectType;

/// A type as the checker sees it. Object types may refer to the schema that declares them.
#[derive(Clone, Debug)]
pub enum Type<'s> {
    /// Anything; checked when evaluated.
    Dyn,
    /// What a part with a problem has, so that it causes no further ones.
    Error,
    /// The type of null.
    Null,
    /// Truth values.
    Bool,
    /// 64-bit integers.
    Int,
    /// 64-bit integers without a sign.
    Uint,
    /// 64-bit floating point numbers.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// Lengths of time.
    Duration,
    /// Points in time.
    Timestamp,
    /// Lists of one type.
    List(Arc<Type<'s>>),
    /// Maps from one type to another.
    Map(Arc<Type<'s>>, Arc<Type<'s>>),
    /// The type of a type.
    Type(Option<Arc<Type<'s>>>),
    /// A value or nothing.
    Optional(Arc<Type<'s>>),
    /// A type of a library, which has functions but no fields.
    Opaque(&'static str),
    /// An object with declared fields, or a library's type that cel-go declares as one.
    Object(ObjectType<'s>),
    /// A type that is not known yet.
    Param(Param),
}

/// A type parameter: of a declaration, or made up while checking.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// A letter in a declaration.
    Declared(char),
    /// A variable for one use of a declaration, by number.
    Free(usize),
}

/// What free type parameters stand for. Changes can be undone, because an overload that does not fit leaves no trace.
#[derive(Debug, Default)]
pub(crate) struct Mapping<'s> {
    bound: Vec<Option<Type<'s>>>,
    trail: Vec<(usize, Option<Type<'s>>)>,
}

impl<'s> Type<'s> {
    /// A list of a type.
    pub fn list(element: Type<'s>) -> Self {
        Type::List(Arc::new(element))
    }

    /// A map from a type to a type.
    pub fn map(key: Type<'s>, value: Type<'s>) -> Self {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(inner: Type<'s>) -> Self {
        Type::Optional(Arc::new(inner))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// The type inside an optional, and whether it was one.
    pub(crate) fn unwrap_optional(&self) -> (Type<'s>, bool) {
        match self {
            Type::Optional(inner) => (inner.as_ref().clone(), true),
            other => (other.clone(), false),
        }
    }

    /// Whether two types are the same.
    pub fn is_exactly(&self, other: &Type<'s>) -> bool {
        match (self, other) {
            (Type::List(a), Type::List(b))
            | (Type::Optional(a), Type::Optional(b))
            | (Type::Type(Some(a)), Type::Type(Some(b))) => a.is_exactly(b),
            (Type::Map(ak, av), Type::Map(bk, bv)) => ak.is_exactly(bk) && av.is_exactly(bv),
            (Type::Type(a), Type::Type(b)) => a.is_none() == b.is_none(),
            (Type::Opaque(a), Type::Opaque(b)) => a == b,
            (Type::Object(a), Type::Object(b)) => a.name() == b.name(),
            (Type::Param(a), Type::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether two types are the same, not counting what is not known.
    pub(crate) fn is_equivalent(&self, other: &Type<'s>) -> bool {
        match (self, other) {
            (Type::List(a), Type::List(b))
            | (Type::Optional(a), Type::Optional(b))
            | (Type::Type(Some(a)), Type::Type(Some(b))) => a.is_equivalent(b),
            (Type::Map(ak, av), Type::Map(bk, bv)) => ak.is_equivalent(bk) && av.is_equivalent(bv),
            (Type::Param(_), Type::Param(_)) => true,
            _ => self.is_exactly(other),
        }
    }

    /// Whether the value's size says nothing about the effort it causes.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
            Type::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(
            self,
            Type::Null | Type::Opaque(_) | Type::Optional(_) | Type::Object(_) | Type::Duration | Type::Timestamp
        )
    }

    /// Whether this type matches the other, or would if unknown parts were known.
    fn is_equal_or_less_specific(&self, other: &Type<'s>) -> bool {
        match (self, other) {
            (Type::Dyn | Type::Param(_), _) | (Type::Type(_), Type::Type(_)) => true,
            (_, Type::Dyn | Type::Param(_)) => false,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => a.is_equal_or_less_specific(b),
            (Type::Map(ak, av), Type::Map(bk, bv)) => {
                ak.is_equal_or_less_specific(bk) && av.is_equal_or_less_specific(bv)
            }
            _ => self.is_exactly(other),
        }
    }

    pub(crate) fn most_general(self, other: Type<'s>) -> Type<'s> {
        if self.is_equal_or_less_specific(&other) { self } else { other }
    }

    /// Replaces type parameters by what they stand for; with `to_dyn`, unknown ones by dyn.
    pub(crate) fn substitute(&self, mapping: &Mapping<'s>, to_dyn: bool) -> Type<'s> {
        match self {
            Type::Param(param) => match mapping.get(param) {
                Some(known) => known.substitute(mapping, to_dyn),
                None if to_dyn => Type::Dyn,
                None => self.clone(),
            },
            Type::List(inner) => Type::list(inner.substitute(mapping, to_dyn)),
            Type::Optional(inner) => Type::optional(inner.substitute(mapping, to_dyn)),
            Type::Map(key, value) => Type::map(key.substitute(mapping, to_dyn), value.substitute(mapping, to_dyn)),
            Type::Type(Some(inner)) => Type::Type(Some(Arc::new(inner.substitute(mapping, to_dyn)))),
            other => other.clone(),
        }
    }
}

impl<'s> Mapping<'s> {
    /// A parameter that stands for nothing yet.
    pub(crate) fn fresh(&mut self) -> Type<'s> {
        self.bound.push(None);
        Type::Param(Param::Free(self.bound.len() - 1))
    }

    fn get(&self, param: &Param) -> Option<&Type<'s>> {
        match param {
            Param::Free(number) => self.bound.get(*number)?.as_ref(),
            Param::Declared(_) => None,
        }
    }

    fn set(&mut self, param: &Param, stands_for: Type<'s>) {
        if let Param::Free(number) = param {
            let before = self.bound[*number].replace(stands_for);
            self.trail.push((*number, before));
        }
    }

    /// Whether each of the first types can be given where the second is wanted. Parameters learn what they stand for,
    /// unless one pair fails.
    pub(crate) fn assign_all(&mut self, from: &[Type<'s>], to: &[Type<'s>]) -> bool {
        let mark = self.trail.len();
        let valid = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.try_assign(from, to));
        while !valid && self.trail.len() > mark {
            if let Some((number, before)) = self.trail.pop() {
                self.bound[number] = before;
            }
        }
        valid
    }

    /// Whether one type can be given where another is wanted.
    pub(crate) fn assign(&mut self, from: &Type<'s>, to: &Type<'s>) -> bool {
        self.assign_all(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    fn try_assign(&mut self, from: &Type<'s>, to: &Type<'s>) -> bool {
        if let Type::Param(param) = to {
            let (valid, known) = self.substitutes(from, param);
            if valid || known {
                return valid;
            }
        }
        if let Type::Param(param) = from {
            return self.substitutes(to, param).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.try_assign(a, b),
            (Type::Map(ak, av), Type::Map(bk, bv)) => self.try_assign(ak, bk) && self.try_assign(av, bv),
            _ => from.is_exactly(to),
        }
    }

    /// Whether a parameter can stand for a type, and whether it already stood for something.
    fn substitutes(&mut self, wanted: &Type<'s>, param: &Param) -> (bool, bool) {
        if matches!(wanted, Type::Param(other) if other == param) {
            return (true, true);
        }
        if let Some(known) = self.get(param).cloned() {
            if wanted.is_exactly(&known) {
                return (true, true);
            }
            if self.try_assign(wanted, &known) {
                let general = wanted.clone().most_general(known);
                if !self.occurs(param, &general) {
                    self.set(param, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.occurs(param, wanted) {
            return (false, false);
        }
        self.set(param, wanted.clone());
        (true, false)
    }

    fn occurs(&self, param: &Param, within: &Type<'s>) -> bool {
        match within {
            Type::Param(other) => other == param || self.get(other).is_some_and(|known| self.occurs(param, known)),
            Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => self.occurs(param, inner),
            Type::Map(key, value) => self.occurs(param, key) || self.occurs(param, value),
            _ => false,
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::List(inner) => write!(f, "list({inner})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Type(None) => f.write_str("type"),
            Type::Type(Some(inner)) => write!(f, "type({inner})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            Type::Opaque(name) => f.write_str(name),
            Type::Object(object) => f.write_str(object.name()),
            Type::Param(Param::Declared(letter)) => write!(f, "{letter}"),
            Type::Param(Param::Free(number)) => write!(f, "_var{number}"),
        }
    }
}
