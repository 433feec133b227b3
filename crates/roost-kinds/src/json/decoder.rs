//! The walk over a document and its type at once.

use std::marker::PhantomData;

use roost_object::Quantity;
use roost_object::json::{Findings, Kind, Number, Source, SyntaxError};
use roost_object::time::Timestamp;
use serde_json::{Map, Value};

use super::trail::{Step, Trail};
use super::{Integers, bytes};
use crate::table::{Element, Field, Shape, Type};
use crate::zero;

/// Why decoding stops at once. Values that merely have the wrong type do not stop it: the first of them is reported
/// when the whole document is read, unless something worse turns up.
pub(super) enum Stop {
    Syntax(SyntaxError),
    Mismatch(String),
}

impl From<SyntaxError> for Stop {
    fn from(error: SyntaxError) -> Self {
        Stop::Syntax(error)
    }
}

/// A list of names where a schema could be.
static NAME: Element = Element { go: "string", ty: Shape::String, pointer: false };

/// None stands for a value that nobody set.
type Outcome = Result<Option<Value>, Stop>;

pub(super) struct Decoder<'s, 'a, S> {
    source: &'s mut S,
    pub(super) findings: Findings,
    mismatch: Option<String>,
    integers: Integers,
    /// How many values that read themselves we are in; they report no unknown fields.
    quiet: usize,
    document: PhantomData<&'a [u8]>,
}

