//! Which changes of a request count for ownership.

use super::element::Element;
use super::set::{FieldSet, Step};

/// Fields that a request cannot change, because the resource resets them, and that therefore nobody comes to own.
#[derive(Clone, Debug, Default)]
pub enum Filter {
    /// Everything counts.
    #[default]
    Everything,
    /// Everything but these paths and what lies below them counts.
    Except(FieldSet),
    /// Only paths that follow one of these patterns count.
    Only(Vec<Pattern>),
}

/// The beginning of paths; none stands for any one step.
pub type Pattern = Vec<Option<Element>>;

impl Filter {
    /// Everything counts; for borrowing.
    pub const EVERYTHING: &'static Filter = &Filter::Everything;

    /// A filter that drops these paths of named fields, such as `["status"]`.
    pub fn except_fields(paths: &[&[&str]]) -> Self {
        Filter::Except(FieldSet::of_fields(paths))
    }

    /// A filter that keeps what lies on or below these paths of named fields; `*` stands for any one step.
    pub fn only_fields(paths: &[&[&str]]) -> Self {
        let pattern = |path: &&[&str]| path.iter().map(|name| (*name != "*").then(|| Element::field(name))).collect();
        Filter::Only(paths.iter().map(pattern).collect())
    }

    pub(crate) fn apply(&self, set: &mut FieldSet) {
        match self {
            Filter::Everything => {}
            Filter::Except(dropped) => set.subtract_recursively(dropped),
            Filter::Only(patterns) => {
                let patterns: Vec<_> = patterns.iter().map(Vec::as_slice).collect();
                keep(set, &patterns);
            }
        }
    }
}

/// Keeps members on a pattern's way too, as stock does: `spec` passes a pattern `spec.containers`.
fn keep(set: &mut FieldSet, patterns: &[&[Option<Element>]]) {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return;
    }
    set.steps.retain_mut(|Step { element, member, children }| {
        let matches = |pattern: &&&[Option<Element>]| {
            pattern.first().is_some_and(|step| step.as_ref().is_none_or(|step| step == element))
        };
        let below: Vec<_> = patterns.iter().filter(matches).map(|pattern| &pattern[1..]).collect();
        if below.is_empty() {
            return false;
        }
        keep(children, &below);
        *member || !children.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_drop_what_does_not_count() {
        let all =
            || FieldSet::of_fields(&[&["spec", "a"], &["status", "b"], &["status"], &["metadata", "labels", "x"]]);
        let filtered = |filter: Filter| {
            let mut set = all();
            filter.apply(&mut set);
            set.paths()
        };
        assert_eq!(filtered(Filter::Everything).len(), 4);
        assert_eq!(filtered(Filter::except_fields(&[&["status"]])), [".metadata.labels.x", ".spec.a"]);
        assert_eq!(
            filtered(Filter::only_fields(&[&["metadata", "*", "x"], &["spec"]])),
            [".metadata.labels.x", ".spec.a"]
        );
        assert_eq!(filtered(Filter::only_fields(&[&["status", "c"]])), [".status"]);
    }
}
