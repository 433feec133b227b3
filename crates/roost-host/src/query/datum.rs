//! Values while a query is asked: copies share what they consist of.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Datum {
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<str>),
    List(Rc<Vec<Datum>>),
    Map(Rc<BTreeMap<Rc<str>, Datum>>),
}

impl Datum {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Self::text(text),
            Value::Array(list) => Self::list(list.iter().map(Self::of).collect()),
            Value::Object(map) => {
                Self::Map(Rc::new(map.iter().map(|(key, value)| (Rc::from(key.as_str()), Self::of(value))).collect()))
            }
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(Rc::from(text))
    }

    pub(super) fn list(list: Vec<Datum>) -> Self {
        Self::List(Rc::new(list))
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Number(count as f64)
    }

    pub(super) fn is_true(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    /// As jq calls it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "object",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(false) => 1,
            Self::Bool(true) => 2,
            Self::Number(_) => 3,
            Self::Text(_) => 4,
            Self::List(_) => 5,
            Self::Map(_) => 6,
        }
    }

    /// The order of jq. `steps` is what the comparison may take; none when it takes more.
    pub(super) fn compare(&self, other: &Self, steps: &mut u32) -> Option<Ordering> {
        *steps = steps.checked_sub(1)?;
        Some(match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.partial_cmp(other).unwrap_or(Ordering::Less),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::List(one), Self::List(other)) => {
                for (one, other) in one.iter().zip(other.iter()) {
                    match one.compare(other, steps)? {
                        Ordering::Equal => {}
                        order => return Some(order),
                    }
                }
                one.len().cmp(&other.len())
            }
            (Self::Map(one), Self::Map(other)) => {
                match one.keys().cmp(other.keys()) {
                    Ordering::Equal => {}
                    order => return Some(order),
                }
                for (one, other) in one.values().zip(other.values()) {
                    match one.compare(other, steps)? {
                        Ordering::Equal => {}
                        order => return Some(order),
                    }
                }
                Ordering::Equal
            }
            (one, other) => one.rank().cmp(&other.rank()),
        })
    }

    /// Writes the value as JSON; none when that takes more than `steps`.
    pub(super) fn write(&self, out: &mut String, steps: &mut u32) -> Option<()> {
        *steps = steps.checked_sub(1)?;
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&number_text(*number)),
            Self::Text(text) => {
                *steps = steps.checked_sub(u32::try_from(text.len() / 64).ok()?)?;
                out.push_str(&Value::from(&**text).to_string());
            }
            Self::List(list) => {
                out.push('[');
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out, steps)?;
                }
                out.push(']');
            }
            Self::Map(map) => {
                out.push('{');
                for (index, (key, item)) in map.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&Value::from(&**key).to_string());
                    out.push(':');
                    item.write(out, steps)?;
                }
                out.push('}');
            }
        }
        Some(())
    }

    /// What of an error is shown.
    pub(super) fn error_text(&self) -> String {
        if let Self::Text(text) = self {
            return text.chars().take(200).collect();
        }
        format!("error: {}", self.shown())
    }

    /// The type and the beginning of the value, as errors show it.
    pub(super) fn shown(&self) -> String {
        let (mut text, mut steps) = (String::new(), 64);
        let is_whole = self.write(&mut text, &mut steps).is_some() && text.chars().count() <= 40;
        let start: String = text.chars().take(40).collect();
        format!("{} ({start}{})", self.type_name(), if is_whole { "" } else { " ..." })
    }
}

/// A number as jq writes it.
fn number_text(number: f64) -> String {
    if number.is_nan() {
        "null".to_owned()
    } else if number.fract() == 0.0 && number.abs() < 1e17 {
        format!("{number:.0}")
    } else {
        Value::from(number.clamp(f64::MIN, f64::MAX)).to_string()
    }
}
