//! The places that operations name, and what is done there.

use roost_object::json;
use serde_json::Value;

use crate::{count_within, go_text};

/// How many list elements the operations of one patch may shift, and values they may move, together. It keeps ten
/// thousand operations on a large object below a second.
const MAX_WORK: usize = 50_000_000;

/// What the operations of a patch have used up.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) copied: usize,
    work: usize,
}

impl Spent {
    fn work(&mut self, amount: usize) -> Result<(), String> {
        self.work += amount;
        if self.work > MAX_WORK { Err("the patch takes too much work".to_owned()) } else { Ok(()) }
    }

    /// The value, if the document is not too deep with it at this path: operations could nest values ever deeper.
    pub(super) fn fitting(&mut self, value: Value, path: &str) -> Result<Value, String> {
        let room = json::MAX_DEPTH.checked_sub(path.matches('/').count());
        match room.and_then(|room| count_within(&value, room)) {
            Some(count) => self.work(count).map(|()| value),
            None => Err("exceeded max depth".to_owned()),
        }
    }
}

/// The names and indices that a path goes through. What stands before the first slash is ignored.
pub(super) fn steps(path: &str) -> impl Iterator<Item = String> {
    path.split('/').skip(1).map(unescape)
}

/// Finds the container of a path's last step.
pub(super) fn find<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, String)> {
    let mut place = document;
    let mut steps = steps(path).peekable();
    while let Some(key) = steps.next() {
        if steps.peek().is_none() {
            return (place.is_object() || place.is_array()).then_some((place, key));
        }
        place = match place {
            Value::Object(fields) => fields.get_mut(&key)?,
            Value::Array(items) => {
                let at = position(&key, items.len()).ok()?;
                items.get_mut(at)?
            }
            _ => return None,
        };
    }
    None
}

fn unescape(step: &str) -> String {
    let mut key = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        let (before, escape) = rest.split_at(at);
        key.push_str(before);
        let (character, length) = match escape.as_bytes().get(1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        key.push(character);
        rest = &escape[length..];
    }
    key.push_str(rest);
    key
}

/// Reads an index; a negative one counts from the end.
pub(super) fn position(key: &str, length: usize) -> Result<usize, String> {
    let index: i64 = key.parse().map_err(|_| format!("strconv.Atoi: parsing {key:?}: invalid syntax"))?;
    let at = if index < 0 { index + length as i64 } else { index };
    match usize::try_from(at) {
        Ok(at) if at < length => Ok(at),
        _ => Err(format!("Unable to access invalid index: {index}: invalid index referenced")),
    }
}

pub(super) fn get<'d>(container: &'d Value, key: &str) -> Result<Option<&'d Value>, String> {
    match container {
        Value::Object(fields) => Ok(fields.get(key)),
        Value::Array(items) => Ok(items.get(position(key, items.len())?)),
        _ => Ok(None),
    }
}

pub(super) fn add(container: &mut Value, key: &str, value: Value, spent: &mut Spent) -> Result<(), String> {
    match container {
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at = position(key, items.len() + 1).map_err(|error| match key.parse::<i64>() {
                Ok(_) => error,
                Err(_) => format!("value was not a proper array index: '{key}': {error}"),
            })?;
            spent.work(items.len() - at)?;
            items.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn remove(container: &mut Value, key: &str, spent: &mut Spent) -> Result<Value, String> {
    match container {
        Value::Object(fields) => {
            fields.remove(key).ok_or(format!("Unable to remove nonexistent key: {key}: missing value"))
        }
        Value::Array(items) => {
            let at = position(key, items.len())?;
            spent.work(items.len() - at)?;
            Ok(items.remove(at))
        }
        _ => Ok(Value::Null),
    }
}

/// The size of a value as JSON, counted no further than `limit`.
pub(super) fn encoded_size(value: &Value, limit: usize) -> usize {
    let mut size = 0;
    let mut scalar = String::new();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        if size > limit {
            break;
        }
        match value {
            Value::Array(items) => {
                size += items.len().max(1) + 1;
                rest.extend(items);
            }
            Value::Object(fields) => {
                size += fields.len().max(1) + 1;
                for (name, item) in fields {
                    scalar.clear();
                    go_text::write_string(&mut scalar, name, true);
                    size += scalar.len() + 1;
                    rest.push(item);
                }
            }
            other => {
                scalar.clear();
                go_text::write_json(&mut scalar, other);
                size += scalar.len();
            }
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_those_of_the_encoding() {
        for value in [json!({}), json!([]), json!([1, 2]), json!({"a": "<", "b": [null, {"c": 1.5}]})] {
            let mut text = String::new();
            go_text::write_json(&mut text, &value);
            assert_eq!(encoded_size(&value, 1000), text.len());
        }
    }
}
