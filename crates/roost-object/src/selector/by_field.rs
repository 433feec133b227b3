//! Field selectors: comparisons of a few fields that each kind offers.

use std::borrow::Cow;
use std::fmt;

use super::{Error, MAX_TEXT_LENGTH};
use crate::field::quote;

/// One comparison of a [`FieldSelector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// Whether the field must differ from the value instead of being equal.
    pub negated: bool,
    /// The value compared with.
    pub value: String,
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.negated { "!=" } else { "=" };
        write!(f, "{}{operator}{}", self.field, escape(&self.value))
    }
}

/// Why a kind cannot select by a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedField {
    /// The kind offers other fields, but not this one.
    #[error("field label not supported: {0}")]
    Label(String),
    /// As [`UnsupportedField::Label`], for kinds whose message names them.
    #[error("field label not supported for {kind}: {label}")]
    LabelOf {
        /// The kind in the words of its message.
        kind: String,
        /// The field that was asked for.
        label: String,
    },
    /// The kind offers no field of its own.
    #[error("{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", quote(.0))]
    OnlyMetadata(String),
}

/// Which objects are meant, by some of their fields: all comparisons must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

impl FieldSelector {
    /// Matches every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Matches where one field has one value.
    pub fn equal(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self { requirements: vec![FieldRequirement { field: field.into(), negated: false, value: value.into() }] }
    }

    /// Reads the text form, as in `?fieldSelector=`. Any field name is accepted; see [`FieldSelector::transform`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_TEXT_LENGTH {
            return Err(Error::too_long());
        }
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let mut requirements = Vec::with_capacity(terms.len());
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let Some((field, negated, value)) = split_term(term) else {
                return Err(Error(format!("invalid selector: '{text}'; can't understand '{term}'")));
            };
            let value = unescape(value)?.into_owned();
            if !field.is_empty() || !value.is_empty() {
                requirements.push(FieldRequirement { field: field.to_owned(), negated, value });
            }
        }
        Ok(Self { requirements })
    }

    /// Checks or renames every field, in order. A field and value that both come back empty are dropped.
    pub fn transform<E>(
        self,
        mut convert: impl FnMut(String, String) -> Result<(String, String), E>,
    ) -> Result<Self, E> {
        let mut requirements = Vec::with_capacity(self.requirements.len());
        for requirement in self.requirements {
            let (field, value) = convert(requirement.field, requirement.value)?;
            if !field.is_empty() || !value.is_empty() {
                requirements.push(FieldRequirement { field, value, negated: requirement.negated });
            }
        }
        Ok(Self { requirements })
    }

    /// Checks every field with a predicate and refuses the first unknown one.
    pub fn check(
        &self,
        mut is_known: impl FnMut(&str) -> bool,
        refuse: impl FnOnce(String) -> UnsupportedField,
    ) -> Result<(), UnsupportedField> {
        match self.requirements.iter().find(|requirement| !is_known(&requirement.field)) {
            None => Ok(()),
            Some(unknown) => Err(refuse(unknown.field.clone())),
        }
    }

    /// The comparisons.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether it matches every object because it compares nothing.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether all comparisons hold; `value_of` gives a field's text, empty when the object has none.
    pub fn matches<'a>(&self, mut value_of: impl FnMut(&str) -> Cow<'a, str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| (value_of(&requirement.field) == requirement.value) != requirement.negated)
    }

    /// The one value that the field must have, when the selector says so.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        let is_exact = |requirement: &&FieldRequirement| !requirement.negated && requirement.field == field;
        self.requirements.iter().find(is_exact).map(|requirement| &*requirement.value)
    }
}

impl FromIterator<FieldRequirement> for FieldSelector {
    fn from_iter<I: IntoIterator<Item = FieldRequirement>>(requirements: I) -> Self {
        Self { requirements: requirements.into_iter().collect() }
    }
}

