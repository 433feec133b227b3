//! From messages to values, in the form in which Go writes them as JSON.

use roost_object::Quantity;
use roost_object::json::{MAX_DEPTH, Reader, Source as _};
use roost_object::time::Timestamp;
use serde_json::{Map, Value};

use super::wire::{Message, Payload};
use super::{Envelope, ProtobufError};
use crate::json::bytes as base64;
use crate::table::{Element, Field, Shape, Type};
use crate::zero;

/// Reads the fields of an object.
pub(super) fn object(bytes: &[u8], ty: &'static Type) -> Result<Value, ProtobufError> {
    let mut fields = Map::new();
    Decoder { depth: 0 }.structure(bytes, ty, &mut fields)?;
    Ok(Value::Object(fields))
}

/// Text as JSON can hold it: what is not Unicode is replaced.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Decoder {
    depth: usize,
}

impl Decoder {
    fn structure(
        &mut self,
        bytes: &[u8],
        ty: &'static Type,
        fields: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        if self.depth >= MAX_DEPTH {
            return Err(ProtobufError::Depth);
        }
        self.depth += 1;
        let mut message = Message::new(bytes, ty.go.rsplit('.').next().unwrap_or(ty.go));
        let mut hint = 0;
        while let Some((number, payload)) = message.field()? {
            if let Some(field) = find(ty, number, &mut hint) {
                self.field(field, payload, fields)?;
            }
        }
        zero::fill(ty, fields);
        self.depth -= 1;
        Ok(())
    }

    fn field(
        &mut self,
        field: &'static Field,
        payload: Payload<'_>,
        fields: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        let value = match field.ty {
            Shape::Struct(ty) if field.inline => {
                return self.structure(payload_bytes(payload, field.json)?, ty, fields);
            }
            Shape::Struct(ty) => {
                let mut inner = match fields.remove(field.json) {
                    Some(Value::Object(inner)) => inner,
                    _ => Map::new(),
                };
                self.structure(payload_bytes(payload, field.json)?, ty, &mut inner)?;
                Value::Object(inner)
            }
            Shape::List(element) => {
                let list = fields.entry(field.json).or_insert(Value::Null);
                if list.is_null() {
                    *list = Value::Array(Vec::new());
                }
                if let Value::Array(elements) = list {
                    self.element(element, payload, field.json, elements)?;
                }
                return Ok(());
            }
            Shape::Map(element) => {
                let map = fields.entry(field.json).or_insert(Value::Null);
                if map.is_null() {
                    *map = Value::Object(Map::new());
                }
                if let Value::Object(entries) = map {
                    let (key, value) = self.entry(element, payload_bytes(payload, field.json)?, field.json)?;
                    entries.insert(key, value);
                }
                return Ok(());
            }
            shape => self.single(shape, payload, field.json)?,
        };
        if zero::omits(field, &value) || (value.is_null() && !field.pointer) {
            fields.remove(field.json);
        } else {
            fields.insert(field.json.to_owned(), value);
        }
        Ok(())
    }

    /// Adds what one field of a repeated one says: an element, or several numbers in one pack.
    fn element(
        &mut self,
        element: &Element,
        payload: Payload<'_>,
        name: &'static str,
        elements: &mut Vec<Value>,
    ) -> Result<(), ProtobufError> {
        let packed = matches!(element.ty, Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64);
        match payload {
            Payload::Bytes(bytes) if packed => {
                let mut pack = Message::new(bytes, name);
                while !pack.is_empty() {
                    let payload = match element.ty {
                        Shape::Float64 => Payload::Fixed64(u64::from_le_bytes(pack.array()?)),
                        _ => Payload::Varint(pack.varint()?),
                    };
                    elements.push(self.single(element.ty, payload, name)?);
                }
            }
            payload => elements.push(self.single(element.ty, payload, name)?),
        }
        Ok(())
    }

