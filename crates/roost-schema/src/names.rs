//! The syntax of names and labels, in the words of the stock API server, and the metadata checks of embedded objects.

use roost_object::field::{Error, Errors, Path};
use serde_json::{Map, Value};

const LABEL_BYTES: usize = 63;
const SUBDOMAIN_BYTES: usize = 253;

/// All annotations of an object together.
const ANNOTATION_BYTES: usize = 256 * 1024;
const MANAGER_BYTES: usize = 128;
const SUBRESOURCE_BYTES: usize = 256;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

fn is_inner(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn is_label(text: &str, first: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&byte| first(byte))
        && bytes.iter().all(|&byte| is_inner(byte))
        && bytes.last().is_some_and(|&byte| byte != b'-')
}

/// What keeps text from being a DNS-1035 label; empty when nothing does.
pub(crate) fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_BYTES {
        problems.push(too_long(LABEL_BYTES));
    }
    if !is_label(text, |byte| byte.is_ascii_lowercase()) {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
             is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

fn starts_1123(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(|part| is_label(part, starts_1123))
}

/// What keeps text from being a DNS-1123 label; empty when nothing does.
pub(crate) fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_BYTES {
        problems.push(too_long(LABEL_BYTES));
    }
    if !is_label(text, starts_1123) {
        problems.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                 end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '{DNS1123_LABEL}')"
            )
        });
    }
    problems
}

/// What keeps text from being a DNS-1123 subdomain; empty when nothing does.
pub(crate) fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > SUBDOMAIN_BYTES {
        problems.push(too_long(SUBDOMAIN_BYTES));
    }
    if !is_subdomain(text) {
        problems.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
             and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{DNS1123_LABEL}(\\.{DNS1123_LABEL})*')"
        ));
    }
    problems
}

const LABEL_KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                               alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                               validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn is_label_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// What keeps text from being a label key such as `example.com/name`; empty when nothing does.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(dns1123_subdomain(prefix).into_iter().map(|words| format!("prefix part {words}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {LABEL_KEY_WORDS} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_BYTES {
        problems.push(format!("name part {}", too_long(LABEL_BYTES)));
    }
    if !is_label_key(name) {
        problems.push(format!("name part {LABEL_KEY_WORDS}"));
    }
    problems
}

/// What keeps text from being a label's value; empty when nothing does.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_BYTES {
        problems.push(too_long(LABEL_BYTES));
    }
    if !text.is_empty() && !is_label_key(text) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
             and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

fn path_segment(text: &str, prefix: bool) -> Vec<String> {
    if !prefix && (text == "." || text == "..") {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"].iter().filter(|bad| text.contains(**bad)).map(|bad| format!("may not contain '{bad}'")).collect()
}

/// Checks well-typed metadata of an embedded object, whose name and namespace are optional.
pub(crate) fn validate_object_meta(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut refuse = |name: &str, value: &str, problems: Vec<String>| {
        errors.extend(problems.into_iter().map(|words| Error::invalid(&path.child(name), value, words)));
    };
    refuse("generateName", text("generateName"), path_segment(text("generateName"), true));
    refuse("name", text("name"), path_segment(text("name"), false));
    if !text("namespace").is_empty() {
        refuse("namespace", text("namespace"), dns1123_label(text("namespace")));
    }
    if let Some(generation) = metadata.get("generation").and_then(Value::as_i64).filter(|number| *number < 0) {
        errors.push(Error::invalid(&path.child("generation"), generation, "must be greater than or equal to 0"));
    }
    labels(metadata, &path.child("labels"), errors);
    annotations(metadata, &path.child("annotations"), errors);
    owner_references(metadata, &path.child("ownerReferences"), errors);
    finalizers(metadata, &path.child("finalizers"), errors);
    managed_fields(metadata, &path.child("managedFields"), errors);
}

fn entries<'a>(metadata: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let map = metadata.get(name).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key, value.as_str().unwrap_or_default()))
}

fn labels(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    for (key, value) in entries(metadata, "labels") {
        errors.extend(qualified_name(key).into_iter().map(|words| Error::invalid(path, key.as_str(), words)));
        errors.extend(label_value(value).into_iter().map(|words| Error::invalid(path, value, words)));
    }
}

fn annotations(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in entries(metadata, "annotations") {
        size += key.len() + value.len();
        let problems = qualified_name(&key.to_lowercase());
        errors.extend(problems.into_iter().map(|words| Error::invalid(path, key.as_str(), words)));
    }
    if size > ANNOTATION_BYTES {
        errors.push(Error::too_long(path, ANNOTATION_BYTES));
    }
}

fn owner_references(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    let Some(list) = metadata.get("ownerReferences").and_then(Value::as_array) else { return };
    let mut controller: Option<String> = None;
    for reference in list {
        let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
        let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
        if version.is_empty() {
            errors.push(Error::invalid(&path.child("apiVersion"), text("apiVersion"), "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if text(name).is_empty() {
                errors.push(Error::invalid(&path.child(name), "", "must not be empty"));
            }
        }
        if text("apiVersion") == "v1" && text("kind") == "Event" {
            let words = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(Error::invalid(path, reference.clone(), words));
        }
        if reference.get("controller") == Some(&Value::Bool(true)) {
            let current = format!("{}/{}", text("kind"), text("name"));
            if let Some(first) = &controller {
                let words = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {current}"
                );
                errors.push(Error::invalid(path, Value::Array(list.clone()), words));
            } else {
                controller = Some(current);
            }
        }
    }
}

fn finalizers(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    let Some(list) = metadata.get("finalizers").and_then(Value::as_array) else { return };
    for name in list.iter().filter_map(Value::as_str) {
        errors.extend(qualified_name(name).into_iter().map(|words| Error::invalid(path, name, words)));
    }
    let has = |wanted: &str| list.iter().any(|name| name.as_str() == Some(wanted));
    if has("orphan") && has("foregroundDeletion") {
        let words = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(Error::invalid(path, Value::Array(list.clone()), words));
    }
}

fn managed_fields(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    let Some(list) = metadata.get("managedFields").and_then(Value::as_array) else { return };
    for (index, entry) in list.iter().enumerate() {
        let path = path.index(index);
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            errors.push(Error::invalid(&path.child("operation"), text("operation"), "must be `Apply` or `Update`"));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            errors.push(Error::invalid(&path.child("fieldsType"), text("fieldsType"), "must be `FieldsV1`"));
        }
        if text("manager").len() > MANAGER_BYTES {
            errors.push(Error::too_long(&path.child("manager"), MANAGER_BYTES));
        }
        for (position, character) in text("manager").char_indices().filter(|(_, character)| character.is_control()) {
            let words = format!("invalid character U+{:04X} (at position {position})", character as u32);
            errors.push(Error::invalid(&path.child("manager"), text("manager"), words));
        }
        if text("subresource").len() > SUBRESOURCE_BYTES {
            errors.push(Error::too_long(&path.child("subresource"), SUBRESOURCE_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_grammars() {
        assert!(dns1035_label("widgets").is_empty());
        assert!(!dns1035_label("1widgets").is_empty());
        assert!(dns1123_subdomain("a.example.com").is_empty());
        assert!(!dns1123_subdomain("a..com").is_empty());
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert!(qualified_name("example.com/My.Name").is_empty());
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    }
}
