//! From tokens to a tree, with the limits and the error texts of cel-go's parser.

mod primary;

use super::ast::{Expr, Id, Kind, Literal};
use super::lexer::{Lexeme, Token, tokens};
use super::macros;
use super::source::{Offset, Problems};

/// Expressions longer than this many characters are refused.
const MAX_CHARACTERS: usize = 100_000;

/// Parts of an expression nest no deeper than this.
const MAX_DEPTH: usize = 250;

/// A tree that is higher than this, its macros expanded, is refused, so that walks along it cannot exhaust the stack.
const MAX_HEIGHT: usize = 500;

/// By how much the expansion of a macro may raise the tree.
const MACRO_HEIGHT: usize = 6;

/// Macros that copy their arguments stop at this many nodes.
const MAX_NODES: usize = 100_000;

/// A parsed expression with the place of every node.
pub(crate) struct Parsed {
    pub(crate) root: Expr,
    pub(crate) locations: Vec<Offset>,
}

/// Parses an expression, in which `cel.bind` is a macro or not. Problems are reported; the result is none when there was one.
pub(crate) fn parse<'a>(source: &'a [char], binds: bool, problems: &mut Problems<'a>) -> Option<Parsed> {
    if source.len() > MAX_CHARACTERS {
        let words = format!("expression code point size exceeds limit: size: {}, limit {MAX_CHARACTERS}", source.len());
        problems.report(None, words);
        return None;
    }
    let tokens = tokens(source, problems);
    let mut parser = Parser { source, tokens, binds, at: 0, depth: 0, height: 0, locations: Vec::new(), problems };
    let root = parser.start().ok()?;
    let locations = parser.locations;
    if !problems.is_empty() {
        return None;
    }
    Some(Parsed { root, locations })
}

/// A problem was reported that parsing cannot go on from.
pub(super) struct Stop;

type Result<T> = std::result::Result<T, Stop>;

/// The symbols that may begin an operand or stand in its place, in the order in which ANTLR lists them.
const SYMBOLS: &[&str] = &["[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?"];

/// What else may begin an operand, as ANTLR lists it.
const OPERANDS: &str = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

pub(super) struct Parser<'a, 'p> {
    source: &'a [char],
    tokens: Vec<Lexeme>,
    /// Whether `cel.bind` is a macro.
    pub(super) binds: bool,
    at: usize,
    depth: usize,
    /// The height of the part that was read last.
    height: usize,
    locations: Vec<Offset>,
    problems: &'p mut Problems<'a>,
}

impl Parser<'_, '_> {
    pub(super) fn new_id(&mut self, at: impl Into<Offset>) -> Id {
        self.locations.push(at.into());
        self.locations.len() - 1
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.locations.len() > MAX_NODES
    }

    pub(super) fn location(&self, id: Id) -> Offset {
        self.locations[id]
    }

    pub(super) fn report(&mut self, at: impl Into<Offset>, message: String) {
        self.problems.report(at.into(), message);
    }

    /// What stands in for an expression that could not be made.
    pub(super) fn placeholder(&mut self, at: impl Into<Offset>) -> Expr {
        Expr { id: self.new_id(at), kind: Kind::Literal(Literal::Null) }
    }

