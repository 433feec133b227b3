//! Objects of the built-in kinds in protobuf, byte for byte as the stock server writes them.
//!
//! The messages have no descriptors here: the field numbers are part of the generated tables, and the rest follows from
//! the shapes. Custom resources and Tables do not exist in this encoding.

mod decode;
mod encode;
mod wire;

use serde_json::Value;

use crate::table::Type;
use wire::{Message, Payload};

/// What every object starts with.
const PREFIX: &[u8] = b"k8s\0";

/// Why bytes are not an object in protobuf, in the words of the stock server where it has any.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// There are no bytes.
    #[error("empty data")]
    Empty,
    /// The first bytes are others.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    Prefix,
    /// There are only the first bytes.
    #[error("empty body")]
    EmptyBody,
    /// A message ends too early.
    #[error("unexpected EOF")]
    End,
    /// A number has too many bytes.
    #[error("proto: integer overflow")]
    Overflow,
    /// A group ends that never began.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndOfGroup {
        /// The message that it ends in.
        message: &'static str,
    },
    /// A tag that cannot be.
    #[error("proto: {message}: illegal tag {number} (wire type {wire})")]
    Tag {
        /// The message that it is in.
        message: &'static str,
        /// The field number.
        number: i32,
        /// The whole tag, which stock calls the wire type.
        wire: u64,
    },
    /// A wire type that does not exist.
    #[error("proto: illegal wireType {0}")]
    IllegalWire(u8),
    /// A field in another wire type than its own.
    #[error("proto: wrong wireType = {wire} for field {field}")]
    Wire {
        /// The wire type.
        wire: u8,
        /// The field.
        field: &'static str,
    },
    /// Messages nest too deep.
    #[error("proto: exceeded max depth")]
    Depth,
    /// Something inside is not what it says it is.
    #[error("{0}")]
    Inside(String),
    /// The kind is not built in, and nothing else was expected.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    Kind {
        /// The `apiVersion` of the envelope.
        api_version: String,
        /// The kind of the envelope.
        kind: String,
    },
}

/// An object that is not yet looked into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The object's `apiVersion`.
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object's message.
    pub raw: &'a [u8],
    /// How the message is compressed; always empty so far.
    pub content_encoding: String,
    /// What the message is, when it is not protobuf.
    pub content_type: String,
}

impl<'a> Envelope<'a> {
    /// Opens the envelope of an object.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ProtobufError> {
        if bytes.is_empty() {
            return Err(ProtobufError::Empty);
        }
        let body = bytes.strip_prefix(PREFIX).ok_or(ProtobufError::Prefix)?;
        if body.is_empty() {
            return Err(ProtobufError::EmptyBody);
        }
        let mut envelope = Self::default();
        let mut message = Message::new(body, "Unknown");
        while let Some((number, payload)) = message.field()? {
            let names = ["TypeMeta", "Raw", "ContentEncoding", "ContentType"];
            if let Some(field) = (number as usize).checked_sub(1).and_then(|index| names.get(index))
                && !matches!(payload, Payload::Bytes(_))
            {
                return Err(ProtobufError::Wire { wire: payload.wire(), field });
            }
            match (number, payload) {
                (1, Payload::Bytes(bytes)) => {
                    let mut type_meta = Message::new(bytes, "TypeMeta");
                    while let Some((number, payload)) = type_meta.field()? {
                        match (number, payload) {
                            (1, Payload::Bytes(text)) => envelope.api_version = decode::text(text),
                            (2, Payload::Bytes(text)) => envelope.kind = decode::text(text),
                            _ => {}
                        }
                    }
                }
                (2, Payload::Bytes(raw)) => envelope.raw = raw,
                (3, Payload::Bytes(text)) => envelope.content_encoding = decode::text(text),
                (4, Payload::Bytes(text)) => envelope.content_type = decode::text(text),
                _ => {}
            }
        }
        Ok(envelope)
    }
}

/// Whether bytes begin as an object in protobuf does.
pub fn is_protobuf(bytes: &[u8]) -> bool {
    bytes.starts_with(PREFIX)
}

/// Reads an object. Its type is the one that the envelope names, else the expected one.
///
/// What comes out has the form of [`crate::json::read`], with the `apiVersion` and kind of the envelope.
pub fn decode(bytes: &[u8], expected: Option<&'static Type>) -> Result<Value, ProtobufError> {
    let envelope = Envelope::open(bytes)?;
    let ty = crate::type_of(&envelope.api_version, &envelope.kind).or(expected);
    let Some(ty) = ty else {
        return Err(ProtobufError::Kind { api_version: envelope.api_version, kind: envelope.kind });
    };
    let mut object = decode_message(envelope.raw, ty)?;
    if let Value::Object(fields) = &mut object {
        for (name, text) in [("apiVersion", envelope.api_version), ("kind", envelope.kind)] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), Value::String(text));
            }
        }
    }
    Ok(object)
}

/// Reads a message without an envelope.
pub fn decode_message(bytes: &[u8], ty: &'static Type) -> Result<Value, ProtobufError> {
    decode::object(bytes, ty)
}

/// Writes an object with its envelope.
pub fn encode(object: &Value, ty: &'static Type) -> Vec<u8> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    encode_envelope(text("apiVersion"), text("kind"), |out| encode::object(out, object, ty))
}

fn encode_envelope(api_version: &str, kind: &str, message: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(PREFIX);
    wire::nested(&mut out, 1, |out| {
        wire::bytes(out, 1, api_version.as_bytes());
        wire::bytes(out, 2, kind.as_bytes());
    });
    wire::nested(&mut out, 2, message);
    wire::bytes(&mut out, 3, b"");
    wire::bytes(&mut out, 4, b"");
    out
}

/// Writes a frame of a watch: its length, and the event around an object that already has its envelope.
pub fn watch_frame(event: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len() + event.len() + 24);
    out.extend_from_slice(&[0; 4]);
    wire::bytes(&mut out, 1, event.as_bytes());
    wire::nested(&mut out, 2, |out| wire::bytes(out, 1, object));
    let length = (out.len() - 4) as u32;
    out[..4].copy_from_slice(&length.to_be_bytes());
    out
}
