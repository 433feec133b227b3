//! The vocabulary of validation: what a rule can say about a field, in words of the API documentation.
//!
//! A rule is a table of fields and the checks each must pass, in the order in which stock reports them:
//!
//! ```text
//! static HOST_PATH: &[Field] = &[("path", &[Required, NO_BACKSTEPS]), ("type", &[OneOf(HOST_PATH_TYPES)])];
//! ```
//!
//! A missing value (absent, null, empty text, empty list, zero) only concerns [`Check::Required`], and an empty text
//! [`Check::OneOfGiven`]; when the first fails, the checks behind it are not made.

use roost_object::field::{Error, Errors, Path};
use roost_object::json::Kind;
use roost_object::{Quantity, Value, metadata, names};

use crate::{internal, shown};

pub use crate::label_selector::{SelectorValues, label_selector, selector_is_empty};

/// A value and the way to it.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// The value; null where there is none.
    pub value: &'a Value,
    /// Where it is.
    pub path: Path<'a>,
}

/// A field and what must hold for it.
pub type Field = (&'static str, &'static [Check]);

/// One thing that must hold for a value.
pub enum Check {
    /// It must be given.
    Required,
    /// It must be given, and these words say why.
    RequiredBecause(&'static str),
    /// It is one of these words. They are reported in this order.
    OneOf(&'static [&'static str]),
    /// The same where Go has a pointer: an empty word is given, and none of them.
    OneOfGiven(&'static [&'static str]),
    /// A number that is not below zero.
    NonNegative,
    /// A number above zero.
    Positive,
    /// A number within bounds, both included.
    Between(i64, i64),
    /// The permission bits of a file.
    FileMode,
    /// The number or the name of a port.
    Port,
    /// A text that passes a check of [`names`].
    Text(fn(&str) -> Vec<String>),
    /// A text of at most so many bytes.
    Longest(usize),
    /// A quantity that is not below zero.
    NonNegativeQuantity,
    /// A map of labels.
    Labels,
    /// A label selector.
    Selector,
    /// Every element of a list passes these checks.
    Each(&'static [Check]),
    /// The fields of an object pass theirs.
    Fields(&'static [Field]),
    /// What is special enough to have its own function.
    With(fn(&Spot<'_>, &mut Errors)),
}

/// A DNS label.
pub const LABEL: Check = Check::Text(names::is_dns1123_label);
/// A DNS subdomain.
pub const SUBDOMAIN: Check = Check::Text(names::is_dns1123_subdomain);
/// A name with an optional DNS subdomain in front, as label keys are.
pub const QUALIFIED_NAME: Check = Check::Text(names::is_qualified_name);
/// A path that does not climb.
pub const NO_BACKSTEPS: Check = Check::With(no_backsteps);
/// A relative path that does not climb.
pub const DESCENDING_PATH: Check = Check::With(descending_path);
/// A relative path that does not climb nor start with two dots.
pub const LOCAL_PATH: Check = Check::With(local_path);

/// Words that many rules share.
pub const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
/// What may not change after creation.
pub const IMMUTABLE: &str = "field is immutable";

impl<'a> Spot<'a> {
    /// A value at the root of its object.
    pub fn root(value: &'a Value) -> Self {
        Self { value, path: Path::ROOT }
    }

    /// A value at a path.
    pub fn new(value: &'a Value, path: Path<'a>) -> Self {
        Self { value, path }
    }

    /// A field of this object.
    pub fn field<'b>(&'b self, name: &'b str) -> Spot<'b> {
        Spot { value: &self.value[name], path: self.path.child(name) }
    }

    /// An element of this list.
    pub fn element(&self, index: usize) -> Spot<'_> {
        Spot { value: &self.value[index], path: self.path.index(index) }
    }

    /// Whether the value is there at all. An empty object is there.
    pub fn given(&self) -> bool {
        !self.value.is_null()
    }

    /// Checks a word that is optional, of which even the empty one is given.
    pub fn one_of_if_given(&self, words: &'static [&'static str], errors: &mut Errors) {
        if self.given() && !words.contains(&self.text()) {
            errors.push(Error::not_supported(&self.path, self.text(), words));
        }
    }

    /// Whether the value is there and is not the zero of its type.
    pub fn filled(&self) -> bool {
        !is_missing(self.value)
    }

    /// The value as text; empty where there is none.
    pub fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// The value as a number; zero where there is none.
    pub fn number(&self) -> i64 {
        self.value.as_i64().unwrap_or_default()
    }

    /// Whether the value is true.
    pub fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// The elements of the list.
    pub fn elements(&self) -> &'a [Value] {
        elements(self.value)
    }

    /// Calls back for every element of the list.
    pub fn each(&self, mut visit: impl FnMut(usize, &Spot<'_>)) {
        for (index, value) in self.elements().iter().enumerate() {
            visit(index, &Spot { value, path: self.path.index(index) });
        }
    }

    /// Calls back for every entry of the map.
    pub fn entries(&self, mut visit: impl FnMut(&str, &Spot<'_>)) {
        for (key, value) in self.value.as_object().into_iter().flatten() {
            visit(key, &Spot { value, path: self.path.key(key) });
        }
    }

    /// Makes checks, in order.
    pub fn check(&self, checks: &[Check], errors: &mut Errors) {
        for check in checks {
            if is_missing(self.value) {
                match check {
                    Check::Required => return errors.push(Error::required(&self.path, "")),
                    Check::RequiredBecause(words) => return errors.push(Error::required(&self.path, *words)),
                    Check::OneOfGiven(_) if self.value.is_string() => {}
                    _ => continue,
                }
            }
            self.check_one(check, errors);
        }
    }

    /// Makes the checks of several fields, in order.
    pub fn check_fields(&self, fields: &[Field], errors: &mut Errors) {
        for (name, checks) in fields {
            self.field(name).check(checks, errors);
        }
    }

    /// Reports the value with these words.
    pub fn invalid(&self, words: impl Into<String>, errors: &mut Errors) {
        errors.push(Error::invalid(&self.path, self.value.clone(), words));
    }

    /// Reports that the value may not be set.
    pub fn forbidden(&self, words: impl Into<String>, errors: &mut Errors) {
        errors.push(Error::forbidden(&self.path, words));
    }

    fn check_one(&self, check: &Check, errors: &mut Errors) {
        match check {
            Check::OneOf(words) | Check::OneOfGiven(words) => {
                if !words.contains(&self.text()) {
                    errors.push(Error::not_supported(&self.path, self.text(), words));
                }
            }
            Check::NonNegative if self.number() < 0 => self.invalid(NOT_NEGATIVE, errors),
            Check::Positive if self.number() <= 0 => self.invalid("must be greater than zero", errors),
            Check::Required | Check::RequiredBecause(_) | Check::NonNegative | Check::Positive => {}
            Check::Between(low, high) => {
                if !(*low..=*high).contains(&self.number()) {
                    self.invalid(names::out_of_range(*low, *high), errors);
                }
            }
            Check::FileMode => {
                if !(0..=0o777).contains(&self.number()) {
                    self.invalid("must be a number between 0 and 0777 (octal), both inclusive", errors);
                }
            }
            Check::Port => self.port(errors),
            Check::Text(rule) => self.text_passes(rule, errors),
            Check::Longest(max) => {
                if self.text().len() > *max {
                    errors.push(Error::too_long(&self.path, *max));
                }
            }
            Check::NonNegativeQuantity => {
                if let Ok(quantity) = Quantity::from_value(self.value)
                    && quantity.is_negative()
                {
                    errors.push(Error::invalid(&self.path, quantity.to_string(), NOT_NEGATIVE));
                }
            }
            Check::Labels => metadata::validate_labels(self.value, &self.path, errors),
            Check::Selector => label_selector(self, SelectorValues::Checked, errors),
            Check::Each(checks) => self.each(|_, element| element.check(checks, errors)),
            Check::Fields(fields) => self.check_fields(fields, errors),
            Check::With(rule) => rule(self, errors),
        }
    }

    /// Reports every sentence of a check of [`names`], missing or not.
    pub fn text_passes(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut Errors) {
        let text = self.text();
        errors.extend(rule(text).into_iter().map(|words| Error::invalid(&self.path, text, words)));
    }

    /// Checks the number or name of a port, missing or not.
    pub fn port(&self, errors: &mut Errors) {
        if let Value::String(name) = self.value {
            return self.text_passes(|_| names::is_port_name(name), errors);
        }
        let number = self.number();
        errors.extend(names::is_port_number(number).into_iter().map(|words| Error::invalid(&self.path, number, words)));
    }
}

/// Whether a value is absent or the zero of its type. Objects are never missing, because a pointer to an empty structure
/// is something else than no pointer.
pub fn is_missing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(true) | Value::Object(_) => false,
    }
}

