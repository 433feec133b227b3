//! One expression, compiled for what its policy can use.

use roost_schema::cel::{CompileError, Program, Type, compile, compile_patch};

use super::environment::{Scope, variables};

/// An expression that is compiled, or what is wrong with it.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) program: Result<Program, Problem>,
    /// The type of its value; any when it does not compile.
    pub(super) output: Type<'static>,
}

/// Why an expression cannot be used, in stock's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Whether it is not the author's fault.
    pub(super) internal: bool,
    pub(super) words: String,
}

/// What an expression has to yield.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    Anything,
    Bool,
    Text,
    TextOrNull,
    Object,
    Patches,
}

impl Wanted {
    fn is_met_by(self, given: &str) -> bool {
        match self {
            Self::Anything => true,
            Self::TextOrNull => matches!(given, "string" | "null_type"),
            _ => given == self.word(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Anything => "any",
            Self::Bool => "bool",
            Self::Text => "string",
            Self::TextOrNull => "[string null_type]",
            Self::Object => "Object",
            Self::Patches => "list(JSONPatch)",
        }
    }
}

impl Expression {
    pub(super) fn compile(
        text: &str,
        scope: Scope,
        composed: Option<&[(String, Type<'static>)]>,
        wanted: Wanted,
    ) -> Self {
        let declared = variables(scope, composed);
        let declared: Vec<(&str, Type<'static>)> =
            declared.iter().map(|(name, kind)| (name.as_str(), kind.clone())).collect();
        let compiled = if scope.constructs { compile_patch(text, &declared) } else { compile(text, &declared) };
        let failed = |internal: bool, words: String| Self {
            text: text.to_owned(),
            program: Err(Problem { internal, words }),
            output: Type::Dyn,
        };
        let given = match &compiled {
            Err(CompileError::Issues(issues)) => return failed(false, format!("compilation failed: {issues}")),
            Err(CompileError::Instantiation { output, .. }) => output.clone(),
            Ok(compiled) => type_word(&compiled.output),
        };
        if !wanted.is_met_by(&given) {
            let one_of = if matches!(wanted, Wanted::TextOrNull) { "one of " } else { "" };
            return failed(false, format!("must evaluate to {one_of}{} but got {given}", wanted.word()));
        }
        match compiled {
            Err(error) => failed(true, error.to_string()),
            Ok(compiled) => Self { text: text.to_owned(), program: Ok(compiled.program), output: compiled.output },
        }
    }
}

/// The type of a variable that an expression defines: what has no form in JSON is not known any more.
pub(super) fn composed_type(kind: &Type<'static>) -> Type<'static> {
    match kind {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => kind.clone(),
        Type::List(element) => Type::list(composed_type(element)),
        Type::Map(key, value) => Type::map(composed_type(key), composed_type(value)),
        _ => Type::Dyn,
    }
}

/// A type as cel-go names it.
fn type_word(kind: &Type<'_>) -> String {
    match kind {
        Type::Null => "null_type".to_owned(),
        other => other.to_string(),
    }
}
