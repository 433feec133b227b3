//! Whether a registry's configuration is a JSON object, in the words of Go's reader.

/// What is wrong with it, if anything.
pub(super) fn problem(config: &[u8]) -> Option<String> {
    match serde_json::from_slice::<serde_json::Value>(config) {
        Ok(serde_json::Value::Object(_) | serde_json::Value::Null) => None,
        Ok(value) => {
            let kind = match value {
                serde_json::Value::Array(_) => "array",
                serde_json::Value::String(_) => "string",
                serde_json::Value::Bool(_) => "bool",
                _ => "number",
            };
            Some(format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"))
        }
        Err(error) if error.is_eof() => Some("unexpected end of JSON input".to_owned()),
        Err(error) => Some(format!("invalid character {} {}", offending(config, &error), place(&error))),
    }
}

/// The character that the reader stopped at, quoted as Go quotes it.
fn offending(config: &[u8], error: &serde_json::Error) -> String {
    let line = config.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    match line.get(error.column().saturating_sub(1)).copied() {
        Some(b'\'') => r"'\''".to_owned(),
        Some(byte @ 0x20..=0x7e) => format!("'{}'", char::from(byte)),
        Some(byte) => format!("'\\x{byte:02x}'"),
        None => r"'\n'".to_owned(),
    }
}

fn place(error: &serde_json::Error) -> &'static str {
    let words = error.to_string();
    if words.starts_with("key must be a string") {
        "looking for beginning of object key string"
    } else if words.starts_with("expected `:`") {
        "after object key"
    } else if words.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if words.starts_with("expected `,` or `]`") {
        "after array element"
    } else if words.starts_with("trailing characters") {
        "after top-level value"
    } else {
        "looking for beginning of value"
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn problems_read_as_go_words_them() {
        for (config, expected) in [
            ("{}", None),
            ("", Some("unexpected end of JSON input")),
            ("{", Some("unexpected end of JSON input")),
            ("x", Some("invalid character 'x' looking for beginning of value")),
            ("{a}", Some("invalid character 'a' looking for beginning of object key string")),
            ("{} x", Some("invalid character 'x' after top-level value")),
            ("[]", Some("json: cannot unmarshal array into Go value of type map[string]interface {}")),
        ] {
            assert_eq!(problem(config.as_bytes()).as_deref(), expected, "{config}");
        }
        assert!(problem("[".repeat(1_000_000).as_bytes()).is_some());
    }
}
