//! JSONPath as client-go reads it, for columns and selectable fields.

use std::borrow::Cow;

use serde_json::Value;

use super::find::walk;

/// Paths longer than this are refused.
const MAX_LENGTH: usize = 4096;

/// Filters and unions nest no deeper than this.
const MAX_NESTING: usize = 16;

/// What is said of a path that is too long or nests too deeply. Stock has no such bounds.
const TOO_LARGE: &str = "the path is too large";

/// A compiled path.
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Field(String),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter {
        left: Vec<Step>,
        operator: String,
        right: Vec<Step>,
    },
    Literal(Value),
    /// `range`, `end` and words that mean nothing; they find nothing.
    Word,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
    /// The end was not given, so that one element is meant.
    pub(super) single: bool,
    pub(super) step: Option<i64>,
}

impl JsonPath {
    /// Reads a path such as `.spec.replicas`, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<JsonPath, String> {
        if text.len() > MAX_LENGTH {
            return Err(TOO_LARGE.to_owned());
        }
        Ok(JsonPath { text: text.to_owned(), steps: Parser { rest: text, depth: 0 }.steps()? })
    }

    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All that the path finds; none when it cannot be followed.
    pub fn find<'a>(&'a self, object: &'a Value) -> Option<Vec<Cow<'a, Value>>> {
        walk(vec![Cow::Borrowed(object)], &self.steps)
    }

    /// The first thing that the path finds.
    pub fn first(&self, object: &Value) -> Option<Value> {
        self.find(object)?.into_iter().next().map(Cow::into_owned)
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

impl<'a> Parser<'a> {
    fn inner(&self, text: &str) -> Result<Vec<Step>, String> {
        if self.depth >= MAX_NESTING {
            return Err(TOO_LARGE.to_owned());
        }
        Parser { rest: text, depth: self.depth + 1 }.steps()
    }

    fn steps(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        while let Some(next) = self.rest.chars().next() {
            if let Some(after) = self.rest.strip_prefix("[?(") {
                self.rest = after;
                steps.push(self.filter()?);
                continue;
            }
            if let Some(after) = self.rest.strip_prefix("..") {
                if matches!(steps.last(), Some(Step::Recursive)) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.rest = after;
                steps.push(Step::Recursive);
                if self.rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
                    steps.push(self.field());
                }
                continue;
            }
            match next {
                ' ' | '@' | '$' => self.rest = &self.rest[1..],
                '[' => self.brackets(&mut steps)?,
                '"' | '\'' => steps.push(self.quoted(next)?),
                '.' => {
                    self.rest = &self.rest[1..];
                    steps.push(self.field());
                }
                '+' | '-' => steps.push(self.number()?),
                digit if digit.is_ascii_digit() => steps.push(self.number()?),
                word if word == '_' || word.is_alphanumeric() => {
                    let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
                    let word = &self.rest[..end];
                    self.rest = &self.rest[end..];
                    steps.push(word.parse::<bool>().map_or(Step::Word, |flag| Step::Literal(Value::Bool(flag))));
                }
                '\r' | '\n' => return Err("unclosed action".to_owned()),
                other => {
                    return Err(format!("unrecognized character in action: U+{:04X} '{other}'", u32::from(other)));
                }
            }
        }
        Ok(steps)
    }

    fn field(&mut self) -> Step {
        let mut escaped = false;
        let end = self.rest.char_indices().find(|(_, c)| {
            let ends = !escaped && is_terminator(*c);
            escaped = !escaped && *c == '\\';
            ends
        });
        let end = end.map_or(self.rest.len(), |(index, _)| index);
        let name = &self.rest[..end];
        self.rest = &self.rest[end..];
        if name == "*" { Step::Wildcard } else { Step::Field(name.replace('\\', "")) }
    }

    fn number(&mut self) -> Result<Step, String> {
        let signed = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[signed..].find(|c: char| c != '.' && !c.is_ascii_digit());
        let end = digits.map_or(self.rest.len(), |index| index + signed);
        let text = &self.rest[..end];
        self.rest = &self.rest[end..];
        let value = match text.parse::<i64>() {
            Ok(integer) => Value::from(integer),
            Err(_) => Value::from(text.parse::<f64>().map_err(|_| format!("cannot parse number {text}"))?),
        };
        Ok(Step::Literal(value))
    }

    fn quoted(&mut self, quote: char) -> Result<Step, String> {
        let unterminated = || "unterminated quoted string".to_owned();
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '\\' => text.push(match characters.next().ok_or_else(unterminated)?.1 {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                }),
                '\n' => break,
                end if end == quote => {
                    self.rest = &self.rest[index + 1..];
                    return Ok(Step::Literal(Value::String(text)));
                }
                other => text.push(other),
            }
        }
        Err(unterminated())
    }

    fn brackets(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest[*end..].starts_with(']'));
        let end = end.ok_or("unterminated array")?;
        let inside = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        if inside.contains(',') {
            let parts: Result<Vec<_>, _> =
                inside.split(',').map(|part| self.inner(&format!("[{}]", part.trim_matches(' ')))).collect();
            steps.push(Step::Union(parts?));
            return Ok(());
        }
        let quoted =
            inside.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).filter(|key| !key.contains('\''));
        if let Some(key) = quoted {
            steps.append(&mut self.inner(&format!(".{key}"))?);
            return Ok(());
        }
        let range = if inside == "*" { ":" } else { inside };
        steps.push(Step::Slice(slice(range).ok_or_else(|| format!("invalid array index {range}"))?));
        Ok(())
    }

    fn filter(&mut self) -> Result<Step, String> {
        let mut quote: Option<char> = None;
        let mut closed = false;
        let mut previous = ' ';
        let mut end = None;
        for (index, character) in self.rest.char_indices() {
            match character {
                '\n' => break,
                '"' | '\'' if quote.is_none() => quote = Some(character),
                _ if quote == Some(character) && previous != '\\' => closed = true,
                ')' if quote.is_none() || closed => {
                    end = Some(index);
                    break;
                }
                _ => {}
            }
            previous = character;
        }
        let end = end.ok_or("unterminated filter")?;
        let text: &'a str = &self.rest[..end];
        self.rest = self.rest[end + 1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let split = text.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let length = text[at..].find(|c: char| !is_operator(c))?;
            Some((&text[..at], &text[at..at + length], &text[at + length..]))
        });
        match split {
            None => Ok(Step::Filter { left: self.inner(text)?, operator: "exists".to_owned(), right: Vec::new() }),
            Some((left, operator, right)) => {
                Ok(Step::Filter { left: self.inner(left)?, operator: operator.to_owned(), right: self.inner(right)? })
            }
        }
    }
}

