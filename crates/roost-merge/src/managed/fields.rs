//! The codec of `FieldsV1`.

use serde_json::{Map, Value};

use super::element::{Element, ElementError};
use super::set::{FieldSet, Step};
use crate::MAX_DEPTH;

/// From how many entries on a map is built faster from a sorted list than entry by entry.
const WORTH_SORTING: usize = 6;

/// Why a `FieldsV1` does not decode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A key is no path element.
    #[error("parsing key as path element: {0}")]
    Key(String),
    /// Something else than an object.
    #[error("ReadMapCB: expect {{ or n")]
    NotAnObject,
    /// Nested deeper than any object is tracked.
    #[error("exceeded max depth")]
    TooDeep,
}

impl From<ElementError> for FieldsError {
    fn from(error: ElementError) -> Self {
        FieldsError::Key(error.to_string())
    }
}

impl FieldSet {
    /// Reads a `FieldsV1`. Kinds of steps that only a future version knows are dropped.
    pub fn from_fields_v1(fields: &Value) -> Result<FieldSet, FieldsError> {
        Ok(read(fields, 0)?.0)
    }

    /// Writes a `FieldsV1`.
    pub fn into_fields_v1(self) -> Value {
        Value::Object(write(self, false))
    }

    /// Writes a `FieldsV1` and keeps the set.
    pub fn to_fields_v1(&self) -> Value {
        self.clone().into_fields_v1()
    }
}

/// Reads the set below a step and whether the step itself is a member.
fn read(fields: &Value, depth: usize) -> Result<(FieldSet, bool), FieldsError> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok((FieldSet::new(), true)),
        _ => return Err(FieldsError::NotAnObject),
    };
    if depth > MAX_DEPTH {
        return Err(FieldsError::TooDeep);
    }
    let mut steps = Vec::with_capacity(fields.len());
    let mut is_member = false;
    for (key, below) in fields {
        if key == "." {
            is_member = true;
        } else if let Some(element) = Element::parse(key)? {
            let (children, member) = read(below, depth + 1)?;
            steps.push(Step::new(element, member, children));
        }
    }
    let set = FieldSet::from_steps(steps, |step, twin| {
        step.member |= twin.member;
        step.children.extend(twin.children);
    });
    is_member |= set.is_empty();
    Ok((set, is_member))
}

pub(super) fn write(set: FieldSet, with_self: bool) -> Map<String, Value> {
    let is_short = set.steps.len() < WORTH_SORTING;
    let itself = (with_self && !set.is_empty()).then(|| (".".to_owned(), Value::Object(Map::new())));
    let below = set
        .steps
        .into_iter()
        .map(|Step { element, member, children }| (element.into_string(), Value::Object(write(children, member))));
    let all = itself.into_iter().chain(below);
    if is_short {
        let mut map = Map::new();
        map.extend(all);
        return map;
    }
    all.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_round_trip() {
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
            "f:spec": {
                "f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}}},
                "f:finalizers": {"v:\"a\"": {}},
                "f:list": {"i:0": {}},
            },
        });
        let set = FieldSet::from_fields_v1(&fields).unwrap();
        assert_eq!(set.len(), 6);
        assert_eq!(set.into_fields_v1(), fields);
    }

    #[test]
    fn odd_fields_read_as_stock_reads_them() {
        let read = |fields: Value| FieldSet::from_fields_v1(&fields).map(FieldSet::into_fields_v1);
        assert_eq!(read(json!({"f:a": {"x:future": {}}})), Ok(json!({"f:a": {}})));
        assert_eq!(read(json!({"f:a": null})), Ok(json!({"f:a": {}})));
        assert_eq!(read(json!({"f:a": {".": 7}})), Ok(json!({"f:a": {}})));
        assert_eq!(read(json!(null)), Ok(json!({})));
        assert_eq!(read(json!({"f:a": 1})), Err(FieldsError::NotAnObject));
        assert!(read(json!({"f": {}})).is_err());
        assert!(read(json!({"k:{": {}})).is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let mut fields = json!({});
        for _ in 0..=MAX_DEPTH + 1 {
            fields = json!({ "f:a": fields });
        }
        assert_eq!(FieldSet::from_fields_v1(&fields), Err(FieldsError::TooDeep));
    }
}
