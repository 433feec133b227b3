//! What names, keys and values may look like. Each check returns the stock server's sentences; none means valid.
//!
//! The matchers are written by hand because they run on every write; the expressions only appear in the sentences.

mod dns;

pub use dns::{
    is_dns1035_label, is_dns1123_label, is_dns1123_subdomain, is_dns1123_subdomain_with_underscore,
    is_wildcard_dns1123_subdomain,
};
use dns::{looks_like_subdomain, subdomain_words};

/// The longest DNS label.
pub const LABEL_MAX: usize = 63;
/// The longest DNS subdomain.
pub const SUBDOMAIN_MAX: usize = 253;

/// Words that cannot stand for a field or a variable in an expression of CEL.
pub const EXPRESSION_KEYWORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const QUALIFIED_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_WORDS: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// `<words> (e.g. 'a', or 'b', regex used for validation is '<format>')`.
pub fn format_error(words: &str, format: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{format}')");
    }
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{format}')", examples.join(" or "))
}

/// `must be no more than <max> characters`.
pub fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

/// `must be between <low> and <high>, inclusive`.
pub fn out_of_range(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether `text` starts with one of `first`, ends with one of `last`, and has only `inner` between.
fn is_framed(text: &str, first: fn(u8) -> bool, inner: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => first(*only),
        [start, middle @ .., end] => first(*start) && last(*end) && middle.iter().all(|byte| inner(*byte)),
    }
}

fn looks_qualified(text: &str) -> bool {
    is_framed(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
        |byte| byte.is_ascii_alphanumeric(),
    )
}

/// A label key: a name with an optional DNS subdomain and a slash in front.
pub fn is_qualified_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut parts = text.split('/');
    let (name, prefix) = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => (name, None),
        (Some(prefix), Some(name), None) => (name, Some(prefix)),
        _ => {
            errors.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                format_error(QUALIFIED_WORDS, QUALIFIED_FORMAT, &["MyName", "my.name", "123-abc"])
            ));
            return errors;
        }
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            errors.push("prefix part must be non-empty".to_owned());
        } else {
            errors
                .extend(length_in_bytes(prefix, SUBDOMAIN_MAX).into_iter().map(|words| format!("prefix part {words}")));
            if !looks_like_subdomain(prefix) {
                errors.push(format!("prefix part {}", subdomain_words()));
            }
        }
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        errors.push(format!("name part must be no more than {LABEL_MAX} bytes"));
    }
    if !looks_qualified(name) {
        let words = format_error(QUALIFIED_WORDS, QUALIFIED_FORMAT, &["MyName", "my.name", "123-abc"]);
        errors.push(format!("name part {words}"));
    }
    errors
}

