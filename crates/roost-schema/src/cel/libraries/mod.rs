//! What functions do: the standard library, cel-go's extensions and those of Kubernetes.

mod arithmetic;
mod convert;
mod formatting;
mod lists;
pub(crate) mod network;
mod optional;
pub(crate) mod quantity;
pub(crate) mod semver;
mod strings;
mod times;
mod urls;

pub(crate) use arithmetic::TIMESTAMPS;
pub(crate) use convert::to_text;
pub(crate) use formatting::check_clauses;

use super::access::Authorize;
use super::meter::Meter;
use super::value::{EvalError, Outcome, Value};
use crate::pattern::Matcher;

/// One call: its arguments, the receiver first.
pub(crate) struct Invocation<'c, 'a> {
    pub(crate) function: &'c str,
    pub(crate) args: &'c [Value<'a>],
    pub(crate) meter: &'c Meter,
    /// Who answers questions about access, where that can be asked.
    pub(crate) authorizer: Option<&'c dyn Authorize>,
    /// The pattern, compiled, when it is a literal.
    pub(crate) pattern: Option<&'c Matcher>,
}

impl<'a> Invocation<'_, 'a> {
    /// The failure of a call whose arguments no overload fits, with their types.
    pub(crate) fn no_such_overload<T>(&self) -> Result<T, EvalError> {
        let types: Vec<_> = self.args.iter().map(Value::type_name).collect();
        Err(EvalError::Failed(format!("no such overload: {}({})", self.function, types.join(", "))))
    }

    /// The failure of an operator whose first operand cannot have it.
    fn no_such_operator(&self) -> Outcome<'a> {
        // Types with methods of their own are asked first, and say less.
        if let Some(Value::String(_) | Value::Timestamp(_) | Value::Duration(_)) = self.args.first() {
            return Err(EvalError::no_such_overload());
        }
        Err(EvalError::Failed(format!("no such overload: {}", self.function)))
    }
}

pub(crate) type Builtin = for<'c, 'a> fn(&Invocation<'c, 'a>) -> Outcome<'a>;

/// The implementation of a function.
pub(crate) fn builtin(function: &str) -> Option<Builtin> {
    arithmetic::builtin(function)
        .or_else(|| convert::builtin(function))
        .or_else(|| strings::builtin(function))
        .or_else(|| lists::builtin(function))
        .or_else(|| times::builtin(function))
        .or_else(|| optional::builtin(function))
        .or_else(|| network::builtin(function))
        .or_else(|| quantity::builtin(function))
        .or_else(|| semver::builtin(function))
        .or_else(|| urls::builtin(function))
        .or_else(|| super::formats::builtin(function))
        .or_else(|| super::access::builtin(function))
        .or_else(|| super::patch::builtin(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_function_is_implemented() {
        // Operators that the interpreter evaluates itself, and the authorizer, which needs a server.
        let elsewhere = [
            "_&&_",
            "_||_",
            "_?_:_",
            "_==_",
            "_!=_",
            "_[_]",
            "_[?_]",
            "_?._",
            "or",
            "orValue",
            "allowed",
            "check",
            "error",
            "errored",
            "fieldSelector",
            "group",
            "labelSelector",
            "name",
            "namespace",
            "path",
            "reason",
            "resource",
            "serviceAccount",
            "subresource",
        ];
        for line in super::super::overloads::OVERLOADS.lines() {
            let function = line.split('~').next().unwrap();
            assert!(builtin(function).is_some() || elsewhere.contains(&function), "{function}");
        }
    }
}
