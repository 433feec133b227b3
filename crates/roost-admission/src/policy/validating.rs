//! Policies that refuse writes.

use roost_object::{Status, Value as Json};
use roost_schema::cel::{REQUEST_BUDGET, Type, Value};

use super::conditions::{Conditions, Verdict};
use super::environment::Scope;
use super::evaluation::{Pass, Variable};
use super::expression::{Expression, Wanted, composed_type};
use super::{Constraints, Input, ParameterKind};
use crate::webhook::Condition;

/// The longest message that an expression may make.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// A ValidatingAdmissionPolicy, compiled.
#[derive(Debug)]
pub struct ValidatingPolicy {
    /// Its name.
    pub name: String,
    /// Which writes it is about.
    pub constraints: Constraints,
    /// The kind of its parameters.
    pub parameter_kind: Option<ParameterKind>,
    /// Whether writes are let through when it cannot be evaluated.
    pub fails_open: bool,
    conditions: Conditions,
    variables: Vec<Variable>,
    variable_names: Json,
    validations: Vec<Validation>,
    annotations: Vec<(String, Expression)>,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
}

/// What a policy decides about a write.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One for each validation that objects, with the validation's place.
    pub denials: Vec<(usize, Decision)>,
    /// Annotations for the audit log.
    pub annotations: Vec<(String, String)>,
    /// Annotations that could not be made, which refuses the write whatever the binding says.
    pub failed_annotations: Vec<String>,
}

/// An objection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The words.
    pub message: String,
    /// The reason for programs; empty for the usual one.
    pub reason: String,
}

impl Decision {
    /// An objection without a reason of its own.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), reason: String::new() }
    }
}

