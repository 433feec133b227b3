//! Names, literals, lists, maps and messages.

use super::{Parser, Result, Stop};
use crate::cel::ast::{Entry, Expr, Field, Kind, Literal};
use crate::cel::lexer::{Lexeme, Token};
use crate::cel::literal::unquote;
use crate::cel::macros;

/// Words that cannot be names.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

impl Parser<'_, '_> {
    pub(super) fn primary(&mut self) -> Result<Expr> {
        self.sync(&[])?;
        let first = self.peek(0);
        match first.token {
            Token::Symbol("(") => {
                self.take();
                let inner = self.expr()?;
                let at_end = self.peek(0).token == Token::End;
                self.expect(")", "')'", at_end)?;
                Ok(inner)
            }
            Token::Symbol("[") => self.list(),
            Token::Symbol("{") => self.map(),
            Token::Symbol(".") | Token::Identifier => self.name(),
            _ => Ok(self.literal()),
        }
    }

    /// An identifier, a call or a message.
    fn name(&mut self) -> Result<Expr> {
        let dot = self.accept(".");
        let first = self.peek(0);
        if first.token == Token::End {
            self.syntax("no viable alternative at input '.'");
            return Err(Stop);
        }
        if first.token != Token::Identifier {
            let shown = self.text(first);
            self.syntax(&format!("no viable alternative at input '.{shown}'"));
            return Err(Stop);
        }
        let mut length = 1;
        while self.peek(length).token == Token::Symbol(".") && self.peek(length + 1).token == Token::Identifier {
            length += 2;
        }
        let prefix = if dot.is_some() { "." } else { "" };
        if self.peek(length).token == Token::Symbol("{") {
            let mut name = prefix.to_owned();
            for _ in 0..length {
                let part = self.take();
                name.push_str(&self.text(part));
            }
            return self.message(name);
        }
        self.take();
        let name = self.text(first);
        let at = Self::at_offset(dot.unwrap_or(first));
        if RESERVED.contains(&name.as_str()) {
            self.report(at, format!("reserved identifier: {name}"));
            if self.accept("(").is_some() {
                self.arguments()?;
            }
            self.height = 1;
            return Ok(self.placeholder(at));
        }
        let name = format!("{prefix}{name}");
        if let Some(open) = self.accept("(") {
            let id = self.new_id(Self::at_offset(open));
            let args = self.arguments()?;
            self.raise(self.height, 1)?;
            return Ok(macros::global_call(self, id, &name, args));
        }
        let id = self.new_id(Self::at_offset(first));
        self.height = 1;
        Ok(Expr { id, kind: Kind::Ident(name.into()) })
    }

    fn list(&mut self) -> Result<Expr> {
        let open = self.take();
        let id = self.new_id(Self::at_offset(open));
        let mut elements = Vec::new();
        let mut optional = Vec::new();
        let mut tallest = 0;
        self.sync(&["]", ",", "?"])?;
        while !self.is("]") {
            if elements.is_empty() && self.accept(",").is_some() {
                break;
            }
            if self.accept("?").is_some() {
                optional.push(elements.len());
            }
            elements.push(self.expr()?);
            tallest = tallest.max(self.height);
            if self.accept(",").is_none() {
                self.expect_either("]")?;
                self.raise(tallest, 1)?;
                return Ok(Expr { id, kind: Kind::List { elements, optional } });
            }
            if !self.is("]") && !self.is("?") && !Self::begins_operand(self.peek(0).token) {
                break;
            }
        }
        self.expect("]", "']'", false)?;
        self.raise(tallest, 1)?;
        Ok(Expr { id, kind: Kind::List { elements, optional } })
    }

    /// Reads the end of a list or map after an element without a comma.
    fn expect_either(&mut self, symbol: &'static str) -> Result<Lexeme> {
        self.expect(symbol, &format!("{{'{symbol}', ','}}"), false)
    }

    fn map(&mut self) -> Result<Expr> {
        let open = self.take();
        let id = self.new_id(Self::at_offset(open));
        let mut entries = Vec::new();
        let mut tallest = 0;
        self.sync(&["}", ",", "?"])?;
        while !self.is("}") {
            if entries.is_empty() && self.accept(",").is_some() {
                break;
            }
            let optional = self.accept("?").is_some();
            let key = self.expr()?;
            tallest = tallest.max(self.height);
            let insertable = Self::begins_operand(self.peek(0).token);
            self.expect(":", "':'", insertable)?;
            let value = self.expr()?;
            tallest = tallest.max(self.height);
            entries.push(Entry { key, value, optional });
            if self.accept(",").is_none() {
                self.expect_either("}")?;
                self.raise(tallest, 1)?;
                return Ok(Expr { id, kind: Kind::Map { entries } });
            }
        }
        self.expect("}", "'}'", false)?;
        self.raise(tallest, 1)?;
        Ok(Expr { id, kind: Kind::Map { entries } })
    }

    fn message(&mut self, name: String) -> Result<Expr> {
        let open = self.take();
        let id = self.new_id(Self::at_offset(open));
        let mut fields = Vec::new();
        let mut tallest = 0;
        while !self.is("}") {
            let optional = self.accept("?").is_some();
            let field = self.peek(0);
            if field.token != Token::Identifier {
                let shown = self.text(field);
                self.syntax(&format!(
                    "mismatched input '{shown}' expecting {{'}}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}}"
                ));
                return Err(Stop);
            }
            self.take();
            let colon = self.expect(":", "':'", false)?;
            let id = self.new_id(Self::at_offset(colon));
            let value = self.expr()?;
            tallest = tallest.max(self.height);
            fields.push(Field { id, name: self.text(field).into(), value, optional });
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect("}", "{'}', ','}", false)?;
        self.raise(tallest, 1)?;
        Ok(Expr { id, kind: Kind::Message { name: name.into(), fields } })
    }

    fn literal(&mut self) -> Expr {
        self.height = 1;
        let first = self.take();
        let at = Self::at_offset(first);
        let negative = first.token == Token::Symbol("-");
        let token = if negative { self.take() } else { first };
        let text = self.text(token);
        let signed = |text: &str| if negative { format!("-{text}") } else { text.to_owned() };
        let value = match token.token {
            Token::True => Ok(Literal::Bool(true)),
            Token::False => Ok(Literal::Bool(false)),
            Token::Null => Ok(Literal::Null),
            Token::Int => match text.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(&signed(hex), 16),
                None => signed(&text).parse(),
            }
            .map(Literal::Int)
            .map_err(|_| "invalid int literal".to_owned()),
            Token::Uint => {
                let digits = &text[..text.len() - 1];
                match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => digits.parse(),
                }
                .map(Literal::Uint)
                .map_err(|_| "invalid uint literal".to_owned())
            }
            Token::Float => match signed(&text).parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Literal::Double(number)),
                _ => Err("invalid double literal".to_owned()),
            },
            Token::String => unquote(&text, false).map_err(str::to_owned).and_then(|bytes| {
                let text = String::from_utf8(bytes).map_err(|_| "invalid unicode code point".to_owned())?;
                Ok(Literal::String(text.into()))
            }),
            _ => unquote(&text[1..], true).map(|bytes| Literal::Bytes(bytes.into())).map_err(str::to_owned),
        };
        match value {
            Ok(value) => Expr { id: self.new_id(at), kind: Kind::Literal(value) },
            Err(words) => {
                self.report(at, words);
                self.placeholder(at)
            }
        }
    }
}
