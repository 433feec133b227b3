//! YAML as the stock server reads it: version 1.1, where a bare `y` is true and `0777` is octal, turned into JSON values.
//!
//! Syntax is the parser's business; what a scalar means, what an alias may cost and which keys repeat is decided here.

mod emit;
mod resolve;
mod tree;

pub use emit::{check, write};

use serde_json::{Map, Value};

use crate::json::{self, Document, MAX_DEPTH, float_value};
use resolve::{Resolved, resolve};
use tree::{Content, Node, Tree};

/// How much text aliases may add to a document by being expanded.
const MAX_ALIASED_BYTES: usize = 8 << 20;

/// Why a document is not YAML, or not YAML that JSON could say. The words are stock's where the parser has the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    message: String,
}

impl YamlError {
    fn new(problem: impl std::fmt::Display) -> Self {
        Self { message: format!("yaml: {problem}") }
    }

    fn at(line: usize, problem: &str) -> Self {
        if line > 1 { Self::new(format_args!("line {line}: {problem}")) } else { Self::new(problem) }
    }

    fn bare(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// Reads the first document of a text.
///
/// A key that is set twice is reported as stock's strict reader does: one sentence for the whole document.
pub fn read(bytes: &[u8]) -> Result<Document, YamlError> {
    if let Some(line) = tab_before_content(bytes) {
        return Err(YamlError::at(line, "found character that cannot start any token"));
    }
    // Most of what is sent as YAML is JSON, which reads faster and means the same.
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(mut document) = json::read(bytes)
        && document.duplicates.is_empty()
    {
        settle_numbers(&mut document.value);
        return Ok(document);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| YamlError::new("invalid leading UTF-8 octet"))?;
    let tree = Tree::read(text)?;
    let mut builder =
        Builder { tree: &tree, open: Vec::new(), decoded: 0, aliased: 0, aliased_bytes: 0, repeated: Vec::new() };
    let value = match tree.root {
        Some(root) => builder.value(root, 0)?,
        None => Value::Null,
    };
    let mut duplicates = Vec::new();
    if !builder.repeated.is_empty() {
        duplicates.push(format!("yaml: unmarshal errors:\n  {}", builder.repeated.join("\n  ")));
    }
    Ok(Document { value, duplicates })
}

/// The line on which a tab stands where a document would begin; the parser takes such a tab for a blank.
fn tab_before_content(bytes: &[u8]) -> Option<usize> {
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        match line.iter().find(|byte| **byte != b' ') {
            Some(b'\t') => return Some(index + 1),
            None | Some(b'#' | b'\r') => {}
            Some(_) => return None,
        }
    }
    None
}

/// YAML goes through JSON text, in which a whole floating-point number has no fraction any more.
fn settle_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(settled) = number.as_f64().and_then(float_value) {
                *value = settled;
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(settle_numbers),
        Value::Object(fields) => fields.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

struct Builder<'t> {
    tree: &'t Tree<'t>,
    /// The aliases that are being expanded.
    open: Vec<usize>,
    decoded: usize,
    aliased: usize,
    aliased_bytes: usize,
    repeated: Vec<String>,
}

impl Builder<'_> {
    fn node(&self, index: usize) -> &Node<'_> {
        &self.tree.nodes[index]
    }

    /// Counts a step, and how much of all steps comes from aliases. Small documents may be nearly all aliases, large ones
    /// hardly at all.
    fn count(&mut self, depth: usize, text: usize) -> Result<(), YamlError> {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        if depth > MAX_DEPTH {
            return Err(YamlError::new(format_args!("exceeded max depth of {MAX_DEPTH}")));
        }
        self.decoded += 1;
        if !self.open.is_empty() {
            self.aliased += 1;
            self.aliased_bytes += text;
        }
        let decoded = self.decoded as f64;
        let allowed = 0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        let many = self.aliased > 100 && self.decoded > 1000 && self.aliased as f64 / decoded > allowed;
        if many || self.aliased_bytes > MAX_ALIASED_BYTES {
            return Err(YamlError::new("document contains excessive aliasing"));
        }
        Ok(())
    }

    fn value(&mut self, index: usize, depth: usize) -> Result<Value, YamlError> {
        let tree = self.tree;
        match &tree.nodes[index].content {
            Content::Scalar(scalar) => {
                self.count(depth, scalar.text.len())?;
                to_value(resolve(scalar)?)
            }
            Content::Sequence(children) => {
                self.count(depth, 0)?;
                let elements: Result<Vec<_>, _> = children.iter().map(|&child| self.value(child, depth + 1)).collect();
                Ok(Value::Array(elements?))
            }
            Content::Mapping(children) => {
                self.count(depth, 0)?;
                let mut fields = Map::new();
                self.mapping(children, &mut fields, depth)?;
                Ok(Value::Object(fields))
            }
            Content::Alias(target) => {
                let target = self.follow(*target)?;
                let value = self.value(target, depth + 1);
                self.open.pop();
                value
            }
        }
    }

    /// Goes through an alias; the caller comes back by popping.
    fn follow(&mut self, anchor: usize) -> Result<usize, YamlError> {
        self.count(0, 0)?;
        let (target, name) = &self.tree.anchors[anchor];
        if self.open.contains(&anchor) {
            return Err(YamlError::new(format_args!("anchor '{name}' value contains itself")));
        }
        self.open.push(anchor);
        Ok(*target)
    }

    fn mapping(
        &mut self,
        children: &[(usize, usize)],
        fields: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), YamlError> {
        for &(key, value) in children {
            if self.node(key).is_merge() {
                self.merge(value, fields, depth)?;
                continue;
            }
            let Some((name, shown)) = self.key(key, depth)? else {
                let value = self.value(value, depth + 1)?;
                return Err(YamlError::bare(format!(
                    "unsupported map key of type: %!s(<nil>), key: <nil>, value: {value}"
                )));
            };
            let line = self.node(value).line;
            let value = self.value(value, depth + 1)?;
            if fields.insert(name, value).is_some() {
                self.repeated.push(format!("line {line}: key {shown} already set in map"));
            }
        }
        Ok(())
    }

    /// A key as the text that JSON needs, and as Go shows it; none for null.
    fn key(&mut self, index: usize, depth: usize) -> Result<Option<(String, String)>, YamlError> {
        let tree = self.tree;
        match &tree.nodes[index].content {
            Content::Scalar(scalar) => {
                self.count(depth, scalar.text.len())?;
                Ok(match resolve(scalar)? {
                    Resolved::Null => None,
                    Resolved::Text(text) => {
                        let shown = crate::field::quote(&text);
                        Some((text.into_owned(), shown))
                    }
                    Resolved::Bool(truth) => Some((truth.to_string(), truth.to_string())),
                    Resolved::Integer(number) => Some((number.to_string(), number.to_string())),
                    Resolved::Unsigned(number) => Some((number.to_string(), format!("{number:#x}"))),
                    Resolved::Float(number) => Some((float_key(number), number.to_string())),
                })
            }
            Content::Alias(target) => {
                let target = self.follow(*target)?;
                let key = self.key(target, depth + 1);
                self.open.pop();
                key
            }
            Content::Sequence(_) => Err(YamlError::new("invalid map key: []interface {}")),
            Content::Mapping(_) => Err(YamlError::new("invalid map key: map[interface {}]interface {}")),
        }
    }

    /// Adds the entries of other mappings. Of several, the first one wins.
    fn merge(&mut self, index: usize, fields: &mut Map<String, Value>, depth: usize) -> Result<(), YamlError> {
        let tree = self.tree;
        if let Content::Sequence(children) = &tree.nodes[index].content {
            for &child in children.iter().rev() {
                self.merge_one(child, fields, depth + 1)?;
            }
            return Ok(());
        }
        self.merge_one(index, fields, depth + 1)
    }

    fn merge_one(&mut self, index: usize, fields: &mut Map<String, Value>, depth: usize) -> Result<(), YamlError> {
        let tree = self.tree;
        self.count(depth, 0)?;
        match &tree.nodes[index].content {
            Content::Mapping(children) => self.mapping(children, fields, depth),
            Content::Alias(target) if tree.nodes[tree.anchors[*target].0].is_mapping() => {
                let target = self.follow(*target)?;
                let merged = self.merge_one(target, fields, depth + 1);
                self.open.pop();
                merged
            }
            _ => Err(YamlError::new("map merge requires map or sequence of maps as the value")),
        }
    }
}

