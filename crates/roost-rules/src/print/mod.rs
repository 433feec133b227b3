//! Values as the stock server shows them in errors: in the shape of its internal types, not of the API.
//!
//! Stock keeps objects in internal types whose fields have no JSON names, so what it prints has Go's names in Go's order
//! and no field is left out. `types.txt` lists those types, one a line: the type's name, then its fields as
//! `Name:shape`, or `Name=apiName:shape` where the API's name is not simply the same in camel case, with a `?` behind
//! names that are left out when empty. Shapes are `s`tring, `n`umber, `b`ool, `q`uantity, `i`nt or string, `t`ime,
//! `j`son, the name of a type, and in front of one `*` for a pointer, `[` for a list, `{` for a map.

mod unified;

use std::collections::HashMap;
use std::sync::LazyLock;

use roost_object::Value;

pub(crate) use unified::diff;

struct Member {
    printed: &'static str,
    key: String,
    shape: &'static str,
    omits_empty: bool,
}

static TYPES: LazyLock<HashMap<&'static str, Vec<Member>>> = LazyLock::new(|| {
    let parse = |field: &'static str| {
        let (name, shape) = field.split_once(':')?;
        let (printed, key) = name.split_once('=').map_or((name, None), |(printed, key)| (printed, Some(key)));
        let (printed, omits_empty) = printed.strip_suffix('?').map_or((printed, false), |printed| (printed, true));
        let key = key.map_or_else(|| decapitalized(printed), str::to_owned);
        Some(Member { printed, key, shape, omits_empty })
    };
    include_str!("types.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, fields)| (name, fields.split(' ').filter_map(parse).collect()))
        .collect()
});

fn decapitalized(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + characters.as_str())
}

/// Prints a value as one of stock's internal types.
pub(crate) fn internal(kind: &str, value: &Value) -> String {
    let mut printer = Printer { text: String::new(), indent: None };
    printer.print(kind, value);
    printer.text
}

/// The same on many lines, for diffs.
pub(crate) fn internal_lines(kind: &str, value: &Value) -> String {
    let mut printer = Printer { text: String::new(), indent: Some(0) };
    printer.print(kind, value);
    printer.text
}

/// A pod's spec with the fields that stock's internal type keeps in the security context.
pub(crate) fn internal_spec(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for name in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"] {
        let value = spec[name].clone();
        if !value.is_null() && spec["securityContext"].is_object() {
            spec["securityContext"][name] = value;
        }
    }
    spec
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
                "t" | "j" => match value {
                    Value::String(text) => self.string(text),
                    other => self.text.push_str(&other.to_string()),
                },
                _ => self.structure(shape, value),
            },
        }
    }

    fn structure(&mut self, name: &str, value: &Value) {
        let Some(members) = TYPES.get(name) else { return self.text.push_str(&value.to_string()) };
        // Metadata is part of the structure that has it.
        let source = |member: &Member| match &value[&member.key] {
            Value::Null if name.ends_with("TemplateSpec") => &value["metadata"][&member.key],
            found => found,
        };
        let shown = members.iter().filter(|member| !member.omits_empty || !is_empty(source(member)));
        self.group('{', '}', shown, |printer, member| {
            printer.key(member.printed);
            printer.print(member.shape, source(member));
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
            internal("PodResourceClaim", &json!({"name": "a"})),
            r#"{"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}"#
        );
        assert_eq!(
            internal("LabelSelector", &json!({"matchLabels": {"a": "<b>"}})),
            r#"{"matchLabels":{"a":"\u003cb\u003e"}}"#
        );
        assert_eq!(internal("SeccompProfile", &json!({"type": "x"})), r#"{"Type":"x","LocalhostProfile":null}"#);
    }

    #[test]
    fn many_lines_are_indented_by_one() {
        assert_eq!(internal_lines("[PodSchedulingGate", &json!([{"name": "a"}])), "[\n {\n  \"Name\": \"a\"\n }\n]");
    }

    #[test]
    fn every_named_type_is_listed() {
        for (name, members) in TYPES.iter() {
            for member in members {
                let inner = member.shape.trim_start_matches(['*', '[', '{']);
                assert!(inner.len() == 1 || TYPES.contains_key(inner), "{name}.{}: {inner}", member.printed);
            }
        }
    }
}
