//! From characters to tokens.

use super::source::Problems;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Identifier,
    EscapedIdentifier,
    Int,
    Uint,
    Float,
    String,
    Bytes,
    True,
    False,
    Null,
    In,
    Symbol(&'static str),
    End,
}

/// A token with its place: characters from `start` to `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Longer symbols first, so that `<=` is not read as `<`.
const SYMBOLS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%",
];

/// Splits a source into tokens, the last of which is the end. Characters that begin no token are reported and skipped.
pub(crate) fn tokens(source: &[char], problems: &mut Problems<'_>) -> Vec<Lexeme> {
    let mut lexer = Lexer { source, at: 0 };
    let mut out = Vec::new();
    loop {
        lexer.skip_space();
        let start = lexer.at;
        if start >= source.len() {
            out.push(Lexeme { token: Token::End, start, end: start });
            return out;
        }
        match lexer.next() {
            Ok(token) => out.push(Lexeme { token, start, end: lexer.at }),
            Err(end) => {
                lexer.at = end.max(start + 1);
                let text: String = source[start..lexer.at].iter().collect();
                problems.report(Some(start as u32), format!("Syntax error: token recognition error at: '{text}'"));
            }
        }
    }
}

struct Lexer<'a> {
    source: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at + ahead).copied()
    }

    fn skip_space(&mut self) {
        loop {
            match self.peek(0) {
                Some('\t' | ' ' | '\r' | '\n' | '\u{c}') => self.at += 1,
                Some('/') if self.peek(1) == Some('/') => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// The next token; on failure, where the characters that cannot be read end.
    fn next(&mut self) -> Result<Token, usize> {
        let first = self.peek(0).unwrap_or_default();
        if let Some(prefix) = self.text_prefix() {
            let token = self.text(prefix);
            return if token.is_err() { self.shorter_text(prefix).ok_or(()).or(token) } else { token };
        }
        if first.is_ascii_digit() || first == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            return Ok(self.number());
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(self.word());
        }
        if first == '`' {
            return self.escaped_identifier();
        }
        for symbol in SYMBOLS {
            if symbol.chars().enumerate().all(|(index, c)| self.peek(index) == Some(c)) {
                self.at += symbol.len();
                return Ok(Token::Symbol(symbol));
            }
        }
        // A lone `=`, `&` or `|` is reported together with the character after it.
        let paired = matches!(first, '=' | '&' | '|') && self.peek(1).is_some();
        Err(self.at + if paired { 2 } else { 1 })
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let is = |word: &str| word.chars().eq(self.source[start..self.at].iter().copied());
        match () {
            () if is("true") => Token::True,
            () if is("false") => Token::False,
            () if is("null") => Token::Null,
            () if is("in") => Token::In,
            () => Token::Identifier,
        }
    }

    fn escaped_identifier(&mut self) -> Result<Token, usize> {
        let length = self.source[self.at + 1..]
            .iter()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '))
            .count();
        let end = self.at + 1 + length;
        if length == 0 || self.source.get(end) != Some(&'`') {
            return Err(end);
        }
        self.at = end + 1;
        Ok(Token::EscapedIdentifier)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Token {
        if self.peek(0) == Some('0') && self.peek(1) == Some('x') && self.peek(2).is_some_and(|c| c.is_ascii_hexdigit())
        {
            self.at += 2;
            while self.peek(0).is_some_and(|c| c.is_ascii_hexdigit()) {
                self.at += 1;
            }
            return self.maybe_unsigned();
        }
        self.digits();
        let mut float = false;
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            self.digits();
            float = true;
        }
        if matches!(self.peek(0), Some('e' | 'E')) {
            let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
            if self.peek(1 + signed).is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1 + signed;
                self.digits();
                float = true;
            }
        }
        if float { Token::Float } else { self.maybe_unsigned() }
    }

    fn maybe_unsigned(&mut self) -> Token {
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            return Token::Uint;
        }
        Token::Int
    }

    /// What stands before the quotes: whether bytes, whether raw, and its length.
    fn text_prefix(&self) -> Option<(bool, bool, usize)> {
        let quote = |ahead: usize| matches!(self.peek(ahead), Some('"' | '\''));
        let is = |ahead: usize, letters: [char; 2]| self.peek(ahead).is_some_and(|c| letters.contains(&c));
        match () {
            () if quote(0) => Some((false, false, 0)),
            () if is(0, ['r', 'R']) && quote(1) => Some((false, true, 1)),
            () if is(0, ['b', 'B']) && quote(1) => Some((true, false, 1)),
            () if is(0, ['b', 'B']) && is(1, ['r', 'R']) && quote(2) => Some((true, true, 2)),
            () => None,
        }
    }

    /// What can be read where a text does not end: the empty one that three quotes begin with, or the word before them.
    fn shorter_text(&mut self, (bytes, _, prefix): (bool, bool, usize)) -> Option<Token> {
        let quote = self.peek(prefix);
        if self.peek(prefix + 1) == quote {
            self.at += prefix + 2;
            return Some(if bytes { Token::Bytes } else { Token::String });
        }
        (prefix > 0).then(|| self.word())
    }

    fn text(&mut self, (bytes, raw, prefix): (bool, bool, usize)) -> Result<Token, usize> {
        let mut at = self.at + prefix;
        let quote = self.source[at];
        let triple = self.source.get(at..at + 3).is_some_and(|three| three.iter().all(|c| *c == quote));
        let closing = if triple { 3 } else { 1 };
        at += closing;
        loop {
            let Some(&character) = self.source.get(at) else { return Err(at) };
            if character == quote
                && self.source.get(at..at + closing).is_some_and(|end| end.iter().all(|c| *c == quote))
            {
                self.at = at + closing;
                return Ok(if bytes { Token::Bytes } else { Token::String });
            }
            match character {
                '\n' | '\r' if !triple => return Err(at + 1),
                '\\' if !raw => match escape_length(&self.source[at + 1..]) {
                    Ok(length) => at += 1 + length,
                    Err(read) => return Err((at + 2 + read).min(self.source.len())),
                },
                _ => at += 1,
            }
        }
    }
}

/// The length of an escape sequence after its backslash; on failure, how many of its characters can be read.
fn escape_length(after: &[char]) -> Result<usize, usize> {
    let digits = |count: usize, base: u32| {
        let read = 1 + after[1..].iter().take(count).take_while(|c| c.is_digit(base)).count();
        if read == 1 + count { Ok(read) } else { Err(read) }
    };
    match after.first() {
        Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(1),
        Some('x' | 'X') => digits(2, 16),
        Some('u') => digits(4, 16),
        Some('U') => digits(8, 16),
        Some('0'..='3') => digits(2, 8),
        _ => Err(0),
    }
}
