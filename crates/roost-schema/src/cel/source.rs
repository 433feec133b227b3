//! The text of an expression and the problems found in it, shown with the line and a caret.

use std::fmt::Write as _;

/// Problems after this many are only counted.
const MAX_PROBLEMS: usize = 100;

/// Lines longer than this are not shown.
const MAX_SNIPPET: usize = 16_384;

/// A place in the source as the number of characters before it; none when it is not known.
pub(crate) type Offset = Option<u32>;

/// The problems of one expression.
pub(crate) struct Problems<'a> {
    source: &'a [char],
    found: Vec<(u32, u32, String)>,
    count: usize,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(source: &'a [char]) -> Self {
        Self { source, found: Vec::new(), count: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn report(&mut self, at: Offset, message: String) {
        self.count += 1;
        if self.count <= MAX_PROBLEMS {
            let (line, column) = at.map_or((0, 0), |offset| self.position(offset));
            self.found.push((line, column, message));
        }
    }

    /// Line from one, column from zero.
    fn position(&self, offset: u32) -> (u32, u32) {
        let before = &self.source[..(offset as usize).min(self.source.len())];
        let line = before.iter().filter(|c| **c == '\n').count();
        let start = before.iter().rposition(|c| *c == '\n').map_or(0, |index| index + 1);
        (line as u32 + 1, (before.len() - start) as u32)
    }

    /// All problems in the order of their places, as cel-go prints them.
    pub(crate) fn render(mut self) -> String {
        self.found.sort_by_key(|(line, column, _)| (*line, *column));
        let lines: Vec<&[char]> = self.source.split(|c| *c == '\n').collect();
        let mut out = String::new();
        for (index, (line, column, message)) in self.found.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            if *line == 0 {
                let _ = write!(out, "ERROR: <input>:-1:0: {message}");
                continue;
            }
            if self.source.is_empty() {
                let _ = write!(out, "ERROR: <input>:1:0: {message}");
                continue;
            }
            let _ = write!(out, "ERROR: <input>:{line}:{}: {message}", column + 1);
            if let Some(text) = lines.get(*line as usize - 1).filter(|text| text.len() <= MAX_SNIPPET) {
                snippet(&mut out, text, *column as usize);
            }
        }
        if self.count > MAX_PROBLEMS {
            let _ = write!(out, "\n{} more errors were truncated", self.count - MAX_PROBLEMS);
        }
        out
    }
}

fn snippet(out: &mut String, line: &[char], column: usize) {
    out.push_str("\n | ");
    out.extend(line.iter().map(|c| if *c == '\t' { ' ' } else { *c }));
    out.push_str("\n | ");
    out.extend(line.iter().take(column).map(|c| if c.is_ascii() { '.' } else { '\u{ff0e}' }));
    out.push(if line.get(column).is_some_and(|c| !c.is_ascii()) { '\u{ff3e}' } else { '^' });
}
