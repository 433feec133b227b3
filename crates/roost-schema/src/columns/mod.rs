//! Printer columns: what a table of custom resources shows.

mod find;
mod path;

use serde_json::Value;

pub use path::JsonPath;

use crate::time::Instant;
use crate::validate::number::to_integer;
use crate::{Version, duration, wording};

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The type of the cells: integer, number, string, boolean or date.
    pub kind: String,
    /// The OpenAPI format of the cells, or nothing.
    pub format: String,
    /// What the column shows. When the definition says nothing, stock's sentence with the path.
    pub description: String,
    /// Columns above zero are shown only when asked for.
    pub priority: i32,
    /// Where the cells come from.
    pub json_path: JsonPath,
}

impl Column {
    /// The column that is shown when a definition names none. Its description is that of metadata.creationTimestamp,
    /// which the table layer knows.
    pub(crate) fn age() -> Column {
        Column {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            json_path: JsonPath::parse(".metadata.creationTimestamp").expect("the path is well formed"),
        }
    }

    pub(crate) fn compile(column: &Value) -> Option<Column> {
        let text = |name: &str| column.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("jsonPath");
        let description = match text("description") {
            given if given.is_empty() => format!("Custom resource definition column (in JSONPath format): {path}"),
            given => given,
        };
        Some(Column {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default() as i32,
            json_path: JsonPath::parse(&path).ok()?,
        })
    }

    /// The cell for an object; null when the object has no such value or one of another type.
    pub fn cell(&self, object: &Value, now: Instant) -> Value {
        let Some(value) = self.json_path.first(object) else { return Value::Null };
        match (self.kind.as_str(), &value) {
            ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => value,
            ("number", Value::Number(number)) => Value::from(number.as_f64()),
            ("string", Value::Null) => Value::from("<no value>"),
            ("string", Value::Number(number)) if !number.is_i64() => {
                Value::from(wording::float(number.as_f64().unwrap_or_default()))
            }
            ("string", other) => Value::from(wording::json(other)),
            ("integer", Value::Number(number)) => {
                Value::from(number.as_i64().unwrap_or_else(|| to_integer(number.as_f64().unwrap_or_default())))
            }
            ("date", Value::String(text)) => Value::from(age(text, now)),
            _ => Value::Null,
        }
    }
}

/// The cells of an object's row: its name, then the version's columns.
pub fn cells(version: &Version, object: &Value, now: Instant) -> Vec<Value> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    std::iter::once(Value::from(name)).chain(version.columns.iter().map(|column| column.cell(object, now))).collect()
}

fn age(text: &str, now: Instant) -> String {
    if text.is_empty() || text == "null" {
        return "<unknown>".to_owned();
    }
    match Instant::parse(text) {
        Err(_) => "<invalid>".to_owned(),
        Ok(then) => duration::human(elapsed(then, now)),
    }
}

/// Whole seconds between two instants, cut off towards zero as Go cuts durations.
fn elapsed(then: Instant, now: Instant) -> i64 {
    let nanos = i64::from(now.nanos) - i64::from(then.nanos);
    let seconds = now.seconds - then.seconds;
    match seconds {
        1.. if nanos < 0 => seconds - 1,
        ..=-1 if nanos > 0 => seconds + 1,
        _ => seconds,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_follow_their_types() {
        let object = json!({"metadata": {"name": "x", "creationTimestamp": "2024-01-01T00:00:00Z"}, "spec": {
            "n": 3, "f": 1.5, "b": true, "s": "t", "list": [1, 2], "null": null}});
        let now = Instant::parse("2024-01-01T00:10:05Z").unwrap();
        for (kind, path, expected) in [
            ("integer", ".spec.n", json!(3)),
            ("integer", ".spec.f", json!(1)),
            ("number", ".spec.f", json!(1.5)),
            ("number", ".spec.n", json!(3.0)),
            ("number", ".spec.s", json!(null)),
            ("boolean", ".spec.b", json!(true)),
            ("string", ".spec.n", json!("3")),
            ("string", ".spec.list", json!("[1,2]")),
            ("string", ".spec.nope", json!(null)),
            ("string", ".spec.null", json!("<no value>")),
            ("date", ".metadata.creationTimestamp", json!("10m")),
            ("date", ".spec.s", json!("<invalid>")),
        ] {
            let column =
                Column::compile(&json!({"name": "c", "type": kind, "jsonPath": path})).expect("a column compiles");
            assert_eq!(column.cell(&object, now), expected, "{kind} {path}");
        }
    }
}
