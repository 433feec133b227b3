//! Values as stock shows them in errors.

use roost_object::Value;

use super::{arranged, members};

/// Prints a value as one of stock's internal types.
pub(crate) fn print(kind: &str, value: &Value) -> String {
    let mut printer = Printer { text: String::new(), indent: None };
    printer.print(kind, value);
    printer.text
}

/// The same on many lines, for diffs.
pub(crate) fn print_lines(kind: &str, value: &Value) -> String {
    let mut printer = Printer { text: String::new(), indent: Some(0) };
    printer.print(kind, value);
    printer.text
}

struct Printer {
    text: String,
    indent: Option<usize>,
}

impl Printer {
    fn print(&mut self, shape: &str, value: &Value) {
        let (kind, inner) = shape.split_at(1);
        match kind {
            "*" if value.is_null() => self.text.push_str("null"),
            "*" => self.print(inner, value),
            "[" => match value.as_array() {
                None => self.text.push_str("null"),
                Some(list) => {
                    self.group('[', ']', list.iter(), |printer, element| printer.print(inner, element));
                }
            },
            "{" => match value.as_object() {
                None => self.text.push_str("null"),
                Some(map) => self.group('{', '}', map.iter(), |printer, (key, element)| {
                    printer.key(key);
                    printer.print(inner, element);
                }),
            },
            _ => match shape {
                "s" => self.string(value.as_str().unwrap_or_default()),
                "n" => self.text.push_str(&if value.is_null() { "0".to_owned() } else { value.to_string() }),
                "b" => self.text.push_str(if value == &Value::Bool(true) { "true" } else { "false" }),
                "q" => match value {
                    Value::String(text) => self.string(text),
                    Value::Null => self.string("0"),
                    other => self.string(&other.to_string()),
                },
                "i" => match value {
                    Value::String(text) => self.string(text),
                    Value::Null => self.text.push('0'),
                    other => self.text.push_str(&other.to_string()),
                },
                "t" | "j" => {
                    let mut text = Vec::new();
                    roost_kinds::json::write_untyped(&mut text, value);
                    self.text.push_str(&String::from_utf8_lossy(&text));
                }
                _ => self.structure(shape, value),
            },
        }
    }

    fn structure(&mut self, name: &str, value: &Value) {
        let Some(members) = members(name) else { return self.text.push_str(&value.to_string()) };
        let value = arranged(name, value);
        let shown = members.iter().filter(|member| !member.omits_empty || !is_empty(member.of(&value)));
        self.group('{', '}', shown, |printer, member| {
            printer.key(member.printed);
            printer.print(member.shape, member.of(&value));
        });
    }

    fn group<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        mut print: impl FnMut(&mut Self, T),
    ) {
        self.text.push(open);
        if let Some(indent) = &mut self.indent {
            *indent += 1;
        }
        let mut any = false;
        for item in items {
            if any {
                self.text.push(',');
            }
            any = true;
            self.line();
            print(self, item);
        }
        if let Some(indent) = &mut self.indent {
            *indent -= 1;
        }
        if any {
            self.line();
        }
        self.text.push(close);
    }

    fn line(&mut self) {
        if let Some(indent) = self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', indent));
        }
    }

    fn key(&mut self, key: &str) {
        self.string(key);
        self.text.push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    /// Go escapes what HTML would take for markup.
    fn string(&mut self, text: &str) {
        let quoted = Value::from(text).to_string();
        let escaped = quoted.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        self.text.push_str(&escaped);
    }
}

fn is_empty(value: &Value) -> bool {
    crate::check::is_missing(value) || value.as_object().is_some_and(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn internal_types_leave_nothing_out() {
        assert_eq!(
            print("PodResourceClaim", &json!({"name": "a"})),
            r#"{"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}"#
        );
        assert_eq!(
            print("LabelSelector", &json!({"matchLabels": {"a": "<b>"}})),
            r#"{"matchLabels":{"a":"\u003cb\u003e"}}"#
        );
        assert_eq!(print("SeccompProfile", &json!({"type": "x"})), r#"{"Type":"x","LocalhostProfile":null}"#);
    }

    #[test]
    fn many_lines_are_indented_by_one() {
        assert_eq!(print_lines("[PodSchedulingGate", &json!([{"name": "a"}])), "[\n {\n  \"Name\": \"a\"\n }\n]");
    }
}
