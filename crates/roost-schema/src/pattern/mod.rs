//! Regular expressions in Go's syntax, matched in linear time and little memory.

mod machine;
mod translate;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use self::machine::Machine;
use self::translate::problem;
pub(crate) use self::translate::translate;

/// Memory that a compiled expression may take. Few need more; those run on the slower machine, which is small.
const SIZE_LIMIT: usize = 1 << 20;

/// Memory in which the matcher remembers states, per expression and thread.
const STATE_LIMIT: usize = 1 << 18;

/// A regular expression, compiled when it is first needed: most schemas hold many, most objects meet few.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Result<Matcher, String>>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: OnceLock::new() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether any part of the text matches; an error when the pattern is invalid.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, &str> {
        match self.compiled.get_or_init(|| Matcher::compile(&self.text)) {
            Ok(matcher) => Ok(matcher.is_match(text)),
            Err(words) => Err(words),
        }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) enum Matcher {
    Regex(Regex),
    Machine(Machine),
}

impl Matcher {
    /// Compiles an expression in Go's syntax. The error is worded as Go words it.
    pub(crate) fn compile(pattern: &str) -> Result<Matcher, String> {
        if let Some(matcher) = Self::compile_small(pattern)? {
            Ok(matcher)
        } else {
            let machine = Machine::compile(&translate(pattern)?);
            machine.map(Matcher::Machine).ok_or_else(|| problem("expression too large", pattern))
        }
    }

    /// Compiles an expression that takes little memory; none when it would take more.
    pub(crate) fn compile_small(pattern: &str) -> Result<Option<Matcher>, String> {
        let respelled = translate(pattern)?;
        let built = RegexBuilder::new(&respelled).size_limit(SIZE_LIMIT).dfa_size_limit(STATE_LIMIT).build();
        match built {
            Ok(regex) => Ok(Some(Matcher::Regex(regex))),
            Err(regex::Error::CompiledTooBig(_)) => Ok(None),
            Err(_) => Err(problem("expression nests too deeply", pattern)),
        }
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        match self {
            Matcher::Regex(regex) => regex.is_match(text),
            Matcher::Machine(machine) => machine.find(text, 0).is_some(),
        }
    }

    /// The parts of the text that match, from left to right, without overlap.
    pub(crate) fn find_all<'t>(&self, text: &'t str, limit: usize) -> Vec<&'t str> {
        match self {
            Matcher::Regex(regex) => regex.find_iter(text).take(limit).map(|found| found.as_str()).collect(),
            Matcher::Machine(machine) => machine.find_all(text, limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "abc-1", true),
            (r"^\d+$", "\u{0661}", false),
            (r"^\w+$", "a_1", true),
            (r"^[[]$", "[", true),
            (r"^[a-z&&b]+$", "a&b", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^x{2}$", "xx", true),
            (r"\Qa.b\E", "a.b", true),
            (r"\Qa.b\E", "axb", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^[^\d]$", "5", false),
            (r"(?i)^abc$", "ABC", true),
            (r"^\pL+$", "é", true),
            (r"^\<$", "<", true),
            (r"^[]a]$", "]", true),
            (r"^\x41\101$", "AA", true),
            (r"^a[\s]b$", "a b", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(Matcher::compile(pattern).unwrap().is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn errors_read_as_go_words_them() {
        let cases = [
            ("(abc", "missing closing ): `(abc`"),
            ("abc)", "unexpected ): `abc)`"),
            ("[abc", "missing closing ]: `[abc`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(a{100}){100}", "invalid repeat count: `{100}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
            (r"\y", r"invalid escape sequence: `\y`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            (r"a\", "trailing backslash at end of expression: ``"),
            (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
            ("(?<=a)", "invalid named capture: `(?<=a)`"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(Matcher::compile(pattern).unwrap_err(), format!("error parsing regexp: {expected}"));
        }
    }

    #[test]
    fn a_bomb_is_refused_or_harmless() {
        assert!(Matcher::compile("((((a{10}){10}){10}){10}){10}").is_err());
        assert!(Matcher::compile(&"(".repeat(100_000)).is_err());
        let regex = Matcher::compile("^(a+)+$").unwrap();
        assert!(!regex.is_match(&format!("{}b", "a".repeat(100_000))));
    }
}
