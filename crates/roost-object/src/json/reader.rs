//! Bytes as a source: a strict JSON reader that words its complaints as Go's does.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Kind, MAX_DEPTH, Number, Source};

/// Why bytes are not JSON, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    message: Box<str>,
}

impl SyntaxError {
    fn invalid(byte: u8, context: &str) -> Self {
        Self { message: format!("invalid character {} {context}", quote_byte(byte)).into() }
    }

    fn end() -> Self {
        Self { message: "unexpected end of JSON input".into() }
    }

    pub(super) fn too_deep(byte: u8) -> Self {
        Self::invalid(byte, "exceeded max depth")
    }

    /// A number that no 64-bit float can hold, which Go reports as a failed decoding into one.
    fn too_large(literal: &str) -> Self {
        Self { message: format!("json: cannot unmarshal number {literal} into Go value of type float64").into() }
    }
}

fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = crate::field::quote(char::from(byte).encode_utf8(&mut [0; 4]));
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

/// Reads JSON from bytes.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether each open list or object has had an entry yet, and which of the two it is.
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    object: bool,
    started: bool,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, open: Vec::new() }
    }

    /// Checks that nothing follows the document.
    pub fn finish(&mut self) -> Result<(), SyntaxError> {
        match self.next_byte() {
            None => Ok(()),
            Some(byte) => Err(SyntaxError::invalid(byte, "after top-level value")),
        }
    }

    /// Checks a whole document without keeping anything of it.
    pub fn check(bytes: &'a [u8]) -> Result<(), SyntaxError> {
        let mut reader = Self::new(bytes);
        reader.skip()?;
        reader.finish()
    }

    /// The next byte that is not white space, without taking it.
    fn next_byte(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.position) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    /// The next byte. At the end of the input it is a space, which is how Go finds out whether something was unfinished.
    fn byte(&self) -> u8 {
        self.bytes.get(self.position).copied().unwrap_or(b' ')
    }

    fn word(&mut self, word: &'static str) -> Result<(), SyntaxError> {
        for &expected in word.as_bytes() {
            let byte = self.byte();
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(SyntaxError::invalid(byte, &context));
            }
            self.position += 1;
        }
        Ok(())
    }

    /// Takes the text of a number.
    fn literal(&mut self) -> Result<&'a str, SyntaxError> {
        let start = self.position;
        if self.byte() == b'-' {
            self.position += 1;
        }
        match self.byte() {
            b'0' => self.position += 1,
            b'1'..=b'9' => self.digits(),
            byte => return Err(SyntaxError::invalid(byte, "in numeric literal")),
        }
        if self.bytes.get(self.position) == Some(&b'.') {
            self.position += 1;
            self.at_least_one_digit("after decimal point in numeric literal")?;
        }
        if matches!(self.bytes.get(self.position), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.position += 1;
            }
            self.at_least_one_digit("in exponent of numeric literal")?;
        }
        Ok(std::str::from_utf8(&self.bytes[start..self.position]).unwrap_or_default())
    }

    fn digits(&mut self) {
        while matches!(self.bytes.get(self.position), Some(b'0'..=b'9')) {
            self.position += 1;
        }
    }

    fn at_least_one_digit(&mut self, context: &str) -> Result<(), SyntaxError> {
        let byte = self.byte();
        if !byte.is_ascii_digit() {
            return Err(SyntaxError::invalid(byte, context));
        }
        self.digits();
        Ok(())
    }

    /// Takes a text, with its quotes, and says whether it has escapes.
    fn quoted(&mut self) -> Result<(&'a [u8], bool), SyntaxError> {
        self.position += 1;
        let start = self.position;
        let mut escaped = false;
        loop {
            let rest = &self.bytes[self.position..];
            let special = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            self.position += special.ok_or_else(SyntaxError::end)?;
            match self.bytes[self.position] {
                b'"' => {
                    let text = &self.bytes[start..self.position];
                    self.position += 1;
                    return Ok((text, escaped));
                }
                b'\\' => {
                    escaped = true;
                    self.position += 1;
                    self.escape()?;
                }
                byte => return Err(SyntaxError::invalid(byte, "in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        match self.byte() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {
                self.position += 1;
                Ok(())
            }
            b'u' => {
                self.position += 1;
                for _ in 0..4 {
                    let byte = self.byte();
                    if !byte.is_ascii_hexdigit() {
                        return Err(SyntaxError::invalid(byte, "in \\u hexadecimal character escape"));
                    }
                    self.position += 1;
                }
                Ok(())
            }
            byte => Err(SyntaxError::invalid(byte, "in string escape code")),
        }
    }

    fn text(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        let (bytes, escaped) = self.quoted()?;
        if escaped {
            return Ok(Cow::Owned(unescape(bytes)));
        }
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(replace_invalid(bytes)),
        })
    }

    /// Takes the comma or the closing bracket before the next entry; false after the closing one.
    fn separator(&mut self, close: u8, context: &str) -> Result<bool, SyntaxError> {
        let byte = self.next_byte().ok_or_else(SyntaxError::end)?;
        let started = self.open.last().is_some_and(|open| open.started);
        if byte == close {
            self.position += 1;
            self.open.pop();
            return Ok(false);
        }
        if started {
            if byte != b',' {
                return Err(SyntaxError::invalid(byte, context));
            }
            self.position += 1;
        } else if let Some(open) = self.open.last_mut() {
            open.started = true;
        }
        Ok(true)
    }
}

