//! Regular expressions in Go's syntax, matched in linear time and little memory.

mod machine;
mod translate;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use self::machine::{Exhausted, Machine, Steps};
use self::translate::problem;
pub(crate) use self::translate::translate;

/// Memory that a compiled expression may take. Few need more; those run on the slower machine, which is small.
const SIZE_LIMIT: usize = 1 << 18;

/// Memory in which the matcher remembers states, per expression and thread.
const STATE_LIMIT: usize = 1 << 21;

/// The crate's searches cannot be stopped. They are used where characters times places stay below this.
const MAX_UNCOUNTED: u64 = 50_000_000;

/// Searches that take more steps than this are given up.
const MAX_STEPS: u64 = 100_000_000;

/// Steps of the machine, or places of an expression tried on a character, that are as much effort as one comparison.
const STEPS_OF_WORK: u64 = 8;

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

    /// A pattern that is known to be well formed.
    pub(crate) fn checked(text: &str) -> Result<Self, String> {
        Matcher::machine(text, &translate(text)?)?;
        Ok(Self::new(text))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether any part of the text matches; an error when the pattern is invalid.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, &str> {
        self.matcher().map(|matcher| matcher.is_match(text).unwrap_or(false))
    }

    /// The compiled expression; an error when the pattern is invalid.
    pub(crate) fn matcher(&self) -> Result<&Matcher, &str> {
        self.compiled.get_or_init(|| Matcher::compile(&self.text)).as_ref().map_err(String::as_str)
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// The fast way; none when it would take much memory.
    regex: Option<Regex>,
    /// The way whose effort can be counted.
    machine: Machine,
}

impl Matcher {
    /// Compiles an expression in Go's syntax. The error is worded as Go words it.
    pub(crate) fn compile(pattern: &str) -> Result<Matcher, String> {
        let respelled = translate(pattern)?;
        let machine = Self::machine(pattern, &respelled)?;
        let built = RegexBuilder::new(&respelled).size_limit(SIZE_LIMIT).dfa_size_limit(STATE_LIMIT).build();
        let regex = match built {
            Ok(regex) => Some(regex),
            Err(regex::Error::CompiledTooBig(_)) => None,
            Err(_) => return Err(problem("expression nests too deeply", pattern)),
        };
        Ok(Matcher { regex, machine })
    }

    fn machine(pattern: &str, respelled: &str) -> Result<Machine, String> {
        Machine::compile(respelled).ok_or_else(|| problem("expression too large", pattern))
    }

    /// Whether the expression takes much memory or many steps.
    pub(crate) fn is_large(&self) -> bool {
        self.regex.is_none()
    }

    /// How much work it may be to look for a match, in comparisons.
    pub(crate) fn effort(&self, text: &str) -> u64 {
        (text.len() as u64).saturating_mul(self.machine.size() as u64) / (4 * STEPS_OF_WORK)
    }

    /// Whether any part of the text matches.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, Exhausted> {
        match &self.regex {
            Some(regex) if (text.len() as u64).saturating_mul(self.machine.size() as u64) <= MAX_UNCOUNTED => {
                Ok(regex.is_match(text))
            }
            _ => Ok(self.machine.find(text, 0, &mut Steps(MAX_STEPS))?.is_some()),
        }
    }

    /// The parts of the text that match, from left to right, without overlap, and how much work it was to find them.
    pub(crate) fn find_all<'t>(&self, text: &'t str, limit: usize) -> Result<(Vec<&'t str>, u64), Exhausted> {
        let mut steps = Steps(MAX_STEPS);
        let found = self.machine.find_all(text, limit, &mut steps)?;
        Ok((found, (MAX_STEPS - steps.0) / STEPS_OF_WORK))
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
            assert_eq!(Matcher::compile(pattern).unwrap().is_match(text), Ok(expected), "{pattern} on {text}");
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
        assert_eq!(regex.is_match(&format!("{}b", "a".repeat(100_000))), Ok(false));
    }
}
