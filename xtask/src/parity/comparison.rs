//! What differs between an upstream definition and ours.

use std::collections::BTreeMap;

use serde_json::Value;

use super::explanations::Explanations;
use super::fields::{Definition, Facts, FieldName};

/// Objects of platforms that Roost does not run on. It keeps them as given, so that a manifest survives a round trip.
const FOREIGN_PLATFORMS: &[&str] = &["aws", "azure", "ibmcloud", "powervs", "openstack", "gcp"];

/// The keyword of objects whose fields nobody looks at.
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// How one kind of ours compares with upstream's.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The kind.
    pub(super) kind: String,
    /// Whether we have the kind at all.
    pub(super) present: bool,
    /// How many fields are in at least one of the two definitions, without those that are kept as given.
    pub(super) compared: usize,
    /// How many of these differ in no way.
    pub(super) equal: usize,
    /// The upstream fields that we keep without knowing them.
    pub(super) kept: usize,
    /// The uppermost objects that these are in.
    pub(super) kept_at: Vec<FieldName>,
    /// What differs.
    pub(super) differences: Vec<Difference>,
}

/// One difference.
#[derive(Debug)]
pub(super) struct Difference {
    /// Where.
    pub(super) field: FieldName,
    /// What.
    pub(super) what: What,
    /// Why it stays, if somebody said so.
    pub(super) reason: Option<String>,
}

/// In which way a field differs.
#[derive(Debug)]
pub(super) enum What {
    /// We do not have it, nor this many fields inside of it.
    Missing(usize),
    /// Only we have it, with this many fields inside of it.
    Extra(usize),
    /// Something is said differently about it.
    Fact {
        /// The keyword.
        name: String,
        /// What upstream says.
        theirs: Option<Value>,
        /// What we say.
        ours: Option<Value>,
    },
}

impl What {
    /// The name by which an explanation refers to it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Missing(_) => "missing",
            Self::Extra(_) => "extra",
            Self::Fact { name, .. } => name,
        }
    }
}

impl Comparison {
    /// Compares two definitions; without ours, everything is missing.
    pub(super) fn between(theirs: &Definition, ours: Option<&Definition>) -> Self {
        let mut comparison = Self {
            kind: theirs.kind.clone(),
            present: ours.is_some(),
            compared: 0,
            equal: 0,
            kept: 0,
            kept_at: Vec::new(),
            differences: Vec::new(),
        };
        let none = BTreeMap::new();
        let ours = ours.map_or(&none, |ours| &ours.fields);
        comparison.compare(&theirs.fields, ours);
        comparison
    }

    fn compare(&mut self, theirs: &BTreeMap<FieldName, Facts>, ours: &BTreeMap<FieldName, Facts>) {
        self.kept_at = theirs.keys().filter(|field| is_kept_as_given(field, theirs, ours)).cloned().collect();
        let kept_at = self.kept_at.clone();
        let is_kept = |field: &FieldName| kept_at.iter().any(|kept| field == kept || field.is_below(kept));
        for (field, facts) in theirs {
            if is_kept(field) {
                self.kept += 1;
                self.compare_type(field, facts, ours.get(field));
                continue;
            }
            self.compared += 1;
            match ours.get(field) {
                Some(our_facts) => self.compare_facts(field, facts, our_facts),
                None => self.note_alone(field, theirs, ours, What::Missing),
            }
        }
        for field in ours.keys().filter(|field| !theirs.contains_key(field)) {
            self.compared += 1;
            self.note_alone(field, ours, theirs, What::Extra);
        }
    }

    /// Rules of other fields may look into an object that is kept as given; then its schema names what they look at.
    fn compare_type(&mut self, field: &FieldName, theirs: &Facts, ours: Option<&Facts>) {
        let types = ours.map(|ours| (theirs.get("type"), ours.get("type")));
        if let Some((theirs, ours)) = types.filter(|(theirs, ours)| theirs != ours) {
            self.note_fact(field, "type", theirs, ours);
        }
    }

