//! From the text of a query to what it asks.

use super::datum::Datum;
use super::{DEPTH, QueryError};

/// A part of a query.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Identity,
    RecurseDefault,
    Literal(Literal),
    /// A text with values in it.
    Interpolated(Vec<Expression>),
    Variable(String),
    Index(Box<Expression>, Box<Expression>),
    Slice(Box<Expression>, Option<Box<Expression>>, Option<Box<Expression>>),
    Each(Box<Expression>),
    Pipe(Box<Expression>, Box<Expression>),
    Both(Box<Expression>, Box<Expression>),
    Bind(Box<Expression>, String, Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Negate(Box<Expression>),
    Try(Box<Expression>, Option<Box<Expression>>),
    If(Box<Expression>, Box<Expression>, Option<Box<Expression>>),
    List(Option<Box<Expression>>),
    Map(Vec<(Expression, Expression)>),
    Call(&'static str, Vec<Expression>),
}

/// A value that stands in a query.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

impl Literal {
    pub(super) fn datum(&self) -> Datum {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(flag) => Datum::Bool(*flag),
            Self::Number(number) => Datum::Number(*number),
            Self::Text(text) => Datum::text(text),
        }
    }
}

/// What stands between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Alternative,
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// How tightly it binds.
    fn level(self) -> u8 {
        match self {
            Self::Alternative => 1,
            Self::Or => 2,
            Self::And => 3,
            Self::Equal | Self::Unequal | Self::Less | Self::AtMost | Self::More | Self::AtLeast => 4,
            Self::Add | Self::Subtract => 5,
            Self::Multiply | Self::Divide | Self::Remainder => 6,
        }
    }
}

/// Longer ones first.
const OPERATORS: [(&str, Operator); 12] = [
    ("//", Operator::Alternative),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
    ("+", Operator::Add),
    ("-", Operator::Subtract),
    ("*", Operator::Multiply),
    ("/", Operator::Divide),
    ("%", Operator::Remainder),
];
/// What changes documents, which a question does not.
const ASSIGNMENTS: [&str; 9] = ["|=", "+=", "-=", "*=", "/=", "%=", "//=", "?//", "="];
/// Words of jq that are not there, because nothing would bound what they do.
const LOOPS: [&str; 9] = ["def", "reduce", "foreach", "label", "import", "include", "while", "until", "repeat"];
/// Words that cannot be functions.
const RESERVED: [&str; 9] = ["if", "then", "elif", "else", "end", "as", "try", "catch", "and"];

/// Reads a whole query.
pub(super) fn parse(text: &str) -> Result<Expression, QueryError> {
    let mut parser = Parser { text, at: 0, depth: 0, bound: Vec::new() };
    let expression = parser.pipe()?;
    parser.skip();
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok(expression)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The variables that are known here.
    bound: Vec<String>,
}

