//! What a label key, a label value and the prefix of a key may look like.

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PREFIX_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                           '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                           used for validation is \
                           '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const NAME_LENGTH: usize = 63;
const PREFIX_LENGTH: usize = 253;

/// All that is wrong with a label key; empty for a good one.
pub fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            errors.push(format!(
                "a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
            return errors;
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(subdomain_errors(prefix).into_iter().map(|error| format!("prefix part {error}")));
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_LENGTH {
        errors.push(format!("name part must be no more than {NAME_LENGTH} bytes"));
    }
    if !is_name(name) {
        errors.push(format!("name part {NAME_RULE}"));
    }
    errors
}

/// All that is wrong with a label value; empty for a good one.
pub fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > NAME_LENGTH {
        errors.push(format!("must be no more than {NAME_LENGTH} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE_RULE.to_owned());
    }
    errors
}

/// Whether a text is a DNS subdomain in lowercase.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= PREFIX_LENGTH && has_subdomain_form(text)
}

/// All that is wrong with a DNS subdomain in lowercase; empty for a good one.
pub fn subdomain_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > PREFIX_LENGTH {
        errors.push(format!("must be no more than {PREFIX_LENGTH} bytes"));
    }
    if !has_subdomain_form(text) {
        errors.push(PREFIX_RULE.to_owned());
    }
    errors
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last))
        if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn has_subdomain_form(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.split('.').all(|part| {
        let bytes = part.as_bytes();
        is_end(bytes.first())
            && is_end(bytes.last())
            && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_judged_by_prefix_and_name() {
        let long = "a".repeat(64);
        for good in ["a", "A.b_c-9", "example.com/name", "9", "x-y.z/0"] {
            assert!(label_key_errors(good).is_empty(), "{good}");
        }
        for (bad, count) in
            [("", 2), ("/a", 1), ("a/", 2), ("a/b/c", 1), ("A/b", 1), ("a..b/c", 1), ("-a", 1), (&*long, 1)]
        {
            assert_eq!(label_key_errors(bad).len(), count, "{bad}");
        }
        assert_eq!(label_key_errors("/a")[0], "prefix part must be non-empty");
    }

    #[test]
    fn values_may_be_empty_but_not_odd() {
        assert!(label_value_errors("").is_empty());
        assert!(label_value_errors("a.b").is_empty());
        assert_eq!(label_value_errors("a b").len(), 1);
        assert_eq!(label_value_errors(&"-".repeat(64)).len(), 2);
    }
}
