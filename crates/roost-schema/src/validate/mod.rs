//! Validation of values against a schema, in the words of kube-openapi.

pub(crate) mod correlation;
mod email;
pub(crate) mod format;
mod junctors;
pub(crate) mod number;
mod place;

use roost_object::field::{Error, Errors, Kind, Path, quote};
use serde_json::{Map, Value};

use self::correlation::{Correlated, Elements};
pub(crate) use self::place::Place;
use crate::structural::{Additional, Checks, Structural, Type, UnknownNames};
use crate::wording;

impl Structural {
    /// Checks a new object: its values, the metadata of embedded objects and the uniqueness of list elements.
    pub fn validate(&self, object: &Value) -> Errors {
        let mut errors = self.validate_values(object, None, "");
        self.validate_embedded(object, &Path::ROOT, &mut errors);
        self.validate_lists(object, &Path::ROOT, &mut errors);
        errors
    }

    /// Checks a changed object. What is invalid but unchanged passes.
    pub fn validate_update(&self, new: &Value, old: &Value) -> Errors {
        let mut errors = self.validate_values(new, Some(old), "");
        self.validate_embedded(new, &Path::ROOT, &mut errors);
        self.validate_lists_update(new, old, &mut errors);
        errors
    }

    /// Checks list elements for uniqueness unless the old object already failed.
    pub(crate) fn validate_lists_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let mut found = Errors::new();
        self.validate_lists(new, &Path::ROOT, &mut found);
        if !found.is_empty() {
            let mut before = Errors::new();
            self.validate_lists(old, &Path::ROOT, &mut before);
            if before.is_empty() {
                errors.append(&mut found);
            }
        }
    }

    /// Checks values only. `prefix` is the path of this schema's place; messages name fields below it.
    pub(crate) fn validate_values(&self, new: &Value, old: Option<&Value>, prefix: &str) -> Errors {
        let mut findings = Findings { prefix, is_default: false, errors: Vec::new(), matches: 0 };
        let correlated = old.map(|old| Correlated { new, old, schema: self });
        check_ratcheting(self, new, &Place::Root, correlated, &mut findings);
        findings.errors.into_iter().map(|(_, error)| error).collect()
    }
}

impl Structural {
    /// Checks a default value. Stock does so by a schema that does not say of which types an int-or-string is.
    pub(crate) fn validate_default(&self, value: &Value, prefix: &str) -> Errors {
        let mut findings = Findings { prefix, is_default: true, errors: Vec::new(), matches: 0 };
        check(self, value, &Place::Root, None, &mut findings);
        findings.errors.into_iter().map(|(_, error)| error).collect()
    }
}

/// What validation has found so far, and how many checks passed, by which the best of failed alternatives is chosen.
pub(crate) struct Findings<'a> {
    prefix: &'a str,
    is_default: bool,
    errors: Vec<(String, Error)>,
    matches: u32,
}