/// Compiles the variables of a policy, each of which can use those before it.
pub(super) fn compile_variables(spec: &Json, scope: Scope) -> (Vec<Variable>, Vec<(String, Type<'static>)>, Json) {
    let (mut variables, mut composed) = (Vec::new(), Vec::new());
    let mut names = roost_object::Map::new();
    for variable in spec["variables"].as_array().into_iter().flatten() {
        let text = |field: &str| variable[field].as_str().unwrap_or_default();
        let expression = Expression::compile(text("expression"), scope, Some(&composed), Wanted::Anything);
        composed.push((text("name").to_owned(), composed_type(&expression.output)));
        names.insert(text("name").to_owned(), Json::Bool(true));
        variables.push(Variable { name: text("name").to_owned(), expression });
    }
    (variables, composed, Json::Object(names))
}

impl ValidatingPolicy {
    /// Reads and compiles a policy. What does not compile is an error when it is used.
    pub fn compile(policy: &Json) -> Self {
        let spec = &policy["spec"];
        let parameter_kind = ParameterKind::read(&spec["paramKind"]);
        let scope = Scope { parameters: parameter_kind.is_some(), authorizer: true, constructs: false };
        let (variables, composed, variable_names) = compile_variables(spec, scope);
        let fails_open = spec["failurePolicy"] == "Ignore";
        let conditions = Condition::read_all(&spec["matchConditions"]);
        let compile =
            |text: &str, scope: Scope, wanted: Wanted| Expression::compile(text, scope, Some(&composed), wanted);
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let validations = spec["validations"].as_array().into_iter().flatten().map(|validation| {
            let message = text(&validation["messageExpression"]);
            Validation {
                expression: compile(&text(&validation["expression"]), scope, Wanted::Bool),
                message: text(&validation["message"]).trim().to_owned(),
                message_expression: (!message.is_empty())
                    .then(|| compile(&message, Scope { authorizer: false, ..scope }, Wanted::Text)),
                reason: text(&validation["reason"]),
            }
        });
        let annotations = spec["auditAnnotations"].as_array().into_iter().flatten().map(|annotation| {
            let value = compile(&text(&annotation["valueExpression"]), scope, Wanted::TextOrNull);
            (text(&annotation["key"]), value)
        });
        Self {
            name: text(&policy["metadata"]["name"]),
            constraints: Constraints::read(&spec["matchConstraints"]),
            fails_open,
            conditions: Conditions::compile(&conditions, scope, Some(&composed), fails_open),
            validations: validations.collect(),
            annotations: annotations.collect(),
            parameter_kind,
            variables,
            variable_names,
        }
    }

    /// What the policy has against a write.
    pub fn validate(&self, input: &Input<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        let fail = |why: String| if self.fails_open { None } else { Some((0, Decision::new(why))) };
        match self.conditions.matches(input, &self.variables, &self.variable_names) {
            Verdict::Match => {}
            Verdict::NoMatch => return outcome,
            Verdict::Failed(why) => {
                outcome.denials.extend(fail(why));
                return outcome;
            }
        }
        let pass = Pass::new(input, &self.variables, &self.variable_names, REQUEST_BUDGET);
        let mut results = Vec::with_capacity(self.validations.len());
        for validation in &self.validations {
            match pass.evaluate(&validation.expression) {
                Ok(result) => results.push(result),
                Err(why) => {
                    outcome.denials.extend(fail(why.to_owned()));
                    return outcome;
                }
            }
        }
        let messages = self.messages(input, pass.budget());
        for (index, (validation, result)) in self.validations.iter().zip(results).enumerate() {
            let decision = match result {
                Err(why) => fail(why).map(|(_, decision)| decision),
                Ok(Value::Bool(true)) => match &messages {
                    Err(why) => fail(format!("failed messageExpression: {why}")).map(|(_, decision)| decision),
                    Ok(_) => None,
                },
                Ok(_) => match &messages {
                    Err(why) => fail(format!("failed messageExpression: {why}")).map(|(_, decision)| decision),
                    Ok(messages) => Some(validation.decision(messages[index].as_deref())),
                },
            };
            outcome.denials.extend(decision.map(|decision| (index, decision)));
        }
        self.annotate(input, &mut outcome);
        outcome
    }

    /// The messages that expressions make, whether they are needed or not; the error is a spent budget.
    fn messages(&self, input: &Input<'_>, budget: u64) -> Result<Vec<Option<String>>, &'static str> {
        let pass = Pass::over_messages(input, &self.variables, &self.variable_names, budget);
        let message = |validation: &Validation| {
            let Some(expression) = &validation.message_expression else { return Ok(None) };
            Ok(match pass.evaluate(expression)? {
                Ok(Value::String(text)) => Some(text.to_string()),
                _ => None,
            })
        };
        self.validations.iter().map(message).collect()
    }

    fn annotate(&self, input: &Input<'_>, outcome: &mut Outcome) {
        let pass = Pass::new(input, &self.variables, &self.variable_names, REQUEST_BUDGET);
        for (key, expression) in &self.annotations {
            let failed = |why: String| if self.fails_open { None } else { Some(why) };
            match pass.evaluate(expression) {
                Err(why) => {
                    outcome.denials.clear();
                    outcome.annotations.clear();
                    outcome.denials.extend(failed(why.to_owned()).map(|why| (0, Decision::new(why))));
                    return;
                }
                Ok(Err(why)) => outcome.failed_annotations.extend(failed(why)),
                Ok(Ok(Value::String(text))) => {
                    let text = text.trim();
                    if !text.is_empty() {
                        outcome.annotations.push((key.clone(), text.to_owned()));
                    }
                }
                Ok(Ok(Value::Null)) => {}
                Ok(Ok(other)) => outcome.failed_annotations.push(format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                    expression.text,
                    other.type_name()
                )),
            }
        }
    }
}

impl Validation {
    /// The message: that of the expression, else the given one, else the expression itself.
    fn decision(&self, evaluated: Option<&str>) -> Decision {
        let evaluated = evaluated
            .map(str::trim)
            .filter(|message| !message.is_empty() && message.len() <= MAX_MESSAGE_BYTES && !message.contains('\n'));
        let message = match evaluated {
            Some(message) => message.to_owned(),
            None if self.message.is_empty() => format!("failed expression: {}", self.expression.text.trim()),
            None => self.message.clone(),
        };
        Decision { message, reason: self.reason.clone() }
    }
}

/// The refusal that a caller hears: it says `forbidden`, with the code of the reason.
pub fn denied(forbidden: Status, message: &str, reason: &str) -> Status {
    let mut status = forbidden;
    let reason = if reason.is_empty() { "Invalid" } else { reason };
    reason.clone_into(&mut status.reason);
    status.code = match reason {
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    let cause = roost_object::status::Cause { message: message.to_owned(), ..roost_object::status::Cause::default() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use roost_schema::cel::{AccessCheck, AccessDecision, Authorize};
    use serde_json::json;

    struct OnlyPods;

    impl Authorize for OnlyPods {
        fn decide(&self, check: &AccessCheck, verb: &str) -> AccessDecision {
            let allowed = format!("{check:?}").contains("\"pods\"") && verb == "get";
            AccessDecision { allowed, ..AccessDecision::default() }
        }
    }

    fn validate(spec: &Json, object: &Json) -> Vec<String> {
        let policy = ValidatingPolicy::compile(&json!({"metadata": {"name": "p"}, "spec": spec}));
        let request = json!({"operation": "CREATE", "userInfo": {"username": "me"}, "name": "a",
            "requestResource": {"group": "", "resource": "pods"}});
        let input = Input {
            object,
            old_object: &Json::Null,
            request: &request,
            parameters: &json!({"max": 2}),
            namespace: &json!({"metadata": {"labels": {"a": "b"}}}),
            authorizer: &OnlyPods,
        };
        policy.validate(&input).denials.into_iter().map(|(_, decision)| decision.message).collect()
    }

    #[test]
    fn expressions_see_the_write() {
        let one = |expression: &str| json!({"paramKind": {}, "validations": [{"expression": expression}]});
        let object = json!({"spec": {"replicas": 3}});
        let cases = [
            ("object.spec.replicas > 2", None),
            ("object.spec.replicas > 3", Some("failed expression: object.spec.replicas > 3")),
            ("object.spec.replicas <= params.max", Some("failed expression: object.spec.replicas <= params.max")),
            ("request.operation == 'CREATE' && oldObject == null", None),
            ("namespaceObject.metadata.labels['a'] == 'b'", None),
            ("object.nothing == 1", Some("expression 'object.nothing == 1' resulted in error: no such key: nothing")),
            ("authorizer.group('').resource('pods').check('get').allowed()", None),
            ("authorizer.requestResource.check('get').allowed()", None),
            (
                "authorizer.serviceAccount('x', 'y').group('').resource('nodes').check('get').allowed()",
                Some(
                    "failed expression: authorizer.serviceAccount('x', 'y').group('').resource('nodes').check('get').allowed()",
                ),
            ),
            ("object.spec.replicas", Some("compilation error: must evaluate to bool but got dyn")),
        ];
        for (expression, words) in cases {
            let found = validate(&one(expression), &object);
            assert_eq!(found.first().map(String::as_str), words, "{expression}");
        }
        let mut open = one("object.nothing == 1");
        open["failurePolicy"] = "Ignore".into();
        assert!(validate(&open, &object).is_empty());
    }

    #[test]
    fn variables_are_evaluated_when_they_are_used() {
        let spec = json!({
            "variables": [
                {"name": "broken", "expression": "object.nothing"},
                {"name": "count", "expression": "object.spec.replicas"},
                {"name": "twice", "expression": "variables.count * 2"},
            ],
            "validations": [
                {"expression": "true || variables.broken == 1"},
                {"expression": "variables.twice == 5", "messageExpression": "'twice is ' + string(variables.twice)"},
                {"expression": "variables.broken == 1"},
            ],
        });
        let found = validate(&spec, &json!({"spec": {"replicas": 3}}));
        assert_eq!(
            found,
            [
                "twice is 6",
                "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to evaluate: no such key: nothing",
            ]
        );
    }

    #[test]
    fn conditions_come_first() {
        let spec = |condition: &str| json!({"matchConditions": [{"name": "c", "expression": condition}], "validations": [{"expression": "false"}]});
        assert!(validate(&spec("request.userInfo.username == 'you'"), &json!({})).is_empty());
        assert_eq!(validate(&spec("request.userInfo.username == 'me'"), &json!({})).len(), 1);
        let broken = validate(&spec("object.nothing == 1"), &json!({}));
        assert_eq!(broken, ["expression 'object.nothing == 1' resulted in error: no such key: nothing"]);
    }
}
