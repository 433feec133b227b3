//! Match conditions: more of when a webhook or policy is about a write.

use roost_object::Value as Json;
use roost_schema::cel::{MATCH_CONDITIONS_BUDGET, Type, Value};

use super::Input;
use super::environment::Scope;
use super::evaluation::{Pass, Variable};
use super::expression::{Expression, Wanted};
use crate::webhook::Condition;

/// The match conditions of a webhook or policy.
#[derive(Debug)]
pub struct Conditions {
    conditions: Vec<Expression>,
    fails_open: bool,
}

/// What conditions say about a write.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is about the write.
    Match,
    /// It is not.
    NoMatch,
    /// Nobody can tell, and so the write is refused.
    Failed(String),
}

impl Conditions {
    /// Compiles the conditions of a webhook.
    pub fn of_webhook(conditions: &[Condition], fails_open: bool) -> Self {
        let scope = Scope { parameters: false, authorizer: true, constructs: false };
        Self::compile(conditions, scope, None, fails_open)
    }

    pub(super) fn compile(
        conditions: &[Condition],
        scope: Scope,
        composed: Option<&[(String, Type<'static>)]>,
        fails_open: bool,
    ) -> Self {
        let compile = |one: &Condition| Expression::compile(&one.expression, scope, composed, Wanted::Bool);
        Self { conditions: conditions.iter().map(compile).collect(), fails_open }
    }

    /// Whether a webhook's conditions let it be asked.
    pub fn match_webhook(&self, input: &Input<'_>) -> Verdict {
        self.matches(input, &[], &Json::Null)
    }

    /// One condition that does not hold decides, even where another cannot be told.
    pub(super) fn matches(&self, input: &Input<'_>, variables: &[Variable], names: &Json) -> Verdict {
        if self.conditions.is_empty() {
            return Verdict::Match;
        }
        let failed = |why: String| if self.fails_open { Verdict::NoMatch } else { Verdict::Failed(why) };
        let pass = Pass::new(input, variables, names, MATCH_CONDITIONS_BUDGET);
        let mut outcomes = Vec::with_capacity(self.conditions.len());
        for condition in &self.conditions {
            match pass.evaluate(condition) {
                Ok(outcome) => outcomes.push(outcome),
                Err(why) => return failed(why.to_owned()),
            }
        }
        let mut errors: Vec<String> = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(Value::Bool(false)) => return Verdict::NoMatch,
                Ok(_) => {}
                Err(why) if errors.contains(&why) => {}
                Err(why) => errors.push(why),
            }
        }
        match errors.as_slice() {
            [] => Verdict::Match,
            [one] => failed(one.clone()),
            many => failed(format!("[{}]", many.join(", "))),
        }
    }
}
