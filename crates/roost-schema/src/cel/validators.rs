//! Checks of literals after types are known: durations, timestamps, patterns and formats.

use super::ast::{Expr, Kind, Literal};
use super::checker::Checked;
use super::libraries::{TIMESTAMPS, check_clauses};
use super::source::Problems;
use super::types::Type;
use crate::pattern::translate;
use crate::time::Instant;

/// Reports literals that can only fail.
pub(super) fn validate(checked: &Checked<'_>, problems: &mut Problems<'_>) {
    walk(&checked.root, checked, false, problems);
}

fn walk(expr: &Expr, checked: &Checked<'_>, mixed: bool, problems: &mut Problems<'_>) {
    let mut mixed = mixed;
    match &expr.kind {
        Kind::Call { target, function, args } => {
            if let Some(Expr { id, kind: Kind::Literal(literal), .. }) = args.first() {
                let valid = match (function.as_ref(), literal) {
                    ("duration", Literal::String(text)) => crate::duration::parse(text).is_some(),
                    ("timestamp", Literal::String(text)) => Instant::parse(text).is_ok(),
                    ("timestamp", Literal::Int(seconds)) => TIMESTAMPS.contains(seconds),
                    ("matches", Literal::String(pattern)) => translate(pattern).is_ok(),
                    _ => true,
                };
                if !valid {
                    problems.report(checked.locations[*id], format!("invalid {function} argument"));
                }
            }
            if let (Some(target), "format", [list]) = (target, function.as_ref(), &args[..]) {
                check_format(expr, target, list, checked, problems);
            }
            mixed = mixed || function.as_ref() == "format";
        }
        Kind::List { elements, optional } if !mixed => {
            let kinds = elements.iter().enumerate().map(|(index, element)| (element, optional.contains(&index)));
            check_same(kinds, checked, problems, true);
        }
        Kind::Map { entries } if !mixed => {
            check_same(entries.iter().map(|entry| (&entry.key, false)), checked, problems, false);
            check_same(entries.iter().map(|entry| (&entry.value, entry.optional)), checked, problems, false);
        }
        _ => {}
    }
    expr.for_each_part(|part| walk(part, checked, mixed, problems));
}

/// Reports parts whose type is not that of the first; in lists only the first such part.
fn check_same<'e>(
    parts: impl Iterator<Item = (&'e Expr, bool)>,
    checked: &Checked<'_>,
    problems: &mut Problems<'_>,
    once: bool,
) {
    let mut first = None;
    for (part, optional) in parts {
        let kind = checked.type_of(part);
        let kind = if optional { kind.unwrap_optional().0 } else { kind.clone() };
        let Some(expected) = &first else {
            first = Some(kind);
            continue;
        };
        if !kind.is_equivalent(expected) {
            let words = format!("expected type '{expected}' but found '{kind}'");
            problems.report(checked.locations[part.id], words);
            if once {
                return;
            }
        }
    }
}

fn check_format(call: &Expr, target: &Expr, list: &Expr, checked: &Checked<'_>, problems: &mut Problems<'_>) {
    let (Kind::Literal(Literal::String(format)), Kind::List { elements, .. }) = (&target.kind, &list.kind) else {
        return;
    };
    let types: Vec<_> = elements.iter().map(|element| runtime_name(checked.type_of(element))).collect();
    match check_clauses(format, &types) {
        Err(problem) => {
            let at = problem.argument.map_or(call.id, |index| elements[index].id);
            problems.report(checked.locations[at], problem.words);
        }
        Ok(used) if elements.len() > used => {
            let words =
                format!("too many arguments supplied to string.format (expected {used}, got {})", elements.len());
            problems.report(checked.locations[call.id], words);
        }
        Ok(_) => {}
    }
}

/// The name that values of a type will have; none when it is only known later.
fn runtime_name(kind: &Type<'_>) -> Option<String> {
    let name = match kind {
        Type::Dyn | Type::Error | Type::Param(_) => return None,
        Type::Null => "null_type",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Uint => "uint",
        Type::Double => "double",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Duration => "google.protobuf.Duration",
        Type::Timestamp => "google.protobuf.Timestamp",
        Type::List(_) => "list",
        Type::Map(..) => "map",
        Type::Type(_) => "type",
        Type::Optional(_) => "optional_type",
        Type::Opaque(name) => name,
        Type::Object(object) => object.name(),
    };
    Some(name.to_owned())
}
