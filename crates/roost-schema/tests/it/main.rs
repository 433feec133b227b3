//! What the crate decides, against what the stock server decided on the same input.

mod bombs;
mod definitions;
mod objects;
mod reference;

use serde_json::Value;

/// The cases of a table, one in each line.
fn cases(table: &str) -> Vec<Value> {
    table.lines().map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

/// Texts of a list inside a case.
fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
