//! The text form of label selectors.

use std::collections::BTreeSet;

use super::by_label::{Operator, Requirement};
use super::{Error, MAX_TEXT_LENGTH, syntax};
use crate::field;

const BINARY_OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, Error> {
    if text.len() > MAX_TEXT_LENGTH {
        return Err(Error::too_long());
    }
    Parser { tokens: scan(text), position: 0 }.parse()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Open,
    Closed,
    Comma,
    Not,
    Compare(Operator),
    /// `in` or `notin`, which are also fine as keys and values.
    Word(Operator),
    Identifier,
}

fn scan(text: &str) -> Vec<(Token, &str)> {
    let bytes = text.as_bytes();
    let is_special = |byte: u8| matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<');
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let mut tokens = Vec::new();
    let mut position = 0;
    loop {
        while bytes.get(position).is_some_and(|byte| is_blank(*byte)) {
            position += 1;
        }
        let start = position;
        // A NUL ends the text, or the identifier that it follows.
        let first = match bytes.get(position) {
            None | Some(0) => {
                tokens.push((Token::End, ""));
                return tokens;
            }
            Some(byte) => *byte,
        };
        position += 1;
        if !is_special(first) {
            while bytes.get(position).is_some_and(|byte| *byte != 0 && !is_special(*byte) && !is_blank(*byte)) {
                position += 1;
            }
            let word = &text[start..position];
            if bytes.get(position) == Some(&0) {
                position += 1;
            }
            let token = match word {
                "in" => Token::Word(Operator::In),
                "notin" => Token::Word(Operator::NotIn),
                _ => Token::Identifier,
            };
            tokens.push((token, word));
            continue;
        }
        let followed_by_equals = bytes.get(position) == Some(&b'=');
        let token = match first {
            b'(' => Token::Open,
            b')' => Token::Closed,
            b',' => Token::Comma,
            b'>' => Token::Compare(Operator::GreaterThan),
            b'<' => Token::Compare(Operator::LessThan),
            b'!' if followed_by_equals => Token::Compare(Operator::NotEquals),
            b'!' => Token::Not,
            _ if followed_by_equals => Token::Compare(Operator::DoubleEquals),
            _ => Token::Compare(Operator::Equals),
        };
        if matches!(token, Token::Compare(Operator::NotEquals | Operator::DoubleEquals)) {
            position += 1;
        }
        tokens.push((token, &text[start..position]));
    }
}

struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    position: usize,
}

impl<'a> Parser<'a> {
    fn parse(mut self) -> Result<Vec<Requirement>, Error> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::End, _) => return Ok(requirements),
                (Token::Identifier | Token::Not, _) => {}
                (_, found) => return refuse(format!("found '{found}', expected: !, identifier, or 'end of string'")),
            }
            let requirement =
                self.requirement().map_err(|error| Error(format!("unable to parse requirement: {error}")))?;
            requirements.push(requirement);
            match self.next() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) => {
                    let (token, found) = self.peek();
                    if !matches!(token, Token::Identifier | Token::Not) {
                        return refuse(format!("found '{found}', expected: identifier after ','"));
                    }
                }
                (_, found) => return refuse(format!("found '{found}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn raw(&self) -> (Token, &'a str) {
        self.tokens.get(self.position).copied().unwrap_or((Token::End, ""))
    }

    fn peek(&self) -> (Token, &'a str) {
        match self.raw() {
            (Token::Word(_), word) => (Token::Identifier, word),
            other => other,
        }
    }

    fn next(&mut self) -> (Token, &'a str) {
        let item = self.peek();
        self.position += 1;
        item
    }

    fn requirement(&mut self) -> Result<Requirement, Error> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return refuse(format!("found '{key}', expected: identifier"));
        }
        let key_errors = syntax::label_key_errors(key);
        if !key_errors.is_empty() {
            let error = field::Error::invalid(&field::Path::new("<nil>"), key, key_errors.join("; "));
            return refuse(error.to_string());
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let (token, found) = self.raw();
        self.position += 1;
        let (operator, values) = match token {
            Token::Word(operator) => (operator, self.values()?),
            Token::Compare(operator) => (operator, BTreeSet::from([self.exact_value()?])),
            _ => return refuse(format!("found '{found}', expected: {BINARY_OPERATORS}")),
        };
        Requirement::new(key, operator, values.into_iter().map(str::to_owned).collect())
    }

    fn values(&mut self) -> Result<BTreeSet<&'a str>, Error> {
        let (token, found) = self.next();
        if token != Token::Open {
            return refuse(format!("found '{found}' expected: '('"));
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            (Token::Identifier | Token::Comma, _) => {}
            (Token::Closed, _) => {
                self.position += 1;
                values.insert("");
                return Ok(values);
            }
            (_, found) => return refuse(format!("found '{found}', expected: ',', ')' or identifier")),
        }
        loop {
            match self.next() {
                (Token::Identifier, word) => {
                    values.insert(word);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Closed, _) => break,
                        (_, found) => return refuse(format!("found '{found}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    let next = self.peek().0;
                    if values.is_empty() || matches!(next, Token::Closed | Token::Comma) {
                        values.insert("");
                    }
                    if next == Token::Closed {
                        break;
                    }
                }
                (_, found) => return refuse(format!("found '{found}', expected: ',', or identifier")),
            }
        }
        self.position += 1;
        Ok(values)
    }

    fn exact_value(&mut self) -> Result<&'a str, Error> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.next() {
            (Token::Identifier, word) => Ok(word),
            (_, found) => refuse(format!("found '{found}', expected: identifier")),
        }
    }
}

fn refuse<T>(words: String) -> Result<T, Error> {
    Err(Error(words))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Selector;

    #[test]
    fn text_is_printed_in_canonical_form() {
        let cases = [
            ("", ""),
            ("a=b", "a=b"),
            ("z=1,a==2", "a==2,z=1"),
            (" x in (foo,,baz) , y,z notin ()", "x in (,baz,foo),y,z notin ()"),
            ("in in (in,notin)", "in in (in,notin)"),
            ("!a,b!=c,d>1,e<2", "!a,b!=c,d>1,e<2"),
            ("a=,b", "a=,b"),
            ("x in (,)", "x in ()"),
            ("x in (a,)", "x in (,a)"),
            ("a,", "found '', expected: identifier after ','"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (b,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
            ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("a=(", "unable to parse requirement: found '(', expected: identifier"),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            (
                "a=b:c",
                "unable to parse requirement: values[0][a]: Invalid value: \"b:c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
            (
                "a/b/c",
                "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            ),
        ];
        for (text, expected) in cases {
            let answer = Selector::parse(text).map_or_else(|error| error.to_string(), |selector| selector.to_string());
            assert_eq!(answer, expected, "{text}");
        }
    }

    #[test]
    fn endless_text_is_refused() {
        assert!(Selector::parse(&"a,".repeat(super::MAX_TEXT_LENGTH)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = Selector::parse(&text);
        }

        #[test]
        fn what_is_read_prints_and_reads_the_same(text in "[ab!=<>, ()in1\\x00]{0,24}") {
            if let Ok(selector) = Selector::parse(&text) {
                let printed = selector.to_string();
                prop_assert_eq!(Selector::parse(&printed).map(|again| again.to_string()), Ok(printed));
            }
        }
    }
}