type Parsed = Result<Expression, QueryError>;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn problem(&self, problem: impl Into<String>) -> QueryError {
        QueryError::Parse { at: self.text[..self.at].chars().count() + 1, problem: problem.into() }
    }

    fn unexpected(&self) -> QueryError {
        match self.rest().chars().next() {
            None => self.problem("it ends too early"),
            Some(letter) => self.problem(format!("{letter:?} is not expected here")),
        }
    }

    /// Takes a sign if it is next.
    fn take(&mut self, sign: &str) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), QueryError> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The word that is next, without taking it.
    fn peek_word(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let is_start = rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        if is_start { &rest[..end] } else { "" }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.peek_word() == word;
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn name(&mut self) -> Result<String, QueryError> {
        let word = self.peek_word();
        if word.is_empty() {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(word.to_owned())
    }

    /// Goes one level deeper, if that is allowed.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.problem(format!("it is nested more than {DEPTH} deep")));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn pipe(&mut self) -> Parsed {
        self.nested(|parser| {
            let first = parser.comma()?;
            if parser.take_word("as") {
                parser.expect("$")?;
                let name = parser.name()?;
                parser.expect("|")?;
                parser.bound.push(name.clone());
                let rest = parser.pipe();
                parser.bound.pop();
                return Ok(Expression::Bind(Box::new(first), name, Box::new(rest?)));
            }
            parser.skip();
            if !parser.rest().starts_with("|=") && parser.take("|") {
                let second = parser.pipe()?;
                return Ok(Expression::Pipe(Box::new(first), Box::new(second)));
            }
            Ok(first)
        })
    }

    fn comma(&mut self) -> Parsed {
        let mut first = self.binary(1)?;
        let mut count = 0;
        while self.take(",") {
            count += 1;
            if count > DEPTH {
                return Err(self.problem(format!("there are more than {DEPTH} values")));
            }
            let second = self.binary(1)?;
            first = Expression::Both(Box::new(first), Box::new(second));
        }
        Ok(first)
    }

    fn operator(&mut self) -> Result<Option<(Operator, usize)>, QueryError> {
        match self.peek_word() {
            "and" => return Ok(Some((Operator::And, 3))),
            "or" => return Ok(Some((Operator::Or, 2))),
            _ => {}
        }
        let rest = self.rest();
        let changes = ASSIGNMENTS.iter().any(|sign| rest.starts_with(sign)) && !rest.starts_with("==");
        if changes {
            return Err(self.problem("a query asks and changes nothing; equality is =="));
        }
        let found = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
        Ok(found.map(|(sign, operator)| (*operator, sign.len())))
    }

    fn binary(&mut self, lowest: u8) -> Parsed {
        self.nested(|parser| {
            let mut left = parser.postfix()?;
            let mut count = 0;
            while let Some((operator, length)) = parser.operator()? {
                let level = operator.level();
                if level < lowest {
                    break;
                }
                count += 1;
                if count > DEPTH {
                    return Err(parser.problem(format!("there are more than {DEPTH} operators")));
                }
                parser.at += length;
                let is_right = operator == Operator::Alternative;
                let right = parser.binary(if is_right { level } else { level + 1 })?;
                left = Expression::Binary(operator, Box::new(left), Box::new(right));
                if level == 4 && parser.operator()?.is_some_and(|(next, _)| next.level() == 4) {
                    return Err(parser.problem("comparisons cannot be chained; use and"));
                }
            }
            Ok(left)
        })
    }

    /// A term and what is taken out of it.
    fn postfix(&mut self) -> Parsed {
        let mut term = self.nested(Self::term)?;
        let mut count = 0;
        loop {
            count += 1;
            if count > DEPTH {
                return Err(self.problem(format!("a path has more than {DEPTH} steps")));
            }
            self.skip();
            if self.take("?") {
                term = Expression::Try(Box::new(term), None);
            } else if self.rest().starts_with("..") {
                return Err(self.unexpected());
            } else if self.take(".") {
                term = self.step(term)?;
            } else if self.take("[") {
                term = self.bracket(term)?;
            } else {
                return Ok(term);
            }
        }
    }

    /// What follows a dot.
    fn step(&mut self, base: Expression) -> Parsed {
        if self.take("[") {
            return self.bracket(base);
        }
        let key = if self.rest().starts_with('"') {
            self.text_literal()?
        } else {
            Expression::Literal(Literal::Text(self.name()?))
        };
        Ok(Expression::Index(Box::new(base), Box::new(key)))
    }

    /// What follows an opening bracket behind a value.
    fn bracket(&mut self, base: Expression) -> Parsed {
        if self.take("]") {
            return Ok(Expression::Each(Box::new(base)));
        }
        if self.take(":") {
            let end = self.pipe()?;
            self.expect("]")?;
            return Ok(Expression::Slice(Box::new(base), None, Some(Box::new(end))));
        }
        let first = self.pipe()?;
        if self.take(":") {
            let end = if self.take("]") {
                return Ok(Expression::Slice(Box::new(base), Some(Box::new(first)), None));
            } else {
                self.pipe()?
            };
            self.expect("]")?;
            return Ok(Expression::Slice(Box::new(base), Some(Box::new(first)), Some(Box::new(end))));
        }
        self.expect("]")?;
        Ok(Expression::Index(Box::new(base), Box::new(first)))
    }

    fn term(&mut self) -> Parsed {
        self.skip();
        let rest = self.rest();
        let first = rest.chars().next();
        match first {
            Some('"') => self.text_literal(),
            Some('0'..='9') => self.number(),
            Some('.') if rest.starts_with("..") => {
                self.at += 2;
                Ok(Expression::RecurseDefault)
            }
            Some('.') if rest[1..].starts_with(|letter: char| letter.is_ascii_digit()) => self.number(),
            Some('.') => {
                self.at += 1;
                let next = self.rest().chars().next();
                let is_step = next.is_some_and(|letter| letter.is_ascii_alphabetic() || matches!(letter, '_' | '"'));
                if is_step { self.step(Expression::Identity) } else { Ok(Expression::Identity) }
            }
            Some('-') => {
                self.at += 1;
                Ok(Expression::Negate(Box::new(self.postfix()?)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.pipe()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                if self.take("]") {
                    return Ok(Expression::List(None));
                }
                let inner = self.pipe()?;
                self.expect("]")?;
                Ok(Expression::List(Some(Box::new(inner))))
            }
            Some('{') => self.map(),
            Some('$') => {
                self.at += 1;
                let name = self.name()?;
                if self.bound.contains(&name) {
                    Ok(Expression::Variable(name))
                } else {
                    Err(self.problem(format!("the variable ${name} is not defined")))
                }
            }
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Parsed {
        let word = self.peek_word();
        match word {
            "" => return Err(self.unexpected()),
            "if" => return self.condition(),
            "try" => {
                self.at += word.len();
                let body = self.postfix()?;
                let caught = if self.take_word("catch") { Some(Box::new(self.postfix()?)) } else { None };
                return Ok(Expression::Try(Box::new(body), caught));
            }
            "null" | "true" | "false" => {
                self.at += word.len();
                return Ok(Expression::Literal(match word {
                    "null" => Literal::Null,
                    word => Literal::Bool(word == "true"),
                }));
            }
            _ if RESERVED.contains(&word) => return Err(self.problem(format!("{word:?} is not expected here"))),
            _ if LOOPS.contains(&word) => {
                return Err(self.problem(format!("{word} is not supported: nothing would bound what it does")));
            }
            _ => {}
        }
        let start = self.at;
        self.at += word.len();
        let mut arguments = Vec::new();
        if self.take("(") {
            arguments.push(self.pipe()?);
            while self.take(";") {
                arguments.push(self.pipe()?);
            }
            self.expect(")")?;
        }
        let Some(name) = super::function::known(word, arguments.len()) else {
            self.at = start;
            return Err(self.problem(format!("there is no function {word}/{} here", arguments.len())));
        };
        Ok(Expression::Call(name, arguments))
    }

    fn condition(&mut self) -> Parsed {
        self.at += self.peek_word().len();
        let question = self.pipe()?;
        if !self.take_word("then") {
            return Err(self.unexpected());
        }
        let yes = self.pipe()?;
        let no = match self.peek_word() {
            // What follows is read like an if of its own, which also takes the end.
            "elif" => Some(Box::new(self.nested(Self::condition)?)),
            "else" => {
                self.at += 4;
                let no = self.pipe()?;
                if !self.take_word("end") {
                    return Err(self.unexpected());
                }
                Some(Box::new(no))
            }
            "end" => {
                self.at += 3;
                None
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Expression::If(Box::new(question), Box::new(yes), no))
    }

    fn number(&mut self) -> Parsed {
        let rest = self.rest();
        let mut end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let length = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
            if length > 0 {
                end += 1 + (exponent.len() - digits.len()) + length;
            }
        }
        let number: f64 = rest[..end].parse().map_err(|_| self.problem("this is no number"))?;
        self.at += end;
        Ok(Expression::Literal(Literal::Number(number)))
    }

    /// A text in quotes, with `\(…)` in it.
    fn text_literal(&mut self) -> Parsed {
        self.expect("\"")?;
        let (mut parts, mut text) = (Vec::new(), String::new());
        loop {
            let Some(letter) = self.rest().chars().next() else { return Err(self.unexpected()) };
            self.at += letter.len_utf8();
            match letter {
                '"' => break,
                '\\' => {
                    let Some(escaped) = self.rest().chars().next() else { return Err(self.unexpected()) };
                    self.at += escaped.len_utf8();
                    match escaped {
                        '(' => {
                            parts.push(Expression::Literal(Literal::Text(std::mem::take(&mut text))));
                            parts.push(self.pipe()?);
                            self.expect(")")?;
                        }
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'b' => text.push('\u{8}'),
                        'f' => text.push('\u{c}'),
                        '"' | '\\' | '/' => text.push(escaped),
                        'u' => text.push(self.code_point()?),
                        _ => return Err(self.problem(format!("\\{escaped} means nothing"))),
                    }
                }
                letter => text.push(letter),
            }
        }
        if parts.is_empty() {
            return Ok(Expression::Literal(Literal::Text(text)));
        }
        parts.push(Expression::Literal(Literal::Text(text)));
        Ok(Expression::Interpolated(parts))
    }

    fn code_point(&mut self) -> Result<char, QueryError> {
        let digits = self.rest().get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let letter = digits.ok_or_else(|| self.problem("four hexadecimal digits are wanted"))?;
        self.at += 4;
        Ok(char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn map(&mut self) -> Parsed {
        self.expect("{")?;
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(Expression::Map(entries));
        }
        loop {
            entries.push(self.entry()?);
            if self.take("}") {
                return Ok(Expression::Map(entries));
            }
            self.expect(",")?;
            if entries.len() > DEPTH {
                return Err(self.problem(format!("an object has more than {DEPTH} entries")));
            }
        }
    }

    fn entry(&mut self) -> Result<(Expression, Expression), QueryError> {
        self.skip();
        let literal = |name: String| Expression::Literal(Literal::Text(name));
        if self.rest().starts_with('$') {
            let value = self.term()?;
            let Expression::Variable(name) = &value else { return Err(self.unexpected()) };
            return Ok((literal(name.clone()), value));
        }
        let key = if self.take("(") {
            let key = self.pipe()?;
            self.expect(")")?;
            self.expect(":")?;
            return Ok((key, self.nested(|parser| parser.binary(1))?));
        } else if self.rest().starts_with('"') {
            self.text_literal()?
        } else {
            literal(self.name()?)
        };
        if self.take(":") {
            let value = self.nested(|parser| parser.binary(1))?;
            return Ok((key, value));
        }
        Ok((key.clone(), Expression::Index(Box::new(Expression::Identity), Box::new(key))))
    }
}
