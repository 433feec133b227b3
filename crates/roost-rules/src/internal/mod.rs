//! Values in the shape of stock's internal types, not of the API: as it prints them in errors, and as it compares them.
//!
//! Stock keeps objects in internal types whose fields have no JSON names, so what it prints has Go's names in Go's order
//! and no field is left out. `types.txt` lists those types, one a line: the type's name, then its fields as
//! `Name:shape`, or `Name=apiName:shape` where the API's name is not simply the same in camel case, with a `?` behind
//! names that are left out when empty. Shapes are `s`tring, `n`umber, `b`ool, `q`uantity, `i`nt or string, `t`ime,
//! `j`son, the name of a type, and in front of one `*` for a pointer, `[` for a list, `{` for a map.

mod print;
mod same;
mod unified;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use roost_object::Value;

pub(crate) use print::{print, print_lines};
pub(crate) use same::same;
pub(crate) use unified::diff;

struct Member {
    printed: &'static str,
    key: String,
    shape: &'static str,
    omits_empty: bool,
}

impl Member {
    /// The member's value. Metadata is part of the structure that has it.
    fn of<'a>(&self, structure: &'a Value) -> &'a Value {
        match &structure[&self.key] {
            Value::Null => &structure["metadata"][&self.key],
            found => found,
        }
    }
}

static TYPES: LazyLock<HashMap<&'static str, Vec<Member>>> = LazyLock::new(|| {
    let parse = |field: &'static str| {
        let (name, shape) = field.split_once(':')?;
        let (printed, key) = name.split_once('=').map_or((name, None), |(printed, key)| (printed, Some(key)));
        let (printed, omits_empty) = printed.strip_suffix('?').map_or((printed, false), |printed| (printed, true));
        let key = key.map_or_else(|| decapitalized(printed), str::to_owned);
        Some(Member { printed, key, shape, omits_empty })
    };
    include_str!("types.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, fields)| (name, fields.split(' ').filter_map(parse).collect()))
        .collect()
});

fn decapitalized(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + characters.as_str())
}

/// The members of a type; none if it is not listed.
fn members(name: &str) -> Option<&'static [Member]> {
    TYPES.get(name).map(Vec::as_slice)
}

/// The fields that stock's internal type of a pod's spec keeps in the security context.
const IN_SECURITY_CONTEXT: [&str; 5] = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

/// A structure with its fields where the internal type has them.
fn arranged<'a>(name: &str, structure: &'a Value) -> Cow<'a, Value> {
    let moves = |field: &&str| structure.get(*field).is_some_and(|value| !value.is_null());
    if name != "PodSpec" || !structure["securityContext"].is_object() || !IN_SECURITY_CONTEXT.iter().any(moves) {
        return Cow::Borrowed(structure);
    }
    let mut spec = structure.clone();
    for field in IN_SECURITY_CONTEXT.into_iter().filter(moves) {
        spec["securityContext"][field] = structure[field].clone();
    }
    Cow::Owned(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_type_is_listed() {
        for (name, members) in TYPES.iter() {
            for member in members {
                let inner = member.shape.trim_start_matches(['*', '[', '{']);
                assert!(inner.len() == 1 || TYPES.contains_key(inner), "{name}.{}: {inner}", member.printed);
            }
        }
    }
}