impl<'a> Findings<'a> {
    fn apart(&self) -> Findings<'a> {
        Findings { prefix: self.prefix, is_default: self.is_default, errors: Vec::new(), matches: 0 }
    }

    fn is_int_or_string(&self, schema: &Structural) -> bool {
        schema.int_or_string && !self.is_default
    }

    /// Names that only defaults are held to.
    fn unknown<'s>(&self, schema: &'s Structural) -> Option<&'s UnknownNames> {
        schema.checks.as_deref()?.unknown.as_deref().filter(|_| self.is_default)
    }

    fn type_names<'s>(&self, schema: &'s Structural) -> &'s str {
        match self.unknown(schema) {
            Some(unknown) if !unknown.kind.is_empty() => &unknown.kind,
            _ if self.is_int_or_string(schema) => "integer,string",
            _ => schema.kind.name(),
        }
    }

    fn format_name<'s>(&self, schema: &'s Structural) -> &'s str {
        let known = schema.checks.as_deref().and_then(|checks| checks.format).map(format::Format::name);
        known.or_else(|| self.unknown(schema).map(|unknown| &*unknown.format)).unwrap_or_default()
    }

    fn merge(&mut self, other: Findings<'_>) {
        self.matches += other.matches;
        for (message, error) in other.errors {
            self.push(message, error);
        }
    }

    /// Adds an error unless one with the same message is there.
    fn push(&mut self, message: String, error: Error) {
        if !self.errors.iter().any(|(known, _)| *known == message) {
            self.errors.push((message, error));
        }
    }

    /// The path of a field that is named relative to the validated place.
    fn field(&self, name: &str) -> String {
        let name = name.strip_prefix('.').unwrap_or(name);
        match (self.prefix, name) {
            ("", "") => "<nil>".to_owned(),
            (prefix, "") => prefix.to_owned(),
            ("", name) => name.to_owned(),
            (prefix, name) => format!("{prefix}.{name}"),
        }
    }

    fn required(&mut self, name: &str) {
        let error = Error { kind: Kind::Required, field: self.field(name), value: None, detail: String::new() };
        self.push(format!("{name} in body is required"), error);
    }

    fn invalid(&mut self, name: &str, value: &Value, message: String) {
        let error = wording::error(Kind::Invalid, self.field(name), value, message.clone());
        self.push(message, error);
    }

    fn type_invalid(&mut self, name: &str, wanted: &str, given: &str) {
        let message = format!("{name} in body must be of type {wanted}: {}", quote(given));
        let error = Error {
            kind: Kind::TypeInvalid,
            field: self.field(name),
            value: Some(given.into()),
            detail: message.clone(),
        };
        self.push(message, error);
    }

    /// A problem that names no field.
    fn general(&mut self, message: String) {
        let error =
            Error { kind: Kind::Invalid, field: self.field(""), value: Some("".into()), detail: message.clone() };
        self.push(message, error);
    }

    fn too_many(&mut self, name: &str, actual: usize, limit: i64, things: &str) {
        let message = format!("{name} in body should have at most {limit} {things}");
        let detail = match limit {
            _ if limit < 0 => "has too many items".to_owned(),
            1 => "must have at most 1 item".to_owned(),
            _ => format!("must have at most {limit} items"),
        };
        let error = Error { kind: Kind::TooMany, field: self.field(name), value: Some(actual.into()), detail };
        self.push(message, error);
    }
}

/// Checks a value, and forgives what is wrong with it when it did not change.
fn check_ratcheting(
    schema: &Structural,
    value: &Value,
    place: &Place<'_>,
    correlated: Option<Correlated<'_>>,
    findings: &mut Findings<'_>,
) {
    let before = findings.errors.len();
    check(schema, value, place, correlated, findings);
    if findings.errors.len() > before && correlated.is_some_and(Correlated::is_unchanged) {
        findings.errors.truncate(before);
    }
}

pub(crate) fn check(
    schema: &Structural,
    value: &Value,
    place: &Place<'_>,
    correlated: Option<Correlated<'_>>,
    findings: &mut Findings<'_>,
) {
    let checks = schema.checks.as_deref();
    let format = checks.and_then(|checks| checks.format);
    let typed = !findings.type_names(schema).is_empty();
    if value.is_null() {
        if typed && !schema.nullable && findings.type_names(schema) != "null" {
            findings.type_invalid(&place.to_string(), findings.type_names(schema), "null");
        } else {
            findings.matches += 1;
        }
        check_enum(checks, value, place, findings);
        return;
    }
    if typed || !findings.format_name(schema).is_empty() {
        check_type(schema, value, place, findings);
        findings.matches += 1;
    }
    junctors::check(checks, value, place, findings);
    findings.matches += 1;
    match value {
        Value::String(text) => {
            check_text(checks, text, place, findings);
            findings.matches += 1;
            if let Some(format) = format.filter(|format| matches!(format, format::Format::Text(_))) {
                if !format.accepts(text) {
                    let name = place.to_string();
                    let message = format!("{name} in body must be of type {}: {}", format.name(), quote(text));
                    let error = Error {
                        kind: Kind::TypeInvalid,
                        field: findings.field(&name),
                        value: Some(value.clone()),
                        detail: message.clone(),
                    };
                    findings.push(message, error);
                }
                findings.matches += 1;
            }
        }
        Value::Number(number) => {
            number::check(schema, checks, number, place, findings);
            findings.matches += 2;
        }
        Value::Array(list) => {
            check_list(schema, checks, list, place, correlated, findings);
            findings.matches += 2;
        }
        _ => {}
    }
    check_enum(checks, value, place, findings);
    findings.matches += 1;
    if let Value::Object(map) = value {
        check_object(schema, checks, map, place, correlated, findings);
        findings.matches += 1;
    }
    findings.matches += 1;
}

