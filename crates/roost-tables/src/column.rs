//! What a table, a column and a cell are.

use std::cmp::Ordering;

use serde_json::Value;

use crate::{duration, read};

/// How one kind shows itself.
#[derive(Clone, Copy)]
pub struct Table {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The columns, in order.
    pub columns: &'static [Column],
    /// Cells after the last column: the stock server sends them for one kind, without a heading.
    pub unnamed: &'static [Cell],
    /// The condition of an object's row.
    pub condition: fn(&Value) -> Option<Condition>,
    /// How rows are sorted, if they are not shown in the order of the list.
    pub order: Option<fn(&Value, &Value) -> Ordering>,
    /// The group and kind whose schema documents the columns; the table's own unless it says otherwise.
    pub documented_by: Option<(&'static str, &'static str)>,
}

impl Table {
    pub(crate) const EMPTY: Table = Table {
        group: "",
        kind: "",
        columns: &[],
        unnamed: &[],
        condition: |_| None,
        order: None,
        documented_by: None,
    };

    /// The cells of one object.
    pub fn cells(&self, object: &Value, now: i64) -> Vec<Value> {
        self.columns.iter().map(|column| &column.cell).chain(self.unnamed).map(|cell| cell.of(object, now)).collect()
    }
}

/// One column.
#[derive(Clone, Copy)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// The type of the cells: `string`, `integer`, `boolean` or `date`.
    pub r#type: &'static str,
    /// `name` for the column that names the object, else empty.
    pub format: &'static str,
    /// The dotted path of the field whose documentation describes the column; empty if there is none.
    pub doc: &'static str,
    /// The description, where no field's documentation fits.
    pub description: &'static str,
    /// Zero for columns that are always shown; one for those of `-o wide`.
    pub priority: i32,
    /// Where the cells come from.
    pub cell: Cell,
}

impl Column {
    const fn new(name: &'static str, r#type: &'static str, cell: Cell) -> Self {
        Self { name, r#type, format: "", doc: "", description: "", priority: 0, cell }
    }

    pub(crate) const fn text(name: &'static str, cell: Cell) -> Self {
        Self::new(name, "string", cell)
    }

    pub(crate) const fn integer(name: &'static str, cell: Cell) -> Self {
        Self::new(name, "integer", cell)
    }

    pub(crate) const fn boolean(name: &'static str, cell: Cell) -> Self {
        Self::new(name, "boolean", cell)
    }

    /// A text column that shows one field as it is.
    pub(crate) const fn field(name: &'static str, path: &'static str) -> Self {
        Self::text(name, Cell::Text(path)).doc(path)
    }

    /// An integer column that shows one field as it is.
    pub(crate) const fn number(name: &'static str, path: &'static str) -> Self {
        Self::integer(name, Cell::Integer(path)).doc(path)
    }

    pub(crate) const fn doc(mut self, path: &'static str) -> Self {
        self.doc = path;
        self
    }

    pub(crate) const fn says(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    pub(crate) const fn names(mut self) -> Self {
        self.format = "name";
        self
    }

    pub(crate) const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }
}

/// Where a cell comes from. Paths are dotted.
#[derive(Clone, Copy)]
pub enum Cell {
    /// The text of a field, or nothing.
    Text(&'static str),
    /// The text of a field; another word when the field is absent.
    TextOr(&'static str, &'static str),
    /// The text of a field; another word when the field is absent or empty.
    FilledOr(&'static str, &'static str),
    /// The number in a field, or zero.
    Integer(&'static str),
    /// The truth of a field, or what it is when absent.
    Boolean(&'static str, bool),
    /// How many entries some lists or maps have together.
    Count(&'static [&'static str]),
    /// How long ago the object was made.
    Age,
    /// When the object was made.
    CreatedAt,
    /// Anything that needs a function of the object and the time.
    Made(fn(&Value, i64) -> Value),
}

impl Cell {
    fn of(&self, object: &Value, now: i64) -> Value {
        match *self {
            Cell::Text(path) => read::text(object, path).into(),
            Cell::TextOr(path, absent) => read::at(object, path).and_then(Value::as_str).unwrap_or(absent).into(),
            Cell::FilledOr(path, empty) => read::filled(object, path).unwrap_or(empty).into(),
            Cell::Integer(path) => read::integer(object, path).into(),
            Cell::Boolean(path, absent) => read::at(object, path).and_then(Value::as_bool).unwrap_or(absent).into(),
            Cell::Count(paths) => paths.iter().map(|path| read::count(object, path)).sum::<usize>().into(),
            Cell::Age => duration::since(read::text(object, "metadata.creationTimestamp"), now).into(),
            Cell::CreatedAt => read::filled(object, "metadata.creationTimestamp").unwrap_or(ZERO_TIME).into(),
            Cell::Made(make) => make(object, now),
        }
    }
}

/// What the zero time of Go looks like.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// What is special about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The type: `Completed`.
    pub r#type: &'static str,
    /// The status: `True`.
    pub status: &'static str,
    /// The reason, for programs.
    pub reason: &'static str,
    /// The reason, for people.
    pub message: &'static str,
}

pub(crate) const NAME: Column = Column::field("Name", "metadata.name").names();
pub(crate) const AGE: Column = Column::text("Age", Cell::Age).doc("metadata.creationTimestamp");
pub(crate) const CREATED_AT: Column =
    Column::new("Created At", "date", Cell::CreatedAt).doc("metadata.creationTimestamp");
