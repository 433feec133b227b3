//! Classes of characters.

use regex::Regex;

use super::{Reader, perl_class, problem, push_literal};

impl Reader<'_> {
    pub(super) fn unicode_class(&mut self) -> Result<(), String> {
        let start = self.rest;
        let Some(third) = start.chars().nth(2) else {
            return Err(problem("invalid character class range", start));
        };
        let (name, length) = if third == '{' {
            let end = start.find('}').ok_or_else(|| problem("invalid character class range", start))?;
            (&start[3..end], end + 1)
        } else {
            (&start[2..2 + third.len_utf8()], 2 + third.len_utf8())
        };
        let mut negated = start.as_bytes()[1] == b'P';
        let name = name.strip_prefix('^').map_or(name, |rest| {
            negated = !negated;
            rest
        });
        let spelled = match name {
            "Any" => if negated { "[^\\x{0}-\\x{10FFFF}]" } else { "[\\x{0}-\\x{10FFFF}]" }.to_owned(),
            _ => format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' }),
        };
        let known = name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && Regex::new(&spelled).is_ok();
        if !known {
            return Err(problem("invalid character class range", &start[..length]));
        }
        self.replace(length, &spelled);
        Ok(())
    }

    pub(super) fn class(&mut self) -> Result<(), String> {
        let start = self.rest;
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut first = true;
        loop {
            let Some(next) = self.rest.chars().next() else { return Err(problem("missing closing ]", start)) };
            if next == ']' && !first {
                self.copy(1);
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest[2..].find(":]")
            {
                let name = &self.rest[..end + 4];
                if Regex::new(&format!("[{name}]")).is_err() {
                    return Err(problem("invalid character class range", name));
                }
                self.copy(end + 4);
                continue;
            }
            if self.rest.starts_with("\\p") || self.rest.starts_with("\\P") {
                self.unicode_class()?;
                continue;
            }
            if let Some(class) = perl_class(self.rest) {
                self.replace(2, class);
                continue;
            }
            let range = self.rest;
            let low = self.class_character(start)?;
            push_literal(&mut self.out, low);
            if self.rest.len() >= 2 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take(1);
                let high = self.class_character(start)?;
                if high < low {
                    return Err(problem("invalid character class range", &range[..range.len() - self.rest.len()]));
                }
                self.out.push('-');
                push_literal(&mut self.out, high);
            }
        }
    }

    fn class_character(&mut self, class: &str) -> Result<char, String> {
        match self.rest.chars().next() {
            None => Err(problem("missing closing ]", class)),
            Some('\\') => self.escaped_character(),
            Some(character) => {
                self.take(character.len_utf8());
                Ok(character)
            }
        }
    }
}
