//! The functions that queries can call.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::datum::Datum;
use super::evaluate::{Failure, Out, Run, Scope, Step, error};
use super::parse::Expression;

/// The most that a compiled regular expression may take.
const EXPRESSION_SIZE: usize = 1 << 18;

/// Functions and how many arguments they take.
const FUNCTIONS: [(&str, &[usize]); 67] = [
    ("abs", &[0]),
    ("add", &[0, 1]),
    ("all", &[0, 1, 2]),
    ("any", &[0, 1, 2]),
    ("arrays", &[0]),
    ("ascii_downcase", &[0]),
    ("ascii_upcase", &[0]),
    ("booleans", &[0]),
    ("ceil", &[0]),
    ("contains", &[1]),
    ("empty", &[0]),
    ("endswith", &[1]),
    ("error", &[0, 1]),
    ("first", &[0, 1]),
    ("flatten", &[0, 1]),
    ("floor", &[0]),
    ("from_entries", &[0]),
    ("group_by", &[1]),
    ("has", &[1]),
    ("IN", &[1, 2]),
    ("in", &[1]),
    ("index", &[1]),
    ("inside", &[1]),
    ("isempty", &[1]),
    ("iterables", &[0]),
    ("join", &[1]),
    ("keys", &[0]),
    ("keys_unsorted", &[0]),
    ("last", &[0, 1]),
    ("length", &[0]),
    ("limit", &[2]),
    ("ltrimstr", &[1]),
    ("map", &[1]),
    ("map_values", &[1]),
    ("max", &[0]),
    ("max_by", &[1]),
    ("min", &[0]),
    ("min_by", &[1]),
    ("not", &[0]),
    ("nth", &[1]),
    ("nulls", &[0]),
    ("numbers", &[0]),
    ("objects", &[0]),
    ("range", &[1, 2]),
    ("recurse", &[0]),
    ("reverse", &[0]),
    ("round", &[0]),
    ("rtrimstr", &[1]),
    ("scalars", &[0]),
    ("select", &[1]),
    ("sort", &[0]),
    ("sort_by", &[1]),
    ("split", &[1]),
    ("sqrt", &[0]),
    ("startswith", &[1]),
    ("strings", &[0]),
    ("test", &[1, 2]),
    ("to_entries", &[0]),
    ("tojson", &[0]),
    ("tonumber", &[0]),
    ("tostring", &[0]),
    ("trim", &[0]),
    ("type", &[0]),
    ("unique", &[0]),
    ("unique_by", &[1]),
    ("values", &[0]),
    ("with_entries", &[1]),
];

/// The name of a function that takes so many arguments.
pub(super) fn known(name: &str, arguments: usize) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(known, counts)| *known == name && counts.contains(&arguments)).map(|(known, _)| *known)
}

