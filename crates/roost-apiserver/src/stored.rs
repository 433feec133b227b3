//! How an object lies in the store, and how it gets out again without being parsed.
//!
//! A value is a small header and the object's JSON without `apiVersion`, `kind` and `metadata.resourceVersion`. The
//! header says where in the JSON the resource version belongs, so that a get, a list or a watch event is a few copies
//! of bytes: most reads never build a tree.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::{memchr, memmem};
use roost_kinds::Type;
use roost_object::{Map, Value};
use roost_store::Revision;
use serde::Serialize as _;
use serde_json::ser::Formatter;

/// Bytes before the version's name: the place of the resource version, and the length of the version's name.
const FIXED_HEADER: usize = 5;

/// Set in the place of the resource version when the fields stand in the order of a Go type.
const TYPED: u32 = 1 << 31;

/// An object as the store holds it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    bytes: Bytes,
}

/// Why bytes from the store are not an object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredError {
    /// The header does not fit the value.
    #[error("the stored value has a damaged header")]
    Header,
    /// The body is not JSON.
    #[error("the stored value is not JSON")]
    Json(#[from] serde_json::Error),
}

impl Stored {
    /// Wraps bytes that came from the store.
    pub(crate) fn new(bytes: Bytes) -> Result<Self, StoredError> {
        let stored = Self { bytes };
        let valid = stored.bytes.len() >= FIXED_HEADER
            && stored.bytes.len() >= FIXED_HEADER + stored.version_length()
            && stored.offset() <= stored.json().len();
        if valid { Ok(stored) } else { Err(StoredError::Header) }
    }

    /// Packs an object of the given API version. Built-in kinds are written in the order of their Go types, as stock
    /// writes them; custom ones in the order of the alphabet, as stock writes those.
    pub(crate) fn encode(object: &Value, version: &str, ty: Option<&'static Type>) -> Stored {
        let mut bytes = BytesMut::with_capacity(1024);
        bytes.put_u32_le(0);
        bytes.put_u8(version.len() as u8);
        bytes.put_slice(version.as_bytes());
        let start = bytes.len();
        let place = match (object, ty) {
            (_, Some(ty)) => write_typed(&mut bytes, object, ty, start),
            (Value::Object(fields), None) => write_object(&mut bytes, fields, start) as u32,
            (other, None) => {
                write_value(&mut bytes, other);
                0
            }
        };
        bytes[..4].copy_from_slice(&place.to_le_bytes());
        Stored { bytes: bytes.freeze() }
    }

    /// The bytes for the store.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The API version (without the group) that the object is stored in.
    pub(crate) fn version(&self) -> &str {
        std::str::from_utf8(&self.bytes[FIXED_HEADER..FIXED_HEADER + self.version_length()]).unwrap_or_default()
    }

