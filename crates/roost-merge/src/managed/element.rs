//! One step of a field path, kept in the spelling of `FieldsV1`.

use std::cmp::Ordering;
use std::fmt;

use roost_object::field::quote;
use serde_json::{Map, Value};

use crate::go_text;

/// A step from a container to what it holds: a field, a list element by key or by value, or an index.
///
/// It is stored as `FieldsV1` spells it (`f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`), in one canonical form, so that
/// comparing two steps is comparing two texts and encoding a set is free.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element(String);

/// What an [`Element`] selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElementKind {
    /// A field of a struct or an entry of a map.
    Field,
    /// A list element with given values of its keys.
    Key,
    /// An element of a set.
    Value,
    /// An element of an atomic list.
    Index,
}

/// Why a text is not a path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ElementError {
    /// Shorter than its prefix.
    #[error("key must be 2 characters long:")]
    TooShort,
    /// No colon after the letter.
    #[error("missing colon: {0}")]
    MissingColon(String),
    /// The JSON or number behind the prefix does not parse.
    #[error("{0}")]
    Malformed(String),
}

impl Element {
    /// A named field.
    pub fn field(name: &str) -> Self {
        let mut text = String::with_capacity(name.len() + 2);
        text.push_str("f:");
        text.push_str(name);
        Self(text)
    }

    /// A set element.
    pub fn value(value: &Value) -> Self {
        let mut text = String::from("v:");
        go_text::write_json(&mut text, value);
        Self(text)
    }

    /// An element of an atomic list.
    pub fn index(index: usize) -> Self {
        Self(format!("i:{index}"))
    }

    /// A list element by its keys, which must be sorted by name.
    pub fn key<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Self {
        let mut text = String::with_capacity(32);
        text.push_str("k:{");
        for (position, (name, value)) in fields.into_iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            go_text::write_string(&mut text, name, false);
            text.push(':');
            go_text::write_json(&mut text, value);
        }
        text.push('}');
        Self(text)
    }

    /// A list element without an identity: what pruning leaves of an element whose keys nobody owns any more. Only sets
    /// that are compared with each other hold it; it is never written.
    pub(crate) fn unidentified() -> Self {
        Self(String::new())
    }

    /// Reads a key of a `FieldsV1` object. Letters of a future version give none.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, ElementError> {
        let bytes = text.as_bytes();
        if bytes.len() < 2 {
            return Err(ElementError::TooShort);
        }
        if bytes[1] != b':' {
            return Err(ElementError::MissingColon(text.to_owned()));
        }
        let rest = &text[2..];
        let malformed = |error: &dyn fmt::Display| ElementError::Malformed(error.to_string());
        Ok(Some(match bytes[0] {
            b'f' => Self(text.to_owned()),
            b'k' if is_canonical_key(rest) => Self(text.to_owned()),
            b'k' => {
                let fields: Map<String, Value> = serde_json::from_str(rest).map_err(|error| malformed(&error))?;
                Self::key(fields.iter().map(|(name, value)| (name.as_str(), value)))
            }
            b'v' => Self::value(&serde_json::from_str(rest).map_err(|error| malformed(&error))?),
            b'i' => Self(format!("i:{}", rest.parse::<i64>().map_err(|error| malformed(&error))?)),
            _ => return Ok(None),
        }))
    }

    /// What this step selects.
    pub fn kind(&self) -> ElementKind {
        match self.0.as_bytes().first() {
            Some(b'k') => ElementKind::Key,
            Some(b'v') => ElementKind::Value,
            Some(b'i') => ElementKind::Index,
            _ => ElementKind::Field,
        }
    }

    /// The name of a field step.
    pub fn name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    /// The step as `FieldsV1` spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }

    /// The order in which stock lists steps: fields, keys, values, indices, each by what it means and not by its text.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.kind().cmp(&other.kind()).then_with(|| match self.kind() {
            ElementKind::Field => self.0.cmp(&other.0),
            ElementKind::Key => compare_fields(&self.fields(), &other.fields()),
            ElementKind::Value => go_text::compare(&self.parsed(), &other.parsed()),
            ElementKind::Index => self.number().cmp(&other.number()),
        })
    }

    fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0[2..]).unwrap_or_default()
    }

    fn parsed(&self) -> Value {
        serde_json::from_str(&self.0[2..]).unwrap_or_default()
    }

    fn number(&self) -> i64 {
        self.0[2..].parse().unwrap_or_default()
    }
}