impl<'s, 'a, S: Source<'a>> Decoder<'s, 'a, S> {
    pub(super) fn new(source: &'s mut S, integers: Integers) -> Self {
        Self { source, findings: Findings::default(), mismatch: None, integers, quiet: 0, document: PhantomData }
    }

    pub(super) fn document(&mut self, ty: &'static Type) -> Result<Value, Stop> {
        let shape = Shape::Struct(ty);
        let value = self.value(shape, ty.go, &Trail::ROOT)?;
        match self.mismatch.take() {
            Some(complaint) => Err(Stop::Mismatch(complaint)),
            None => Ok(value.unwrap_or_else(|| zero::value(shape, false))),
        }
    }

    fn value(&mut self, shape: Shape, go: &'static str, trail: &Trail<'_>) -> Outcome {
        let kind = self.source.peek()?;
        if kind == Kind::Null {
            self.source.skip()?;
            return Ok(None);
        }
        match (shape, kind) {
            (Shape::String, Kind::String) => Ok(Some(Value::String(self.source.string()?.into_owned()))),
            (Shape::Int32 | Shape::Int64 | Shape::Float64, Kind::Number) => self.number(shape, go, trail),
            (Shape::Bytes, Kind::String) => self.base64(),
            (Shape::Bytes, Kind::Array) => self.byte_list(trail),
            (Shape::Struct(ty), Kind::Object) => self.structure(ty, trail).map(Some),
            (Shape::List(element) | Shape::Items(element), Kind::Array) => self.list(element, trail).map(Some),
            (Shape::Map(element), Kind::Object) => self.map(element, trail).map(Some),
            (Shape::Time | Shape::MicroTime, _) => self.time(shape, kind, trail),
            (Shape::Quantity, _) => self.quantity(kind),
            (Shape::IntOrString, _) => self.int_or_string(kind, trail),
            (Shape::Bool, Kind::Bool) | (Shape::RawExtension | Shape::FieldsV1 | Shape::Json, _) => {
                Ok(Some(self.source.take()?))
            }
            (Shape::SchemaOrBool(schema) | Shape::SchemaOrArray(schema) | Shape::SchemaOrStringArray(schema), _) => {
                self.schema_or(shape, schema, kind, trail)
            }
            _ => {
                self.source.skip()?;
                self.note(kind.go(), go, trail);
                Ok(None)
            }
        }
    }

    /// Keeps the first complaint about a value of the wrong type.
    fn note(&mut self, found: &str, go: &str, trail: &Trail<'_>) {
        if self.mismatch.is_none() {
            self.mismatch = Some(complaint(found, go, trail));
        }
    }

    fn structure(&mut self, ty: &'static Type, trail: &Trail<'_>) -> Result<Value, Stop> {
        self.structure_into(ty, Map::new(), trail)
    }

    /// Reads a struct over what an earlier field of the same name left, as Go does.
    fn structure_into(
        &mut self,
        ty: &'static Type,
        mut fields: Map<String, Value>,
        trail: &Trail<'_>,
    ) -> Result<Value, Stop> {
        self.source.enter()?;
        let started = !fields.is_empty();
        let mut seen = 0_u128;
        while let Some(key) = self.source.key()? {
            let mut ordinal = 0;
            let Some(field) = find(ty, &key, &mut ordinal) else {
                if self.quiet == 0 {
                    self.findings.unknown(&trail.below(Step::Field(ty, &key)));
                }
                self.source.skip()?;
                continue;
            };
            let below = trail.below(Step::Field(ty, field.json));
            let bit = 1_u128.checked_shl(ordinal).unwrap_or(0);
            let repeated = seen & bit != 0;
            if repeated && self.quiet == 0 {
                self.findings.duplicate(&below);
            }
            seen |= bit;
            let previous = if started || repeated { fields.remove(field.json) } else { None };
            let value = match previous {
                Some(previous) => self.value_over(previous, field, &below)?,
                None => self.value(field.ty, field.go, &below)?,
            };
            set(&mut fields, field, value);
        }
        zero::fill(ty, &mut fields);
        Ok(Value::Object(fields))
    }

    /// Reads a field that has a value already: structs and maps are added to, and a null leaves what has no pointer.
    fn value_over(&mut self, previous: Value, field: &'static Field, trail: &Trail<'_>) -> Outcome {
        match (self.source.peek()?, field.ty, previous) {
            (Kind::Object, Shape::Struct(ty), Value::Object(fields)) => {
                self.structure_into(ty, fields, trail).map(Some)
            }
            (Kind::Object, Shape::Map(element), Value::Object(mut entries)) => {
                if let Value::Object(more) = self.map(element, trail)? {
                    entries.extend(more);
                }
                Ok(Some(Value::Object(entries)))
            }
            (
                Kind::Null,
                Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::Struct(_),
                previous,
            ) if !field.pointer => {
                self.source.skip()?;
                Ok(Some(previous))
            }
            _ => self.value(field.ty, field.go, trail),
        }
    }

    fn list(&mut self, element: &'static Element, trail: &Trail<'_>) -> Result<Value, Stop> {
        self.source.enter()?;
        let mut elements = Vec::new();
        while self.source.element()? {
            let value = self.value(element.ty, element.go, &trail.below(Step::Index(elements.len())))?;
            elements.push(value.unwrap_or_else(|| zero::element(element)));
        }
        Ok(Value::Array(elements))
    }

    fn map(&mut self, element: &'static Element, trail: &Trail<'_>) -> Result<Value, Stop> {
        self.source.enter()?;
        let mut entries = Map::new();
        while let Some(key) = self.source.key()? {
            // Stock's converter of trees leaves the keys of maps out of what it says.
            let is_tree = self.integers == Integers::Wrap;
            let below = trail.below(if is_tree { Step::Boundary } else { Step::Key(&key) });
            if entries.contains_key(&*key) && self.quiet == 0 {
                self.findings.duplicate(&below);
            }
            let value = self.value(element.ty, element.go, &below)?;
            entries.insert(key.into_owned(), value.unwrap_or_else(|| zero::element(element)));
        }
        Ok(Value::Object(entries))
    }

    fn number(&mut self, shape: Shape, go: &str, trail: &Trail<'_>) -> Outcome {
        let mut number = self.source.number()?;
        if self.integers == Integers::Wrap && !matches!(shape, Shape::Float64) {
            number = Number::Integer(cut(&number, shape));
        }
        let fits = match (shape, &number) {
            (Shape::Int32, Number::Integer(number)) => i32::try_from(*number).is_ok(),
            (Shape::Float64, _) | (_, Number::Integer(_)) => true,
            _ => false,
        };
        let value = number.to_value().filter(|_| fits);
        if value.is_none() {
            self.note(&literal(&number), go, trail);
        }
        Ok(value)
    }

    fn base64(&mut self) -> Outcome {
        match bytes::canonical(self.source.string()?) {
            Ok(text) => Ok(Some(Value::String(text))),
            Err(offset) => {
                if self.mismatch.is_none() {
                    self.mismatch = Some(format!("illegal base64 data at input byte {offset}"));
                }
                Ok(None)
            }
        }
    }

    /// Bytes may also be written as a list of small numbers.
    fn byte_list(&mut self, trail: &Trail<'_>) -> Outcome {
        self.source.enter()?;
        let mut found = Vec::new();
        while self.source.element()? {
            let below = trail.below(Step::Index(found.len()));
            let byte = match self.source.peek()? {
                Kind::Number => match self.source.number()? {
                    Number::Integer(number) if u8::try_from(number).is_ok() => number as u8,
                    number => {
                        self.note(&literal(&number), "uint8", &below);
                        0
                    }
                },
                kind => {
                    self.source.skip()?;
                    if kind != Kind::Null {
                        self.note(kind.go(), "uint8", &below);
                    }
                    0
                }
            };
            found.push(byte);
        }
        Ok(Some(Value::String(bytes::encode(&found))))
    }

    fn time(&mut self, shape: Shape, kind: Kind, trail: &Trail<'_>) -> Outcome {
        if kind != Kind::String {
            return Err(Stop::Mismatch(complaint(kind.go(), "string", trail)));
        }
        let text = self.source.string()?;
        let micros = matches!(shape, Shape::MicroTime);
        let parsed = if micros { Timestamp::parse_micros(&text) } else { Timestamp::parse(&text) };
        let time = parsed.map_err(|error| Stop::Mismatch(error.to_string()))?;
        if time.is_zero() {
            return Ok(Some(Value::Null));
        }
        // A text of this length and ending is the one that would be written.
        if text.len() == if micros { 27 } else { 20 } && text.ends_with('Z') {
            return Ok(Some(Value::String(text.into_owned())));
        }
        Ok(Some(Value::String(if micros { time.to_micros() } else { time.to_seconds() })))
    }

    fn quantity(&mut self, kind: Kind) -> Outcome {
        let text = match kind {
            Kind::String => self.source.string()?,
            Kind::Number => match self.source.number()? {
                Number::Integer(number) => number.to_string().into(),
                Number::Other(text) => text,
            },
            _ => self.source.take()?.to_string().into(),
        };
        match Quantity::parse(text.trim_ascii()) {
            Ok(quantity) => Ok(Some(Value::String(quantity.to_string()))),
            Err(error) => Err(Stop::Mismatch(error.to_string())),
        }
    }

    fn int_or_string(&mut self, kind: Kind, trail: &Trail<'_>) -> Outcome {
        match kind {
            Kind::String => Ok(Some(Value::String(self.source.string()?.into_owned()))),
            Kind::Number => match self.source.number()? {
                Number::Integer(number) if i32::try_from(number).is_ok() => Ok(Some(Value::from(number))),
                number => Err(Stop::Mismatch(complaint(&literal(&number), "int32", trail))),
            },
            _ => Err(Stop::Mismatch(complaint(kind.go(), "int32", trail))),
        }
    }

    /// Schemas that may also be something simpler. They read themselves, so a complaint inside stops everything.
    fn schema_or(&mut self, shape: Shape, schema: &'static Element, kind: Kind, trail: &Trail<'_>) -> Outcome {
        let outside = self.mismatch.take();
        let boundary = trail.below(Step::Boundary);
        self.quiet += 1;
        let value = match (shape, kind) {
            (_, Kind::Object) => self.value(schema.ty, schema.go, &boundary)?,
            (Shape::SchemaOrArray(_), Kind::Array) => Some(self.list(schema, &boundary)?),
            (Shape::SchemaOrStringArray(_), Kind::Array) => Some(self.list(&NAME, &boundary)?),
            (Shape::SchemaOrBool(_), Kind::Bool) => Some(self.source.take()?),
            (Shape::SchemaOrBool(_), _) => {
                return Err(Stop::Mismatch("boolean or JSON schema expected".to_owned()));
            }
            // Go sets the pointer all the same, to something that holds nothing.
            _ => {
                self.source.skip()?;
                Some(Value::Null)
            }
        };
        self.quiet -= 1;
        if let Some(complaint) = self.mismatch.take() {
            return Err(Stop::Mismatch(complaint));
        }
        self.mismatch = outside;
        Ok(value)
    }
}