/// The value of a label.
pub fn is_label_value(text: &str) -> Vec<String> {
    let mut errors = length_in_bytes(text, LABEL_MAX);
    if !text.is_empty() && !looks_qualified(text) {
        errors.push(format_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// A name that can be one segment of a URL's path.
pub fn is_path_segment(text: &str) -> Vec<String> {
    match text {
        "." => vec!["may not be '.'".to_owned()],
        ".." => vec!["may not be '..'".to_owned()],
        _ => is_path_segment_prefix(text),
    }
}

/// The beginning of a name that can be one segment of a URL's path.
pub fn is_path_segment_prefix(text: &str) -> Vec<String> {
    ['/', '%'].into_iter().filter(|c| text.contains(*c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// The name of an HTTP header.
pub fn is_http_header_name(text: &str) -> Vec<String> {
    let matches = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    unless(matches, || {
        format_error(
            "a valid HTTP header must consist of alphanumeric characters or '-'",
            "[-A-Za-z0-9]+",
            &["X-Header-Name"],
        )
    })
}

/// The name of an environment variable, in the narrow form that shells take.
pub fn is_env_var_name(text: &str) -> Vec<String> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let matches = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit()) && text.bytes().all(inner);
    let mut errors = unless(matches, || {
        format_error(
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
            "[-._a-zA-Z][-._a-zA-Z0-9]*",
            &["my.env-name", "MY_ENV.NAME", "MyEnvName1"],
        )
    });
    errors.extend(starts_like_parent_directory(text));
    errors
}

/// The name of an environment variable, in the wide form that containers take.
pub fn is_relaxed_env_var_name(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    let matches = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    unless(matches, || {
        "a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()
    })
}

/// A key of a `ConfigMap` or Secret.
pub fn is_config_map_key(text: &str) -> Vec<String> {
    let mut errors = length(text, SUBDOMAIN_MAX);
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(inner) {
        errors.push(format_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    errors.extend(starts_like_parent_directory(text));
    errors
}

/// An identifier of the C language.
pub fn is_c_identifier(text: &str) -> Vec<String> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let matches = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit()) && text.bytes().all(inner);
    unless(matches, || {
        format_error(
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
            "[A-Za-z_][A-Za-z0-9_]*",
            &["my_name", "MY_NAME", "MyName"],
        )
    })
}

/// The name of a port (an IANA service name).
pub fn is_port_name(text: &str) -> Vec<String> {
    let mut errors = length(text, 15);
    if text.is_empty() || !text.bytes().all(|byte| is_lower_alphanumeric(byte) || byte == b'-') {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// The number of a port.
pub fn is_port_number(port: i64) -> Vec<String> {
    in_range(port, 1, 65535)
}

/// A number within bounds, both included.
pub fn in_range(number: i64, low: i64, high: i64) -> Vec<String> {
    unless((low..=high).contains(&number), || out_of_range(low, high))
}

/// A percentage such as `25%`.
pub fn is_percent(text: &str) -> Vec<String> {
    let matches = text
        .strip_suffix('%')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    unless(matches, || {
        format_error(
            "a valid percent string must be a numeric string followed by an ending '%'",
            "[0-9]+%",
            &["1%", "93%"],
        )
    })
}

/// The reason of a condition. Its length is not checked here.
pub fn is_condition_reason(text: &str) -> Vec<String> {
    let matches = is_framed(
        text,
        |byte| byte.is_ascii_alphabetic(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':'),
        |byte| byte.is_ascii_alphanumeric() || byte == b'_',
    );
    unless(matches, || {
        format_error(
            "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
            "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
            &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
        )
    })
}

fn unless(matches: bool, words: impl FnOnce() -> String) -> Vec<String> {
    if matches { Vec::new() } else { vec![words()] }
}

fn length(text: &str, max: usize) -> Vec<String> {
    unless(text.len() <= max, || too_long(max))
}

fn length_in_bytes(text: &str, max: usize) -> Vec<String> {
    unless(text.len() <= max, || format!("must be no more than {max} bytes"))
}

fn starts_like_parent_directory(text: &str) -> Option<String> {
    match text {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        _ if text.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

/// A name that will get a random suffix may end in a dash; this puts a letter in its place before it is checked.
pub fn mask_trailing_dash(name: &str) -> std::borrow::Cow<'_, str> {
    match name.strip_suffix('-') {
        // Stock replaces the dash together with the character before it.
        Some(rest) if !rest.is_empty() && rest.is_char_boundary(rest.len() - 1) => {
            format!("{}a", &rest[..rest.len() - 1]).into()
        }
        _ => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_subdomains() {
        for good in ["a", "a-b", "0", "a1", &"a".repeat(63)] {
            assert_eq!(is_dns1123_label(good), Vec::<String>::new(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "ä", " "] {
            assert_eq!(is_dns1123_label(bad).len(), 1, "{bad}");
            assert_eq!(is_dns1123_subdomain(bad).len(), 1, "{bad}");
        }
        assert_eq!(is_dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(is_dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert!(is_dns1123_subdomain("a.b-c.0").is_empty());
        assert_eq!(is_dns1123_subdomain("a..b").len(), 1);
        assert_eq!(
            is_dns1123_subdomain("A"),
            [
                r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert_eq!(
            is_dns1123_label("A"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(is_dns1035_label("0a").len(), 1);
        assert!(is_dns1123_subdomain_with_underscore("_sip._tcp.a_b").is_empty());
        assert!(is_wildcard_dns1123_subdomain("*.a.b").is_empty());
    }

    #[test]
    fn qualified_names_say_which_part_is_wrong() {
        for good in ["a", "A.b_c-d", "example.com/x", "1"] {
            assert_eq!(is_qualified_name(good), Vec::<String>::new(), "{good}");
        }
        assert_eq!(is_qualified_name("/a")[0], "prefix part must be non-empty");
        assert_eq!(is_qualified_name("")[0], "name part must be non-empty");
        assert!(is_qualified_name("a/b/c")[0].starts_with("a valid label key must consist of"));
        assert_eq!(is_qualified_name(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
    }

    #[test]
    fn other_names() {
        assert!(is_label_value("").is_empty());
        assert_eq!(is_label_value("-").len(), 1);
        assert_eq!(is_path_segment(".."), ["may not be '..'"]);
        assert_eq!(is_path_segment("a/%"), ["may not contain '/'", "may not contain '%'"]);
        assert_eq!(is_config_map_key("..a"), ["must not start with '..'"]);
        assert_eq!(
            is_port_name("-"),
            ["must contain at least one letter (a-z)", "must not begin or end with a hyphen"]
        );
        assert_eq!(is_port_number(0), ["must be between 1 and 65535, inclusive"]);
        assert!(is_percent("25%").is_empty());
        assert_eq!(is_percent("%").len(), 1);
        assert!(is_relaxed_env_var_name("a b").is_empty());
        assert_eq!(is_relaxed_env_var_name("a=b").len(), 1);
        assert!(is_env_var_name("-a.b_c").is_empty());
        assert_eq!(is_env_var_name("1a").len(), 1);
        assert!(is_condition_reason("A:b").is_empty());
        assert_eq!(mask_trailing_dash("ab-"), "aa");
        assert_eq!(mask_trailing_dash("-"), "-");
    }
}