    fn compare_facts(&mut self, field: &FieldName, theirs: &Facts, ours: &Facts) {
        let before = self.differences.len();
        for (name, value) in theirs {
            let our_value = ours.get(name);
            if !our_value.is_some_and(|our_value| means_the_same(value, our_value)) {
                self.note_fact(field, name, Some(value), our_value);
            }
        }
        for (name, value) in ours.iter().filter(|(name, _)| !theirs.contains_key(*name)) {
            self.note_fact(field, name, None, Some(value));
        }
        if self.differences.len() == before {
            self.equal += 1;
        }
    }

    fn note_fact(&mut self, field: &FieldName, name: &str, theirs: Option<&Value>, ours: Option<&Value>) {
        let what = What::Fact { name: name.to_owned(), theirs: theirs.cloned(), ours: ours.cloned() };
        self.differences.push(Difference { field: field.clone(), what, reason: None });
    }

    /// Notes a field that only one side has, once for the whole tree below it.
    fn note_alone(
        &mut self,
        field: &FieldName,
        here: &BTreeMap<FieldName, Facts>,
        there: &BTreeMap<FieldName, Facts>,
        what: fn(usize) -> What,
    ) {
        let has_lone_parent = here.keys().any(|parent| field.is_below(parent) && !there.contains_key(parent));
        if !has_lone_parent {
            let below = here.keys().filter(|other| other.is_below(field)).count();
            self.differences.push(Difference { field: field.clone(), what: what(below), reason: None });
        }
    }

    /// Adds the reasons that somebody gave.
    pub(super) fn explain(&mut self, explanations: &Explanations) {
        for difference in &mut self.differences {
            difference.reason = explanations.reason(&self.kind, self.present, difference);
        }
    }

    /// How many differences have no reason.
    pub(super) fn unexplained(&self) -> usize {
        self.differences.iter().filter(|difference| difference.reason.is_none()).count()
    }
}

fn is_kept_as_given(field: &FieldName, theirs: &BTreeMap<FieldName, Facts>, ours: &BTreeMap<FieldName, Facts>) -> bool {
    FOREIGN_PLATFORMS.iter().any(|platform| field.last().eq_ignore_ascii_case(platform))
        && ours.get(field).is_some_and(|facts| facts.get(PRESERVE) == Some(&Value::Bool(true)))
        && !theirs[field].contains_key(PRESERVE)
}

/// Whether two facts are the same to the server: numbers by their value, objects by their keys.
fn means_the_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| means_the_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| means_the_same(value, other)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Comparison, What};
    use crate::parity::fields::Definition;

    fn definition(properties: &Value) -> Definition {
        Definition::read(&json!({"kind": "CustomResourceDefinition", "spec": {
            "group": "x.example", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": {
                "properties": {"spec": {"type": "object", "properties": properties}},
            }}}],
        }}))
        .unwrap()
    }

    #[test]
    fn differences_are_found() {
        let theirs = definition(&json!({
            "same": {"type": "integer", "minimum": 1, "description": "theirs"},
            "bound": {"type": "integer", "minimum": 1},
            "gone": {"type": "object", "properties": {"inner": {"type": "string"}}},
            "aws": {"type": "object", "properties": {"region": {"type": "string"}, "zone": {"type": "string"}}},
        }));
        let ours = definition(&json!({
            "same": {"type": "integer", "minimum": 1.0, "description": "ours", "nullable": false},
            "bound": {"type": "integer", "minimum": 2},
            "aws": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "region": {"type": "string"},
            }},
            "more": {"type": "string"},
        }));
        let comparison = Comparison::between(&theirs, Some(&ours));
        let found: Vec<(String, &str)> =
            comparison.differences.iter().map(|found| (found.field.path.clone(), found.what.name())).collect();
        let expected = [("spec.bound", "minimum"), ("spec.gone", "missing"), ("spec.more", "extra")];
        assert_eq!(found, expected.map(|(path, what)| (path.to_owned(), what)));
        assert!(matches!(comparison.differences[1].what, What::Missing(1)));
        assert_eq!((comparison.compared, comparison.equal, comparison.kept), (9, 5, 3));
        assert_eq!(comparison.unexplained(), 3);
    }

    #[test]
    fn without_ours_everything_is_missing() {
        let comparison = Comparison::between(&definition(&json!({})), None);
        assert!(!comparison.present);
        assert_eq!(comparison.equal, 0);
        assert!(comparison.unexplained() > 0);
    }
}