/// Calls a function whose arguments are asked by it, and those whose arguments are values.
pub(super) fn call(
    run: &mut Run,
    name: &'static str,
    arguments: &[Expression],
    input: &Datum,
    scope: Scope<'_>,
    out: Out<'_>,
) -> Step {
    match (name, arguments) {
        ("empty", []) => Ok(()),
        ("error", []) => Err(Failure::Error(input.clone())),
        ("error", [value]) => run.evaluate(value, input, scope, &mut |_, value| Err(Failure::Error(value))),
        ("recurse", []) => run.evaluate(&Expression::RecurseDefault, input, scope, out),
        ("select", [question]) => run.evaluate(question, input, scope, &mut |run, answer| {
            if answer.is_true() { out(run, input.clone()) } else { Ok(()) }
        }),
        ("map", [wish]) => {
            let mut values = Vec::new();
            run.each(input, &mut |run, item| {
                values.append(&mut run.collect(wish, &item, scope)?);
                Ok(())
            })?;
            out(run, Datum::list(values))
        }
        ("map_values", [wish]) => {
            let changed = map_values(run, wish, input, scope)?;
            out(run, changed)
        }
        ("with_entries", [wish]) => {
            let entries = to_entries(run, input)?;
            let Datum::List(entries) = entries else { return Ok(()) };
            let mut changed = Vec::new();
            for entry in entries.iter() {
                changed.append(&mut run.collect(wish, entry, scope)?);
            }
            let map = from_entries(run, &changed)?;
            out(run, map)
        }
        ("any" | "all", [..]) => {
            let answer = quantify(run, name == "any", arguments, input, scope)?;
            out(run, Datum::Bool(answer))
        }
        ("isempty", [values]) => {
            let is_empty = run.first(1, values, input, scope)?.is_empty();
            out(run, Datum::Bool(is_empty))
        }
        ("first", [values]) => run.first(1, values, input, scope)?.into_iter().try_for_each(|value| out(run, value)),
        ("last", [values]) => {
            run.collect(values, input, scope)?.into_iter().next_back().map_or(Ok(()), |value| out(run, value))
        }
        ("limit", [count, values]) => run.evaluate(count, input, scope, &mut |run, count| {
            let count = number(&count)?.max(0.0) as usize;
            run.first(count, values, input, scope)?.into_iter().try_for_each(|value| out(run, value))
        }),
        ("add", [values]) => {
            let values = run.collect(values, input, scope)?;
            let sum = sum(run, &values)?;
            out(run, sum)
        }
        ("IN", [values]) => {
            let is_in = is_among(run, values, input, input, scope)?;
            out(run, Datum::Bool(is_in))
        }
        ("IN", [source, values]) => {
            let mut is_in = false;
            for value in run.collect(source, input, scope)? {
                is_in |= is_among(run, values, &value, input, scope)?;
            }
            out(run, Datum::Bool(is_in))
        }
        ("sort_by" | "group_by" | "unique_by" | "min_by" | "max_by", [key]) => {
            let keyed = keyed(run, key, input, scope)?;
            let arranged = arrange(run, name, keyed)?;
            out(run, arranged)
        }
        (name, []) => plain(run, name, input).and_then(|value| value.map_or(Ok(()), |value| out(run, value))),
        (name, [only]) => run.evaluate(only, input, scope, &mut |run, argument| {
            if name == "range" {
                return range(run, 0.0, number(&argument)?, out);
            }
            let value = with_argument(run, name, input, &argument)?;
            out(run, value)
        }),
        (name, [first, second]) => run.evaluate(first, input, scope, &mut |run, first| {
            run.evaluate(second, input, scope, &mut |run, second| {
                if name == "range" {
                    return range(run, number(&first)?, number(&second)?, out);
                }
                let is_match = test(run, input, &first, &second)?;
                out(run, Datum::Bool(is_match))
            })
        }),
        (name, _) => Err(error(format!("{name} takes fewer arguments"))),
    }
}

fn number(value: &Datum) -> Result<f64, Failure> {
    match value {
        Datum::Number(number) => Ok(*number),
        other => Err(error(format!("expected a number but got: {}", other.shown()))),
    }
}

fn text(value: &Datum) -> Result<&Rc<str>, Failure> {
    match value {
        Datum::Text(text) => Ok(text),
        other => Err(error(format!("expected a string but got: {}", other.shown()))),
    }
}

fn list(value: &Datum) -> Result<&Rc<Vec<Datum>>, Failure> {
    match value {
        Datum::List(list) => Ok(list),
        other => Err(error(format!("expected an array but got: {}", other.shown()))),
    }
}

fn range(run: &mut Run, start: f64, end: f64, out: Out<'_>) -> Step {
    let mut at = start;
    while at < end {
        run.charge(1)?;
        out(run, Datum::Number(at))?;
        at += 1.0;
    }
    Ok(())
}

fn sum(run: &mut Run, values: &[Datum]) -> Result<Datum, Failure> {
    values.iter().try_fold(Datum::Null, |sum, value| run.add(&sum, value))
}

