//! How kinds show themselves in a table: the columns of `kubectl get`.
//!
//! A kind is one row, a [`Table`], in the list of its area; a column says where its cell comes from. Cells that need more
//! than a look into the object are small functions beside the rows. Objects are given in their storage version. Kinds
//! without a row of their own, and custom resources without printer columns, share [`DEFAULT`].

mod access_control;
mod admission;
mod cluster;
mod column;
pub mod duration;
mod network;
mod pod;
mod read;
mod storage;
mod workloads;

use std::cmp::Ordering;

use serde_json::Value;

pub use column::{Cell, Column, Condition, Table};

/// What kinds without columns of their own show: the name, and when the object was made.
pub static DEFAULT: Table = Table { columns: &[column::NAME, column::CREATED_AT], ..Table::EMPTY };

static AREAS: &[&[Table]] = &[
    pod::TABLES,
    workloads::TABLES,
    network::TABLES,
    storage::TABLES,
    cluster::TABLES,
    access_control::TABLES,
    admission::TABLES,
];

/// The table of a kind.
pub fn table(group: &str, kind: &str) -> &'static Table {
    AREAS
        .iter()
        .flat_map(|area| area.iter())
        .find(|table| table.kind == kind && table.group == group)
        .unwrap_or(&DEFAULT)
}

/// The columns of a kind.
pub fn columns(group: &str, kind: &str) -> &'static [Column] {
    table(group, kind).columns
}

/// The cells of one object, in the order of its kind's columns.
pub fn cells(group: &str, kind: &str, object: &Value, now_unix_seconds: i64) -> Vec<Value> {
    table(group, kind).cells(object, now_unix_seconds)
}

/// The conditions of an object's row: set for what is over and done with.
pub fn conditions(group: &str, kind: &str, object: &Value) -> Option<Condition> {
    (table(group, kind).condition)(object)
}

/// The order of a list's rows, for the kinds whose tables are not in the order of the list.
pub fn order(group: &str, kind: &str) -> Option<fn(&Value, &Value) -> Ordering> {
    table(group, kind).order
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_kinds_show_name_and_creation() {
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-02T03:04:05Z"}});
        assert_eq!(columns("example.com", "Widget").iter().map(|c| c.name).collect::<Vec<_>>(), ["Name", "Created At"]);
        assert_eq!(cells("example.com", "Widget", &object, 0), [json!("a"), json!("2026-01-02T03:04:05Z")]);
    }

    #[test]
    fn every_table_answers_for_an_empty_object() {
        for table in AREAS.iter().flat_map(|area| area.iter()) {
            let cells = table.cells(&json!({}), 0);
            assert_eq!(cells.len(), table.columns.len() + table.unnamed.len(), "{}", table.kind);
        }
    }
}