/// The elements of a list; none where there is no list.
pub fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a field; empty where there is none.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A list that an annotation holds as JSON, or what Go says of a text that is none.
pub(crate) fn annotated_list(text: &str, go: &str) -> Result<Value, String> {
    let list = roost_object::json::read(text.as_bytes()).map_err(|error| error.to_string())?.value;
    match Kind::of(&list) {
        Kind::Array | Kind::Null => Ok(list),
        kind => Err(format!("json: cannot unmarshal {} into Go value of type {go}", kind.go())),
    }
}

/// Reports a field, of one of stock's internal types, that changed although it may not.
pub(crate) fn immutable(new: &Spot<'_>, old: &Value, shape: &str, errors: &mut Errors) {
    if !internal::same(shape, new.value, old) {
        errors.push(shown::invalid(&new.path, shape, new.value, IMMUTABLE));
    }
}

/// The same for text that is no pointer in Go: what is not there is empty.
pub fn immutable_text(new: &Spot<'_>, old: &Value, errors: &mut Errors) {
    if new.text() != old.as_str().unwrap_or_default() {
        errors.push(Error::invalid(&new.path, new.text(), IMMUTABLE));
    }
}

/// Reports elements of a list whose key field repeats that of an earlier one.
pub fn unique_by(list: &Spot<'_>, key: &str, errors: &mut Errors) {
    for (index, element) in list.elements().iter().enumerate() {
        if list.elements()[..index].iter().any(|earlier| earlier[key] == element[key]) {
            let path = list.path.index(index);
            errors.push(Error::duplicate(&path.child(key), element[key].clone()));
        }
    }
}

