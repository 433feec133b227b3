//! The differences that stay, and why: `xtask/parity.yaml`.

use std::path::Path;

use roost_object::yaml;
use serde::Deserialize;

use super::comparison::{Comparison, Difference};
use crate::task::TaskError;

/// All explanations.
#[derive(Debug, Default)]
pub(super) struct Explanations {
    list: Vec<Explanation>,
}

/// Why something differs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Explanation {
    /// The kind; `*` for all.
    kind: String,
    /// The field's path. A trailing `*` stands for all that begin like this. Without a field, we do not have the kind.
    field: Option<String>,
    /// The facts that differ; all when none is named. A trailing `*` works here too.
    #[serde(default)]
    facts: Vec<String>,
    /// Why it stays.
    reason: String,
}

impl Explanations {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, TaskError> {
        let text = std::fs::read(path).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
        let wrong = |problem: String| TaskError::Found(format!("{} cannot be read: {problem}", path.display()));
        let document = yaml::read(&text).map_err(|error| wrong(error.to_string()))?;
        let list = serde_json::from_value(document.value).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { list })
    }

    /// The reason of a difference, if there is one.
    pub(super) fn reason(&self, kind: &str, present: bool, difference: &Difference) -> Option<String> {
        let explanation = self.list.iter().find(|explanation| explanation.covers(kind, present, difference))?;
        Some(explanation.reason.clone())
    }

    /// The explanations of what does not differ.
    pub(super) fn unused<'a>(&'a self, comparisons: &'a [Comparison]) -> impl Iterator<Item = &'a Explanation> {
        self.list.iter().filter(|explanation| {
            !comparisons.iter().any(|comparison| {
                let mut differences = comparison.differences.iter();
                differences.any(|difference| explanation.covers(&comparison.kind, comparison.present, difference))
            })
        })
    }
}

impl Explanation {
    fn covers(&self, kind: &str, present: bool, difference: &Difference) -> bool {
        if self.kind != "*" && self.kind != kind {
            return false;
        }
        let Some(field) = &self.field else { return !present };
        present
            && matches(field, &difference.field.path)
            && (self.facts.is_empty() || self.facts.iter().any(|fact| matches(fact, difference.what.name())))
    }
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.kind)?;
        if let Some(field) = &self.field {
            write!(formatter, " {field}")?;
        }
        if !self.facts.is_empty() {
            write!(formatter, " ({})", self.facts.join(", "))?;
        }
        Ok(())
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        assert!(matches("spec.a", "spec.a"));
        assert!(!matches("spec.a", "spec.ab"));
        assert!(matches("spec.a*", "spec.ab"));
        assert!(matches("*", "anything"));
    }
}
