//! Go's regular expressions respelled for the `regex` crate.
//!
//! Go and the `regex` crate share RE2's language but not its spelling: classes are ASCII in Go, brackets do not nest, a
//! lone brace is a literal. A pattern is therefore read once as Go reads it, with Go's errors, and respelled.

mod classes;

use std::collections::HashSet;
use std::fmt::Write as _;

/// Groups nest no deeper than this in Go.
const MAX_NESTING: usize = 1000;

/// Go allows no more copies of a thing than this, nested repetitions multiplied.
const MAX_COPIES: u64 = 1000;

pub(super) fn problem(code: &str, part: &str) -> String {
    format!("error parsing regexp: {code}: `{part}`")
}

/// Respells an expression of Go's syntax for the `regex` crate, or says what is wrong with it in Go's words.
pub(crate) fn translate(pattern: &str) -> Result<String, String> {
    let mut reader =
        Reader { pattern, rest: pattern, out: String::with_capacity(pattern.len() + 8), names: HashSet::new() };
    reader.run()?;
    Ok(reader.out)
}

struct Reader<'a> {
    pattern: &'a str,
    rest: &'a str,
    out: String,
    names: HashSet<&'a str>,
}

/// What stands before the reading position, as far as repetition operators care.
struct Level {
    /// Something stands there that can be repeated.
    operand: bool,
    /// Copies of the innermost thing in that operand.
    copies: u64,
    /// The most copies of anything in this group so far.
    group_copies: u64,
}

impl Level {
    fn new() -> Self {
        Self { operand: false, copies: 1, group_copies: 1 }
    }

    fn push(&mut self, copies: u64) {
        self.operand = true;
        self.copies = copies;
        self.group_copies = self.group_copies.max(copies);
    }
}

impl<'a> Reader<'a> {
    fn run(&mut self) -> Result<(), String> {
        let mut levels = vec![Level::new()];
        let mut last_repeat: Option<&'a str> = None;
        while let Some(next) = self.rest.chars().next() {
            let before = self.rest;
            let mut repeated = None;
            let depth = levels.len();
            let level = levels.last_mut().expect("the outermost level is never closed");
            match next {
                '(' => {
                    if self.rest.starts_with("(?") {
                        if self.perl_group()? {
                            levels.push(Level::new());
                        }
                    } else {
                        self.take(1);
                        self.out.push('(');
                        levels.push(Level::new());
                    }
                    if levels.len() > MAX_NESTING {
                        return Err(problem("expression nests too deeply", self.pattern));
                    }
                }
                ')' => {
                    if depth == 1 {
                        return Err(problem("unexpected )", self.pattern));
                    }
                    self.copy(1);
                    let closed = levels.pop().map_or(1, |level| level.group_copies);
                    if let Some(level) = levels.last_mut() {
                        level.push(closed);
                    }
                }
                '|' => {
                    self.copy(1);
                    level.operand = false;
                }
                '^' | '$' | '.' => {
                    self.copy(1);
                    level.push(1);
                }
                '[' => {
                    self.class()?;
                    level.push(1);
                }
                '*' | '+' | '?' => {
                    self.take(1);
                    let lazy = self.lazy();
                    Self::check_repeat(level, before, self.rest, last_repeat)?;
                    self.out.push(next);
                    self.out.push_str(lazy);
                    repeated = Some(before);
                }
                '{' => match self.braces() {
                    None => {
                        self.take(1);
                        self.out.push_str("\\{");
                        level.push(1);
                    }
                    Some((low, high, length)) => {
                        self.take(length);
                        let part = &before[..length];
                        let too_big = |number: u64| number > MAX_COPIES;
                        if too_big(low) || high.is_some_and(|high| too_big(high) || low > high) {
                            return Err(problem("invalid repeat count", part));
                        }
                        let lazy = self.lazy();
                        Self::check_repeat(level, before, self.rest, last_repeat)?;
                        let times = high.unwrap_or(low);
                        if times >= 2 && level.copies * times > MAX_COPIES {
                            return Err(problem("invalid repeat count", &before[..before.len() - self.rest.len()]));
                        }
                        level.push(level.copies * times.max(1));
                        let _ = match high {
                            Some(high) => write!(self.out, "{{{low},{high}}}"),
                            None => write!(self.out, "{{{low},}}"),
                        };
                        self.out.push_str(lazy);
                        repeated = Some(before);
                    }
                },
                '\\' => {
                    self.escape()?;
                    level.push(1);
                }
                other => {
                    self.take(other.len_utf8());
                    self.literal(other);
                    level.push(1);
                }
            }
            last_repeat = repeated;
        }
        if levels.len() > 1 {
            return Err(problem("missing closing )", self.pattern));
        }
        Ok(())
    }

    fn check_repeat(level: &Level, before: &str, after: &str, last: Option<&str>) -> Result<(), String> {
        if let Some(last) = last {
            return Err(problem("invalid nested repetition operator", &last[..last.len() - after.len()]));
        }
        if level.operand {
            return Ok(());
        }
        Err(problem("missing argument to repetition operator", &before[..before.len() - after.len()]))
    }

    fn take(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn copy(&mut self, bytes: usize) {
        self.out.push_str(&self.rest[..bytes]);
        self.take(bytes);
    }

    fn lazy(&mut self) -> &'static str {
        if self.rest.starts_with('?') {
            self.take(1);
            "?"
        } else {
            ""
        }
    }

    fn literal(&mut self, character: char) {
        push_literal(&mut self.out, character);
    }

