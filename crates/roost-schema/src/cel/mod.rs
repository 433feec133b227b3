//! The expression language of validation rules and admission policies, as Kubernetes configures cel-go.
//!
//! An expression is parsed, checked against the types of its variables, and planned. Evaluation counts the same costs
//! as stock and stops when they exceed the limit.

mod access;
mod ast;
mod checker;
mod compare;
mod constant;
mod cost;
mod declarations;
mod escape;
mod eval;
mod formats;
mod json;
mod lexer;
mod libraries;
mod literal;
mod macros;
mod meter;
mod object;
mod overloads;
mod parser;
mod patch;
mod plan;
mod source;
mod types;
mod validators;
mod value;

pub use access::{AccessCheck, AccessDecision, AccessSubject, Authorize, ResourceAccess};
pub use json::View;
pub use object::{Declared, ObjectType};
pub use patch::Instance;
pub use types::Type;
pub use value::{EvalError, Text, Value};

pub(crate) use cost::Estimator;
pub(crate) use object::{MAX_REQUEST_BYTES, Place};

use meter::Meter;
use plan::Plan;
use source::Problems;

/// What one call of an expression may cost.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// What all expressions of one request may cost together.
pub const REQUEST_BUDGET: u64 = 10_000_000;

/// What the match conditions of one webhook or policy may cost together.
pub const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The expression does not parse or its types do not fit; the text shows where.
    #[error("{0}")]
    Issues(String),
    /// The expression is well-typed but cannot be made ready to run.
    #[error("program instantiation failed: {reason}")]
    Instantiation {
        /// What stands in the way.
        reason: String,
        /// The type that its value would have, in words.
        output: String,
    },
}

/// A compiled expression.
pub struct Program {
    plan: Plan,
    variables: Vec<String>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("variables", &self.variables).finish_non_exhaustive()
    }
}

/// A compiled expression with what compiling found out about it.
pub struct Compiled<'s> {
    /// The expression, ready to run.
    pub program: Program,
    /// The type of its value.
    pub output: Type<'s>,
    /// The variables that it uses.
    pub uses: Vec<String>,
    checked: checker::Checked<'s>,
}

/// The value of an expression and what it cost.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value, or why there is none.
    pub outcome: Result<Value<'a>, EvalError>,
    /// The cost in stock's units.
    pub cost: u64,
}

/// Where an expression runs: what its variables are worth when they are used, and who may do what.
pub trait Context<'a> {
    /// The value of a variable, or why it has none; none when there is no such variable.
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>>;

    /// Who answers questions about access.
    fn authorizer(&self) -> Option<&dyn Authorize> {
        None
    }
}

/// Compiles an expression over variables of given types.
pub fn compile<'s>(expression: &str, variables: &[(&str, Type<'s>)]) -> Result<Compiled<'s>, CompileError> {
    compile_with(expression, variables, Dialect::Plain)
}

/// Compiles an expression that can make `Object{…}` and `JSONPatch{…}`.
pub fn compile_patch<'s>(expression: &str, variables: &[(&str, Type<'s>)]) -> Result<Compiled<'s>, CompileError> {
    compile_with(expression, variables, Dialect::Patches)
}

/// Compiles an expression that can give names to values with `cel.bind`.
pub fn compile_binding<'s>(expression: &str, variables: &[(&str, Type<'s>)]) -> Result<Compiled<'s>, CompileError> {
    compile_with(expression, variables, Dialect::Bindings)
}

/// What an expression may use besides what all of them may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Plain,
    Patches,
    Bindings,
}

fn compile_with<'s>(
    expression: &str,
    variables: &[(&str, Type<'s>)],
    dialect: Dialect,
) -> Result<Compiled<'s>, CompileError> {
    let source: Vec<char> = expression.chars().collect();
    let mut problems = Problems::new(&source);
    let Some(parsed) = parser::parse(&source, dialect == Dialect::Bindings, &mut problems) else {
        return Err(CompileError::Issues(problems.render()));
    };
    let declared: Vec<_> = variables.iter().map(|(name, kind)| (Box::from(*name), kind.clone())).collect();
    let checked = checker::check(parsed, &declared, dialect == Dialect::Patches, &mut problems);
    if problems.is_empty() {
        validators::validate(&checked, &mut problems);
    }
    if !problems.is_empty() {
        return Err(CompileError::Issues(problems.render()));
    }
    let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let output = checked.type_of(&checked.root).clone();
    let plan = plan::plan(&checked, &names)
        .map_err(|reason| CompileError::Instantiation { reason, output: output.to_string() })?;
    let uses = names
        .iter()
        .filter(|name| {
            let wanted = checker::Reference::Variable((**name).into());
            checked.references.iter().flatten().any(|reference| *reference == wanted)
        })
        .map(ToString::to_string)
        .collect();
    let program = Program { plan, variables: names.into_iter().map(str::to_owned).collect() };
    Ok(Compiled { program, output, uses, checked })
}

impl Compiled<'_> {
    /// The most that the expression can cost, estimated from the sizes that schemas allow.
    pub(crate) fn max_cost(&self, estimator: &Estimator<'_>) -> u64 {
        cost::estimate(&self.checked, estimator)
    }
}

impl Program {
    /// Evaluates the expression. The activation gives each variable's value by name; one that has none fails if used.
    pub fn evaluate<'a>(&self, activation: &dyn Fn(&str) -> Option<Value<'a>>, limit: u64) -> Evaluation<'a> {
        let values: Vec<_> = self.variables.iter().map(|name| activation(name).map(Ok)).collect();
        self.run(&values, limit)
    }

    /// Evaluates the expression where its variables are found when they are used.
    pub fn evaluate_in<'a>(&self, context: &dyn Context<'a>, limit: u64) -> Evaluation<'a> {
        let meter = Meter::new(limit);
        let outcome = eval::run_in(&self.plan, context, &meter);
        Evaluation { outcome, cost: meter.cost() }
    }

    /// Evaluates with the variables' values in the order in which they were declared. One that could not be made of its
    /// data fails with its reason if used.
    pub(crate) fn run<'a>(&self, values: &[Option<Result<Value<'a>, EvalError>>], limit: u64) -> Evaluation<'a> {
        let meter = Meter::new(limit);
        let outcome = eval::run(&self.plan, values, &meter);
        Evaluation { outcome, cost: meter.cost() }
    }
}
