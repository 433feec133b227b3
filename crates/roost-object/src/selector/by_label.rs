//! Label selectors and how they match.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::{Error, parser, syntax};
use crate::field;

/// A set of labels that a selector can look into.
pub trait Labels {
    /// The value of a label, if the label is there.
    fn label(&self, key: &str) -> Option<&str>;
}

impl Labels for Map<String, Value> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }
}

impl Labels for BTreeMap<String, String> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl Labels for [(&str, &str)] {
    fn label(&self, key: &str) -> Option<&str> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

/// Labels of an object that may have none; anything but an object of texts counts as no labels.
impl Labels for Value {
    fn label(&self, key: &str) -> Option<&str> {
        self.as_object().and_then(|map| map.label(key))
    }
}

impl<T: Labels + ?Sized> Labels for &T {
    fn label(&self, key: &str) -> Option<&str> {
        (**self).label(key)
    }
}

impl<T: Labels> Labels for Option<T> {
    fn label(&self, key: &str) -> Option<&str> {
        self.as_ref().and_then(|labels| labels.label(key))
    }
}

/// How a requirement compares a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `key in (a,b)`.
    In,
    /// `key notin (a,b)`, also true when the label is missing.
    NotIn,
    /// `key=a`.
    Equals,
    /// `key==a`, which means the same and prints as it was written.
    DoubleEquals,
    /// `key!=a`, also true when the label is missing.
    NotEquals,
    /// `key`.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `key>1`.
    GreaterThan,
    /// `key<1`.
    LessThan,
}

/// One condition of a [`Selector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

impl Requirement {
    /// Checks and makes a requirement.
    pub fn new(key: impl Into<String>, operator: Operator, values: Vec<String>) -> Result<Self, Error> {
        let key = key.into();
        let mut errors = Vec::new();
        let key_errors = syntax::label_key_errors(&key);
        if !key_errors.is_empty() {
            errors.push(field::Error::invalid(&field::Path::new("key"), &*key, key_errors.join("; ")));
        }
        let path = field::Path::new("values");
        let count_error = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                Some("exact-match compatibility requires one single value")
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(words) = count_error {
            let shown = if values.is_empty() { Value::Null } else { Value::from(values.clone()) };
            errors.push(field::Error::invalid(&path, shown, words));
        }
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (index, value) in values.iter().enumerate() {
                if value.parse::<i64>().is_err() {
                    errors.push(field::Error::invalid(
                        &path.index(index),
                        &**value,
                        "for 'Gt', 'Lt' operators, the value must be an integer",
                    ));
                }
            }
        }
        for (index, value) in values.iter().enumerate() {
            let value_errors = syntax::label_value_errors(value);
            if !value_errors.is_empty() {
                let place = path.index(index);
                errors.push(field::Error::invalid(&place.key(&key), &**value, value_errors.join("; ")));
            }
        }
        if errors.is_empty() { Ok(Self { key, operator, values }) } else { Err(Error(field::aggregate(&errors))) }
    }

    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The comparison.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values compared with; none for existence.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether the labels satisfy this one condition.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        let label = labels.label(&self.key);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(|label| self.has(label)),
            Operator::NotIn | Operator::NotEquals => label.is_none_or(|label| !self.has(label)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compare(label, |label, limit| label > limit),
            Operator::LessThan => self.compare(label, |label, limit| label < limit),
        }
    }

    fn has(&self, label: &str) -> bool {
        self.values.iter().any(|value| value == label)
    }

    fn compare(&self, label: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        let limit = self.values.first().and_then(|value| number(value));
        matches!((label.and_then(number), limit), (Some(label), Some(limit)) if holds(label, limit))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, between) = match self.operator {
            Operator::In => ("", " in "),
            Operator::NotIn => ("", " notin "),
            Operator::Equals => ("", "="),
            Operator::DoubleEquals => ("", "=="),
            Operator::NotEquals => ("", "!="),
            Operator::GreaterThan => ("", ">"),
            Operator::LessThan => ("", "<"),
            Operator::Exists => ("", ""),
            Operator::DoesNotExist => ("!", ""),
        };
        write!(f, "{before}{}{between}", self.key)?;
        let mut values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        match self.operator {
            Operator::In | Operator::NotIn => write!(f, "({values})"),
            _ => f.write_str(&values),
        }
    }
}

