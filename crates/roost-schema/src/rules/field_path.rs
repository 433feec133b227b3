//! Paths such as `.spec.ports['http']` in rules and selectable fields.

use std::fmt::Write as _;

use crate::Structural;

/// Why a path is wrong of which only the schema knows that.
pub(crate) const NO_SUCH_FIELD: &str = "does not refer to a valid field";

/// A path that a schema has, as fields are named in errors.
pub(crate) struct FieldPath<'s> {
    pub(crate) text: String,
    pub(crate) root: String,
    pub(crate) schema: &'s Structural,
}

/// Follows a path along a schema. The error says why there is no such path.
pub(crate) fn find<'s>(path: &str, schema: &'s Structural, brackets: bool) -> Result<FieldPath<'s>, String> {
    let mut found = FieldPath { text: String::new(), root: String::new(), schema };
    let mut tokens = Tokens { rest: path };
    while let Some(token) = tokens.next() {
        let ended = || "unexpected end of JSON path".to_owned();
        match token {
            "[" => {
                if !brackets {
                    return Err("array notation is not allowed".to_owned());
                }
                let quoted = tokens.next().ok_or_else(ended)?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                let name = unescape(inner).map_err(|words| format!("invalid string literal: {words}"))?;
                found.step(&name)?;
                let close = tokens.next().ok_or_else(ended)?;
                if close != "]" {
                    return Err(format!("expected ] but got {close}"));
                }
            }
            "." => {
                let name = tokens.next().ok_or_else(ended)?;
                found.step(name)?;
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

impl FieldPath<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let missing = || NO_SUCH_FIELD.to_owned();
        if !self.schema.properties.is_empty() {
            self.schema = self.schema.property(name).ok_or_else(missing)?;
            if !self.text.is_empty() {
                self.text.push('.');
            }
            self.text.push_str(name);
        } else if self.schema.additional.is_set() {
            self.schema = self.schema.additional.schema().ok_or_else(missing)?;
            let _ = write!(self.text, "[{name}]");
        } else {
            return Err(missing());
        }
        if self.root.is_empty() {
            name.clone_into(&mut self.root);
        }
        Ok(())
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    /// Delimiters one by one, quoted strings whole, and what stands between.
    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let bytes = self.rest.as_bytes();
                (1..bytes.len())
                    .find(|&at| bytes[at] == b'\'' && bytes[at - 1] != b'\\')
                    .map_or(self.rest.len(), |at| at + 1)
            }
            _ => self.rest.find(['.', '[', ']']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(same @ ('\'' | '\\')) => out.push(same),
            Some(other) => return Err(format!("invalid escape char \\{other}")),
            None => out.push('\\'),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_follow_the_schema() {
        let schema = Structural::compile(&json!({"type": "object", "properties": {"spec": {"type": "object",
            "properties": {"a.b": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}}
        }}}))
        .unwrap();
        let text = |path: &str| find(path, &schema, true).map(|found| found.text);
        assert_eq!(text(".spec"), Ok("spec".to_owned()));
        assert_eq!(text(".spec['a.b']"), Ok("spec.a.b".to_owned()));
        assert_eq!(text(".spec.m['x']"), Ok("spec.m[x]".to_owned()));
        assert_eq!(text(".nope"), Err("does not refer to a valid field".to_owned()));
        assert_eq!(text("spec"), Err("expected [ or . but got: spec".to_owned()));
        assert_eq!(text(".spec["), Err("unexpected end of JSON path".to_owned()));
    }
}
