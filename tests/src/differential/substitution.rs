//! What `${…}` stands for in a sequence, and how bodies are laid over each other.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

/// How deep variables may refer to other variables.
const LARGEST_DEPTH: usize = 5;

/// Why a text of the table means nothing.
#[derive(Debug, thiserror::Error)]
pub enum SubstitutionError {
    /// No step before set it.
    #[error("there is no variable {0}")]
    Unknown(String),
    /// The closing brace is missing.
    #[error("unfinished variable in {0}")]
    Unfinished(String),
    /// Not `repeat:COUNT:TEXT`.
    #[error("{0} is not repeat:COUNT:TEXT")]
    Repeat(String),
}

/// The variables of one sequence on one server.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    values: BTreeMap<String, Bytes>,
}

impl Variables {
    /// Sets one.
    pub fn set(&mut self, name: &str, value: impl Into<Bytes>) {
        self.values.insert(name.to_owned(), value.into());
    }

    /// The bytes of one.
    pub fn bytes(&self, name: &str) -> Result<Bytes, SubstitutionError> {
        self.values.get(name).cloned().ok_or_else(|| SubstitutionError::Unknown(name.to_owned()))
    }

    /// The text with every variable replaced.
    pub fn expand(&self, text: &str) -> Result<String, SubstitutionError> {
        self.expand_to(text, LARGEST_DEPTH)
    }

    fn expand_to(&self, text: &str, depth: usize) -> Result<String, SubstitutionError> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            let end = closing_brace(after).ok_or_else(|| SubstitutionError::Unfinished(text.to_owned()))?;
            let (name, after) = (&after[..end], &after[end + 1..]);
            expanded.push_str(&self.value(name, depth)?);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value(&self, name: &str, depth: usize) -> Result<String, SubstitutionError> {
        if let Some(repeated) = name.strip_prefix("repeat:") {
            let wrong = || SubstitutionError::Repeat(name.to_owned());
            let (count, unit) = repeated.split_once(':').ok_or_else(wrong)?;
            return Ok(unit.repeat(count.parse().map_err(|_| wrong())?));
        }
        let bytes = self.bytes(name)?;
        let text = String::from_utf8_lossy(&bytes);
        if depth > 0 && text.contains("${") { self.expand_to(&text, depth - 1) } else { Ok(text.into_owned()) }
    }

    /// The value with every variable in its keys and strings replaced.
    pub fn expand_value(&self, value: &Value) -> Result<Value, SubstitutionError> {
        Ok(match value {
            Value::String(text) => Value::String(self.expand(text)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.expand_value(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => Value::Object(
                fields.iter().map(|(key, value)| Ok((self.expand(key)?, self.expand_value(value)?))).collect::<Result<
                    _,
                    SubstitutionError,
                >>(
                )?,
            ),
            other => other.clone(),
        })
    }
}

/// Where the brace is that closes one that was opened before the text.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(index, letter)| {
        open += match letter {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        (open == 0).then_some(index)
    })
}

/// Lays one body over another: objects are merged, null removes, keys that start with a slash are JSON pointers.
pub fn lay_over(base: &mut Value, over: &Value) {
    let Value::Object(fields) = over else {
        over.clone_into(base);
        return;
    };
    if !base.is_object() {
        *base = Value::Object(serde_json::Map::new());
    }
    for (key, value) in fields {
        if key.starts_with('/') {
            set_at(base, key, value);
        } else if let Value::Object(target) = base {
            match value {
                Value::Null => {
                    target.remove(key);
                }
                Value::Object(_) => lay_over(target.entry(key.clone()).or_insert(Value::Null), value),
                other => {
                    target.insert(key.clone(), other.clone());
                }
            }
        }
    }
}

/// Sets the value at a JSON pointer, making objects on the way; `-` appends, null removes.
fn set_at(base: &mut Value, pointer: &str, value: &Value) {
    let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let last = last.replace("~1", "/").replace("~0", "~");
    let mut place = base;
    for part in parent.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        place = match place {
            Value::Array(items) => {
                let index = part.parse::<usize>().unwrap_or(items.len());
                while items.len() <= index {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            other => {
                if !other.is_object() {
                    *other = Value::Object(serde_json::Map::new());
                }
                let fields = other.as_object_mut().expect("it was just made an object");
                fields.entry(part).or_insert(Value::Null)
            }
        };
    }
    match place {
        Value::Array(items) => match last.parse::<usize>() {
            Ok(index) if index < items.len() && value.is_null() => {
                items.remove(index);
            }
            Ok(index) if index < items.len() => items[index] = value.clone(),
            _ => items.push(value.clone()),
        },
        other => {
            if !other.is_object() {
                *other = Value::Object(serde_json::Map::new());
            }
            let fields = other.as_object_mut().expect("it was just made an object");
            if value.is_null() {
                fields.remove(&last);
            } else {
                fields.insert(last, value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Variables, lay_over};

    #[test]
    fn variables_are_replaced_also_inside_variables() {
        let mut variables = Variables::default();
        variables.set("ns", "one");
        variables.set("core", "/api/v1/namespaces/${ns}");
        assert_eq!(variables.expand("${core}/pods?x=${repeat:3:ab}").unwrap(), "/api/v1/namespaces/one/pods?x=ababab");
        assert!(variables.expand("${missing}").is_err());
        assert!(variables.expand("${ns").is_err());
    }

    #[test]
    fn bodies_are_laid_over_each_other() {
        let mut body = json!({"a": {"b": 1, "c": 2}, "list": [{"x": 1}]});
        lay_over(&mut body, &json!({"a": {"b": null}, "/list/0/x": 5, "/list/-": 7, "/new/deep": true}));
        assert_eq!(body, json!({"a": {"c": 2}, "list": [{"x": 5}, 7], "new": {"deep": true}}));
    }
}