impl fmt::Display for FieldSelector {
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

impl std::str::FromStr for FieldSelector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == ',' {
            terms.push(&text[start..index]);
            start = index + 1;
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    for (index, c) in term.char_indices() {
        let rest = &term[index..];
        if c == '='
            && let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))
        {
            return Some((&term[..index], false, value));
        }
        if let Some(value) = rest.strip_prefix("!=") {
            return Some((&term[..index], true, value));
        }
    }
    None
}

fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', ',', '=']) {
        return Cow::Borrowed(value);
    }
    let mut escaped = String::with_capacity(value.len() + 4);
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    Cow::Owned(escaped)
}

fn unescape(text: &str) -> Result<Cow<'_, str>, Error> {
    if !text.contains(['\\', ',', '=']) {
        return Ok(Cow::Borrowed(text));
    }
    let bad_sequence = |sequence: &str| Error(format!("invalid field selector: invalid escape sequence: {sequence}"));
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(c @ ('\\' | ',' | '=')) => value.push(c),
                Some(c) => return Err(bad_sequence(&format!("\\{c}"))),
                None => return Err(bad_sequence("\\")),
            },
            // The stock server prints the character's number here, not the character.
            ',' | '=' => {
                let number = u32::from(c);
                return Err(Error(format!("invalid field selector: unescaped character in value: {number}")));
            }
            c => value.push(c),
        }
    }
    Ok(Cow::Owned(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_printed_in_canonical_form() {
        let cases = [
            ("", ""),
            ("metadata.name=foo,status.phase!=Running", "metadata.name=foo,status.phase!=Running"),
            ("b==2,,a=1", "a=1,b=2"),
            (r"a=b\,c\=d\\", r"a=b\,c\=d\\"),
            ("==b,=a", "=b,=a"),
            ("a=", "a="),
            ("=", ""),
            ("a!=", "a!="),
            ("foo", "invalid selector: 'foo'; can't understand 'foo'"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=b\", r"invalid field selector: invalid escape sequence: \"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ];
        for (text, expected) in cases {
            let answer = FieldSelector::parse(text).map_or_else(|error| error.to_string(), |fields| fields.to_string());
            assert_eq!(answer, expected, "{text}");
        }
    }

    #[test]
    fn missing_fields_compare_as_empty() {
        let phase = |field: &str| if field == "status.phase" { "Running".into() } else { Cow::Borrowed("") };
        let matches = |text: &str| FieldSelector::parse(text).unwrap().matches(phase);
        assert!(matches("status.phase=Running"));
        assert!(!matches("status.phase!=Running"));
        assert!(matches("spec.nodeName=,status.phase!=Failed"));
    }

    #[test]
    fn unknown_fields_are_refused_in_stock_words() {
        let fields = FieldSelector::parse("metadata.name=a,foo=b").unwrap();
        let is_known = |name: &str| name.starts_with("metadata.");
        assert_eq!(
            fields.check(is_known, UnsupportedField::Label).unwrap_err().to_string(),
            "field label not supported: foo"
        );
        assert_eq!(
            fields.check(is_known, UnsupportedField::OnlyMetadata).unwrap_err().to_string(),
            r#""foo" is not a known field selector: only "metadata.name", "metadata.namespace""#
        );
        let dropped = fields.transform(|field, value| {
            let keep = field == "metadata.name";
            Ok::<_, ()>(if keep { (field, value) } else { (String::new(), String::new()) })
        });
        assert_eq!(dropped.unwrap().to_string(), "metadata.name=a");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = FieldSelector::parse(&text);
        }

        #[test]
        fn what_is_read_prints_and_reads_the_same(text in r"[ab!=,\\é]{0,20}") {
            // Terms are sorted as they were written, as stock does, so `==b,=a` and its printed form differ in order.
            let sorted = |fields: &FieldSelector| {
                let mut terms: Vec<_> = fields.requirements().iter().map(ToString::to_string).collect();
                terms.sort_unstable();
                terms
            };
            if let Ok(fields) = FieldSelector::parse(&text) {
                let again = FieldSelector::parse(&fields.to_string());
                prop_assert_eq!(again.as_ref().map(sorted), Ok(sorted(&fields)));
            }
        }
    }
}
