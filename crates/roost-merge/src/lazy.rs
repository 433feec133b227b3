//! Documents that are parsed no further than a patch looks into them, as the library behind the stock server has them.
//! What was parsed is written in the order of the alphabet; all else stays as it was stored or sent, with fields that
//! stand twice.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::go_text;

/// A value of such a document.
pub(crate) enum Node {
    /// Nothing has looked into it yet.
    Text(Box<RawValue>),
    Object(BTreeMap<String, Node>),
    List(Vec<Node>),
}

impl Node {
    /// A value that nothing has looked into.
    pub(crate) fn unopened(text: &str) -> Option<Node> {
        serde_json::from_str(text).ok().map(Node::Text)
    }

    /// A whole document, as Go would have written it.
    pub(crate) fn document(text: &str) -> Option<Node> {
        let mut written = String::with_capacity(text.len());
        compact(&mut written, text);
        Node::unopened(&written)
    }

    pub(crate) fn null() -> Node {
        Node::Text(RawValue::NULL.to_owned())
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Node::Text(text) if text.get() == "null")
    }

    /// The fields of an object, which is parsed for it; of fields that stand twice the last counts.
    pub(crate) fn fields(&mut self) -> Option<&mut BTreeMap<String, Node>> {
        if let Node::Text(text) = self {
            let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text.get()).ok()?;
            *self = Node::Object(fields.into_iter().map(|(name, value)| (name, Node::Text(value))).collect());
        }
        match self {
            Node::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The elements of a list, which is parsed for it.
    pub(crate) fn elements(&mut self) -> Option<&mut Vec<Node>> {
        if let Node::Text(text) = self {
            let elements: Vec<Box<RawValue>> = serde_json::from_str(text.get()).ok()?;
            *self = Node::List(elements.into_iter().map(Node::Text).collect());
        }
        match self {
            Node::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// Looks into everything there is.
    pub(crate) fn open_all(&mut self) {
        let mut rest = vec![self];
        while let Some(node) = rest.pop() {
            if node.fields().is_some() || node.elements().is_some() {
                match node {
                    Node::Object(fields) => rest.extend(fields.values_mut()),
                    Node::List(elements) => rest.extend(elements),
                    Node::Text(_) => {}
                }
            }
        }
    }

    /// Whether two values are the same, both looked into as far as needed. What has no parts is compared as text: a number or
    /// a text that is written in another way is another one.
    pub(crate) fn is_same(&mut self, other: &mut Node) -> bool {
        if let Some(fields) = self.fields() {
            let Some(others) = other.fields() else { return false };
            return fields.len() == others.len()
                && fields
                    .iter_mut()
                    .all(|(name, value)| others.get_mut(name).is_some_and(|other| value.is_same(other)));
        }
        if let Some(elements) = self.elements() {
            let Some(others) = other.elements() else { return false };
            return elements.len() == others.len()
                && elements.iter_mut().zip(others).all(|(value, other)| value.is_same(other));
        }
        matches!((self, other), (Node::Text(text), Node::Text(other)) if text.get() == other.get())
    }

    /// The value as Go writes it.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Text(text) => compact(out, text.get()),
            Node::Object(fields) => {
                out.push('{');
                for (position, (name, value)) in fields.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    go_text::write_string(out, name, true);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Node::List(elements) => {
                out.push('[');
                for (position, value) in elements.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    value.write(out);
                }
                out.push(']');
            }
        }
    }
}

/// Appends JSON without blanks, and with the characters that HTML minds escaped.
fn compact(out: &mut String, json: &str) {
    let (mut is_text, mut is_escaped) = (false, false);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            ' ' | '\t' | '\n' | '\r' if !is_text => {}
            c => out.push(c),
        }
        if is_escaped {
            is_escaped = false;
        } else if is_text && c == '\\' {
            is_escaped = true;
        } else if c == '"' {
            is_text = !is_text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_looked_into_is_in_order() {
        let json = r#"{ "b": {"d": 1, "c": "a \" <b", "d": 2}, "a": [ {"f": 1, "e": 2} ], "b": {"y": 1, "x" : 2} }"#;
        let mut node = Node::unopened(json).unwrap();
        let whole = r#"{"b":{"d":1,"c":"a \" \u003cb","d":2},"a":[{"f":1,"e":2}],"b":{"y":1,"x":2}}"#;
        assert_eq!(node.text(), whole);
        assert!(node.elements().is_none());
        assert_eq!(node.text(), whole);
        node.fields().unwrap().get_mut("a").unwrap().elements().unwrap();
        assert_eq!(node.text(), r#"{"a":[{"f":1,"e":2}],"b":{"y":1,"x":2}}"#);
        node.open_all();
        assert_eq!(node.text(), r#"{"a":[{"e":2,"f":1}],"b":{"x":2,"y":1}}"#);
    }
}