/// Checks the JSON type, with kube-openapi's notions of which numbers pass for which.
fn check_type(schema: &Structural, value: &Value, place: &Place<'_>, findings: &mut Findings<'_>) {
    let format = findings.format_name(schema);
    let is_either = findings.is_int_or_string(schema);
    let wants = |kind: Type| {
        if is_either { matches!(kind, Type::Integer | Type::String) } else { schema.kind == kind }
    };
    let (given, given_format) = match value {
        Value::Bool(_) => (Type::Boolean, ""),
        Value::String(_) => (Type::String, ""),
        Value::Array(_) => (Type::Array, ""),
        Value::Number(number) if number.is_i64() => (Type::Integer, "int64"),
        Value::Number(_) => (Type::Number, "float64"),
        Value::Object(_) | Value::Null => (Type::Object, ""),
    };
    let float_passes_for_integer =
        given == Type::Number && wants(Type::Integer) && value.as_f64().is_some_and(number::is_json_integer);
    let integer_passes_for_number = given == Type::Integer && wants(Type::Number);
    let passes = wants(given) || float_passes_for_integer || integer_passes_for_number;
    if !format.is_empty() {
        let plain = !matches!(value, Value::String(_) | Value::Array(_));
        if plain && !passes && given_format != format {
            findings.type_invalid(&place.to_string(), format, given_format);
            return;
        }
        if !plain && !wants(Type::Number) && !wants(Type::Integer) {
            findings.matches += 1;
            return;
        }
    }
    if passes {
        findings.matches += 1;
    } else {
        findings.type_invalid(&place.to_string(), findings.type_names(schema), given.name());
    }
}

fn check_text(checks: Option<&Checks>, text: &str, place: &Place<'_>, findings: &mut Findings<'_>) {
    let Some(checks) = checks else { return };
    if let Some(limit) = checks.max_length
        && exceeds(text, limit)
    {
        let name = place.to_string();
        let detail = match limit {
            _ if limit < 0 => "value is too long".to_owned(),
            1 => "may not be more than 1 byte".to_owned(),
            _ => format!("may not be more than {limit} bytes"),
        };
        let error = Error { kind: Kind::TooLong, field: findings.field(&name), value: None, detail };
        findings.push(format!("{name} in body should be at most {limit} chars long"), error);
        return;
    }
    if let Some(limit) = checks.min_length
        && !exceeds(text, limit - 1)
    {
        let name = place.to_string();
        let message = format!("{name} in body should be at least {limit} chars long");
        findings.invalid(&name, &Value::from(text), message);
        return;
    }
    if let Some(pattern) = &checks.pattern {
        let message = match pattern.is_match(text) {
            Ok(true) => return,
            Ok(false) => pattern.text().to_owned(),
            Err(words) => format!("{}, but pattern is invalid: {words}", pattern.text()),
        };
        let name = place.to_string();
        let message = format!("{name} in body should match '{message}'");
        findings.invalid(&name, &Value::from(text), message);
    }
}

/// Whether text has more characters than a limit. Most text is short enough in bytes already.
fn exceeds(text: &str, limit: i64) -> bool {
    match usize::try_from(limit) {
        Err(_) => true,
        Ok(limit) => text.len() > limit && text.chars().count() > limit,
    }
}