impl<'a> Source<'a> for Reader<'a> {
    fn peek(&mut self) -> Result<Kind, SyntaxError> {
        match self.next_byte().ok_or_else(SyntaxError::end)? {
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b'"' => Ok(Kind::String),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b't' | b'f' => Ok(Kind::Bool),
            b'n' => Ok(Kind::Null),
            byte => Err(SyntaxError::invalid(byte, "looking for beginning of value")),
        }
    }

    fn take(&mut self) -> Result<Value, SyntaxError> {
        Ok(match self.peek()? {
            Kind::Null => {
                self.word("null")?;
                Value::Null
            }
            Kind::Bool => {
                let truth = self.bytes[self.position] == b't';
                self.word(if truth { "true" } else { "false" })?;
                Value::Bool(truth)
            }
            Kind::Number => {
                let start = self.position;
                let number = self.number()?;
                number.to_untyped().ok_or_else(|| {
                    SyntaxError::too_large(&String::from_utf8_lossy(&self.bytes[start..self.position]))
                })?
            }
            Kind::String => Value::String(self.text()?.into_owned()),
            Kind::Array => {
                self.enter()?;
                let mut elements = Vec::new();
                while self.element()? {
                    elements.push(self.take()?);
                }
                Value::Array(elements)
            }
            Kind::Object => {
                self.enter()?;
                let mut fields = Map::new();
                while let Some(key) = self.key()? {
                    let value = self.take()?;
                    fields.insert(key.into_owned(), value);
                }
                Value::Object(fields)
            }
        })
    }

    fn skip(&mut self) -> Result<(), SyntaxError> {
        let outside = self.open.len();
        loop {
            match self.peek()? {
                Kind::Null => self.word("null")?,
                Kind::Bool => {
                    let truth = self.bytes[self.position] == b't';
                    self.word(if truth { "true" } else { "false" })?;
                }
                Kind::Number => drop(self.literal()?),
                Kind::String => drop(self.quoted()?),
                Kind::Array | Kind::Object => self.enter()?,
            }
            loop {
                if self.open.len() == outside {
                    return Ok(());
                }
                let more = if self.open[self.open.len() - 1].object { self.key()?.is_some() } else { self.element()? };
                if more {
                    break;
                }
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        self.text()
    }

    fn number(&mut self) -> Result<Number<'a>, SyntaxError> {
        let literal = self.literal()?;
        Ok(literal.parse().map_or(Number::Other(Cow::Borrowed(literal)), Number::Integer))
    }

    fn enter(&mut self) -> Result<(), SyntaxError> {
        let byte = self.next_byte().ok_or_else(SyntaxError::end)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(byte));
        }
        self.open.push(Open { object: byte == b'{', started: false });
        self.position += 1;
        Ok(())
    }

    fn element(&mut self) -> Result<bool, SyntaxError> {
        self.separator(b']', "after array element")
    }

    fn key(&mut self) -> Result<Option<Cow<'a, str>>, SyntaxError> {
        if !self.separator(b'}', "after object key:value pair")? {
            return Ok(None);
        }
        let byte = self.next_byte().ok_or_else(SyntaxError::end)?;
        if byte != b'"' {
            return Err(SyntaxError::invalid(byte, "looking for beginning of object key string"));
        }
        let key = self.text()?;
        match self.next_byte().ok_or_else(SyntaxError::end)? {
            b':' => self.position += 1,
            byte => return Err(SyntaxError::invalid(byte, "after object key")),
        }
        Ok(Some(key))
    }
}

