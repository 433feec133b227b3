//! Semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use roost_object::field::quote;

use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Outcome, Value};

/// A version: three numbers and what comes before a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semver {
    major: u64,
    minor: u64,
    patch: u64,
    prerelease: Vec<Identifier>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "semver" => |call| match parse(call)? {
            Ok(version) => Ok(Value::Semver(Arc::new(version))),
            Err(words) => Err(EvalError::Failed(words)),
        },
        "isSemver" => |call| parse(call).map(|parsed| Value::Bool(parsed.is_ok())),
        "major" => |call| part(call, |version| version.major),
        "minor" => |call| part(call, |version| version.minor),
        "patch" => |call| part(call, |version| version.patch),
        _ => return None,
    })
}

fn part<'a>(call: &Invocation<'_, 'a>, pick: fn(&Semver) -> u64) -> Outcome<'a> {
    match call.args {
        [Value::Semver(version)] => Ok(Value::Int(pick(version) as i64)),
        _ => call.no_such_overload(),
    }
}

fn parse(call: &Invocation<'_, '_>) -> Result<Result<Semver, String>, EvalError> {
    match call.args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Ok(Semver::parse(text)),
        [Value::String(text), Value::Bool(true)] => Ok(normalise(text).and_then(|text| Semver::parse(&text))),
        _ => call.no_such_overload(),
    }
}

/// Drops a leading `v` and leading zeros, and adds missing numbers.
fn normalise(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            if part.len() < 2 {
                return part.to_owned();
            }
            let trimmed = part.trim_start_matches('0');
            if trimmed.starts_with(|c: char| c.is_ascii_digit()) { trimmed.to_owned() } else { format!("0{trimmed}") }
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

impl Semver {
    fn parse(text: &str) -> Result<Semver, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else { return Err("No Major.Minor.Patch elements found".to_owned()) };
        let number = |text: &str, name: &str| -> Result<u64, String> {
            let lower = name.to_lowercase();
            if !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("Invalid character(s) found in {lower} number {}", quote(text)));
            }
            if text.len() > 1 && text.starts_with('0') {
                return Err(format!("{name} number must not contain leading zeroes {}", quote(text)));
            }
            text.parse().map_err(|_| {
                let reason = if text.is_empty() { "invalid syntax" } else { "value out of range" };
                format!("strconv.ParseUint: parsing {}: {reason}", quote(text))
            })
        };
        let major = number(major, "Major")?;
        let minor = number(minor, "Minor")?;
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, before) = rest.split_once('-').map_or((rest, None), |(patch, before)| (patch, Some(before)));
        let patch = number(patch, "Patch")?;
        let mut prerelease = Vec::new();
        for part in before.into_iter().flat_map(|before| before.split('.')) {
            prerelease.push(identifier(part)?);
        }
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.bytes().all(is_word) {
                return Err(format!("Invalid character(s) found in build meta data {}", quote(part)));
            }
        }
        Ok(Semver { major, minor, patch, prerelease })
    }

    pub(crate) fn cmp(&self, other: &Semver) -> Ordering {
        let numbers = |version: &Semver| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (&self.prerelease[..], &other.prerelease[..]) {
            ([], []) => Ordering::Equal,
            ([], _) => Ordering::Greater,
            (_, []) => Ordering::Less,
            (a, b) => a.cmp(b),
        })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {}", quote(text)));
        }
        let number = text.parse();
        return number
            .map(Identifier::Number)
            .map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quote(text)));
    }
    if text.bytes().all(is_word) {
        return Ok(Identifier::Word(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {}", quote(text)))
}
