//! Validation errors that name a field, worded as the stock API server words them.

use std::fmt;

use serde_json::Value;

/// The way from an object's root to one of its fields.
///
/// Paths are built while validation walks down, so the common case, a valid object, must not pay for strings: a path is
/// a linked list on the stack, and becomes text only inside an [`Error`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Step<'a> {
    #[default]
    Root,
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The object itself. Its errors are reported without a field name in front.
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// A field of the root. Dots in `name` are kept, so `"metadata.name"` is a fine shorthand.
    pub fn new(name: &'a str) -> Self {
        Self { parent: None, step: Step::Child(name) }
    }

    /// A field below this one.
    #[must_use]
    pub fn child(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Child(name) }
    }

    /// An element of the list at this path.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of the map at this path.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut empty = true;
        if let Some(parent) = self.parent {
            fmt::Display::fmt(parent, f)?;
            empty = matches!((parent.parent, parent.step), (None, Step::Root));
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Child("") => f.write_str("[]"),
            Step::Child(name) if empty => f.write_str(name),
            Step::Child(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// What kind of wrong a value is. The names are those of the causes in a `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A referenced thing does not exist.
    NotFound,
    /// A value that must be given is missing.
    Required,
    /// The value repeats another that must be unique.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is not one of an enumeration.
    NotSupported,
    /// The value may not be set, or not by this caller.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The text is too short.
    TooShort,
    /// The list has too many entries.
    TooMany,
    /// The list has too few entries.
    TooFew,
    /// Validation itself failed.
    Internal,
    /// The value has another JSON type than the schema says.
    TypeInvalid,
}

impl Kind {
    /// The cause type in a `Status`.
    pub fn cause(self) -> &'static str {
        match self {
            Kind::NotFound => "FieldValueNotFound",
            Kind::Required => "FieldValueRequired",
            Kind::Duplicate => "FieldValueDuplicate",
            Kind::Invalid => "FieldValueInvalid",
            Kind::NotSupported => "FieldValueNotSupported",
            Kind::Forbidden => "FieldValueForbidden",
            Kind::TooLong => "FieldValueTooLong",
            Kind::TooShort => "FieldValueTooShort",
            Kind::TooMany => "FieldValueTooMany",
            Kind::TooFew => "FieldValueTooFew",
            Kind::Internal => "InternalError",
            Kind::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::NotFound => "Not found",
            Kind::Required => "Required value",
            Kind::Duplicate => "Duplicate value",
            Kind::Invalid | Kind::TypeInvalid => "Invalid value",
            Kind::NotSupported => "Unsupported value",
            Kind::Forbidden => "Forbidden",
            Kind::TooLong => "Too long",
            Kind::TooShort => "Too short",
            Kind::TooMany => "Too many",
            Kind::TooFew => "Too few",
            Kind::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(self, Kind::Required | Kind::Forbidden | Kind::TooLong | Kind::TooShort | Kind::Internal)
    }
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// What kind of wrong.
    pub kind: Kind,
    /// The field's path as text.
    pub field: String,
    /// The offending value; none when it is not shown.
    pub value: Option<Value>,
    /// The rest of the sentence.
    pub detail: String,
}

impl Error {
    fn new(kind: Kind, path: &Path<'_>, value: Option<Value>, detail: impl Into<String>) -> Self {
        Self { kind, field: path.to_string(), value, detail: detail.into() }
    }

    /// `Invalid value: <value>: <detail>`.
    pub fn invalid(path: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, path, Some(value.into()), detail)
    }

    /// `Invalid value: <detail>`, for values that are not shown.
    pub fn invalid_omitted(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, path, None, detail)
    }

    /// `Invalid value: <value>: <detail>` for a value of another JSON type than the schema's.
    pub fn type_invalid(path: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(Kind::TypeInvalid, path, Some(value.into()), detail)
    }

    /// `Required value` or `Required value: <detail>`.
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Kind::Required, path, None, detail)
    }

    /// `Forbidden: <detail>`.
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, path, None, detail)
    }

    /// `Duplicate value: <value>`.
    pub fn duplicate(path: &Path<'_>, value: impl Into<Value>) -> Self {
        Self::new(Kind::Duplicate, path, Some(value.into()), "")
    }

    /// `Not found: <value>`.
    pub fn not_found(path: &Path<'_>, value: impl Into<Value>) -> Self {
        Self::new(Kind::NotFound, path, Some(value.into()), "")
    }

    /// `Unsupported value: <value>: supported values: "a", "b"`, in the order given.
    pub fn not_supported<S: AsRef<str>>(path: &Path<'_>, value: impl Into<Value>, supported: &[S]) -> Self {
        let quoted: Vec<_> = supported.iter().map(|word| quote(word.as_ref())).collect();
        let detail = if quoted.is_empty() { String::new() } else { format!("supported values: {}", quoted.join(", ")) };
        Self::new(Kind::NotSupported, path, Some(value.into()), detail)
    }

    /// `Too long: may not be more than <max> bytes`.
    pub fn too_long(path: &Path<'_>, max: usize) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        Self::new(Kind::TooLong, path, None, format!("may not be more than {max} {unit}"))
    }

    /// `Too many: <actual>: must have at most <max> items`.
    pub fn too_many(path: &Path<'_>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        Self::new(Kind::TooMany, path, Some(actual.into()), format!("must have at most {max} {unit}"))
    }

    /// `Internal error: <detail>`.
    pub fn internal(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Kind::Internal, path, None, detail)
    }

    /// The sentence without the field's name.
    pub fn body(&self) -> String {
        let words = self.kind.words();
        let mut text = match &self.value {
            Some(value) if self.kind.shows_value() => format!("{words}: {}", show(value)),
            _ => words.to_owned(),
        };
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// All that is wrong with an object.
pub type Errors = Vec<Error>;

/// Joins errors as Go joins an aggregate: one alone stands bare, several in brackets, repeated ones once.
pub fn aggregate(errors: &[Error]) -> String {
    let mut words: Vec<String> = Vec::with_capacity(errors.len());
    for text in errors.iter().map(Error::to_string) {
        if !words.contains(&text) {
            words.push(text);
        }
    }
    if words.len() == 1 { words.swap_remove(0) } else { format!("[{}]", words.join(", ")) }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => escape_markup(value.to_string()),
        other => other.to_string(),
    }
}

