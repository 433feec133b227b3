//! Structural schemas: what a custom resource may contain, compiled for pruning, defaulting, validation and merging.

mod compile;
mod defaults;
pub(crate) mod embedded;
mod list_type;
mod merge;
pub(crate) mod metadata;
mod prune;

use serde_json::Value;

pub use compile::CompileError;
pub use merge::{SchemaRef, Values};
pub use metadata::MetadataError;

use crate::pattern::Pattern;
use crate::rules::RuleSet;
use crate::validate::format::Format;

/// One place of a structural schema, and through its children the whole schema below it.
///
/// Descriptions, titles and examples are not kept: a compiled schema holds what decisions need.
#[derive(Debug, Default)]
pub struct Structural {
    pub(crate) kind: Type,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    /// A text has some format, known or not, other than that of bytes.
    pub(crate) formatted: bool,
    pub(crate) preserve_unknown: bool,
    /// The place holds a whole object with its own apiVersion, kind and metadata.
    pub(crate) embedded: bool,
    /// The place is the root of the custom resource itself.
    pub(crate) root: bool,
    pub(crate) list_type: ListType,
    pub(crate) map_type: MapType,
    pub(crate) below: Below,
    pub(crate) list_keys: Box<[Box<str>]>,
    pub(crate) default: Option<Box<Value>>,
    /// Sorted by name.
    pub(crate) properties: Box<[(Box<str>, Structural)]>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Structural>>,
    pub(crate) checks: Option<Box<Checks>>,
    pub(crate) rules: Option<Box<RuleSet>>,
}

/// The JSON type a schema asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Type {
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Any => "",
            Type::Object => "object",
            Type::Array => "array",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Unset,
    Atomic,
    Set,
    Map,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MapType {
    #[default]
    Unset,
    Granular,
    Atomic,
}

/// What a schema says of the keys that it does not name.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Unset,
    Allowed(bool),
    Schema(Box<Structural>),
}

impl Additional {
    pub(crate) fn schema(&self) -> Option<&Structural> {
        match self {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        !matches!(self, Additional::Unset)
    }
}

/// What occurs at a place or anywhere below it, so that walks can stop early.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Below {
    pub(crate) defaults: bool,
    pub(crate) embedded: bool,
    pub(crate) keyed_lists: bool,
    pub(crate) rules: bool,
}

/// What a value must satisfy beyond its JSON type.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) format: Option<Format>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) one_value_of: Box<[Value]>,
    pub(crate) required: Box<[Box<str>]>,
    pub(crate) all_of: Box<[Structural]>,
    pub(crate) any_of: Box<[Structural]>,
    pub(crate) one_of: Box<[Structural]>,
    pub(crate) not: Option<Box<Structural>>,
    /// Names that are not known here.
    pub(crate) unknown: Option<Box<UnknownNames>>,
}

/// A type or a format that is not known, or not for values of the type, by name. Only defaults are held to them.
#[derive(Debug)]
pub(crate) struct UnknownNames {
    pub(crate) kind: Box<str>,
    pub(crate) format: Box<str>,
}

impl Structural {
    /// The schema of a named property, if the schema names it.
    pub(crate) fn property(&self, name: &str) -> Option<&Structural> {
        let index = self.properties.binary_search_by(|(key, _)| key.as_ref().cmp(name)).ok()?;
        Some(&self.properties[index].1)
    }

    /// The schema of a key: a named property, or else that of additional properties.
    pub(crate) fn child(&self, name: &str) -> Option<&Structural> {
        self.property(name).or_else(|| self.additional.schema())
    }

    /// The properties that must be there.
    pub(crate) fn required_names(&self) -> &[Box<str>] {
        self.checks.as_ref().map_or(&[], |checks| &checks.required)
    }
}