    /// `{low}`, `{low,}` or `{low,high}`: the numbers and the length; none when the brace is a literal.
    fn braces(&self) -> Option<(u64, Option<u64>, usize)> {
        let inside = &self.rest[1..self.rest.find('}')?];
        let number = |text: &str| -> Option<u64> {
            let canonical = !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'));
            canonical.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let (low, high) = match inside.split_once(',') {
            None => (number(inside)?, Some(number(inside)?)),
            Some((low, "")) => (number(low)?, None),
            Some((low, high)) => (number(low)?, Some(number(high)?)),
        };
        Some((low, high, inside.len() + 2))
    }

    /// Reads `(?…`. True when a group was opened, false when only flags were set.
    fn perl_group(&mut self) -> Result<bool, String> {
        let start = self.rest;
        let name_at = if start.len() > 4 && start.starts_with("(?P<") {
            Some(4)
        } else if start.len() > 3 && start.starts_with("(?<") {
            Some(3)
        } else {
            None
        };
        if let Some(name_at) = name_at {
            let end = start.find('>').ok_or_else(|| problem("invalid named capture", start))?;
            let name = start.get(name_at..end).unwrap_or_default();
            let valid = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !valid {
                return Err(problem("invalid named capture", &start[..=end]));
            }
            if !self.names.insert(name) {
                return Err(problem("duplicate capture group name", name));
            }
            // Captures are never asked for by name, and names may not begin with a digit in the other spelling.
            self.out.push('(');
            self.take(end + 1);
            return Ok(true);
        }
        let mut negated = false;
        let mut any = false;
        for (offset, character) in start.char_indices().skip(2) {
            let end = offset + character.len_utf8();
            let accepted = match character {
                'i' | 'm' | 's' | 'U' => {
                    any = true;
                    true
                }
                '-' if !negated => {
                    negated = true;
                    any = false;
                    true
                }
                ':' | ')' if !negated || any => {
                    let flags = &start[..end];
                    self.out.push_str(if flags == "(?)" { "(?:)" } else { flags });
                    self.take(end);
                    return Ok(character == ':');
                }
                _ => false,
            };
            if !accepted {
                return Err(problem("invalid or unsupported Perl syntax", &start[..end]));
            }
        }
        Err(problem("invalid or unsupported Perl syntax", start))
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.rest.as_bytes().get(1) {
            Some(b'A') => self.replace(2, "\\A"),
            Some(b'z') => self.replace(2, "\\z"),
            Some(b'b') => self.replace(2, "(?-u:\\b)"),
            Some(b'B') => self.replace(2, "(?-u:\\B)"),
            Some(b'C') => return Err(problem("invalid escape sequence", "\\C")),
            Some(b'Q') => {
                let after = &self.rest[2..];
                let (quoted, rest) = after.split_once("\\E").unwrap_or((after, ""));
                self.out.push_str("(?:");
                quoted.chars().for_each(|character| self.literal(character));
                self.out.push(')');
                self.rest = rest;
            }
            Some(b'p' | b'P') => self.unicode_class()?,
            _ => {
                if let Some(class) = perl_class(self.rest) {
                    self.replace(2, class);
                } else {
                    let character = self.escaped_character()?;
                    self.literal(character);
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, bytes: usize, with: &str) {
        self.out.push_str(with);
        self.take(bytes);
    }

    /// Reads `\p{Greek}` or `\pN`.
    fn escaped_character(&mut self) -> Result<char, String> {
        let start = self.rest;
        let mut characters = start[1..].chars();
        let Some(first) = characters.next() else {
            return Err("error parsing regexp: trailing backslash at end of expression: ``".to_owned());
        };
        let after = characters.as_str();
        let refuse = |consumed: usize| Err(problem("invalid escape sequence", &start[..consumed.min(start.len())]));
        let (character, length) = match first {
            'a' => ('\u{7}', 2),
            'f' => ('\u{c}', 2),
            'n' => ('\n', 2),
            'r' => ('\r', 2),
            't' => ('\t', 2),
            'v' => ('\u{b}', 2),
            '0'..='7' => {
                let digits = start[1..].bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                if first != '0' && digits == 1 {
                    return refuse(2);
                }
                let code = u32::from_str_radix(&start[1..=digits], 8).unwrap_or_default();
                (char::from_u32(code).unwrap_or_default(), 1 + digits)
            }
            'x' if after.starts_with('{') => {
                let Some(end) = after.find('}') else { return refuse(start.len()) };
                let code = u32::from_str_radix(&after[1..end], 16).ok().and_then(char::from_u32);
                match code {
                    Some(character) if end > 1 => (character, end + 3),
                    _ => return refuse(end + 3),
                }
            }
            'x' => {
                let code = after.get(..2).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(character) => (character, 4),
                    None => return refuse(2 + after.chars().take(2).map(char::len_utf8).sum::<usize>()),
                }
            }
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => (other, 2),
            other => return refuse(1 + other.len_utf8()),
        };
        self.take(length);
        Ok(character)
    }
}

/// The ASCII classes that Go means by `\d`, `\s`, `\w` and their opposites.
fn perl_class(text: &str) -> Option<&'static str> {
    match text.as_bytes() {
        [b'\\', b'd', ..] => Some("[0-9]"),
        [b'\\', b'D', ..] => Some("[^0-9]"),
        [b'\\', b's', ..] => Some("[\\t\\n\\x0c\\r ]"),
        [b'\\', b'S', ..] => Some("[^\\t\\n\\x0c\\r ]"),
        [b'\\', b'w', ..] => Some("[0-9A-Za-z_]"),
        [b'\\', b'W', ..] => Some("[^0-9A-Za-z_]"),
        _ => None,
    }
}

fn push_literal(out: &mut String, character: char) {
    if character.is_ascii() && !character.is_ascii_alphanumeric() {
        let _ = write!(out, "\\x{:02x}", character as u32);
    } else {
        out.push(character);
    }
}
