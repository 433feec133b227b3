//! Mail addresses as Go's `net/mail` accepts them.

/// Whether text is one address, with or without a display name.
pub(super) fn is_email(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    reader.skip_comments() && reader.address() && reader.skip_comments() && reader.rest.is_empty()
}

/// Comments in parentheses nest no deeper than this.
const MAX_COMMENT_DEPTH: usize = 64;

struct Reader<'a> {
    rest: &'a str,
}

fn is_atom_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(character) || !character.is_ascii()
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Skips white space and comments; false when a comment is not closed.
    fn skip_comments(&mut self) -> bool {
        self.skip_space();
        while self.rest.starts_with('(') {
            let mut depth = 0;
            let mut end = None;
            let mut escaped = false;
            for (index, character) in self.rest.char_indices() {
                match character {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    end = Some(index);
                    break;
                }
                if depth > MAX_COMMENT_DEPTH {
                    return false;
                }
            }
            let Some(end) = end else { return false };
            self.rest = &self.rest[end + 1..];
            self.skip_space();
        }
        true
    }

    fn eat(&mut self, character: char) -> bool {
        if let Some(rest) = self.rest.strip_prefix(character) {
            self.rest = rest;
            return true;
        }
        false
    }

    fn address(&mut self) -> bool {
        self.skip_space();
        let start = self.rest;
        if self.spec() {
            return true;
        }
        self.rest = start;
        if !self.rest.starts_with('<') && !self.phrase() {
            return false;
        }
        self.skip_space();
        self.eat('<') && self.spec() && self.eat('>')
    }

    /// `local@domain`.
    fn spec(&mut self) -> bool {
        self.skip_space();
        let local =
            if self.rest.starts_with('"') { self.quoted().is_some_and(|text| !text.is_empty()) } else { self.dotted() };
        if !local || !self.eat('@') {
            return false;
        }
        self.skip_space();
        if self.rest.starts_with('[') { self.domain_literal() } else { self.dotted() }
    }

    fn dotted(&mut self) -> bool {
        let end = self.rest.find(|c: char| !is_atom_character(c) && c != '.').unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        !text.is_empty() && !text.starts_with('.') && !text.ends_with('.') && !text.contains("..")
    }

    fn domain_literal(&mut self) -> bool {
        let Some(end) = self.rest.find(']') else { return false };
        let inside = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        inside.parse::<std::net::IpAddr>().is_ok()
            || inside.strip_prefix("IPv6:").is_some_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
    }

    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '"' => {
                    self.rest = &self.rest[index + 1..];
                    return Some(text);
                }
                '\\' => text.push(characters.next()?.1),
                '\r' | '\n' => return None,
                other => text.push(other),
            }
        }
        None
    }

    fn phrase(&mut self) -> bool {
        let mut words = 0;
        loop {
            if !self.skip_comments() {
                return false;
            }
            if self.rest.starts_with('"') {
                if self.quoted().is_none() {
                    return false;
                }
            } else {
                let end = self.rest.find(|c: char| !is_atom_character(c) && c != '.').unwrap_or(self.rest.len());
                if end == 0 {
                    return words > 0;
                }
                self.rest = &self.rest[end..];
            }
            words += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn addresses_are_accepted_as_go_does() {
        for text in ["a@b", "a.b+c@example.com", "Bob <bob@example.com>", "\"a b\"@c.d", "<x@y>", "a@[127.0.0.1]"] {
            assert!(is_email(text), "{text}");
        }
        for text in ["", "a", "a@", "@b", "a..b@c", "a@b@c", "Bob <bob@example.com", "a b@c"] {
            assert!(!is_email(text), "{text}");
        }
    }
}