fn check_list(
    schema: &Structural,
    checks: Option<&Checks>,
    list: &[Value],
    place: &Place<'_>,
    correlated: Option<Correlated<'_>>,
    findings: &mut Findings<'_>,
) {
    if let Some(items) = schema.items.as_deref() {
        let elements: Option<Elements<'_>> = correlated.map(Correlated::elements);
        for (index, element) in list.iter().enumerate() {
            let old = elements.as_ref().and_then(|elements| elements.get(element));
            check_ratcheting(items, element, &Place::Index(place, index), old, findings);
        }
    }
    let Some(checks) = checks else { return };
    let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if let Some(limit) = checks.min_items.filter(|limit| size < *limit) {
        let name = place.to_string();
        let message = format!("{name} in body should have at least {limit} items");
        findings.invalid(&name, &Value::from(size), message);
    }
    if let Some(limit) = checks.max_items.filter(|limit| size > *limit) {
        findings.too_many(&place.to_string(), list.len(), limit, "items");
    }
    if checks.unique_items && has_repeats(list) {
        let name = place.to_string();
        let message = format!("{name} in body shouldn't contain duplicates");
        findings.invalid(&name, &Value::from(""), message);
    }
}

fn has_repeats(list: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(list.len());
    !list.iter().all(|element| seen.insert(element.to_string()))
}

fn check_object(
    schema: &Structural,
    checks: Option<&Checks>,
    map: &Map<String, Value>,
    place: &Place<'_>,
    correlated: Option<Correlated<'_>>,
    findings: &mut Findings<'_>,
) {
    if let Some(checks) = checks {
        let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
        if let Some(limit) = checks.min_properties.filter(|limit| size < *limit) {
            let name = place.to_string();
            let message = format!("{name} in body should have at least {limit} properties");
            findings.invalid(&name, &Value::from(size), message);
        }
        if let Some(limit) = checks.max_properties.filter(|limit| size > *limit) {
            findings.too_many(&place.to_string(), map.len(), limit, "properties");
        }
    }
    for (name, value) in map {
        let property = schema.property(name);
        let (child, below) = match (property, &schema.additional) {
            (Some(property), _) => (property, Place::Field(place, name)),
            (None, Additional::Schema(additional)) => (additional.as_ref(), Place::Entry(place, name)),
            (None, Additional::Allowed(false)) => {
                let parent = place.to_string();
                let message = format!("{parent}.{name} in body is a forbidden property");
                findings.invalid(&parent, &Value::from(name.as_str()), message);
                continue;
            }
            (None, _) => continue,
        };
        // The type of both objects is the same by now, so a wrong apiVersion or kind cannot be an old one.
        let fixed = matches!(place, Place::Root) && matches!(name.as_str(), "apiVersion" | "kind");
        let old = if fixed { None } else { correlated.and_then(|correlated| correlated.key(name)) };
        check_ratcheting(child, value, &below, old, findings);
    }
    for name in schema.required_names() {
        if !map.contains_key(name.as_ref()) {
            findings.required(&format!("{place}.{name}"));
        }
    }
}

fn check_enum(checks: Option<&Checks>, value: &Value, place: &Place<'_>, findings: &mut Findings<'_>) {
    let Some(checks) = checks.filter(|checks| !checks.one_value_of.is_empty()) else { return };
    if checks.one_value_of.iter().any(|allowed| number::converts_to(value, allowed)) {
        return;
    }
    let name = place.to_string();
    let supported: Vec<String> = checks
        .one_value_of
        .iter()
        .map(|allowed| allowed.as_str().map_or_else(|| wording::json(allowed), str::to_owned))
        .map(|text| quote(&text))
        .collect();
    let detail = format!("supported values: {}", supported.join(", "));
    let error = wording::error(Kind::NotSupported, findings.field(&name), value, detail);
    findings.push(format!("{name} in body should be one of {}", supported.join(" ")), error);
}
