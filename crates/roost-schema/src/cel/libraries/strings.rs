//! Text: searching, cutting, joining, matching.

use super::{Builtin, Invocation, formatting};
use crate::cel::value::{EvalError, List, Outcome, Text, Value};
use crate::pattern::Matcher;

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "contains" => |call| pair(call, |text, part| text.contains(part)),
        "startsWith" => |call| pair(call, |text, part| text.starts_with(part)),
        "endsWith" => |call| pair(call, |text, part| text.ends_with(part)),
        "matches" => matches,
        "find" => find,
        "findAll" => find_all,
        "charAt" => char_at,
        "indexOf" => index_of,
        "lastIndexOf" => last_index_of,
        "lowerAscii" => |call| mapped(call, str::to_ascii_lowercase),
        "upperAscii" => |call| mapped(call, str::to_ascii_uppercase),
        "trim" => |call| mapped(call, |text| text.trim().to_owned()),
        "replace" => replace,
        "split" => split,
        "substring" => substring,
        "join" => join,
        "format" => formatting::format,
        "strings.quote" => |call| mapped(call, quote),
        _ => return None,
    })
}

fn pair<'a>(call: &Invocation<'_, 'a>, test: fn(&str, &str) -> bool) -> Outcome<'a> {
    match call.args {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(test(text, part))),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn mapped<'a>(call: &Invocation<'_, 'a>, change: fn(&str) -> String) -> Outcome<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::text(change(text))),
        _ => call.no_such_overload(),
    }
}

fn matches<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match call.args {
        [Value::String(text), Value::String(pattern)] => match call.pattern {
            Some(matcher) => is_match(call, matcher, text),
            None => is_match(call, call.meter.pattern(pattern)?.as_ref(), text),
        },
        [Value::String(_), _] => Err(EvalError::no_such_overload()),
        _ if call.pattern.is_some() => Err(EvalError::no_such_overload()),
        _ => call.no_such_operator(),
    }
}

fn is_match<'a>(call: &Invocation<'_, 'a>, matcher: &Matcher, text: &str) -> Outcome<'a> {
    call.meter.work(matcher.effort(text))?;
    matcher.is_match(text).map(Value::Bool).map_err(|_| EvalError::CostExceeded)
}

fn parts<'t>(
    call: &Invocation<'_, '_>,
    matcher: &Matcher,
    text: &'t str,
    limit: usize,
) -> Result<Vec<&'t str>, EvalError> {
    let (found, work) = matcher.find_all(text, limit).map_err(|_| EvalError::CostExceeded)?;
    call.meter.work(work)?;
    Ok(found)
}

fn illegal_regex(error: EvalError) -> EvalError {
    match error {
        EvalError::Failed(words) => EvalError::Failed(format!("Illegal regex: {words}")),
        exceeded @ EvalError::CostExceeded => exceeded,
    }
}

fn find<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = call.args else { return call.no_such_overload() };
    let found = |matcher: &Matcher| {
        let parts = parts(call, matcher, text, 1)?;
        Ok(Value::text(parts.first().copied().unwrap_or_default()))
    };
    match call.pattern {
        Some(matcher) => found(matcher),
        None => found(call.meter.pattern(pattern).map_err(illegal_regex)?.as_ref()),
    }
}

fn find_all<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (text, pattern, limit) = match call.args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => (text, pattern, *limit),
        _ => return call.no_such_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = |matcher: &Matcher| {
        let parts = parts(call, matcher, text, limit)?;
        Ok(Value::list(parts.into_iter().map(Value::text).collect()))
    };
    match call.pattern {
        Some(matcher) => found(matcher),
        None => found(call.meter.pattern(pattern).map_err(illegal_regex)?.as_ref()),
    }
}

fn out_of_range<'a>(index: i64) -> Outcome<'a> {
    Err(EvalError::Failed(format!("index out of range: {index}")))
}

/// The byte at which a character begins; the end for the character after the last.
fn byte_at(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(index)
}

fn char_at<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::String(text), Value::Int(index)] = call.args else { return call.no_such_overload() };
    let Some(byte) = byte_at(text, *index) else { return out_of_range(*index) };
    Ok(Value::text(text[byte..].chars().next().map(String::from).unwrap_or_default()))
}

fn index_of<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (text, part, offset) = match call.args {
        [Value::List(list), item] => return super::lists::position(list, item, call.meter, false),
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, *offset),
        _ => return call.no_such_overload(),
    };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    let Some(start) = byte_at(text, offset) else { return Ok(Value::Int(-1)) };
    let found = text[start..].find(part.as_ref()).map(|byte| text[..start + byte].chars().count() as i64);
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn last_index_of<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (text, part, offset) = match call.args {
        [Value::List(list), item] => return super::lists::position(list, item, call.meter, true),
        [Value::String(text), Value::String(part)] => {
            let count = text.chars().count() as i64;
            if part.is_empty() {
                return Ok(Value::Int(count));
            }
            if text.len() < part.len() {
                return Ok(Value::Int(-1));
            }
            (text, part, count - 1)
        }
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, *offset),
        _ => return call.no_such_overload(),
    };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    if offset >= text.chars().count() as i64 {
        return Ok(Value::Int(-1));
    }
    let start = byte_at(text, offset).unwrap_or(text.len());
    let end = (start + part.len()).min(text.len());
    let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    let found = text[..end].rfind(part.as_ref()).map(|byte| text[..byte].chars().count() as i64);
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn replace<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (text, old, new, limit) = match call.args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => (text, old, new, *limit),
        _ => return call.no_such_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = text.matches(old.as_ref()).take(limit).count();
    call.meter.size((text.len() + count.saturating_mul(new.len())) as u64)?;
    Ok(Value::text(text.replacen(old.as_ref(), new, limit)))
}

fn split<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (text, separator, limit) = match call.args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return call.no_such_overload(),
    };
    call.meter.size(text.len() as u64)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let part = |part: &str| Value::text(part);
    let parts: Vec<Value<'a>> = if limit == 0 {
        Vec::new()
    } else if separator.is_empty() {
        let mut parts: Vec<Value<'a>> =
            text.chars().take(limit.saturating_sub(1)).map(|c| Value::text(String::from(c))).collect();
        let rest: String = text.chars().skip(parts.len()).collect();
        if !rest.is_empty() {
            parts.push(Value::text(rest));
        }
        parts
    } else {
        text.splitn(limit, separator.as_ref()).map(part).collect()
    };
    Ok(Value::list(parts))
}

fn substring<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (text, start, end) = match call.args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return call.no_such_overload(),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        let words = format!("invalid substring range. start: {start}, end: {end}");
        return Err(EvalError::Failed(words));
    }
    let Some(first) = byte_at(text, start) else { return out_of_range(start) };
    let last = match end {
        None => text.len(),
        Some(end) => match byte_at(text, end) {
            Some(last) => last,
            None => return out_of_range(end),
        },
    };
    Ok(match text {
        Text::Borrowed(text) => Value::String(Text::Borrowed(&text[first..last])),
        Text::Shared(text) => Value::text(&text[first..last]),
    })
}

fn join<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (list, separator) = match call.args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, separator.as_ref()),
        _ => return call.no_such_overload(),
    };
    joined(list, separator, call)
}

fn joined<'a>(list: &List<'a>, separator: &str, call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let mut out = String::new();
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        match element? {
            Value::String(text) => out.push_str(&text),
            other => return Err(EvalError::Failed(format!("join: invalid input: {}", super::to_text(&other)))),
        }
        if out.len() > 1 << 20 {
            call.meter.size(out.len() as u64)?;
        }
    }
    Ok(Value::text(out))
}

fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
