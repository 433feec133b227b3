//! The interface between what holds a JSON document and what gives it a type.

use std::borrow::Cow;

use serde_json::Value;

use super::SyntaxError;

/// What kind of value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// Text.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind of a value in memory.
    pub fn of(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(_) => Kind::Number,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    /// The word for it in Go's decoding errors.
    pub fn go(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "bool",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }
}

/// A number as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Number<'a> {
    /// A whole number of 64 bits.
    Integer(i64),
    /// Any other number, as text.
    Other(Cow<'a, str>),
}

impl Number<'_> {
    /// The number as it is read where no type is known: all that has a fraction or an exponent, be it zero, is
    /// floating-point. None when it is too large.
    pub fn to_untyped(&self) -> Option<Value> {
        match self {
            Number::Integer(number) => Some(Value::from(*number)),
            Number::Other(text) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::from),
        }
    }

    /// The number as a value of a typed field: whole numbers stay whole, all others are floating-point. None when it is
    /// too large.
    pub fn to_value(&self) -> Option<Value> {
        match self {
            Number::Integer(number) => Some(Value::from(*number)),
            Number::Other(text) => float_value(text.parse().ok()?),
        }
    }
}

/// A floating-point number as the value that Go would write for it, in which whole numbers have no fraction.
pub fn float_value(number: f64) -> Option<Value> {
    /// Above this, not every whole number has its own floating-point number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !number.is_finite() {
        return None;
    }
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Some(Value::from(number as i64));
    }
    Some(Value::from(number))
}

/// A JSON document that is read from front to back.
///
/// `peek` says what comes next; then exactly one of the other methods takes it. Inside an object `key` and a value
/// alternate, inside a list `element` and a value.
pub trait Source<'a> {
    /// Says what comes next without taking it.
    fn peek(&mut self) -> Result<Kind, SyntaxError>;

    /// Takes the next value, whatever it is.
    fn take(&mut self) -> Result<Value, SyntaxError>;

    /// Passes over the next value.
    fn skip(&mut self) -> Result<(), SyntaxError>;

    /// Takes a text. Only after `peek` said so.
    fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError>;

    /// Takes a number. Only after `peek` said so.
    fn number(&mut self) -> Result<Number<'a>, SyntaxError>;

    /// Goes into a list or an object.
    fn enter(&mut self) -> Result<(), SyntaxError>;

    /// Whether the list has another element, which then comes next; leaves the list otherwise.
    fn element(&mut self) -> Result<bool, SyntaxError>;

    /// The key of the object's next field, whose value then comes next; leaves the object at its end.
    fn key(&mut self) -> Result<Option<Cow<'a, str>>, SyntaxError>;
}
