//! Data on standard output: columns, JSON and YAML.

use std::io::{self, Write as _};

use serde_json::Value;

/// Columns, as wide as they need to be and three spaces apart, as kubectl has them.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// Lines, each with its end.
pub(super) fn lines(lines: impl Iterator<Item = String>) -> String {
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Writes to standard output. Who reads may have seen enough: that is no failure.
pub(super) fn print(text: &str) -> io::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

pub(super) fn json(value: &Value) -> io::Result<()> {
    print(&format!("{value:#}\n"))
}

pub(super) fn yaml(value: &Value) -> io::Result<()> {
    print(&roost_object::yaml::write(value))
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["NAME".to_owned(), "READY".to_owned()], vec!["a-long-name".to_owned(), "True".to_owned()]];
        assert_eq!(columns(&rows), "NAME          READY\na-long-name   True\n");
        assert_eq!(columns(&[]), "");
    }
}
