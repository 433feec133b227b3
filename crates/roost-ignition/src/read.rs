//! From bytes to a config: bounded before anything is built, typed by the schema, with unknown fields left out.

use serde_json::{Map, Value};

use crate::finding::{ConfigError, Finding};
use crate::schema::{CONFIG, Field, Shape};
use crate::version::SpecVersion;

/// Configs with files inside are large; beyond this they are wrong.
pub const MAX_BYTES: usize = 16 << 20;

/// The schema is ten levels deep; what Ignition ignores may be a little deeper.
pub const MAX_DEPTH: usize = 64;

/// Each value costs memory beyond its text.
pub const MAX_VALUES: usize = 200_000;

/// How many findings are collected before reading gives up on the rest.
const MAX_FINDINGS: usize = 100;

/// A config as it was written: typed, without nulls and unknown fields.
pub(crate) struct Read {
    pub(crate) version: SpecVersion,
    pub(crate) root: Map<String, Value>,
    /// The fields that this version does not know, which Ignition ignores.
    pub(crate) ignored: Vec<Finding>,
}

pub(crate) fn read(bytes: &[u8]) -> Result<Read, ConfigError> {
    check_bounds(bytes)?;
    if bytes.trim_ascii().is_empty() {
        return Err(ConfigError::NotAConfig);
    }
    let document = roost_object::json::read(bytes).map_err(|error| ConfigError::Syntax(error.to_string()))?;
    if let Some(duplicate) = document.duplicates.first() {
        return Err(ConfigError::Syntax(duplicate.clone()));
    }
    from_value(document.value)
}

/// The same for a value that was read as part of something else.
pub(crate) fn from_value(value: Value) -> Result<Read, ConfigError> {
    let Value::Object(root) = value else { return Err(ConfigError::NotAConfig) };
    let Some(Value::Object(ignition)) = root.get("ignition") else { return Err(ConfigError::NotAConfig) };
    let Some(Value::String(version)) = ignition.get("version") else { return Err(ConfigError::NotAConfig) };
    let version: SpecVersion = version.parse()?;
    let mut findings = Findings::default();
    let root = typed(CONFIG, version.minor(), &Place::Root, root, &mut findings);
    if findings.wrong.is_empty() {
        Ok(Read { version, root, ignored: findings.ignored })
    } else {
        Err(ConfigError::Invalid(findings.wrong))
    }
}

/// One pass over the bytes, without recursion and without building anything.
fn check_bounds(bytes: &[u8]) -> Result<(), ConfigError> {
    if bytes.len() > MAX_BYTES {
        return Err(ConfigError::TooLarge { limit: MAX_BYTES });
    }
    let (mut depth, mut values, mut in_text, mut escaped) = (0_usize, 1_usize, false, false);
    for byte in bytes {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                if depth > MAX_DEPTH {
                    return Err(ConfigError::TooDeep { limit: MAX_DEPTH });
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if values > MAX_VALUES {
            return Err(ConfigError::TooMany { limit: MAX_VALUES });
        }
    }
    Ok(())
}

/// Where in a config something stands; written out only when there is something to say.
pub(crate) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Place::Root, name) => formatter.write_str(name),
            Self::Field(above, name) => write!(formatter, "{above}.{name}"),
            Self::Item(above, index) => write!(formatter, "{above}[{index}]"),
        }
    }
}

#[derive(Default)]
struct Findings {
    wrong: Vec<Finding>,
    ignored: Vec<Finding>,
}

impl Findings {
    fn wrong(&mut self, place: &Place<'_>, problem: String) {
        if self.wrong.len() < MAX_FINDINGS {
            self.wrong.push(Finding { path: place.to_string(), problem });
        }
    }

    fn ignored(&mut self, place: &Place<'_>, name: &str) {
        if self.ignored.len() < MAX_FINDINGS {
            let path = Place::Field(place, name).to_string();
            self.ignored.push(Finding { path, problem: "unknown field, which Ignition ignores".to_owned() });
        }
    }
}

fn typed(
    fields: &'static [Field],
    minor: u8,
    place: &Place<'_>,
    record: Map<String, Value>,
    findings: &mut Findings,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in record {
        let Some(field) = fields.iter().find(|field| field.name == name && field.since <= minor) else {
            findings.ignored(place, &name);
            continue;
        };
        if let Some(value) = typed_value(&field.shape, minor, &Place::Field(place, field.name), value, findings) {
            kept.insert(name, value);
        }
    }
    kept
}

/// The value if it has its type and says something; nulls, empty lists and empty records say nothing.
fn typed_value(
    shape: &'static Shape,
    minor: u8,
    place: &Place<'_>,
    value: Value,
    findings: &mut Findings,
) -> Option<Value> {
    match (shape, value) {
        (_, Value::Null) => None,
        (Shape::Text, value @ Value::String(_)) | (Shape::Flag, value @ Value::Bool(_)) => Some(value),
        (Shape::Integer, Value::Number(number)) if number.is_i64() => Some(Value::Number(number)),
        (Shape::Record(fields), Value::Object(record)) => {
            let record = typed(fields, minor, place, record, findings);
            (!record.is_empty()).then_some(Value::Object(record))
        }
        (Shape::List(item, _), Value::Array(values)) => {
            let mut kept = Vec::with_capacity(values.len());
            for (index, value) in values.into_iter().enumerate() {
                let place = Place::Item(place, index);
                let before = findings.wrong.len();
                match typed_value(item, minor, &place, value, findings) {
                    Some(value) => kept.push(value),
                    None if findings.wrong.len() == before => {
                        findings.wrong(&place, "an empty item says nothing".to_owned());
                    }
                    None => {}
                }
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (shape, _) => {
            findings.wrong(place, format!("must be {}", words(shape)));
            None
        }
    }
}

fn words(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text => "a string",
        Shape::Integer => "a whole number",
        Shape::Flag => "true or false",
        Shape::Record(_) => "an object",
        Shape::List(..) => "a list",
    }
}
