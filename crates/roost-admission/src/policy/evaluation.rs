//! Running the expressions of a policy about one write, within a budget.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use roost_object::Value as Json;
use roost_schema::cel::{
    AccessCheck, AccessSubject, Authorize, Context, EvalError, PER_CALL_LIMIT, ResourceAccess, Value,
};

use super::expression::Expression;

/// What expressions are told about a write.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The object as it will be; null for a delete.
    pub object: &'a Json,
    /// The object as it is; null for a create.
    pub old_object: &'a Json,
    /// The request, as a review would have it.
    pub request: &'a Json,
    /// The parameters; null for none.
    pub parameters: &'a Json,
    /// The namespace; null outside of namespaces.
    pub namespace: &'a Json,
    /// Who answers questions about access.
    pub authorizer: &'a dyn Authorize,
}

/// A variable that a policy defines.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) expression: Expression,
}

/// What no expression is run after.
pub(super) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// One pass over expressions: variables are evaluated once, when first used.
pub(super) struct Pass<'p, 'a> {
    input: &'p Input<'a>,
    variables: &'p [Variable],
    /// Names of variables, for those who ask whether there is one.
    names: &'a Json,
    found: RefCell<HashMap<&'p str, Result<Value<'a>, EvalError>>>,
    spent: Cell<u64>,
    budget: Cell<u64>,
    /// Whether access can be asked about.
    asks: bool,
}

impl<'p, 'a> Pass<'p, 'a> {
    pub(super) fn new(input: &'p Input<'a>, variables: &'p [Variable], names: &'a Json, budget: u64) -> Self {
        let (spent, budget) = (Cell::new(0), Cell::new(budget));
        Self { input, variables, names, found: RefCell::default(), spent, budget, asks: true }
    }

    /// A pass over messages, for which nobody answers questions about access, not even those of variables.
    pub(super) fn over_messages(input: &'p Input<'a>, variables: &'p [Variable], names: &'a Json, budget: u64) -> Self {
        Self { asks: false, ..Self::new(input, variables, names, budget) }
    }

    /// What is left to spend.
    pub(super) fn budget(&self) -> u64 {
        self.budget.get()
    }

    /// The value of an expression, or why it has none. The outer error ends the pass.
    pub(super) fn evaluate(&self, expression: &Expression) -> Result<Result<Value<'a>, String>, &'static str> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(problem) => return Ok(Err(format!("compilation error: {}", problem.words))),
        };
        let evaluation = program.evaluate_in(self, PER_CALL_LIMIT);
        let cost = evaluation.cost.saturating_add(self.spent.take());
        let Some(left) = self.budget.get().checked_sub(cost) else { return Err(OUT_OF_BUDGET) };
        self.budget.set(left);
        Ok(evaluation.outcome.map_err(|error| format!("expression '{}' resulted in error: {error}", expression.text)))
    }

    fn composed(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        let variable = self.variables.iter().rev().find(|variable| variable.name == name)?;
        if let Some(found) = self.found.borrow().get(name) {
            return Some(found.clone());
        }
        let failed = |why: String| EvalError::Failed(format!("composited variable \"{name}\" fails to {why}"));
        let outcome = match &variable.expression.program {
            Err(problem) => Err(failed(format!("compile: {}", problem.words))),
            Ok(program) => {
                let evaluation = program.evaluate_in(self, PER_CALL_LIMIT);
                self.spent.set(self.spent.get().saturating_add(evaluation.cost));
                evaluation.outcome.map_err(|error| failed(format!("evaluate: {error}")))
            }
        };
        self.found.borrow_mut().insert(&variable.name, outcome.clone());
        Some(outcome)
    }

    /// The question whether the caller may do what is being done, and more, to the object.
    fn request_resource(&self) -> AccessCheck {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let request = self.input.request;
        let resource = &request["requestResource"];
        AccessCheck {
            service_account: None,
            subject: AccessSubject::Resource(Box::new(ResourceAccess {
                group: text(&resource["group"]),
                resource: text(&resource["resource"]),
                subresource: text(&request["requestSubResource"]),
                namespace: text(&request["namespace"]),
                name: text(&request["name"]),
                ..ResourceAccess::default()
            })),
        }
    }
}

impl<'a> Context<'a> for Pass<'_, 'a> {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        let input = self.input;
        Some(Ok(match name {
            "object" => input.object.into(),
            "oldObject" => input.old_object.into(),
            "request" => input.request.into(),
            "params" => input.parameters.into(),
            "namespaceObject" => input.namespace.into(),
            "variables" => self.names.into(),
            "authorizer" | "authorizer.requestResource" if !self.asks => return None,
            "authorizer" => Value::Access(Arc::default()),
            "authorizer.requestResource" => Value::Access(Arc::new(self.request_resource())),
            _ => return self.composed(name.strip_prefix("variables.")?),
        }))
    }

    fn authorizer(&self) -> Option<&dyn Authorize> {
        Some(self.input.authorizer)
    }
}
