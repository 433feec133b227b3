//! Property names as identifiers: what cannot stand in an expression is escaped.

use std::borrow::Cow;

use roost_object::names::EXPRESSION_KEYWORDS;

/// The identifier for a property; none when there is no way to write it.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if EXPRESSION_KEYWORDS.contains(&name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.bytes().all(plain) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut out = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match character {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[character.len_utf8()..];
    }
    Some(Cow::Owned(out))
}

/// The property for an identifier; none when it has an escape that does not exist.
pub(crate) fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(Cow::Borrowed(identifier));
    }
    let mut out = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let inside = &rest[start + 2..];
        let length = inside.find('_').unwrap_or(inside.len());
        if length == 0 || !inside[length..].starts_with("__") {
            // Not an escape: keep one character and look on.
            out.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        }
        out.push_str(&rest[..start]);
        match &inside[..length] {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if EXPRESSION_KEYWORDS.contains(&word) && identifier.len() == word.len() + 4 => out.push_str(word),
            _ => return None,
        }
        rest = &inside[length + 2..];
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_both_ways() {
        for (name, identifier) in [
            ("foo", "foo"),
            ("foo_bar", "foo_bar"),
            ("foo-bar", "foo__dash__bar"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("namespace", "__namespace__"),
            ("_x", "_x"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(identifier));
            assert_eq!(unescape(identifier).as_deref(), Some(name));
        }
        for name in ["", "1a", "a$", "\u{e9}"] {
            assert_eq!(escape(name), None);
        }
        assert_eq!(unescape("__nope__"), None);
    }
}