    fn entry(&mut self, element: &Element, bytes: &[u8], name: &'static str) -> Result<(String, Value), ProtobufError> {
        let mut key = String::new();
        let mut value = None;
        let mut message = Message::new(bytes, name);
        while let Some((number, payload)) = message.field()? {
            match number {
                1 => key = text(payload_bytes(payload, name)?),
                2 => value = Some(self.single(element.ty, payload, name)?),
                _ => {}
            }
        }
        Ok((key, value.unwrap_or_else(|| zero::element(element))))
    }

    fn single(&mut self, shape: Shape, payload: Payload<'_>, name: &'static str) -> Result<Value, ProtobufError> {
        let wrong = ProtobufError::Wire { wire: payload.wire(), field: name };
        match (shape, payload) {
            (Shape::Bool, Payload::Varint(number)) => Ok(Value::Bool(number != 0)),
            (Shape::Int32, Payload::Varint(number)) => Ok(Value::from(number as i32)),
            (Shape::Int64, Payload::Varint(number)) => Ok(Value::from(number as i64)),
            (Shape::Float64, Payload::Fixed64(bits)) => {
                let number = f64::from_bits(bits);
                roost_object::json::float_value(number)
                    .ok_or_else(|| ProtobufError::Inside(format!("json: unsupported value: {number}")))
            }
            (_, Payload::Bytes(bytes)) => self.long(shape, bytes, name, wrong),
            _ => Err(wrong),
        }
    }

    fn long(
        &mut self,
        shape: Shape,
        bytes: &[u8],
        name: &'static str,
        wrong: ProtobufError,
    ) -> Result<Value, ProtobufError> {
        match shape {
            Shape::String => Ok(Value::String(text(bytes))),
            Shape::Bytes => Ok(Value::String(base64::encode(bytes))),
            Shape::Struct(ty) => {
                let mut fields = Map::new();
                self.structure(bytes, ty, &mut fields)?;
                Ok(Value::Object(fields))
            }
            Shape::List(element) | Shape::Items(element) => {
                let mut elements = Vec::new();
                let mut message = Message::new(bytes, name);
                while let Some((number, payload)) = message.field()? {
                    if number == 1 {
                        self.element(element, payload, name, &mut elements)?;
                    }
                }
                Ok(Value::Array(elements))
            }
            Shape::Map(element) => {
                let mut entries = Map::new();
                let mut message = Message::new(bytes, name);
                while let Some((number, payload)) = message.field()? {
                    if number == 1 {
                        let (key, value) = self.entry(element, payload_bytes(payload, name)?, name)?;
                        entries.insert(key, value);
                    }
                }
                Ok(Value::Object(entries))
            }
            Shape::Time => Ok(time(bytes)?.map_or(Value::Null, |time| Value::String(time.to_seconds()))),
            Shape::MicroTime => Ok(time(bytes)?.map_or(Value::Null, |time| Value::String(time.to_micros()))),
            Shape::Quantity => quantity(bytes),
            Shape::IntOrString => int_or_string(bytes),
            Shape::RawExtension | Shape::FieldsV1 | Shape::Json => self.raw(bytes),
            Shape::SchemaOrBool(schema) | Shape::SchemaOrArray(schema) | Shape::SchemaOrStringArray(schema) => {
                self.schema_or(shape, schema, bytes, name)
            }
            Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64 => Err(wrong),
        }
    }

