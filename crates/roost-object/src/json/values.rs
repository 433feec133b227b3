//! Values in memory as a source, for documents that were patched or converted.

use std::borrow::Cow;

use serde_json::{Map, Value, map};

use super::{Kind, Number, Source, SyntaxError};

/// A value that is taken apart in the order of its keys.
#[derive(Debug)]
pub struct Values {
    next: Value,
    open: Vec<Open>,
}

#[derive(Debug)]
enum Open {
    Array(std::vec::IntoIter<Value>),
    Object(map::IntoIter),
}

impl Values {
    /// Starts at a value.
    pub fn new(value: Value) -> Self {
        Self { next: value, open: Vec::new() }
    }
}

impl<'a> Source<'a> for Values {
    fn peek(&mut self) -> Result<Kind, SyntaxError> {
        Ok(Kind::of(&self.next))
    }

    fn take(&mut self) -> Result<Value, SyntaxError> {
        Ok(self.next.take())
    }

    fn skip(&mut self) -> Result<(), SyntaxError> {
        self.next = Value::Null;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        match self.next.take() {
            Value::String(text) => Ok(Cow::Owned(text)),
            _ => Ok(Cow::Borrowed("")),
        }
    }

    fn number(&mut self) -> Result<Number<'a>, SyntaxError> {
        Ok(match self.next.take() {
            Value::Number(number) => {
                number.as_i64().map_or_else(|| Number::Other(Cow::Owned(number.to_string())), Number::Integer)
            }
            _ => Number::Integer(0),
        })
    }

    fn enter(&mut self) -> Result<(), SyntaxError> {
        if self.open.len() >= super::MAX_DEPTH {
            return Err(SyntaxError::too_deep(if self.next.is_array() { b'[' } else { b'{' }));
        }
        self.open.push(match self.next.take() {
            Value::Array(elements) => Open::Array(elements.into_iter()),
            Value::Object(fields) => Open::Object(fields.into_iter()),
            _ => Open::Object(Map::new().into_iter()),
        });
        Ok(())
    }

    fn element(&mut self) -> Result<bool, SyntaxError> {
        if let Some(Open::Array(elements)) = self.open.last_mut()
            && let Some(element) = elements.next()
        {
            self.next = element;
            return Ok(true);
        }
        self.open.pop();
        Ok(false)
    }

    fn key(&mut self) -> Result<Option<Cow<'a, str>>, SyntaxError> {
        if let Some(Open::Object(fields)) = self.open.last_mut()
            && let Some((key, value)) = fields.next()
        {
            self.next = value;
            return Ok(Some(Cow::Owned(key)));
        }
        self.open.pop();
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field::Path;
    use crate::json::{Findings, read_untyped};

    #[test]
    fn a_value_comes_out_as_it_went_in() {
        let value = json!({"a": [1, {"b": null}, []], "c": {"d": "e", "f": 1.5, "g": true}});
        let read = read_untyped(&mut Values::new(value.clone()), &Path::ROOT, &mut Findings::default()).unwrap();
        assert_eq!(read, value);
    }
}
