//! Values while an expression is evaluated. Objects are not copied: values look at the JSON that they came from.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value as Json;

use super::access::{AccessCheck, AccessDecision, AccessSubject};
use super::formats::NamedFormat;
use super::json::{JsonList, JsonMap};
use super::libraries::network::Cidr;
use super::libraries::quantity::Quantity;
use super::libraries::semver::Semver;
use super::patch::Instance;
use crate::time::Instant;
use roost_object::url::Url;

/// The first second of the year one, which is Go's empty time.
const YEAR_ONE: i64 = -62_135_596_800;

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The expression failed, in cel-go's words.
    #[error("{0}")]
    Failed(String),
    /// The expression cost more than it may.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
}

impl EvalError {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        EvalError::Failed(words.into())
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::new("no such overload")
    }

    pub(crate) fn no_such_key(key: &str) -> Self {
        EvalError::Failed(format!("no such key: {key}"))
    }
}

pub(crate) type Outcome<'a> = Result<Value<'a>, EvalError>;

/// A value of the expression language.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer without a sign.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A length of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Instant),
    /// A list.
    List(List<'a>),
    /// A map or an object.
    Map(Map<'a>),
    /// A type, by its name.
    Type(&'static str),
    /// A value or nothing.
    Optional(Option<Arc<Value<'a>>>),
    /// An IP address.
    Ip(IpAddr),
    /// A range of IP addresses.
    Cidr(Cidr),
    /// A URL.
    Url(Arc<Url>),
    /// An amount.
    Quantity(Arc<Quantity>),
    /// A semantic version.
    Semver(Arc<Semver>),
    /// A named format of text.
    Format(&'static NamedFormat),
    /// What a schema keeps without describing it: it can only be compared.
    Preserved(&'a Json),
    /// An object that the expression made.
    Instance(Arc<Instance<'a>>),
    /// A question about access.
    Access(Arc<AccessCheck>),
    /// The answer to one.
    Decision(Arc<AccessDecision>),
}

/// Text that is borrowed from an object or shared.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// A part of an object or expression.
    Borrowed(&'a str),
    /// Made while evaluating.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

/// A list, by where its elements are.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// Elements of a JSON list.
    Json(JsonList<'a>),
    /// Elements made while evaluating.
    Values(Arc<Vec<Value<'a>>>),
    /// Elements made from a list that a schema makes a set or gives keys.
    Typed(Arc<Vec<Value<'a>>>, ListRule<'a>),
}

/// How a list from a schema compares and adds up.
#[derive(Clone, Copy, Debug)]
pub enum ListRule<'a> {
    /// By position.
    Plain,
    /// Without order, each element once.
    Set,
    /// Without order, by the values of these properties.
    Keyed(&'a [Box<str>]),
}

/// A map, by where its entries are.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// Entries of a JSON object.
    Json(JsonMap<'a>),
    /// Entries made while evaluating.
    Values(Arc<BTreeMap<Key<'a>, Value<'a>>>),
}

/// The key of an entry. Numbers are the same key whatever their type.
#[derive(Clone, Debug)]
pub enum Key<'a> {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond the signed range.
    Uint(u64),
    /// Text.
    String(Text<'a>),
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |key: &Key<'_>| match key {
            Key::Bool(_) => 0,
            Key::Int(_) => 1,
            Key::Uint(_) => 2,
            Key::String(_) => 3,
        };
        match (self, other) {
            (Key::Bool(a), Key::Bool(b)) => a.cmp(b),
            (Key::Int(a), Key::Int(b)) => a.cmp(b),
            (Key::Uint(a), Key::Uint(b)) => a.cmp(b),
            (Key::String(a), Key::String(b)) => a.as_ref().cmp(b.as_ref()),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl<'a> Key<'a> {
    /// The key that a value stands for; none for values that no map can have as keys.
    pub(crate) fn of(value: &Value<'a>) -> Option<Key<'a>> {
        match value {
            Value::Bool(flag) => Some(Key::Bool(*flag)),
            Value::Int(number) => Some(Key::Int(*number)),
            Value::Uint(number) => Some(i64::try_from(*number).map_or(Key::Uint(*number), Key::Int)),
            Value::Double(number) if number.fract() == 0.0 && number.abs() < 9e18 => Some(Key::Int(*number as i64)),
            Value::String(text) => Some(Key::String(text.clone())),
            _ => None,
        }
    }

    pub(crate) fn value(&self) -> Value<'a> {
        match self {
            Key::Bool(flag) => Value::Bool(*flag),
            Key::Int(number) => Value::Int(*number),
            Key::Uint(number) => Value::Uint(*number),
            Key::String(text) => Value::String(text.clone()),
        }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Value::String(Text::Shared(text.into()))
    }

    pub(crate) fn list(elements: Vec<Value<'a>>) -> Self {
        Value::List(List::Values(Arc::new(elements)))
    }

    pub(crate) fn some(value: Value<'a>) -> Self {
        Value::Optional(Some(Arc::new(value)))
    }

    /// The name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Type(_) => "type",
            Value::Optional(_) => "optional_type",
            Value::Ip(_) => "net.IP",
            Value::Cidr(_) => "net.CIDR",
            Value::Url(_) => "kubernetes.URL",
            Value::Quantity(_) => "kubernetes.Quantity",
            Value::Semver(_) => "kubernetes.Semver",
            Value::Format(_) => "kubernetes.NamedFormat",
            Value::Preserved(_) => "unknown",
            Value::Instance(instance) if *instance.name == *super::patch::JSON_PATCH => super::patch::JSON_PATCH,
            Value::Instance(_) => "Object",
            Value::Access(check) => match check.subject {
                AccessSubject::Anything => "kubernetes.authorization.Authorizer",
                AccessSubject::Path(_) => "kubernetes.authorization.PathCheck",
                AccessSubject::Group(_) => "kubernetes.authorization.GroupCheck",
                AccessSubject::Resource(_) => "kubernetes.authorization.ResourceCheck",
            },
            Value::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    /// The size that costs are counted by: characters, bytes, elements, entries; one for all else.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.chars().count() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Optional(Some(inner)) => inner.size(),
            Value::Ip(address) => {
                if address.is_ipv4() {
                    4
                } else {
                    16
                }
            }
            Value::Cidr(cidr) => u64::from(cidr.bits).div_ceil(8),
            _ => 1,
        }
    }

    /// Whether the value is the empty one of its type.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Value::Null | Value::Optional(None) | Value::Bool(false) | Value::Int(0) | Value::Uint(0) => true,
            Value::Double(number) => *number == 0.0,
            Value::String(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::Duration(nanos) => *nanos == 0,
            Value::Timestamp(instant) => *instant == Instant::utc(YEAR_ONE, 0),
            Value::List(List::Values(elements)) => elements.is_empty(),
            Value::Map(Map::Values(entries)) => entries.is_empty(),
            Value::Optional(Some(inner)) => inner.is_zero(),
            _ => false,
        }
    }
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            List::Json(list) => list.len(),
            List::Values(elements) | List::Typed(elements, _) => elements.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Outcome<'a>> {
        match self {
            List::Json(list) => list.get(index),
            List::Values(elements) | List::Typed(elements, _) => elements.get(index).cloned().map(Ok),
        }
    }

    /// The elements, each with its own chance to fail.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, EvalError>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn to_vec(&self) -> Result<Vec<Value<'a>>, EvalError> {
        self.iter().collect()
    }

    /// Whether a schema says what the list's elements are.
    pub(crate) fn is_described(&self) -> bool {
        match self {
            List::Json(list) => !list.is_untyped(),
            List::Typed(..) => true,
            List::Values(_) => false,
        }
    }

    pub(crate) fn rule(&self) -> ListRule<'a> {
        match self {
            List::Json(list) => list.rule(),
            List::Values(_) => ListRule::Plain,
            List::Typed(_, rule) => *rule,
        }
    }
}

impl<'a> Map<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Map::Json(map) => map.len(),
            Map::Values(entries) => entries.len(),
        }
    }

    /// The value of a key; none when the map has no such entry.
    pub(crate) fn find(&self, key: &Value<'a>) -> Result<Option<Value<'a>>, EvalError> {
        match (self, key) {
            (Map::Json(map), Value::String(text)) => map.find(text),
            (Map::Json(_), _) => Err(EvalError::no_such_overload()),
            (Map::Values(entries), key) => Ok(Key::of(key).and_then(|key| entries.get(&key).cloned())),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Json(map) => map.keys(),
            Map::Values(entries) => entries.keys().map(Key::value).collect(),
        }
    }
}