    fn peek(&self, ahead: usize) -> Lexeme {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn is(&self, symbol: &'static str) -> bool {
        self.peek(0).token == Token::Symbol(symbol)
    }

    fn take(&mut self) -> Lexeme {
        let lexeme = self.peek(0);
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        lexeme
    }

    fn accept(&mut self, symbol: &'static str) -> Option<Lexeme> {
        self.is(symbol).then(|| self.take())
    }

    fn text(&self, lexeme: Lexeme) -> String {
        if lexeme.token == Token::End {
            return "<EOF>".to_owned();
        }
        self.source[lexeme.start..lexeme.end].iter().collect()
    }

    fn at_offset(lexeme: Lexeme) -> u32 {
        lexeme.start as u32
    }

    fn syntax(&mut self, message: &str) {
        let at = Self::at_offset(self.peek(0));
        self.report(at, format!("Syntax error: {message}"));
    }

    /// Reads a symbol that must follow, with ANTLR's attempts at recovery: one token too many, or one missing.
    fn expect(&mut self, symbol: &'static str, expecting: &str, insertable: bool) -> Result<Lexeme> {
        if let Some(lexeme) = self.accept(symbol) {
            return Ok(lexeme);
        }
        let current = self.peek(0);
        let shown = self.text(current);
        if self.peek(1).token == Token::Symbol(symbol) && current.token != Token::End {
            self.syntax(&format!("extraneous input '{shown}' expecting {expecting}"));
            self.take();
            return Ok(self.take());
        }
        if insertable {
            self.syntax(&format!("missing '{symbol}' at '{shown}'"));
            return Ok(Lexeme { token: Token::Symbol(symbol), start: current.start, end: current.start });
        }
        self.syntax(&format!("mismatched input '{shown}' expecting {expecting}"));
        Err(Stop)
    }

    fn begins_operand(token: Token) -> bool {
        match token {
            Token::Symbol(symbol) => matches!(symbol, "[" | "{" | "(" | "." | "-" | "!"),
            Token::End | Token::In | Token::EscapedIdentifier => false,
            _ => true,
        }
    }

    /// Whether a token can go on with an expression whose operand is missing before it.
    fn follows_operand(token: Token) -> bool {
        let operators = ["==", "!=", "<", "<=", ">", ">=", "+", "*", "/", "%", "&&", "||", "?"];
        token == Token::In || operators.iter().any(|operator| token == Token::Symbol(operator))
    }

    /// Makes sure that an operand or one of some other symbols follows, skipping one wrong token if it follows that.
    fn sync(&mut self, others: &[&'static str]) -> Result<()> {
        let fits = |token: Token| {
            Self::begins_operand(token) || matches!(token, Token::Symbol(symbol) if others.contains(&symbol))
        };
        let current = self.peek(0);
        if fits(current.token) {
            return Ok(());
        }
        let expecting = Self::operands_and(others);
        let shown = self.text(current);
        if current.token != Token::End && fits(self.peek(1).token) {
            self.syntax(&format!("extraneous input '{shown}' expecting {expecting}"));
            self.take();
            return Ok(());
        }
        self.syntax(&format!("mismatched input '{shown}' expecting {expecting}"));
        Err(Stop)
    }

    fn operands_and(others: &[&str]) -> String {
        let may = |symbol: &&&'static str| others.contains(*symbol) || Self::begins_operand(Token::Symbol(symbol));
        let symbols: Vec<String> = SYMBOLS.iter().filter(may).map(|symbol| format!("'{symbol}', ")).collect();
        format!("{{{}{OPERANDS}", symbols.concat())
    }

    fn start(&mut self) -> Result<Expr> {
        let root = self.expr()?;
        let rest = self.peek(0);
        if rest.token != Token::End {
            let shown = self.text(rest);
            let kind = if self.peek(1).token == Token::End { "extraneous" } else { "mismatched" };
            self.syntax(&format!("{kind} input '{shown}' expecting <EOF>"));
        }
        Ok(root)
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.report(None, format!("expression recursion limit exceeded: {MAX_DEPTH}"));
            return Err(Stop);
        }
        Ok(())
    }

    /// Notes that the part that was read last contains parts of a height.
    fn raise(&mut self, tallest: usize, by: usize) -> Result<()> {
        self.height = tallest + by;
        if self.height > MAX_HEIGHT {
            self.report(None, format!("expression recursion limit exceeded: {MAX_DEPTH}"));
            return Err(Stop);
        }
        Ok(())
    }

    fn expr(&mut self) -> Result<Expr> {
        self.deeper()?;
        let depth = self.depth;
        let condition = self.logical("||", "_||_")?;
        let result = if let Some(operator) = self.accept("?") {
            let id = self.new_id(Self::at_offset(operator));
            let mut tallest = self.height;
            let truthy = self.logical("||", "_||_")?;
            tallest = tallest.max(self.height);
            self.expect(":", "':'", false)?;
            let falsy = self.expr()?;
            self.raise(tallest.max(self.height), 1)?;
            Self::call(id, "_?_:_", vec![condition, truthy, falsy])
        } else {
            condition
        };
        self.depth = depth - 1;
        Ok(result)
    }

    fn call(id: Id, function: &str, args: Vec<Expr>) -> Expr {
        Expr { id, kind: Kind::Call { target: None, function: function.into(), args } }
    }

    /// `||` and `&&`: all operands of a chain in one call.
    fn logical(&mut self, symbol: &'static str, function: &str) -> Result<Expr> {
        let next = |parser: &mut Self| if symbol == "||" { parser.logical("&&", "_&&_") } else { parser.relation() };
        let first = next(self)?;
        if !self.is(symbol) {
            return Ok(first);
        }
        let id = self.new_id(Self::at_offset(self.peek(0)));
        let mut terms = vec![first];
        let mut tallest = self.height;
        while self.accept(symbol).is_some() {
            terms.push(next(self)?);
            tallest = tallest.max(self.height);
        }
        self.raise(tallest, 1)?;
        Ok(Self::call(id, function, terms))
    }

    fn relation(&mut self) -> Result<Expr> {
        self.binary(0)
    }

    /// Left-associative operators by precedence: comparisons, sums, products.
    fn binary(&mut self, level: usize) -> Result<Expr> {
        let next = |parser: &mut Self| if level == 2 { parser.unary() } else { parser.binary(level + 1) };
        let mut left = next(self)?;
        loop {
            let function = match (level, self.peek(0).token) {
                (0, Token::In) => "@in",
                (0, Token::Symbol("<")) => "_<_",
                (0, Token::Symbol("<=")) => "_<=_",
                (0, Token::Symbol(">=")) => "_>=_",
                (0, Token::Symbol(">")) => "_>_",
                (0, Token::Symbol("==")) => "_==_",
                (0, Token::Symbol("!=")) => "_!=_",
                (1, Token::Symbol("+")) => "_+_",
                (1, Token::Symbol("-")) => "_-_",
                (2, Token::Symbol("*")) => "_*_",
                (2, Token::Symbol("/")) => "_/_",
                (2, Token::Symbol("%")) => "_%_",
                _ => break,
            };
            let operator = self.take();
            let id = self.new_id(Self::at_offset(operator));
            let tallest = self.height;
            let right = next(self)?;
            self.raise(tallest.max(self.height), 1)?;
            left = Self::call(id, function, vec![left, right]);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.sync(&[]).is_err() {
            let next = self.peek(0);
            return if Self::follows_operand(next.token) {
                Ok(self.placeholder(Self::at_offset(next)))
            } else {
                Err(Stop)
            };
        }
        let (symbol, function) = match self.peek(0).token {
            Token::Symbol("!") => ("!", "!_"),
            Token::Symbol("-") if !matches!(self.peek(1).token, Token::Int | Token::Float) => ("-", "-_"),
            _ => return self.member(),
        };
        let first = self.peek(0);
        let mut count = 0;
        while self.accept(symbol).is_some() {
            count += 1;
        }
        if !Self::begins_operand(self.peek(0).token) {
            self.report_lone(symbol);
            return Err(Stop);
        }
        if count % 2 == 0 {
            return self.member();
        }
        let id = self.new_id(Self::at_offset(first));
        let operand = self.member()?;
        self.raise(self.height, 1)?;
        Ok(Self::call(id, function, vec![operand]))
    }

    /// Reports what follows signs that belong to no operand: ANTLR counts exclamation marks and looks ahead behind a minus.
    fn report_lone(&mut self, symbol: &str) {
        let expecting = Self::operands_and(&[]);
        let next = self.peek(0);
        let shown = self.text(next);
        if symbol == "!" {
            self.syntax(&format!("extraneous input '{shown}' expecting {expecting}"));
        } else if next.token == Token::End {
            self.syntax("no viable alternative at input '-'");
            self.syntax(&format!("mismatched input '{shown}' expecting {expecting}"));
        } else {
            self.syntax(&format!("no viable alternative at input '-{shown}'"));
        }
    }

    fn member(&mut self) -> Result<Expr> {
        let mut operand = self.primary()?;
        loop {
            if let Some(dot) = self.accept(".") {
                operand = self.select(operand, dot)?;
            } else if let Some(bracket) = self.accept("[") {
                let id = self.new_id(Self::at_offset(bracket));
                let function = if self.accept("?").is_some() { "_[?_]" } else { "_[_]" };
                if function == "_[_]" {
                    self.sync(&["?"])?;
                }
                let tallest = self.height;
                let index = self.expr()?;
                self.raise(tallest.max(self.height), 1)?;
                let at_end = self.peek(0).token == Token::End;
                self.expect("]", "']'", at_end)?;
                operand = Self::call(id, function, vec![operand, index]);
            } else {
                return Ok(operand);
            }
        }
    }

    fn select(&mut self, operand: Expr, dot: Lexeme) -> Result<Expr> {
        let optional = self.accept("?").is_some();
        let name = self.peek(0);
        match name.token {
            Token::Identifier => {}
            Token::EscapedIdentifier => {
                self.take();
                self.report(Self::at_offset(name), "unsupported syntax: '`'".to_owned());
                return Ok(self.placeholder(Self::at_offset(name)));
            }
            Token::True | Token::False | Token::Null => {
                let shown = self.text(name);
                self.syntax(&format!("mismatched input '{shown}' expecting IDENTIFIER"));
                return Err(Stop);
            }
            Token::End => {
                self.syntax("no viable alternative at input '.'");
                return Err(Stop);
            }
            _ => {
                let shown = self.text(name);
                self.syntax(&format!("no viable alternative at input '.{shown}'"));
                return Err(Stop);
            }
        }
        self.take();
        let field = self.text(name);
        let below = self.height;
        if optional {
            self.raise(below, 1)?;
            let id = self.new_id(Self::at_offset(dot));
            let literal = self.new_id(Self::at_offset(name));
            let field = Expr { id: literal, kind: Kind::Literal(Literal::String(field.into())) };
            return Ok(Self::call(id, "_?._", vec![operand, field]));
        }
        if let Some(open) = self.accept("(") {
            let id = self.new_id(Self::at_offset(open));
            let args = self.arguments()?;
            self.raise(below.max(self.height), if args.is_empty() { 1 } else { MACRO_HEIGHT })?;
            return Ok(macros::receiver_call(self, id, &field, operand, args));
        }
        self.raise(below, 1)?;
        let id = self.new_id(Self::at_offset(dot));
        Ok(Expr { id, kind: Kind::Select { operand: Box::new(operand), field: field.into(), test_only: false } })
    }

    fn arguments(&mut self) -> Result<Vec<Expr>> {
        let mut args = Vec::new();
        let mut tallest = 0;
        self.sync(&[")"])?;
        if self.accept(")").is_some() {
            self.height = 0;
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            tallest = tallest.max(self.height);
            if self.accept(",").is_none() {
                break;
            }
        }
        let at_end = self.peek(0).token == Token::End;
        self.expect(")", "')'", at_end)?;
        self.height = tallest;
        Ok(args)
    }
}
