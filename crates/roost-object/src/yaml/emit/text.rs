//! Text as a scalar: the plainest style that reads back as the same text, folded where the line is long.

use std::borrow::Cow;

use super::super::resolve::{Resolved, by_looks};
use super::{Emitter, STEP};

/// The column after which a line is broken at the next space.
const BEST_WIDTH: usize = 80;

/// The characters after which YAML 1.1 has a new line.
pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && character != '\u{feff}'
}

/// A text as stock has it after it wrote it as JSON and read that as YAML: JSON leaves this one line break as it is, and
/// YAML folds lines in quotes.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    const NEXT_LINE: char = '\u{85}';
    let Some((first, rest)) = text.split_once(NEXT_LINE) else { return Cow::Borrowed(text) };
    let mut folded = first.trim_end_matches(' ').to_owned();
    let mut lines = rest.split(NEXT_LINE).peekable();
    let mut breaks = 0;
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        let line = line.trim_start_matches(' ');
        let line = if is_last { line } else { line.trim_end_matches(' ') };
        breaks += 1;
        if !line.is_empty() || is_last {
            folded.push_str(&if breaks == 1 { " ".to_owned() } else { "\n".repeat(breaks - 1) });
            folded.push_str(line);
            breaks = 0;
        }
    }
    Cow::Owned(folded)
}