/// Sets a field, or leaves it out as Go does. Lists and maps stay: one with nothing in it is not one that is missing.
fn set(fields: &mut Map<String, Value>, field: &Field, value: Option<Value>) {
    let kept = value.filter(|value| match (value, field.ty) {
        (Value::Null, _) => field.pointer,
        (_, Shape::List(_) | Shape::Items(_) | Shape::Map(_)) => true,
        _ => !zero::omits(field, value),
    });
    match kept {
        Some(value) => fields.insert(field.json.to_owned(), value),
        None => fields.remove(field.json),
    };
}

/// Finds a field by its JSON name and counts how many come before it, inlined ones included.
fn find(ty: &'static Type, json: &str, ordinal: &mut u32) -> Option<&'static Field> {
    for field in ty.fields {
        if field.inline
            && let Shape::Struct(inlined) = field.ty
        {
            if let Some(found) = find(inlined, json, ordinal) {
                return Some(found);
            }
            continue;
        }
        // Looking at the length and the first byte spares most of the calls that compare memory.
        let name = field.json.as_bytes();
        if name.len() == json.len() && name.first() == json.as_bytes().first() && field.json == json {
            return Some(field);
        }
        *ordinal += 1;
    }
    None
}

/// What is left of a number in an integer of the shape's size. What not even 64 bits hold is the lowest number there is.
fn cut(number: &Number<'_>, shape: Shape) -> i64 {
    let number = match number {
        Number::Integer(number) => *number,
        Number::Other(text) => {
            let float = text.parse().unwrap_or(f64::NAN);
            if float.abs() < 2_f64.powi(63) { float as i64 } else { i64::MIN }
        }
    };
    if matches!(shape, Shape::Int32) { i64::from(number as i32) } else { number }
}

fn literal(number: &Number<'_>) -> String {
    match number {
        Number::Integer(number) => format!("number {number}"),
        Number::Other(text) => format!("number {text}"),
    }
}

fn complaint(found: &str, go: &str, trail: &Trail<'_>) -> String {
    match trail.go_field() {
        Some(field) => format!("json: cannot unmarshal {found} into Go struct field {field} of type {go}"),
        None => format!("json: cannot unmarshal {found} into Go value of type {go}"),
    }
}
