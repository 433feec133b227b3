//! What is wrong with the expressions of policies and webhooks, as the API says it when they are written.

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};
use roost_schema::cel::Type;

use super::environment::Scope;
use super::expression::{Expression, Wanted, composed_type};

fn text<'a>(holder: &'a Value, field: &str) -> &'a str {
    holder[field].as_str().unwrap_or_default()
}

fn elements<'a>(holder: &'a Value, field: &str) -> &'a [Value] {
    holder[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Reports an expression that does not compile; an empty one is reported elsewhere.
fn check(
    expression: &str,
    shown: &str,
    scope: Scope,
    composed: Option<&[(String, Type<'static>)]>,
    wanted: Wanted,
    path: &Path<'_>,
    errors: &mut Errors,
) -> Type<'static> {
    if expression.trim().is_empty() {
        return Type::Dyn;
    }
    let compiled = Expression::compile(expression, scope, composed, wanted);
    if let Err(problem) = &compiled.program {
        errors.push(if problem.internal {
            Error::internal(path, problem.words.as_str())
        } else {
            Error::invalid(path, shown, problem.words.as_str())
        });
    }
    compiled.output
}

/// Checks the match conditions at a path, which can use parameters where a policy has them.
pub fn check_conditions(holder: &Value, parameters: bool, path: &Path<'_>, errors: &mut Errors) {
    let scope = Scope { parameters, authorizer: true, constructs: false };
    let list = path.child("matchConditions");
    for (index, condition) in elements(holder, "matchConditions").iter().enumerate() {
        let expression = text(condition, "expression");
        let place = list.index(index);
        check(expression, expression, scope, None, Wanted::Bool, &place.child("expression"), errors);
    }
}

fn check_variables(spec: &Value, scope: Scope, path: &Path<'_>, errors: &mut Errors) -> Vec<(String, Type<'static>)> {
    let mut composed = Vec::new();
    let list = path.child("variables");
    for (index, variable) in elements(spec, "variables").iter().enumerate() {
        let expression = text(variable, "expression");
        let place = list.index(index);
        let place = place.child("expression");
        // A variable that is never told its value is none.
        if expression.trim().is_empty() {
            continue;
        }
        let output = check(expression, expression, scope, Some(&composed), Wanted::Anything, &place, errors);
        composed.push((text(variable, "name").to_owned(), composed_type(&output)));
    }
    composed
}

/// Checks the expressions of a ValidatingAdmissionPolicy, but for its match conditions.
pub fn check_validating(policy: &Value, errors: &mut Errors) {
    let spec = &policy["spec"];
    let path = Path::new("spec");
    let scope = Scope { parameters: spec["paramKind"].is_object(), authorizer: true, constructs: false };
    let composed = check_variables(spec, scope, &path, errors);
    let composed = (!elements(spec, "variables").is_empty()).then_some(composed.as_slice());
    let list = path.child("validations");
    for (index, validation) in elements(spec, "validations").iter().enumerate() {
        let place = list.index(index);
        let expression = text(validation, "expression");
        check(expression, expression, scope, composed, Wanted::Bool, &place.child("expression"), errors);
        let message = text(validation, "messageExpression");
        let scope = Scope { authorizer: false, ..scope };
        check(message, message, scope, composed, Wanted::Text, &place.child("messageExpression"), errors);
    }
    let list = path.child("auditAnnotations");
    for (index, annotation) in elements(spec, "auditAnnotations").iter().enumerate() {
        let place = list.index(index);
        let value = text(annotation, "valueExpression");
        let path = place.child("valueExpression");
        check(value.trim(), value, scope, composed, Wanted::TextOrNull, &path, errors);
    }
}

/// Checks the expressions of a MutatingAdmissionPolicy, but for its match conditions.
pub fn check_mutating(policy: &Value, errors: &mut Errors) {
    let spec = &policy["spec"];
    let path = Path::new("spec");
    let scope = Scope { parameters: spec["paramKind"].is_object(), authorizer: true, constructs: false };
    let composed = check_variables(spec, scope, &path, errors);
    let list = path.child("mutations");
    for (index, mutation) in elements(spec, "mutations").iter().enumerate() {
        let (holder, wanted) = match text(mutation, "patchType") {
            "JSONPatch" => ("jsonPatch", Wanted::Patches),
            "ApplyConfiguration" => ("applyConfiguration", Wanted::Object),
            _ => continue,
        };
        let place = list.index(index);
        let place = place.child(holder);
        let expression = text(&mutation[holder], "expression").trim();
        let scope = Scope { constructs: true, ..scope };
        check(expression, expression, scope, Some(&composed), wanted, &place.child("expression"), errors);
    }
}