    /// Builds the tree, with `apiVersion`, `kind` and the resource version set.
    pub(crate) fn decode(&self, api_version: &str, kind: &str, revision: Revision) -> Result<Value, StoredError> {
        let mut value: Value = serde_json::from_slice(self.json())?;
        if let Some(object) = value.as_object_mut() {
            object.insert("apiVersion".into(), api_version.into());
            object.insert("kind".into(), kind.into());
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("resourceVersion".into(), revision.to_string().into());
            }
        }
        Ok(value)
    }

    /// Writes the object's JSON with the given type in front; an empty kind leaves the type out, as the items of a
    /// built-in list have none.
    pub(crate) fn write_json(&self, out: &mut BytesMut, api_version: &str, kind: &str, revision: Revision) {
        let json = self.json();
        let offset = self.offset();
        if !kind.is_empty()
            && self.is_type_between()
            && let Ok(object) = self.decode(api_version, kind, revision)
        {
            let mut text = Vec::with_capacity(json.len() + 96);
            roost_kinds::json::write_untyped(&mut text, &object);
            out.put_slice(&text);
            return;
        }
        out.reserve(json.len() + 96);
        let body = if kind.is_empty() {
            0
        } else {
            let names: [(&[u8], &str); 2] = if self.is_typed() {
                [(b"{\"kind\":\"", kind), (b"\",\"apiVersion\":\"", api_version)]
            } else {
                [(b"{\"apiVersion\":\"", api_version), (b"\",\"kind\":\"", kind)]
            };
            for (name, value) in names {
                out.put_slice(name);
                out.put_slice(value.as_bytes());
            }
            out.put_slice(if json.len() > 2 { b"\"," } else { b"\"" });
            1
        };
        out.put_slice(&json[body.min(offset)..offset]);
        if offset > 0 {
            let mut digits = itoa_buffer(revision);
            let (before, after): (&[u8], &[u8]) =
                if self.is_typed() { (b",\"resourceVersion\":\"", b"\"") } else { (b"\"resourceVersion\":\"", b"\",") };
            out.put_slice(before);
            out.put_slice(digits.text());
            out.put_slice(after);
        }
        out.put_slice(&json[offset.max(body)..]);
    }

    /// Whether fields belong before the type: the alphabet decides, and some custom resources have such.
    fn is_type_between(&self) -> bool {
        let first = self.json().strip_prefix(b"{\"").unwrap_or_default();
        let first = &first[..memchr(b'"', first).unwrap_or(0)];
        !self.is_typed() && !first.is_empty() && first < b"kind".as_slice()
    }

    /// The JSON as it is stored.
    pub(crate) fn json(&self) -> &[u8] {
        &self.bytes[FIXED_HEADER + self.version_length()..]
    }

    fn version_length(&self) -> usize {
        self.bytes[4] as usize
    }

    fn place(&self) -> u32 {
        u32::from_le_bytes([self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]])
    }

    fn offset(&self) -> usize {
        (self.place() & !TYPED) as usize
    }

    fn is_typed(&self) -> bool {
        self.place() & TYPED != 0
    }
}

/// Decimal digits of a revision without an allocation.
struct Digits {
    buffer: [u8; 20],
    start: usize,
}

