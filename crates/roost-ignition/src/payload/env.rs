//! Files of `NAME="value"` lines, as systemd reads them.

use std::fmt::Write as _;

/// One line. Values were checked to hold no quotes, backslashes and control characters.
pub(super) fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name}=\"{value}\"");
}

/// The value of a name.
pub(super) fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix('=')?;
        Some(value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value))
    })
}

/// Whether a value can stand between quotes as it is.
pub(super) fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| !byte.is_ascii_control() && !b"\"\\".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{line, value};

    #[test]
    fn what_is_written_is_read() {
        let mut text = String::new();
        line(&mut text, "A", "b=c,d");
        line(&mut text, "AB", "");
        assert_eq!((value(&text, "A"), value(&text, "AB"), value(&text, "B")), (Some("b=c,d"), Some(""), None));
    }
}