/// Which objects are meant, by their labels: all requirements must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    requirements: Vec<Requirement>,
    selectable: bool,
}

impl Default for Selector {
    fn default() -> Self {
        Self::everything()
    }
}

impl Selector {
    /// Matches every object.
    pub fn everything() -> Self {
        Self { requirements: Vec::new(), selectable: true }
    }

    /// Matches no object.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), selectable: false }
    }

    /// All of the given requirements, in the order of their keys.
    pub fn all_of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Self { requirements, selectable: true }
    }

    /// Reads the text form, as in `?labelSelector=`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parser::parse(text).map(Self::all_of)
    }

    /// Requires exactly the given labels, without checking how they are spelled, as `spec.selector` maps mean them.
    pub fn from_set<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let equal = |(key, value): (&str, &str)| Requirement {
            key: key.to_owned(),
            operator: Operator::Equals,
            values: vec![value.to_owned()],
        };
        Self::all_of(labels.into_iter().map(equal).collect())
    }

    /// Whether it matches every object because it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.selectable && self.requirements.is_empty()
    }

    /// Whether it can match no object at all because it was made so.
    pub fn is_nothing(&self) -> bool {
        !self.selectable
    }

    /// The conditions, ordered by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether a set of labels satisfies all conditions.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.selectable && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether an object's `metadata.labels` satisfy all conditions.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(&object.get("metadata").and_then(|metadata| metadata.get("labels")))
    }

    /// The one value that the label must have, when the selector says so.
    pub fn requires_exact_match(&self, key: &str) -> Option<&str> {
        let requirement = self.requirements.iter().find(|requirement| requirement.key == key)?;
        match (requirement.operator, &*requirement.values) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            fmt::Display::fmt(requirement, f)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_follows_the_operators() {
        let labels = [("a", "b"), ("n", "5"), ("empty", "")];
        let cases = [
            ("", true),
            ("a=b", true),
            ("a==b", true),
            ("a=c", false),
            ("a!=c", true),
            ("missing!=c", true),
            ("a in (x,b)", true),
            ("missing in (x)", false),
            ("a notin (x)", true),
            ("missing notin (x)", true),
            ("a", true),
            ("!a", false),
            ("!missing", true),
            ("n>4", true),
            ("n>5", false),
            ("n<6", true),
            ("a>1", false),
            ("missing<1", false),
            ("empty=", true),
            ("empty in ()", true),
            ("a=b,n>9", false),
        ];
        for (text, expected) in cases {
            assert_eq!(Selector::parse(text).unwrap().matches(&labels[..]), expected, "{text}");
        }
        assert!(!Selector::nothing().matches(&labels[..]));
    }

    #[test]
    fn objects_without_labels_match_only_what_asks_for_absence() {
        let object = serde_json::json!({"metadata": {"name": "x"}});
        assert!(Selector::parse("!a,b!=c").unwrap().matches_object(&object));
        assert!(!Selector::parse("a").unwrap().matches_object(&object));
        assert!(Selector::everything().matches_object(&Value::Null));
    }

    #[test]
    fn exact_matches_can_be_read_back() {
        let selector = Selector::parse("a=b,c in (d),e in (f,g)").unwrap();
        assert_eq!(selector.requires_exact_match("a"), Some("b"));
        assert_eq!(selector.requires_exact_match("c"), Some("d"));
        assert_eq!(selector.requires_exact_match("e"), None);
        assert_eq!(selector.requires_exact_match("x"), None);
    }
}
