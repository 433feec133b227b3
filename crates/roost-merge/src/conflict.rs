//! Conflicts between managers, in stock's words.

use roost_object::field::quote;
use roost_object::status::Cause;

use crate::managed::{Entry, FieldSet, Operation};

/// A field that another manager owns and that an apply would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The owner as messages name it: `"name" using apps/v1`.
    pub manager: String,
    /// The path as messages show it: `.spec.replicas`.
    pub field: String,
    /// What sorts the owner among others.
    pub(crate) identifier: String,
    /// The path itself.
    pub(crate) path: FieldSet,
}

impl Conflict {
    /// One conflict a field of `fields` that `owner` holds.
    pub(crate) fn all(owner: &Entry, fields: &FieldSet) -> Vec<Conflict> {
        let (manager, identifier) = (describe(owner), owner.identifier());
        let mut conflicts = Vec::with_capacity(fields.len());
        fields.collect_paths(&mut Vec::new(), &mut |text, elements| {
            let elements: Vec<_> = elements.iter().map(|element| (*element).clone()).collect();
            let mut path = FieldSet::new();
            path.insert(&elements);
            conflicts.push(Conflict {
                manager: manager.clone(),
                field: text.to_owned(),
                identifier: identifier.clone(),
                path,
            });
        });
        conflicts
    }

    /// The cause in a `Status`.
    pub fn cause(&self) -> Cause {
        Cause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", self.manager),
            field: self.field.clone(),
        }
    }
}

fn describe(owner: &Entry) -> String {
    let mut text = quote(&owner.manager);
    if !owner.subresource.is_empty() {
        text = format!("{text} with subresource {}", quote(&owner.subresource));
    }
    if owner.operation == Operation::Update {
        text = format!("{text} using {}", owner.api_version);
    }
    text
}

/// The message for a person.
pub(crate) fn message(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", conflict.manager, conflict.field);
    }
    let mut sorted: Vec<_> = conflicts.iter().collect();
    sorted.sort_by_key(|conflict| &conflict.identifier);
    let mut lines = Vec::with_capacity(conflicts.len());
    for (position, conflict) in sorted.iter().enumerate() {
        if position == 0 || sorted[position - 1].identifier != conflict.identifier {
            lines.push(format!("conflicts with {}:", conflict.manager));
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(manager: &str, operation: Operation, subresource: &str) -> Entry {
        Entry {
            manager: manager.into(),
            operation,
            api_version: "apps/v1".into(),
            subresource: subresource.into(),
            time: Some("2024-01-01T00:00:00Z".into()),
            fields: FieldSet::new(),
        }
    }

    #[test]
    fn conflicts_read_as_stock_words_them() {
        let replicas = FieldSet::of_fields(&[&["spec", "replicas"]]);
        let one = Conflict::all(&owner("kcm", Operation::Update, ""), &replicas);
        assert_eq!(message(&one), r#"Apply failed with 1 conflict: conflict with "kcm" using apps/v1: .spec.replicas"#);
        assert_eq!(one[0].cause().message, r#"conflict with "kcm" using apps/v1"#);
        let mut several = Conflict::all(&owner("b", Operation::Update, "status"), &replicas);
        several.extend(Conflict::all(
            &owner("a", Operation::Apply, ""),
            &FieldSet::of_fields(&[&["spec", "replicas"], &["spec", "paused"]]),
        ));
        assert_eq!(
            message(&several),
            "Apply failed with 3 conflicts: conflicts with \"a\":\n- .spec.paused\n- .spec.replicas\nconflicts with \"b\" with subresource \"status\" using apps/v1:\n- .spec.replicas"
        );
    }
}