/// Escapes what Go's encoder escapes in JSON so that pages may embed it. Outside of texts JSON has none of it.
fn escape_markup(json: String) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Quotes text as Go's `%q` does.
pub fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(quoted, "\\x{:02x}", c as u32);
            }
            c if !c.is_ascii() && !is_printable(c) => {
                let _ = if c as u32 > 0xffff {
                    write!(quoted, "\\U{:08x}", c as u32)
                } else {
                    write!(quoted, "\\u{:04x}", c as u32)
                };
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character shows as itself: letters, marks, numbers, punctuation and symbols do; spaces other than the
/// common one do not.
pub fn is_printable(character: char) -> bool {
    // Behind a letter, a mark is not escaped.
    ['a', character].iter().collect::<String>().escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_shows_stands_for_itself() {
        let quoted = |text: &str| quote(text).trim_matches('"').to_owned();
        assert_eq!(quoted("a\u{a0}b\u{ad}"), "a\\u00a0b\\u00ad");
        assert_eq!(quoted("\u{e000}\u{f0000}"), "\\ue000\\U000f0000");
        assert_eq!(quoted("\u{e9} a\u{301} \u{1f600}"), "\u{e9} a\u{301} \u{1f600}");
    }

    #[test]
    fn paths_print_as_go_prints_them() {
        let spec = Path::new("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        assert_eq!(first.child("name").to_string(), "spec.containers[0].name");
        assert_eq!(Path::new("metadata").child("labels").key("a/b").to_string(), "metadata.labels[a/b]");
        assert_eq!(Path::ROOT.child("spec").to_string(), "spec");
    }

    #[test]
    fn errors_read_as_stock_words_them() {
        let path = Path::new("spec.replicas");
        assert_eq!(
            Error::invalid(&path, -1, "must be greater than or equal to 0").to_string(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        assert_eq!(
            Error::not_supported(&path, "x", &["A", "B"]).body(),
            r#"Unsupported value: "x": supported values: "A", "B""#
        );
        assert_eq!(Error::too_long(&path, 63).body(), "Too long: may not be more than 63 bytes");
        assert_eq!(Error::required(&path, "").body(), "Required value");
        let shown = Error::invalid(&path, serde_json::json!(["<a&b>"]), "no");
        assert_eq!(shown.body(), r#"Invalid value: ["\u003ca\u0026b\u003e"]: no"#);
    }

    #[test]
    fn an_aggregate_brackets_several_and_drops_repeats() {
        let path = Path::new("a");
        let one = Error::required(&path, "");
        assert_eq!(aggregate(&[one.clone(), one.clone()]), "a: Required value");
        let other = Error::duplicate(&path, "x");
        assert_eq!(aggregate(&[one, other]), r#"[a: Required value, a: Duplicate value: "x"]"#);
    }
}
