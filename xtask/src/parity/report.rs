//! What a person reads about the comparison.

use std::fmt::Write as _;

use serde_json::Value;

use super::comparison::{Comparison, Difference, What};

/// Longer values are cut in the report.
const LONGEST_VALUE: usize = 160;

/// A line for each kind.
pub(super) fn table(comparisons: &[Comparison]) -> String {
    let rows = comparisons.iter().map(|comparison| {
        let explained = comparison.differences.len() - comparison.unexplained();
        let differing = if comparison.present { comparison.compared - comparison.equal } else { comparison.compared };
        [
            comparison.kind.clone(),
            comparison.compared.to_string(),
            comparison.equal.to_string(),
            differing.to_string(),
            explained.to_string(),
            comparison.kept.to_string(),
        ]
    });
    let head = ["KIND", "FIELDS", "EQUAL", "DIFFERING", "EXPLAINED", "KEPT AS GIVEN"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    let widths: Vec<usize> = (0..6).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}   ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Every difference without a reason, what is kept as given, and on demand those with a reason.
pub(super) fn differences(comparisons: &[Comparison], with_explained: bool) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        let shown: Vec<&Difference> =
            comparison.differences.iter().filter(|difference| with_explained || difference.reason.is_none()).collect();
        if shown.is_empty() && comparison.kept_at.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}", comparison.kind);
        if comparison.present || with_explained {
            for difference in shown {
                write_difference(&mut text, difference);
            }
        } else {
            let _ = writeln!(text, "  we do not have this kind");
        }
        for field in &comparison.kept_at {
            let _ = writeln!(text, "  {field}: kept as given");
        }
    }
    text
}

fn write_difference(text: &mut String, difference: &Difference) {
    let field = &difference.field;
    let inside = |count: usize| if count == 0 { String::new() } else { format!(", with {count} fields inside") };
    let _ = match &difference.what {
        What::Missing(count) => writeln!(text, "  {field}: missing{}", inside(*count)),
        What::Extra(count) => writeln!(text, "  {field}: only ours{}", inside(*count)),
        What::Fact { name, theirs, ours } => {
            writeln!(text, "  {field}: {name}: upstream {}, ours {}", shown(theirs.as_ref()), shown(ours.as_ref()))
        }
    };
    if let Some(reason) = &difference.reason {
        let _ = writeln!(text, "    explained: {reason}");
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shown;

    #[test]
    fn long_values_are_cut() {
        assert_eq!(shown(None), "nothing");
        assert_eq!(shown(Some(&json!(3))), "3");
        assert_eq!(shown(Some(&json!("ä".repeat(500)))).chars().count(), 161);
    }
}