fn compare_fields(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    for (a, b) in left.iter().zip(right) {
        let order = a.0.cmp(b.0).then_with(|| go_text::compare(a.1, b.1));
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// Whether the JSON of a key is in canonical form already, which everything we wrote is. Only the plainest shape is
/// recognised: integers and strings without escapes, names in order, no blanks.
fn is_canonical_key(json: &str) -> bool {
    let Some(mut rest) = json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { return false };
    let mut previous = "";
    loop {
        let Some(after) = rest.strip_prefix('"') else { return false };
        let Some((name, after)) = after.split_once('"') else { return false };
        if !is_plain(name) || (!previous.is_empty() && name <= previous) || name.is_empty() {
            return false;
        }
        previous = name;
        let Some(after) = after.strip_prefix(':') else { return false };
        let end = if let Some(text) = after.strip_prefix('"') {
            let Some((value, end)) = text.split_once('"') else { return false };
            if !is_plain(value) {
                return false;
            }
            end
        } else {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 || digits > 15 || (digits > 1 && after.starts_with('0')) {
                return false;
            }
            &after[digits..]
        };
        match end.strip_prefix(',') {
            Some(next) => rest = next,
            None => return end.is_empty(),
        }
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'&'))
}

impl fmt::Display for Element {
    /// The step as error messages show it: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            ElementKind::Field => write!(f, ".{}", self.name().unwrap_or_default()),
            ElementKind::Key => {
                f.write_str("[")?;
                for (position, (name, value)) in self.fields().iter().enumerate() {
                    let comma = if position > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", show(value))?;
                }
                f.write_str("]")
            }
            ElementKind::Value => write!(f, "[={}]", show(&self.parsed())),
            ElementKind::Index => write!(f, "[{}]", &self.0[2..]),
        }
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null => "null".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| [name.clone(), "=".to_owned(), show(value)]).collect()
        }
        scalar => go_text::plain(scalar),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_have_one_spelling() {
        let cases = [
            (r#"k:{"protocol":"TCP","containerPort":80}"#, r#"k:{"containerPort":80,"protocol":"TCP"}"#),
            (r#"k:{"containerPort":80.0,"protocol":"TCP"}"#, r#"k:{"containerPort":80,"protocol":"TCP"}"#),
            (r#"k:{ "name" : "a" }"#, r#"k:{"name":"a"}"#),
            (r#"v:"a<b""#, r#"v:"a\u003cb""#),
            ("v:1.50", "v:1.5"),
            ("i:007", "i:7"),
            ("f:a:b", "f:a:b"),
        ];
        for (given, expected) in cases {
            assert_eq!(Element::parse(given).unwrap().unwrap().as_str(), expected);
        }
        assert_eq!(Element::parse("x:future"), Ok(None));
        assert!(Element::parse("f").is_err());
        assert!(Element::parse("name").is_err());
        assert!(Element::parse("k:{").is_err());
    }

    #[test]
    fn the_quick_check_of_keys_agrees_with_the_parser() {
        for (text, canonical) in [
            (r#"{"name":"a"}"#, true),
            (r#"{"containerPort":80,"protocol":"TCP"}"#, true),
            (r#"{"b":1,"a":2}"#, false),
            (r#"{"a":01}"#, false),
            (r#"{"a":1.5}"#, false),
            (r#"{"a":"<"}"#, false),
            (r"{}", false),
            (r#"{"a":true}"#, false),
            (r#"{"a":1,}"#, false),
        ] {
            assert_eq!(is_canonical_key(text), canonical, "{text}");
        }
    }

    #[test]
    fn elements_print_as_messages_show_them() {
        let port = Element::key([("containerPort", &json!(80)), ("protocol", &json!("TCP"))]);
        assert_eq!(port.to_string(), r#"[containerPort=80,protocol="TCP"]"#);
        assert_eq!(Element::value(&json!("a")).to_string(), r#"[="a"]"#);
        assert_eq!(Element::field("spec").to_string(), ".spec");
        assert_eq!(Element::index(3).to_string(), "[3]");
    }

    #[test]
    fn keys_order_by_number_and_not_by_text() {
        let port = |number: u32| Element::key([("port", &json!(number))]);
        assert_eq!(port(80).compare(&port(443)), Ordering::Less);
        assert_eq!(Element::field("z").compare(&port(1)), Ordering::Less);
    }
}
