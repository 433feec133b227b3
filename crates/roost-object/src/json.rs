//! JSON as the stock server reads it: the same limits, the same error texts, the same idea of a duplicate field.
//!
//! [`Source`] is the one interface through which typed decoders read; it is implemented by [`Reader`] over bytes and by
//! [`Values`] over values that are already in memory.

mod reader;
mod source;
mod type_meta;
mod values;

use std::fmt::Display;

use serde_json::{Map, Value};

pub use reader::{Reader, SyntaxError};
pub use source::{Kind, Number, Source, float_value};
pub use type_meta::{TypeMeta, TypeMetaError, type_meta};
pub use values::Values;

use crate::field::{Path, quote};

/// How deep objects and lists may nest.
///
/// Stock allows ten thousand levels because Go's stacks grow. Here every walk over a value is recursive on a stack of
/// fixed size, and no real object comes near this limit.
pub const MAX_DEPTH: usize = 512;

/// How many duplicate and unknown fields are reported at most.
const MAX_STRICT_ERRORS: usize = 100;

/// The findings that make a strict request fail and another one merely warn.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<String>,
}

impl Findings {
    /// Notes a field that appears twice in an object.
    pub fn duplicate(&mut self, path: &impl Display) {
        self.note("duplicate field ", path);
    }

    /// Notes a field that the type does not have.
    pub fn unknown(&mut self, path: &impl Display) {
        self.note("unknown field ", path);
    }

    fn note(&mut self, what: &str, path: &impl Display) {
        if self.found.len() >= MAX_STRICT_ERRORS {
            return;
        }
        let text = format!("{what}{}", quote(&path.to_string()));
        if !self.found.contains(&text) {
            self.found.push(text);
        }
    }

    /// The findings as sentences, in the order of the document.
    pub fn into_sentences(self) -> Vec<String> {
        self.found
    }
}

/// A document of no particular type, with the fields that it names twice.
#[derive(Debug)]
pub struct Document {
    /// What the document says; the last of several duplicates counts.
    pub value: Value,
    /// Sentences such as `duplicate field "spec.replicas"`.
    pub duplicates: Vec<String>,
}

/// Reads a whole document.
pub fn read(bytes: &[u8]) -> Result<Document, SyntaxError> {
    let mut reader = Reader::new(bytes);
    let mut findings = Findings::default();
    let value = read_untyped(&mut reader, &Path::ROOT, &mut findings)?;
    reader.finish()?;
    Ok(Document { value, duplicates: findings.into_sentences() })
}

/// Reads one value of no particular type and notes its duplicate fields.
pub fn read_untyped<'a, S: Source<'a>>(
    source: &mut S,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Result<Value, SyntaxError> {
    match source.peek()? {
        Kind::Object => {
            source.enter()?;
            let mut fields = Map::new();
            while let Some(key) = source.key()? {
                let below = path.child(&key);
                if fields.contains_key(&*key) {
                    findings.duplicate(&below);
                }
                let value = read_untyped(source, &below, findings)?;
                fields.insert(key.into_owned(), value);
            }
            Ok(Value::Object(fields))
        }
        Kind::Array => {
            source.enter()?;
            let mut elements = Vec::new();
            while source.element()? {
                let value = read_untyped(source, &path.index(elements.len()), findings)?;
                elements.push(value);
            }
            Ok(Value::Array(elements))
        }
        _ => source.take(),
    }
}

/// Joins findings as stock does when it refuses a request: `strict decoding error: a, b`.
pub fn strict_error<S: AsRef<str>>(sentences: &[S]) -> String {
    let mut text = String::from("strict decoding error: ");
    for (index, sentence) in sentences.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(sentence.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicates_are_found_with_their_paths() {
        let document =
            read(br#"{"spec":{"a":1,"a":2,"list":[{"b":1,"b":1},{"b":1,"b":1}]},"spec":{"a":3,"a":4}}"#).unwrap();
        assert_eq!(
            document.duplicates,
            [
                r#"duplicate field "spec.a""#,
                r#"duplicate field "spec.list[0].b""#,
                r#"duplicate field "spec.list[1].b""#,
                r#"duplicate field "spec""#,
            ]
        );
        assert_eq!(document.value, json!({"spec": {"a": 4}}));
    }

    #[test]
    fn findings_join_as_stock_joins_them() {
        assert_eq!(strict_error(&["unknown field \"a\"", "b"]), "strict decoding error: unknown field \"a\", b");
    }
}
