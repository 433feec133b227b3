//! Values as YAML text, line for line as the stock server writes them: block style, a width of 80, text quoted where a
//! reader of version 1.1 could take it for something else.

mod number;
mod order;
mod text;

use serde_json::{Map, Value};

use super::YamlError;

/// How much deeper each level stands.
const STEP: usize = 2;

/// The longest key that stands on one line with its value, in bytes.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Writes a value as a YAML document.
pub fn write(value: &Value) -> String {
    let mut emitter = Emitter { out: String::new(), column: 0, indent: None, is_blank: true, is_fresh: true };
    emitter.node(value, false);
    emitter.line();
    emitter.out
}

/// Whether the stock server writes a value as YAML at all: it goes through JSON text, in which it refuses some characters.
pub fn check(value: &Value) -> Result<(), YamlError> {
    let is_fine = |text: &str| {
        !text.contains(
            |character| matches!(character, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'),
        )
    };
    match value {
        Value::String(text) if !is_fine(text) => Err(YamlError::new("control characters are not allowed")),
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            if is_fine(name) { check(value) } else { Err(YamlError::new("control characters are not allowed")) }
        }),
        _ => Ok(()),
    }
}

/// Text on its way, and where in it the next sign goes.
struct Emitter {
    out: String,
    /// How many characters the line has.
    column: usize,
    /// How deep the lines of the present level begin; none outside of all levels.
    indent: Option<usize>,
    /// Whether the last thing written parts what comes from what was.
    is_blank: bool,
    /// Whether there are but indentation and signs of structure on the line.
    is_fresh: bool,
}

impl Emitter {
    fn node(&mut self, value: &Value, in_map: bool) {
        match value {
            Value::Object(fields) if fields.is_empty() => self.sign("{}", true, false),
            Value::Array(items) if items.is_empty() => self.sign("[]", true, false),
            Value::Object(fields) => self.fields(fields),
            Value::Array(items) => self.items(items, in_map),
            Value::String(text) => self.text(&text::folded(text), false),
            Value::Number(number) => self.plain(&number::text(number), true),
            Value::Bool(_) | Value::Null => self.plain(&value.to_string(), true),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + STEP));
        let mut fields: Vec<_> = fields.iter().collect();
        order::sort(&mut fields);
        for (name, value) in fields {
            self.line();
            if name.len() <= LONGEST_SIMPLE_KEY && !name.contains(text::is_break) {
                self.text(name, true);
                self.sign(":", false, false);
            } else {
                self.sign("?", true, true);
                self.text(name, false);
                self.line();
                self.sign(":", true, true);
            }
            self.node(value, true);
        }
        self.indent = outer;
    }

    /// A list that follows its key stands at the key's own depth.
    fn items(&mut self, items: &[Value], in_map: bool) {
        let outer = self.indent;
        self.indent = match outer {
            Some(indent) if in_map && !self.is_fresh => Some(indent),
            outer => Some(outer.map_or(0, |indent| indent + STEP)),
        };
        for item in items {
            self.line();
            self.sign("-", true, true);
            self.node(item, false);
        }
        self.indent = outer;
    }

    /// Begins a line, unless there is only structure on the present one and what comes fits behind it.
    fn line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.is_fresh || self.column > indent || (self.column == indent && !self.is_blank) {
            self.end_line();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.is_blank = true;
        self.is_fresh = true;
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    /// Writes signs; those of structure leave the line fresh.
    fn sign(&mut self, signs: &str, is_apart: bool, is_structure: bool) {
        if is_apart && !self.is_blank {
            self.put(' ');
        }
        signs.chars().for_each(|sign| self.put(sign));
        self.is_blank = false;
        self.is_fresh &= is_structure;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let value = json!({
            "a": [1, {"b": "yes", "c": [], "d": {}}, ["x", [true]], "two\nlines\n", " lead", "1", "0x1f", "null", "~", "a: b", "a #b"],
            "empty": "", "key with space": null, "text": "line\n\nline", "y": 1.5, "no end": "a\nb", "ends": "a\n\n\n", "quote": "\"",
            "line\nbreak": {"x": 1},
        });
        let text = write(&value);
        assert_eq!(super::super::read(text.as_bytes()).unwrap().value, value, "{text}");
    }

    #[test]
    fn objects_look_as_kubectl_prints_them() {
        let value = json!({"spec": {"ports": [{"name": "http", "port": 80}], "selector": {"app": "web"}}});
        assert_eq!(write(&value), "spec:\n  ports:\n  - name: http\n    port: 80\n  selector:\n    app: web\n");
    }

    #[test]
    fn levels_share_lines_as_stock_has_them() {
        let value = json!({"a": [[1, [2]], {"b": "x"}], "line\nbreak": {"x": 1}, "l2\nb": [1], "=": "=", "g": "a\n\n"});
        let wanted =
            "=: =\na:\n- - 1\n  - - 2\n- b: x\ng: |+\n  a\n\n? |-\n  l2\n  b\n: - 1\n? |-\n  line\n  break\n: x: 1\n";
        assert_eq!(write(&value), wanted);
        assert_eq!(write(&json!("a\nb")), "|-\n  a\n  b\n");
    }
}