/// Resolves escapes in a text whose escapes are known to be well-formed. Lone surrogates become U+FFFD.
fn unescape(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(position) = rest.iter().position(|&byte| byte == b'\\') {
        text.extend_from_slice(&rest[..position]);
        rest = &rest[position + 1..];
        let Some((&code, after)) = rest.split_first() else { break };
        rest = after;
        let plain = match code {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (unit, after) = hex_unit(rest);
                rest = after;
                let mut decoded = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
                if (0xd800..0xdc00).contains(&unit)
                    && let Some(low) = rest.strip_prefix(b"\\u")
                {
                    let (low, after) = hex_unit(low);
                    if (0xdc00..0xe000).contains(&low) {
                        rest = after;
                        let scalar = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        decoded = char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER);
                    }
                }
                text.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            other => other,
        };
        text.push(plain);
    }
    text.extend_from_slice(rest);
    String::from_utf8(text).unwrap_or_else(|error| replace_invalid(error.as_bytes()))
}

fn hex_unit(bytes: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = bytes.split_at(bytes.len().min(4));
    let unit = digits.iter().fold(0, |unit, &digit| unit * 16 + char::from(digit).to_digit(16).unwrap_or(0));
    (unit, rest)
}

/// Replaces every byte that is no UTF-8 by U+FFFD, one for each byte as Go does.
fn replace_invalid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(text: &str) -> String {
        let taken = {
            let mut reader = Reader::new(text.as_bytes());
            reader.take().and_then(|_| reader.finish()).unwrap_err().to_string()
        };
        assert_eq!(Reader::check(text.as_bytes()).unwrap_err().to_string(), taken);
        taken
    }

    #[test]
    fn complaints_are_worded_as_go_words_them() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("  ", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("[1", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("'", r"invalid character '\'' looking for beginning of value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("[-]", "invalid character ']' in numeric literal"),
            ("[1.]", "invalid character ']' after decimal point in numeric literal"),
            ("[1e]", "invalid character ']' in exponent of numeric literal"),
            ("[tru]", "invalid character ']' in literal true (expecting 'e')"),
            ("nul", "invalid character ' ' in literal null (expecting 'l')"),
            ("[1,-", "invalid character ' ' in numeric literal"),
            ("\"a", "unexpected end of JSON input"),
            ("\"\\", "invalid character ' ' in string escape code"),
            ("\"a\nb\"", r"invalid character '\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(error(&deep), "invalid character '[' exceeded max depth");
        let deep = "{\"a\":".repeat(1_000_000);
        assert_eq!(error(&deep), "invalid character '{' exceeded max depth");
        let fine = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(Reader::check(fine.as_bytes()).is_ok());
    }

    #[test]
    fn numbers_are_whole_where_they_are_written_so() {
        let mut reader = Reader::new(b"[1,-0,9223372036854775807,18446744073709551615,1e3,1.5,2.0,-0.0]");
        let value = reader.take().unwrap();
        assert_eq!(value, json!([1, 0, i64::MAX, 18_446_744_073_709_551_615.0_f64, 1000.0, 1.5, 2.0, -0.0]));
    }

    #[test]
    fn texts_are_unescaped_and_repaired() {
        let mut reader = Reader::new(b"[\"a\\n\\u00e9\\ud83d\\ude00\\ud83d!\\/\",\"\xff\xfeok\"]");
        let value = reader.take().unwrap();
        assert_eq!(value, json!(["a\né😀\u{fffd}!/", "\u{fffd}\u{fffd}ok"]));
    }
}