fn is_among(
    run: &mut Run,
    values: &Expression,
    value: &Datum,
    input: &Datum,
    scope: Scope<'_>,
) -> Result<bool, Failure> {
    for other in run.collect(values, input, scope)? {
        if run.compare(value, &other)?.is_eq() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn quantify(
    run: &mut Run,
    is_any: bool,
    arguments: &[Expression],
    input: &Datum,
    scope: Scope<'_>,
) -> Result<bool, Failure> {
    let (values, question) = match arguments {
        [values, question] => (run.collect(values, input, scope)?, Some(question)),
        rest => {
            let mut values = Vec::new();
            run.each(input, &mut |_, value| {
                values.push(value);
                Ok(())
            })?;
            (values, rest.first())
        }
    };
    for value in values {
        let answers = match question {
            None => vec![value],
            Some(question) => run.collect(question, &value, scope)?,
        };
        if answers.iter().any(|answer| answer.is_true() == is_any) {
            return Ok(is_any);
        }
    }
    Ok(!is_any)
}

fn map_values(run: &mut Run, wish: &Expression, input: &Datum, scope: Scope<'_>) -> Result<Datum, Failure> {
    match input {
        Datum::Map(map) => {
            let mut changed = BTreeMap::new();
            for (key, value) in map.iter() {
                if let Some(value) = run.first(1, wish, value, scope)?.pop() {
                    changed.insert(Rc::clone(key), value);
                }
            }
            Ok(Datum::Map(Rc::new(changed)))
        }
        other => {
            let mut changed = Vec::new();
            for value in list(other)?.iter() {
                changed.append(&mut run.first(1, wish, value, scope)?);
            }
            Ok(Datum::list(changed))
        }
    }
}

fn entry(key: &str, value: &Datum) -> Datum {
    let map = [(Rc::from("key"), Datum::text(key)), (Rc::from("value"), value.clone())];
    Datum::Map(Rc::new(map.into_iter().collect()))
}

fn to_entries(run: &mut Run, input: &Datum) -> Result<Datum, Failure> {
    let Datum::Map(map) = input else {
        return Err(error(format!("expected an object but got: {}", input.shown())));
    };
    run.charge(map.len())?;
    Ok(Datum::list(map.iter().map(|(key, value)| entry(key, value)).collect()))
}

fn from_entries(run: &mut Run, entries: &[Datum]) -> Result<Datum, Failure> {
    let mut made = BTreeMap::new();
    for entry in entries {
        let Datum::Map(entry) = entry else {
            return Err(error(format!("expected an object but got: {}", entry.shown())));
        };
        let find = |names: &[&str]| names.iter().find_map(|name| entry.get(*name)).cloned();
        let key = find(&["key", "k", "name", "Name", "Key", "K"]).unwrap_or(Datum::Null);
        let key = run.text_of(&key)?;
        made.insert(key, find(&["value", "v", "Value", "V"]).unwrap_or(Datum::Null));
    }
    Ok(Datum::Map(Rc::new(made)))
}

/// Values with what they are ordered by.
type Keyed = Vec<(Datum, Datum)>;

fn keyed(run: &mut Run, key: &Expression, input: &Datum, scope: Scope<'_>) -> Result<Keyed, Failure> {
    let mut keyed = Vec::new();
    for value in list(input)?.iter() {
        let key = Datum::list(run.collect(key, value, scope)?);
        keyed.push((key, value.clone()));
    }
    Ok(keyed)
}

/// Sorts, stops comparing when that takes too long, and says so.
fn sorted(run: &mut Run, mut keyed: Keyed) -> Result<Keyed, Failure> {
    let mut refused = None;
    keyed.sort_by(|(one, _), (other, _)| match run.compare(one, other) {
        Ok(order) => order,
        Err(failure) => {
            refused = Some(failure);
            Ordering::Equal
        }
    });
    refused.map_or(Ok(keyed), Err)
}

fn arrange(run: &mut Run, name: &str, keyed: Keyed) -> Result<Datum, Failure> {
    let sorted = sorted(run, keyed)?;
    match name {
        "sort" | "sort_by" => return Ok(Datum::list(sorted.into_iter().map(|(_, value)| value).collect())),
        "min" | "min_by" => return Ok(sorted.into_iter().next().map_or(Datum::Null, |(_, value)| value)),
        "max" | "max_by" => return Ok(sorted.into_iter().next_back().map_or(Datum::Null, |(_, value)| value)),
        _ => {}
    }
    let mut groups: Vec<(Datum, Vec<Datum>)> = Vec::new();
    for (key, value) in sorted {
        let is_same = match groups.last() {
            Some((known, _)) => run.compare(known, &key)?.is_eq(),
            None => false,
        };
        match groups.last_mut() {
            Some((_, group)) if is_same => group.push(value),
            _ => groups.push((key, vec![value])),
        }
    }
    if name == "group_by" {
        return Ok(Datum::list(groups.into_iter().map(|(_, group)| Datum::list(group)).collect()));
    }
    Ok(Datum::list(groups.into_iter().filter_map(|(_, group)| group.into_iter().next()).collect()))
}

fn flatten(run: &mut Run, values: &[Datum], depth: f64, out: &mut Vec<Datum>) -> Step {
    for value in values {
        run.charge(1)?;
        match value {
            Datum::List(inner) if depth >= 1.0 => flatten(run, inner, depth - 1.0, out)?,
            other => out.push(other.clone()),
        }
    }
    Ok(())
}

fn keep(is_kept: bool, input: &Datum) -> Option<Datum> {
    is_kept.then(|| input.clone())
}

/// Functions of their input alone. None for no value.
fn plain(run: &mut Run, name: &str, input: &Datum) -> Result<Option<Datum>, Failure> {
    let is_compound = matches!(input, Datum::List(_) | Datum::Map(_));
    Ok(Some(match name {
        "arrays" => return Ok(keep(matches!(input, Datum::List(_)), input)),
        "objects" => return Ok(keep(matches!(input, Datum::Map(_)), input)),
        "iterables" => return Ok(keep(is_compound, input)),
        "scalars" => return Ok(keep(!is_compound, input)),
        "booleans" => return Ok(keep(matches!(input, Datum::Bool(_)), input)),
        "numbers" => return Ok(keep(matches!(input, Datum::Number(_)), input)),
        "strings" => return Ok(keep(matches!(input, Datum::Text(_)), input)),
        "nulls" => return Ok(keep(matches!(input, Datum::Null), input)),
        "values" => return Ok(keep(!matches!(input, Datum::Null), input)),
        "not" => Datum::Bool(!input.is_true()),
        "type" => Datum::text(input.type_name()),
        "length" => match input {
            Datum::Null => Datum::Number(0.0),
            Datum::Number(number) => Datum::Number(number.abs()),
            Datum::Text(text) => Datum::count(text.chars().count()),
            Datum::List(list) => Datum::count(list.len()),
            Datum::Map(map) => Datum::count(map.len()),
            Datum::Bool(_) => return Err(error(format!("length cannot be applied to: {}", input.shown()))),
        },
        "abs" => Datum::Number(number(input)?.abs()),
        "floor" => Datum::Number(number(input)?.floor()),
        "ceil" => Datum::Number(number(input)?.ceil()),
        "round" => Datum::Number(number(input)?.round()),
        "sqrt" => Datum::Number(number(input)?.sqrt()),
        "ascii_downcase" => Datum::text(&text(input)?.to_ascii_lowercase()),
        "ascii_upcase" => Datum::text(&text(input)?.to_ascii_uppercase()),
        "trim" => Datum::text(text(input)?.trim()),
        "tostring" => Datum::Text(run.text_of(input)?),
        "tojson" => Datum::Text(run.json_of(input)?),
        "tonumber" => match input {
            Datum::Number(_) => input.clone(),
            other => match text(other)?.parse::<f64>() {
                Ok(number) if number.is_finite() => Datum::Number(number),
                _ => return Err(error(format!("tonumber cannot be applied to: {}", input.shown()))),
            },
        },
        "keys" | "keys_unsorted" => match input {
            Datum::Map(map) => Datum::list(map.keys().map(|key| Datum::Text(Rc::clone(key))).collect()),
            other => Datum::list((0..list(other)?.len()).map(Datum::count).collect()),
        },
        "add" => {
            let mut values = Vec::new();
            run.each(input, &mut |_, value| {
                values.push(value);
                Ok(())
            })?;
            sum(run, &values)?
        }
        "first" => list(input)?.first().cloned().unwrap_or(Datum::Null),
        "last" => list(input)?.last().cloned().unwrap_or(Datum::Null),
        "reverse" => Datum::list(list(input)?.iter().rev().cloned().collect()),
        "flatten" => {
            let mut flat = Vec::new();
            flatten(run, list(input)?, f64::INFINITY, &mut flat)?;
            Datum::list(flat)
        }
        "to_entries" => to_entries(run, input)?,
        "from_entries" => from_entries(run, list(input)?)?,
        "sort" | "min" | "max" | "unique" => {
            let values = list(input)?.iter().map(|value| (value.clone(), value.clone())).collect();
            arrange(run, name, values)?
        }
        other => return Err(error(format!("{other} wants an argument"))),
    }))
}

/// Functions of their input and one value.
fn with_argument(run: &mut Run, name: &str, input: &Datum, argument: &Datum) -> Result<Datum, Failure> {
    run.charge(1)?;
    Ok(match name {
        "has" => Datum::Bool(has(input, argument)?),
        "in" => Datum::Bool(has(argument, input)?),
        "contains" => Datum::Bool(contains(run, input, argument)?),
        "inside" => Datum::Bool(contains(run, argument, input)?),
        "startswith" => Datum::Bool(text(input)?.starts_with(&**text(argument)?)),
        "endswith" => Datum::Bool(text(input)?.ends_with(&**text(argument)?)),
        "ltrimstr" | "rtrimstr" => match (input, argument) {
            (Datum::Text(whole), Datum::Text(part)) => {
                let rest = if name == "ltrimstr" { whole.strip_prefix(&**part) } else { whole.strip_suffix(&**part) };
                Datum::text(rest.unwrap_or(whole))
            }
            _ => input.clone(),
        },
        "split" => run.split(text(input)?, text(argument)?)?,
        "join" => {
            let mut parts = Vec::new();
            for part in list(input)?.iter() {
                parts.push(match part {
                    Datum::Null => Rc::from(""),
                    part => run.text_of(part)?,
                });
            }
            let joined = parts.join(text(argument)?);
            run.charge(joined.len() / 64)?;
            Datum::text(&joined)
        }
        "index" => match (input, argument) {
            (Datum::Null, _) => Datum::Null,
            (Datum::List(items), wanted) => {
                let mut found = Datum::Null;
                for (at, item) in items.iter().enumerate().rev() {
                    if run.compare(item, wanted)?.is_eq() {
                        found = Datum::count(at);
                    }
                }
                found
            }
            (input, argument) => {
                let (whole, part) = (text(input)?, text(argument)?);
                let found = whole.find(&**part).map(|at| whole[..at].chars().count());
                found.filter(|_| !part.is_empty()).map_or(Datum::Null, Datum::count)
            }
        },
        "nth" => {
            let at = number(argument)?;
            let found = if at >= 0.0 { list(input)?.get(at as usize).cloned() } else { None };
            found.unwrap_or(Datum::Null)
        }
        "flatten" => {
            let mut flat = Vec::new();
            flatten(run, list(input)?, number(argument)?, &mut flat)?;
            Datum::list(flat)
        }
        "test" => Datum::Bool(test(run, input, argument, &Datum::Null)?),
        other => return Err(error(format!("{other} takes no argument"))),
    })
}

fn has(input: &Datum, key: &Datum) -> Result<bool, Failure> {
    match (input, key) {
        (Datum::Map(map), Datum::Text(key)) => Ok(map.contains_key(key)),
        (Datum::List(list), Datum::Number(at)) => Ok(*at >= 0.0 && (*at as usize) < list.len()),
        _ => Err(error(format!("cannot check whether {} has a key: {}", input.shown(), key.shown()))),
    }
}

fn contains(run: &mut Run, whole: &Datum, part: &Datum) -> Result<bool, Failure> {
    run.charge(1)?;
    match (whole, part) {
        (Datum::Text(whole), Datum::Text(part)) => Ok(whole.contains(&**part)),
        (Datum::List(whole), Datum::List(parts)) => {
            for part in parts.iter() {
                let mut is_in = false;
                for item in whole.iter() {
                    // Values of two types contain each other as little as unequal ones.
                    is_in = item.type_name() == part.type_name() && contains(run, item, part)?;
                    if is_in {
                        break;
                    }
                }
                if !is_in {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Datum::Map(whole), Datum::Map(parts)) => {
            for (key, part) in parts.iter() {
                let Some(item) = whole.get(key) else { return Ok(false) };
                if item.type_name() != part.type_name() || !contains(run, item, part)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (whole, part) if whole.type_name() == part.type_name() => Ok(run.compare(whole, part)?.is_eq()),
        _ => Err(error(format!("cannot check whether {} contains {}", whole.shown(), part.shown()))),
    }
}

fn test(run: &mut Run, input: &Datum, pattern: &Datum, flags: &Datum) -> Result<bool, Failure> {
    let (subject, pattern) = (text(input)?, text(pattern)?);
    // Compiling is much more than a step.
    run.charge(100 + pattern.len() + subject.len() / 16)?;
    let mut builder = regex::RegexBuilder::new(pattern);
    builder.size_limit(EXPRESSION_SIZE);
    let flags = match flags {
        Datum::Null => "",
        flags => text(flags)?,
    };
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            's' => builder.dot_matches_new_line(true),
            'g' | 'n' | 'l' | 'p' => &mut builder,
            other => return Err(error(format!("unsupported regular expression flag: {other:?}"))),
        };
    }
    match builder.build() {
        Ok(expression) => Ok(expression.is_match(subject)),
        Err(_) => Err(error(format!("invalid regular expression {pattern:?}"))),
    }
}
