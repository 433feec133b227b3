//! JSONPath as client-go reads it, for columns and selectable fields.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

/// Paths longer than this are refused.
const MAX_LENGTH: usize = 4096;

/// Filters and unions nest no deeper than this.
const MAX_NESTING: usize = 16;

/// A path that finds more than this finds nothing.
const MAX_RESULTS: usize = 10_000;

/// A compiled path.
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
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
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    /// The end was not given, so that one element is meant.
    single: bool,
    step: Option<i64>,
}

impl JsonPath {
    /// Reads a path such as `.spec.replicas`; none when it is malformed.
    pub fn parse(text: &str) -> Option<JsonPath> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        Some(JsonPath { text: text.to_owned(), steps: Parser { rest: text, depth: 0 }.steps()? })
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
    fn inner(&self, text: &str) -> Option<Vec<Step>> {
        if self.depth >= MAX_NESTING {
            return None;
        }
        Parser { rest: text, depth: self.depth + 1 }.steps()
    }

    fn steps(&mut self) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        while let Some(next) = self.rest.chars().next() {
            if let Some(after) = self.rest.strip_prefix("[?(") {
                self.rest = after;
                steps.push(self.filter()?);
                continue;
            }
            if let Some(after) = self.rest.strip_prefix("..") {
                if matches!(steps.last(), Some(Step::Recursive)) {
                    return None;
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
                _ => return None,
            }
        }
        Some(steps)
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

    fn number(&mut self) -> Option<Step> {
        let signed = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[signed..].find(|c: char| c != '.' && !c.is_ascii_digit());
        let end = digits.map_or(self.rest.len(), |index| index + signed);
        let text = &self.rest[..end];
        self.rest = &self.rest[end..];
        let value = match text.parse::<i64>() {
            Ok(integer) => Value::from(integer),
            Err(_) => Value::from(text.parse::<f64>().ok()?),
        };
        Some(Step::Literal(value))
    }

    fn quoted(&mut self, quote: char) -> Option<Step> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '\\' => text.push(match characters.next()?.1 {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                }),
                '\n' => return None,
                end if end == quote => {
                    self.rest = &self.rest[index + 1..];
                    return Some(Step::Literal(Value::String(text)));
                }
                other => text.push(other),
            }
        }
        None
    }

    fn brackets(&mut self, steps: &mut Vec<Step>) -> Option<()> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest[*end..].starts_with(']'))?;
        let inside = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        if inside.contains(',') {
            let parts: Option<Vec<_>> =
                inside.split(',').map(|part| self.inner(&format!("[{}]", part.trim_matches(' ')))).collect();
            steps.push(Step::Union(parts?));
            return Some(());
        }
        let quoted =
            inside.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).filter(|key| !key.contains('\''));
        if let Some(key) = quoted {
            steps.append(&mut self.inner(&format!(".{key}"))?);
            return Some(());
        }
        steps.push(Step::Slice(slice(if inside == "*" { ":" } else { inside })?));
        Some(())
    }

    fn filter(&mut self) -> Option<Step> {
        let mut quote: Option<char> = None;
        let mut closed = false;
        let mut previous = ' ';
        let mut end = None;
        for (index, character) in self.rest.char_indices() {
            match character {
                '\n' => return None,
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
        let end = end?;
        let text: &'a str = &self.rest[..end];
        self.rest = self.rest[end + 1..].strip_prefix(']')?;
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let split = text.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let length = text[at..].find(|c: char| !is_operator(c))?;
            Some((&text[..at], &text[at..at + length], &text[at + length..]))
        });
        match split {
            None => Some(Step::Filter { left: self.inner(text)?, operator: "exists".to_owned(), right: Vec::new() }),
            Some((left, operator, right)) => {
                Some(Step::Filter { left: self.inner(left)?, operator: operator.to_owned(), right: self.inner(right)? })
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

fn walk<'a>(mut current: Vec<Cow<'a, Value>>, steps: &'a [Step]) -> Option<Vec<Cow<'a, Value>>> {
    for step in steps {
        current = apply(current, step)?;
        if current.len() > MAX_RESULTS {
            return None;
        }
    }
    Some(current)
}

fn children<'a>(value: &'a Value, out: &mut Vec<Cow<'a, Value>>) {
    match value {
        Value::Object(map) => out.extend(map.values().map(Cow::Borrowed)),
        Value::Array(list) => out.extend(list.iter().map(Cow::Borrowed)),
        _ => {}
    }
}

fn apply<'a>(current: Vec<Cow<'a, Value>>, step: &'a Step) -> Option<Vec<Cow<'a, Value>>> {
    let mut out = Vec::new();
    match step {
        Step::Field(name) => {
            for value in current {
                if let Cow::Borrowed(Value::Object(map)) = value {
                    out.extend(map.get(name).map(Cow::Borrowed));
                }
            }
        }
        Step::Wildcard => {
            for value in current {
                if let Cow::Borrowed(value) = value {
                    children(value, &mut out);
                }
            }
        }
        Step::Recursive => {
            let mut pending: Vec<_> = current.into_iter().rev().collect();
            while let Some(value) = pending.pop() {
                let mut below = Vec::new();
                if let Cow::Borrowed(value) = value {
                    children(value, &mut below);
                }
                if !below.is_empty() {
                    out.push(value);
                    pending.extend(below.into_iter().rev());
                }
                if out.len() + pending.len() > MAX_RESULTS {
                    return None;
                }
            }
        }
        Step::Slice(slice) => {
            for value in current {
                match value {
                    Cow::Borrowed(Value::Array(list)) => elements(list, *slice, &mut out)?,
                    Cow::Borrowed(Value::Null) => {}
                    _ => return None,
                }
            }
        }
        Step::Union(parts) => {
            for part in parts {
                out.append(&mut walk(current.clone(), part)?);
            }
        }
        Step::Filter { left, operator, right } => {
            for value in current {
                let Cow::Borrowed(Value::Array(list)) = value else { return None };
                for element in list {
                    if passes(element, left, operator, right)? {
                        out.push(Cow::Borrowed(element));
                    }
                }
            }
        }
        Step::Literal(value) => out.extend(current.iter().map(|_| Cow::Borrowed(value))),
        Step::Word => return None,
    }
    Some(out)
}

fn elements<'a>(list: &'a [Value], slice: Slice, out: &mut Vec<Cow<'a, Value>>) -> Option<()> {
    let length = i64::try_from(list.len()).ok()?;
    let mut from = slice.from.unwrap_or_default();
    if from < 0 {
        from += length;
    }
    let mut to = slice.to.unwrap_or(length);
    if to < 0 || to == 0 && slice.single {
        to += length;
    }
    if from == to {
        return Some(());
    }
    if from < 0 || from >= length || to < 0 || to > length || from > to {
        return None;
    }
    let step = usize::try_from(slice.step.unwrap_or(1)).ok().filter(|step| *step > 0)?;
    out.extend(list[from as usize..to as usize].iter().step_by(step).map(Cow::Borrowed));
    Some(())
}

fn passes(element: &Value, left: &[Step], operator: &str, right: &[Step]) -> Option<bool> {
    let found = walk(vec![Cow::Borrowed(element)], left);
    if operator == "exists" {
        return Some(found.is_some_and(|found| !found.is_empty()));
    }
    let single = |mut found: Vec<Cow<'_, Value>>| match found.len() {
        0 => Some(None),
        1 => Some(found.pop().map(Cow::into_owned)),
        _ => None,
    };
    let Some(left) = single(found?)? else { return Some(false) };
    let Some(right) = single(walk(vec![Cow::Borrowed(element)], right)?)? else { return Some(false) };
    let ordering = compare(&left, &right)?;
    match operator {
        "==" => Some(ordering == Ordering::Equal),
        "!=" => Some(ordering != Ordering::Equal),
        "<" => Some(ordering == Ordering::Less),
        ">" => Some(ordering == Ordering::Greater),
        "<=" => Some(ordering != Ordering::Greater),
        ">=" => Some(ordering != Ordering::Less),
        _ => None,
    }
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) if left.is_i64() == right.is_i64() => {
            match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
            }
        }
        _ => None,
    }
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
            assert!(JsonPath::parse(path).is_none(), "{path}");
        }
    }
}
