//! Values as protobuf messages, by tables that say which keyword is which field.

use serde_json::Value;

/// A message that is being written.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

/// How a value becomes a message.
pub(super) type Encode = fn(&mut Writer, &Value);

/// The field that a keyword becomes.
pub(super) enum Field {
    /// Text.
    Text(u32),
    /// A list of texts.
    Texts(u32),
    /// True or false.
    Flag(u32),
    /// A floating-point number.
    Number(u32),
    /// A whole number.
    Integer(u32),
    /// Any value, as YAML.
    Any(u32),
    /// A list of any values.
    Anys(u32),
    /// A message.
    One(u32, Encode),
    /// A list of messages.
    Many(u32, Encode),
    /// Messages by name, in a message of their own.
    Named(u32, Encode),
}

/// The keywords of a message.
pub(super) type Fields = &'static [(&'static str, Field)];

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

impl Writer {
    /// Whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number as u8 & 0x7f) | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn payload(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A text; empty ones are left out.
    pub(super) fn text(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.payload(field, text.as_bytes());
        }
    }

    /// A flag; false ones are left out.
    pub(super) fn flag(&mut self, field: u32, flag: bool) {
        if flag {
            self.tag(field, VARINT);
            self.varint(1);
        }
    }

    /// A flag that was chosen among other fields, also when it is false.
    pub(super) fn choice_flag(&mut self, field: u32, flag: bool) {
        self.tag(field, VARINT);
        self.varint(u64::from(flag));
    }

    /// A text that was chosen among other fields, also when it is empty.
    pub(super) fn choice_text(&mut self, field: u32, text: &str) {
        self.payload(field, text.as_bytes());
    }

    /// A number, also when it is zero.
    pub(super) fn number(&mut self, field: u32, number: f64) {
        self.tag(field, FIXED64);
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// A message within this one.
    pub(super) fn message(&mut self, field: u32, write: impl FnOnce(&mut Writer)) {
        let mut below = Writer::default();
        write(&mut below);
        self.nested(field, &below);
    }

    /// A finished message within this one.
    pub(super) fn nested(&mut self, field: u32, below: &Writer) {
        self.payload(field, &below.bytes);
    }

    /// A name and a message.
    pub(super) fn named(&mut self, field: u32, name: &str, write: impl FnOnce(&mut Writer)) {
        self.message(field, |entry| {
            entry.text(1, name);
            entry.message(2, write);
        });
    }

    /// Writes the keywords that a table knows.
    pub(super) fn fields(&mut self, value: &Value, fields: Fields) {
        for (keyword, field) in fields {
            if let Some(value) = value.get(keyword) {
                self.field(value, field);
            }
        }
    }

    fn field(&mut self, value: &Value, field: &Field) {
        match field {
            Field::Text(number) => self.text(*number, value.as_str().unwrap_or_default()),
            Field::Texts(number) => {
                for text in elements(value) {
                    self.payload(*number, text.as_str().unwrap_or_default().as_bytes());
                }
            }
            Field::Flag(number) => self.flag(*number, value.as_bool().unwrap_or_default()),
            Field::Number(number) => match value.as_f64() {
                None | Some(0.0) => {}
                Some(found) => self.number(*number, found),
            },
            Field::Integer(number) => match value.as_i64() {
                None | Some(0) => {}
                Some(found) => {
                    self.tag(*number, VARINT);
                    self.varint(found as u64);
                }
            },
            Field::Any(number) => self.message(*number, |any| any.text(2, &yaml(value))),
            Field::Anys(number) => {
                for value in elements(value) {
                    self.message(*number, |any| any.text(2, &yaml(value)));
                }
            }
            Field::One(number, encode) => self.message(*number, |below| encode(below, value)),
            Field::Many(number, encode) => {
                for value in elements(value) {
                    self.message(*number, |below| encode(below, value));
                }
            }
            Field::Named(number, encode) => self.message(*number, |map| {
                for (name, value) in value.as_object().into_iter().flatten() {
                    map.named(1, name, |below| encode(below, value));
                }
            }),
        }
    }

    /// Writes the keywords that begin with `x-`.
    pub(super) fn extensions(&mut self, field: u32, value: &Value) {
        for (name, value) in value.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                self.named(field, name, |any| any.text(2, &yaml(value)));
            }
        }
    }
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Any JSON is YAML.
fn yaml(value: &Value) -> String {
    format!("{value}\n")
}