impl Emitter {
    /// Writes text in its own style. Keys that stand on one line with their value are never folded.
    pub(super) fn text(&mut self, text: &str, is_key: bool) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(STEP, |indent| indent + STEP));
        match style(text, is_key) {
            Style::Plain => self.plain(text, !is_key),
            Style::Single => self.single_quoted(text, !is_key),
            Style::Double => self.double_quoted(text, !is_key),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    /// Writes text as it is. It has no line breaks, and no space at its ends.
    pub(super) fn plain(&mut self, text: &str, may_fold: bool) {
        if !self.is_blank {
            self.put(' ');
        }
        let mut after_space = false;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let is_single = character == ' ' && !after_space && characters.peek() != Some(&' ');
            if is_single && may_fold && self.column > BEST_WIDTH {
                self.line();
            } else {
                self.put(character);
            }
            after_space = character == ' ';
            self.is_fresh &= after_space;
        }
        self.is_blank = false;
        self.is_fresh = false;
    }

    fn single_quoted(&mut self, text: &str, may_fold: bool) {
        self.sign("'", true, false);
        let (mut after_space, mut after_break) = (false, false);
        for (at, character) in text.char_indices() {
            let rest = &text[at + character.len_utf8()..];
            if is_break(character) {
                self.line_break(character);
                self.is_fresh = true;
                after_break = true;
                continue;
            }
            if character == ' ' {
                let is_inside = at > 0 && !rest.is_empty() && !rest.starts_with(' ');
                if may_fold && !after_space && self.column > BEST_WIDTH && is_inside {
                    self.line();
                } else {
                    self.put(' ');
                }
                after_space = true;
                continue;
            }
            if after_break {
                self.line();
            }
            if character == '\'' {
                self.put('\'');
            }
            self.put(character);
            self.is_fresh = false;
            (after_space, after_break) = (false, false);
        }
        self.sign("'", false, false);
    }

    fn double_quoted(&mut self, text: &str, may_fold: bool) {
        // Stock looks for a mark of the byte order at the wrong place: one at the beginning has everything escaped.
        let escapes_all = text.starts_with('\u{feff}');
        self.sign("\"", true, false);
        let mut after_space = false;
        for (at, character) in text.char_indices() {
            let rest = &text[at + character.len_utf8()..];
            if escapes_all || !is_printable(character) || is_break(character) || matches!(character, '"' | '\\') {
                escape(character).chars().for_each(|character| self.put(character));
                after_space = false;
            } else if character == ' ' {
                if may_fold && !after_space && self.column > BEST_WIDTH && at > 0 && !rest.is_empty() {
                    self.line();
                    if rest.starts_with(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                self.put(character);
                after_space = false;
            }
        }
        self.sign("\"", false, false);
    }

    fn literal(&mut self, text: &str) {
        self.sign("|", true, false);
        if text.starts_with(' ') || text.starts_with(is_break) {
            self.sign(&STEP.to_string(), false, false);
        }
        let body = text.strip_suffix(is_break);
        match body {
            None => self.sign("-", false, false),
            Some(body) if body.is_empty() || body.ends_with(is_break) => self.sign("+", false, false),
            Some(_) => {}
        }
        self.end_line();
        self.is_fresh = true;
        self.is_blank = true;
        let mut after_break = true;
        for character in text.chars() {
            if is_break(character) {
                self.line_break(character);
                self.is_fresh = true;
                after_break = true;
            } else {
                if after_break {
                    self.line();
                }
                self.put(character);
                self.is_fresh = false;
                after_break = false;
            }
        }
    }

    /// Writes a line break of the text itself.
    fn line_break(&mut self, character: char) {
        self.out.push(character);
        self.column = 0;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The style of a text: literal for several lines, plain where it can be taken for nothing else, quoted otherwise.
fn style(text: &str, is_key: bool) -> Style {
    let allowed = Allowed::of(text);
    if text.contains('\n') {
        return if allowed.literal && !is_key { Style::Literal } else { Style::Double };
    }
    let reads_as_text = matches!(by_looks(text), Resolved::Text(_)) && !is_time(text) && !is_sexagesimal(text);
    match () {
        () if !reads_as_text => Style::Double,
        () if allowed.plain => Style::Plain,
        () if allowed.single => Style::Single,
        () => Style::Double,
    }
}

/// The styles in which a text can be written.
struct Allowed {
    plain: bool,
    single: bool,
    literal: bool,
}

impl Allowed {
    fn of(text: &str) -> Allowed {
        let mut has_indicators = text.starts_with("---") || text.starts_with("...");
        let (mut has_breaks, mut has_special) = (false, false);
        let (mut space_after_break, mut break_after_space) = (false, false);
        let mut previous = None;
        for (at, character) in text.char_indices() {
            let next = text[at + character.len_utf8()..].chars().next();
            let ends_word = next.is_none_or(is_blank);
            has_indicators |= match character {
                ':' => ends_word,
                '?' | '-' => at == 0 && ends_word,
                '#' => previous.is_none_or(|previous| is_blank(previous) || is_break(previous) || previous == '\0'),
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => at == 0,
                _ => false,
            };
            has_special |= !is_printable(character);
            has_breaks |= is_break(character);
            space_after_break |= character == ' ' && previous.is_some_and(is_break);
            break_after_space |= is_break(character) && previous == Some(' ');
            previous = Some(character);
        }
        let is_odd = break_after_space || has_special;
        let has_blank_ends = text.starts_with(' ') || text.ends_with(' ');
        Allowed {
            plain: !is_odd && !has_breaks && !has_blank_ends && !has_indicators,
            single: !is_odd && !space_after_break,
            literal: !is_odd && !text.ends_with(' '),
        }
    }
}

fn escape(character: char) -> String {
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(character) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// Whether a reader of YAML 1.1 could take the text for a number to the base of 60, such as `1:30`.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let all = |text: &str, fits: fn(u8) -> bool| text.bytes().all(fits);
    let is_digit_or_underscore = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    let is_sixtieth = |part: &str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
        _ => false,
    };
    whole.contains(':')
        && first.starts_with(|character: char| character.is_ascii_digit())
        && all(first, is_digit_or_underscore)
        && all(fraction, is_digit_or_underscore)
        && parts.all(is_sixtieth)
}

/// Whether the text is a date, or a date and a time.
fn is_time(text: &str) -> bool {
    let mut rest = text;
    let Some(year) = digits(&mut rest, 4..=4) else { return false };
    let Some(month) = after(&mut rest, "-").and_then(|()| digits(&mut rest, 1..=2)) else { return false };
    let Some(day) = after(&mut rest, "-").and_then(|()| digits(&mut rest, 1..=2)) else { return false };
    if jiff::civil::Date::new(year as i16, month as i8, day as i8).is_err() {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let has_zone = !rest.starts_with(' ');
    if after(&mut rest, " ").or_else(|| after(&mut rest, "T")).or_else(|| after(&mut rest, "t")).is_none() {
        return false;
    }
    if !has_zone {
        rest = rest.trim_start_matches(' ');
    }
    let mut part = |before: &str, limit: u32| {
        after(&mut rest, before).and_then(|()| digits(&mut rest, 1..=2)).is_some_and(|number| number < limit)
    };
    if !(part("", 24) && part(":", 60) && part(":", 60)) {
        return false;
    }
    if after(&mut rest, ".").or_else(|| after(&mut rest, ",")).is_some() && digits(&mut rest, 1..=usize::MAX).is_none()
    {
        return false;
    }
    if !has_zone || rest == "Z" {
        return has_zone || rest.is_empty();
    }
    let signed = after(&mut rest, "+").or_else(|| after(&mut rest, "-"));
    let hours = signed.and_then(|()| digits(&mut rest, 2..=2)).is_some_and(|hours| hours <= 24);
    let minutes = after(&mut rest, ":").and_then(|()| digits(&mut rest, 2..=2)).is_some_and(|minutes| minutes < 60);
    hours && minutes && rest.is_empty()
}

/// Takes a prefix away, if it is there.
fn after(rest: &mut &str, prefix: &str) -> Option<()> {
    *rest = rest.strip_prefix(prefix)?;
    Some(())
}

/// Takes digits away, so many if there are, and says what they are worth; a fraction's worth is of no interest.
fn digits(rest: &mut &str, count: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let length = rest.bytes().take(*count.end()).take_while(u8::is_ascii_digit).count();
    if !count.contains(&length) {
        return None;
    }
    let (digits, after) = rest.split_at(length);
    *rest = after;
    Some(digits.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn a_next_line_is_folded() {
        let cases = [
            ("a\u{85}b", "a b"),
            ("a \u{85}  b", "a b"),
            ("a\u{85}\u{85} \u{85}b", "a\n\nb"),
            ("\u{85}a\u{85}", " a "),
            ("a", "a"),
        ];
        for (text, wanted) in cases {
            assert_eq!(folded(text), wanted);
        }
    }
}