fn slice(text: &str) -> Option<Slice> {
    let mut parts = text.split(':');
    let number = |part: Option<&str>| -> Option<Option<i64>> {
        match part {
            None | Some("") => Some(None),
            Some(part) => {
                let digits = part.strip_prefix('-').unwrap_or(part);
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                part.parse().ok().map(Some)
            }
        }
    };
    let from = number(parts.next())?;
    let second = parts.next();
    let to = number(second)?;
    let step = number(parts.next())?;
    if parts.next().is_some() {
        return None;
    }
    let single = second.is_none();
    let to = if single { Some(from.unwrap_or_default() + 1) } else { to };
    Some(Slice { from, to, single, step })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_what_client_go_finds() {
        let object = json!({"spec": {"a.b": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "deep": {"n": "z"}}});
        for (path, expected) in [
            (".spec.list[0].v", json!([1])),
            (".spec.list[-1].v", json!([2])),
            (".spec.list[*].v", json!([1, 2])),
            (".spec.list[0:1].n", json!(["x"])),
            (".spec.list[?(@.n==\"y\")].v", json!([2])),
            (".spec.list[?(@.v>1)].n", json!(["y"])),
            (".spec.list[?(@.nope)].n", json!([])),
            (".spec.a\\.b", json!([1])),
            (".spec['deep'].n", json!(["z"])),
            ("..n", json!(["z", "x", "y"])),
            (".nope.nope", json!([])),
        ] {
            let path = JsonPath::parse(path).unwrap();
            let found: Vec<Value> = path.find(&object).unwrap().into_iter().map(Cow::into_owned).collect();
            assert_eq!(json!(found), expected, "{}", path.text());
        }
        assert!(JsonPath::parse(".spec.list[9]").unwrap().find(&object).is_none());
        for path in [".a[", ".a[?(@.b", ".a[x]", "!", "....a"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }
}