fn to_value(resolved: Resolved<'_>) -> Result<Value, YamlError> {
    Ok(match resolved {
        Resolved::Null => Value::Null,
        Resolved::Bool(truth) => Value::Bool(truth),
        Resolved::Integer(number) => Value::from(number),
        Resolved::Unsigned(number) => Value::from(number as f64),
        Resolved::Float(number) => float_value(number)
            .ok_or_else(|| YamlError::bare(format!("json: unsupported value: {}", float_name(number))))?,
        Resolved::Text(text) => Value::String(text.into_owned()),
    })
}

fn float_name(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}

fn float_key(number: f64) -> String {
    match float_name(number) {
        _ if number.is_finite() => (number as f32).to_string(),
        "NaN" => ".nan".to_owned(),
        "+Inf" => ".inf".to_owned(),
        _ => "-.inf".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Value {
        read(text.as_bytes()).unwrap().value
    }

    fn refused(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn whole_floats_are_whole_numbers_in_yaml_alone() {
        let text = "{\"a\": 1.0, \"b\": [1e3, 1.5]}";
        assert_eq!(value(text), json!({"a": 1, "b": [1000, 1.5]}));
        assert_eq!(json::read(text.as_bytes()).unwrap().value, json!({"a": 1.0, "b": [1000.0, 1.5]}));
    }

    #[test]
    fn scalars_mean_what_yaml_1_1_says() {
        assert_eq!(
            value(
                "a: y\nb: 'y'\nc: 0777\nd: 0x1F\ne: 1_000\nf: 1e3\ng: ~\nh:\ni: 2026-01-02\nj: .5\nk: '5'\nl: No\nm: 0b11\nnn: 089\noo: +7\np: 1.5\nq: on\nr: abc\ns: 1.2.3\nt: 0o17\nu: 18446744073709551615"
            ),
            json!({
                "a": true, "b": "y", "c": 511, "d": 31, "e": 1000, "f": 1000, "g": null, "h": null, "i": "2026-01-02",
                "j": 0.5, "k": "5", "l": false, "m": 3, "nn": 89, "oo": 7, "p": 1.5, "q": true, "r": "abc", "s": "1.2.3",
                "t": 15, "u": 18_446_744_073_709_551_615.0_f64
            })
        );
        assert_eq!(
            value("a: !!str 5\nb: !!int '5'\nc: !!binary YWJj\nd: !own x\ne: !!float 3"),
            json!({"a": "5", "b": 5, "c": "abc", "d": "x", "e": 3})
        );
        assert_eq!(value("a: |\n  one\n  two\nb: >\n  one\n  two\n"), json!({"a": "one\ntwo\n", "b": "one two\n"}));
    }

    #[test]
    fn keys_become_text() {
        assert_eq!(value("1: a\ntrue: b\n1.5: c\n'x': d"), json!({"1": "a", "true": "b", "1.5": "c", "x": "d"}));
    }

    #[test]
    fn aliases_and_merges_are_expanded() {
        assert_eq!(
            value(
                "base: &b {a: 1, b: 2}\nother: &o {b: 3, c: 4}\none: {<<: *b, b: 9}\ntwo:\n  <<: [*b, *o]\n  d: 5\nlist: [*b]"
            ),
            json!({
                "base": {"a": 1, "b": 2}, "other": {"b": 3, "c": 4}, "one": {"a": 1, "b": 9},
                "two": {"a": 1, "b": 2, "c": 4, "d": 5}, "list": [{"a": 1, "b": 2}]
            })
        );
        assert_eq!(refused("a: *nowhere"), "yaml: unknown anchor 'nowhere' referenced");
        assert_eq!(refused("a: &x [*x]"), "yaml: anchor 'x' value contains itself");
        assert_eq!(refused("a: {<<: 5}"), "yaml: map merge requires map or sequence of maps as the value");
    }

    #[test]
    fn aliases_cannot_grow_without_bound() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            use std::fmt::Write as _;
            let inner = vec![format!("*a{}", level - 1); 10].join(",");
            let _ = writeln!(text, "a{level}: &a{level} [{inner}]");
        }
        assert_eq!(refused(&text), "yaml: document contains excessive aliasing");
        let long = format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), vec!["*a"; 50].join(","));
        assert_eq!(refused(&long), "yaml: document contains excessive aliasing");
    }

    #[test]
    fn depth_is_bounded() {
        assert!(read("[".repeat(1_000_000).as_bytes()).is_err());
        assert!(read("- ".repeat(100_000).as_bytes()).is_err());
        assert!(read("{a: ".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn repeated_keys_are_reported_in_one_sentence() {
        let document = read(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").unwrap();
        assert_eq!(document.value, json!({"a": 3, "b": {"c": 2}}));
        assert_eq!(
            document.duplicates,
            ["yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 5: key \"a\" already set in map"]
        );
    }

    #[test]
    fn json_and_odd_documents_are_read() {
        assert_eq!(value(r#" {"a": [1, "b"]} "#), json!({"a": [1, "b"]}));
        assert_eq!(value(""), Value::Null);
        assert_eq!(value("a: 1\n---\nb: 2\n"), json!({"a": 1}));
        assert_eq!(refused("a: b: c"), "yaml: mapping values are not allowed in this context");
        assert_eq!(refused("a: 1\nb: [1\n"), "yaml: line 2: did not find expected ',' or ']'");
        assert_eq!(refused("a: @x"), "yaml: found character that cannot start any token");
        assert_eq!(refused("a: \"x"), "yaml: found unexpected end of stream");
    }
}