fn no_backsteps(path: &Spot<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|step| step == "..") {
        path.invalid("must not contain '..'", errors);
    }
}

fn descending_path(path: &Spot<'_>, errors: &mut Errors) {
    if path.text().starts_with('/') {
        path.invalid("must be a relative path", errors);
    }
    no_backsteps(path, errors);
}

fn local_path(path: &Spot<'_>, errors: &mut Errors) {
    descending_path(path, errors);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        path.invalid("must not start with '..'", errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(value: &Value, fields: &[Field]) -> Vec<String> {
        let mut errors = Errors::new();
        Spot::root(value).check_fields(fields, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn missing_values_concern_only_required() {
        static FIELDS: &[Field] = &[
            ("name", &[Check::Required, LABEL]),
            ("port", &[Check::Port]),
            ("mode", &[Check::FileMode]),
            ("items", &[Check::Each(&[Check::Fields(&[("path", &[Check::Required, LOCAL_PATH])])])]),
        ];
        assert_eq!(words(&json!({"items": []}), FIELDS), ["name: Required value"]);
        assert_eq!(
            words(&json!({"name": "a", "port": -1, "mode": 512, "items": [{"path": "..a"}, {}]}), FIELDS),
            [
                "port: Invalid value: -1: must be between 1 and 65535, inclusive",
                "mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
                r#"items[0].path: Invalid value: "..a": must not start with '..'"#,
                "items[1].path: Required value",
            ]
        );
    }
}