    /// JSON inside protobuf, or an object in an envelope of its own.
    fn raw(&mut self, bytes: &[u8]) -> Result<Value, ProtobufError> {
        let mut raw: &[u8] = &[];
        let mut message = Message::new(bytes, "RawExtension");
        while let Some((number, payload)) = message.field()? {
            if let (1, Payload::Bytes(bytes)) = (number, payload) {
                raw = bytes;
            }
        }
        if raw.is_empty() {
            return Ok(Value::Null);
        }
        if super::is_protobuf(raw) {
            let envelope = Envelope::open(raw)?;
            let Some(ty) = crate::type_of(&envelope.api_version, &envelope.kind) else {
                return Err(ProtobufError::Kind { api_version: envelope.api_version, kind: envelope.kind });
            };
            let mut fields = Map::new();
            self.structure(envelope.raw, ty, &mut fields)?;
            fields.insert("apiVersion".to_owned(), Value::String(envelope.api_version));
            fields.insert("kind".to_owned(), Value::String(envelope.kind));
            return Ok(Value::Object(fields));
        }
        let mut reader = Reader::new(raw);
        reader
            .take()
            .and_then(|value| reader.finish().map(|()| value))
            .map_err(|error| ProtobufError::Inside(error.to_string()))
    }

    fn schema_or(
        &mut self,
        shape: Shape,
        schema: &Element,
        bytes: &[u8],
        name: &'static str,
    ) -> Result<Value, ProtobufError> {
        let mut allows = false;
        let mut found = Value::Null;
        let mut list = Vec::new();
        let mut message = Message::new(bytes, name);
        while let Some((number, payload)) = message.field()? {
            match (shape, number) {
                (Shape::SchemaOrBool(_), 1) => allows = self.single(Shape::Bool, payload, name)? == Value::Bool(true),
                (Shape::SchemaOrBool(_), 2) | (_, 1) => found = self.single(schema.ty, payload, name)?,
                (Shape::SchemaOrArray(_), 2) => list.push(self.single(schema.ty, payload, name)?),
                (Shape::SchemaOrStringArray(_), 2) => list.push(self.single(Shape::String, payload, name)?),
                _ => {}
            }
        }
        Ok(match shape {
            Shape::SchemaOrBool(_) if found.is_null() => Value::Bool(allows),
            _ if !list.is_empty() => Value::Array(list),
            _ => found,
        })
    }
}

/// Finds a field by number, looking first behind the one that was found last.
fn find(ty: &'static Type, number: u32, hint: &mut usize) -> Option<&'static Field> {
    let count = ty.fields.len();
    let index = (0..count).map(|step| (*hint + step) % count).find(|&index| ty.fields[index].number == number)?;
    *hint = index;
    Some(&ty.fields[index])
}

fn payload_bytes<'a>(payload: Payload<'a>, field: &'static str) -> Result<&'a [u8], ProtobufError> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        other => Err(ProtobufError::Wire { wire: other.wire(), field }),
    }
}

fn time(bytes: &[u8]) -> Result<Option<Timestamp>, ProtobufError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut time = Timestamp { seconds: 0, nanos: 0 };
    let mut message = Message::new(bytes, "Timestamp");
    while let Some((number, payload)) = message.field()? {
        match (number, payload) {
            (1, Payload::Varint(seconds)) => time.seconds = seconds as i64,
            (2, Payload::Varint(nanos)) => time.nanos = (nanos as u32).min(999_999_999),
            _ => {}
        }
    }
    Ok(Some(time).filter(|time| !time.is_zero()))
}

fn quantity(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut found = None;
    let mut message = Message::new(bytes, "Quantity");
    while let Some((number, payload)) = message.field()? {
        if let (1, Payload::Bytes(bytes)) = (number, payload) {
            let quantity = Quantity::parse(&text(bytes)).map_err(|error| ProtobufError::Inside(error.to_string()))?;
            found = Some(quantity.to_string());
        }
    }
    Ok(found.map_or_else(|| Value::from("0"), Value::String))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut number_value, mut text_value) = (false, 0, String::new());
    let mut message = Message::new(bytes, "IntOrString");
    while let Some((number, payload)) = message.field()? {
        match (number, payload) {
            (1, Payload::Varint(number)) => is_text = number == 1,
            (2, Payload::Varint(number)) => number_value = number as i32,
            (3, Payload::Bytes(bytes)) => text_value = text(bytes),
            _ => {}
        }
    }
    Ok(if is_text { Value::String(text_value) } else { Value::from(number_value) })
}
