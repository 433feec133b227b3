//! Whether a registry's configuration is a JSON object, in the words of Go's reader.

use roost_object::json::{Kind, Reader, Source as _};

/// What is wrong with it, if anything.
pub(super) fn problem(config: &[u8]) -> Option<String> {
    if let Err(error) = Reader::check(config) {
        return Some(error.to_string());
    }
    match Reader::new(config).peek() {
        Ok(Kind::Object | Kind::Null) => None,
        Ok(kind) => {
            Some(format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", kind.go()))
        }
        Err(error) => Some(error.to_string()),
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
            ("nothing", Some("invalid character 'o' in literal null (expecting 'u')")),
            ("[]", Some("json: cannot unmarshal array into Go value of type map[string]interface {}")),
        ] {
            assert_eq!(problem(config.as_bytes()).as_deref(), expected, "{config}");
        }
        assert!(problem("[".repeat(1_000_000).as_bytes()).is_some());
    }
}
