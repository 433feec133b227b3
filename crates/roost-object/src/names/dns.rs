//! Names that DNS knows.

use super::{LABEL_MAX, SUBDOMAIN_MAX, format_error, is_framed, is_lower_alphanumeric, length};

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FORMAT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const UNDERSCORE_SUBDOMAIN_FORMAT: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";

fn looks_like_label(text: &str) -> bool {
    is_framed(text, is_lower_alphanumeric, |byte| is_lower_alphanumeric(byte) || byte == b'-', is_lower_alphanumeric)
}

pub(super) fn looks_like_subdomain(text: &str) -> bool {
    text.split('.').all(looks_like_label)
}

fn looks_like_underscore_label(text: &str) -> bool {
    let text = text.strip_prefix('_').unwrap_or(text);
    is_framed(
        text,
        is_lower_alphanumeric,
        |byte| is_lower_alphanumeric(byte) || byte == b'-' || byte == b'_',
        is_lower_alphanumeric,
    )
}

/// A lowercase DNS label.
pub fn is_dns1123_label(text: &str) -> Vec<String> {
    let mut errors = length(text, LABEL_MAX);
    if !looks_like_label(text) {
        errors.push(if looks_like_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            format_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL_FORMAT,
                &["my-name", "123-abc"],
            )
        });
    }
    errors
}

pub(super) fn subdomain_words() -> String {
    format_error(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        SUBDOMAIN_FORMAT,
        &["example.com"],
    )
}

/// A lowercase DNS subdomain.
pub fn is_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = length(text, SUBDOMAIN_MAX);
    if !looks_like_subdomain(text) {
        errors.push(subdomain_words());
    }
    errors
}

/// A DNS subdomain in which labels may have underscores, as search domains may.
pub fn is_dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    let mut errors = length(text, SUBDOMAIN_MAX);
    if !text.split('.').all(looks_like_underscore_label) {
        errors.push(format_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            UNDERSCORE_SUBDOMAIN_FORMAT,
            &["example.com"],
        ));
    }
    errors
}

/// A DNS subdomain behind `*.`.
pub fn is_wildcard_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = length(text, SUBDOMAIN_MAX);
    if !text.strip_prefix("*.").is_some_and(looks_like_subdomain) {
        errors.push(format_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{SUBDOMAIN_FORMAT}"),
            &["*.example.com"],
        ));
    }
    errors
}

/// A DNS label that starts with a letter.
pub fn is_dns1035_label(text: &str) -> Vec<String> {
    let mut errors = length(text, LABEL_MAX);
    let matches = is_framed(
        text,
        |byte| byte.is_ascii_lowercase(),
        |byte| is_lower_alphanumeric(byte) || byte == b'-',
        is_lower_alphanumeric,
    );
    if !matches {
        errors.push(format_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}
