//! What names and functions mean before an expression adds its own variables.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::object::ObjectType;
use super::overloads::OVERLOADS;
use super::types::{Param, Type};

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) args: Vec<Type<'static>>,
    pub(crate) result: Type<'static>,
}

/// A function with its overloads in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    for line in OVERLOADS.lines() {
        let fields: Vec<&'static str> = line.split('~').collect();
        let [name, id, style, args, result] = fields[..] else { continue };
        let overload = Overload {
            id,
            member: style == "m",
            args: args.split(' ').filter(|arg| !arg.is_empty()).map(parse_type).collect(),
            result: parse_type(result),
        };
        functions.entry(name).or_insert_with(|| Function { name, overloads: Vec::new() }).overloads.push(overload);
    }
    functions
});

/// A function by its full name.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

/// The type that a name stands for, such as `int`.
pub(crate) fn type_named(name: &str) -> Option<Type<'static>> {
    let param = |letter| Type::Param(Param::Declared(letter));
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "duration" | "google.protobuf.Duration" => Type::Duration,
        "int" => Type::Int,
        "list" => Type::list(param('A')),
        "map" => Type::map(param('A'), param('B')),
        "null_type" => Type::Null,
        "string" => Type::String,
        "timestamp" | "google.protobuf.Timestamp" => Type::Timestamp,
        "type" => Type::Type(None),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(param('V')),
        "net.IP" => Type::Opaque("net.IP"),
        "net.CIDR" => Type::Opaque("net.CIDR"),
        _ => return None,
    })
}

fn parse_type(text: &'static str) -> Type<'static> {
    let inside = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')'));
    if let Some(inner) = inside("list(") {
        return Type::list(parse_type(inner));
    }
    if let Some(inner) = inside("optional_type(") {
        return Type::optional(parse_type(inner));
    }
    if let Some(inner) = inside("type(") {
        return Type::Type(Some(parse_type(inner).into()));
    }
    if let Some((key, value)) = inside("map(").and_then(|inner| inner.split_once(',')) {
        return Type::map(parse_type(key), parse_type(value));
    }
    if let [letter] = text.as_bytes()
        && letter.is_ascii_uppercase()
    {
        return Type::Param(Param::Declared(*letter as char));
    }
    match text {
        "dyn" => Type::Dyn,
        library if library.starts_with("kubernetes.") => Type::Object(ObjectType::Library(library)),
        name => type_named(name).unwrap_or(Type::Dyn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_overloads_are_read() {
        let count: usize = FUNCTIONS.values().map(|function| function.overloads.len()).sum();
        assert_eq!(count, OVERLOADS.lines().count());
        assert_eq!(function("_+_").unwrap().overloads.len(), 9);
        let query = &function("getQuery").unwrap().overloads[0];
        assert_eq!(query.result.to_string(), "map(string, list(string))");
        assert_eq!(query.args[0].to_string(), "kubernetes.URL");
    }
}