impl Digits {
    fn text(&mut self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

fn itoa_buffer(mut number: u64) -> Digits {
    let mut digits = Digits { buffer: [0; 20], start: 20 };
    loop {
        digits.start -= 1;
        digits.buffer[digits.start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return digits;
        }
    }
}

/// Writes a built-in object without its type and resource version; returns where in its JSON the resource version
/// belongs: behind `metadata.uid`, which every stored object has.
fn write_typed(out: &mut BytesMut, object: &Value, ty: &'static Type, start: usize) -> u32 {
    const UID: &[u8] = b"\"uid\":\"";
    const REVISION: &[u8] = b",\"resourceVersion\":\"";
    let mut text = Vec::with_capacity(1024);
    roost_kinds::json::write(&mut text, object, ty);
    let field = |name: &str| object.get(name).and_then(Value::as_str);
    let names = format!(
        "{{{}{}",
        field("kind").map(|kind| format!("\"kind\":\"{kind}\",")).unwrap_or_default(),
        field("apiVersion").map(|version| format!("\"apiVersion\":\"{version}\",")).unwrap_or_default(),
    );
    let body =
        if text.starts_with(names.as_bytes()) { &text[names.len()..] } else { text.get(1..).unwrap_or_default() };
    out.put_u8(b'{');
    let uid = memmem::find(body, UID).map(|at| at + UID.len());
    let uid = uid.and_then(|at| memchr(b'"', &body[at..]).map(|end| at + end + 1));
    let Some(end) = uid else {
        out.put_slice(body);
        return TYPED;
    };
    out.put_slice(&body[..end]);
    let place = (out.len() - start) as u32;
    let rest = &body[end..];
    let rest = match rest.strip_prefix(REVISION) {
        Some(tail) => memchr(b'"', tail).map_or(tail, |quote| &tail[quote + 1..]),
        None => rest,
    };
    out.put_slice(rest);
    place | TYPED
}

/// Writes an object without its type and resource version; returns where in its JSON the resource version belongs:
/// in front of `metadata.uid`, which every stored object has.
fn write_object(out: &mut BytesMut, fields: &Map<String, Value>, start: usize) -> usize {
    let mut offset = 0;
    let mut separator = b'{';
    for (name, value) in fields {
        if name == "apiVersion" || name == "kind" {
            continue;
        }
        out.put_u8(separator);
        separator = b',';
        write_name(out, name);
        match value.as_object() {
            Some(metadata) if name == "metadata" => {
                let mut inner = b'{';
                for (key, entry) in metadata {
                    if key == "resourceVersion" {
                        continue;
                    }
                    out.put_u8(inner);
                    inner = b',';
                    if key == "uid" {
                        offset = out.len() - start;
                    }
                    write_name(out, key);
                    write_value(out, entry);
                }
                if inner == b'{' {
                    out.put_u8(b'{');
                }
                out.put_u8(b'}');
            }
            _ => write_value(out, value),
        }
    }
    if separator == b'{' {
        out.put_u8(b'{');
    }
    out.put_u8(b'}');
    offset
}

fn write_name(out: &mut BytesMut, name: &str) {
    let _ = serde_json::to_writer(out.writer(), name);
    out.put_u8(b':');
}

fn write_value(out: &mut BytesMut, value: &Value) {
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(out.writer(), GoNumbers));
}

/// What is stored is answered as it is, so numbers are spelled as stock spells them.
struct GoNumbers;

impl Formatter for GoNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, number: f64) -> io::Result<()> {
        let mut text = Vec::with_capacity(24);
        roost_kinds::json::write_float(&mut text, number);
        writer.write_all(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
               "metadata": {"name": "x", "namespace": "y", "resourceVersion": "7", "uid": "u", "labels": {}}})
    }

    #[test]
    fn a_stored_object_comes_back_with_its_type_and_new_revision() {
        let stored = Stored::encode(&object(), "v1", None);
        assert_eq!(stored.version(), "v1");
        let mut expected = object();
        expected["metadata"]["resourceVersion"] = "42".into();
        assert_eq!(stored.decode("v1", "ConfigMap", 42).unwrap(), expected);
        let mut out = BytesMut::new();
        stored.write_json(&mut out, "v1", "ConfigMap", 42);
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), expected);
    }

    #[test]
    fn built_in_kinds_keep_the_order_of_their_go_type() {
        let ty = roost_kinds::type_of("v1", "ConfigMap").unwrap();
        let stored = Stored::encode(&object(), "v1", Some(ty));
        let mut out = BytesMut::new();
        stored.write_json(&mut out, "v1", "ConfigMap", 42);
        let text = std::str::from_utf8(&out).unwrap();
        let expected = concat!(
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"y","uid":"u","#,
            r#""resourceVersion":"42"},"data":{"a":"b"}}"#
        );
        assert_eq!(text, expected);
        assert_eq!(stored.decode("v1", "ConfigMap", 42).unwrap()["metadata"]["resourceVersion"], "42");
    }

    #[test]
    fn the_type_of_custom_resources_stands_where_the_alphabet_puts_it() {
        let mut out = BytesMut::new();
        Stored::encode(&object(), "v1", None).write_json(&mut out, "example.com/v1", "Widget", 42);
        let text = std::str::from_utf8(&out).unwrap();
        assert!(text.starts_with(r#"{"apiVersion":"example.com/v1","data":{"a":"b"},"kind":"Widget","metadata":{"#));
    }

    #[test]
    fn list_items_have_no_type() {
        let mut out = BytesMut::new();
        Stored::encode(&object(), "v1", None).write_json(&mut out, "v1", "", 0);
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value.get("kind"), None);
        assert_eq!(value["metadata"]["resourceVersion"], "0");
    }

    #[test]
    fn numbers_are_spelled_as_go_spells_them() {
        let mut custom = object();
        custom["data"] = json!([2.0, 0.5, 1e16, 0.00001, 1e21, -3.0]);
        let mut out = BytesMut::new();
        Stored::encode(&custom, "v1", None).write_json(&mut out, "v1", "ConfigMap", 1);
        let text = std::str::from_utf8(&out).unwrap();
        assert!(text.contains("[2,0.5,10000000000000000,0.00001,1e+21,-3]"), "{text}");
    }

    #[test]
    fn damaged_headers_are_told() {
        assert!(Stored::new(Bytes::from_static(b"ab")).is_err());
        assert!(Stored::new(Bytes::from_static(b"\xff\xff\xff\xff\x00{}")).is_err());
    }
}
