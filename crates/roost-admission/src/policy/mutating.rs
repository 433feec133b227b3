//! Policies that change objects.

use roost_object::Value as Json;
use roost_schema::cel::{REQUEST_BUDGET, Value};
use serde_json::json;

use super::conditions::{Conditions, Verdict};
use super::environment::Scope;
use super::evaluation::{Pass, Variable};
use super::expression::{Expression, Wanted};
use super::validating::compile_variables;
use super::{Constraints, Input, ParameterKind};
use crate::webhook::Condition;

/// A MutatingAdmissionPolicy, compiled.
#[derive(Debug)]
pub struct MutatingPolicy {
    /// Its name.
    pub name: String,
    /// Which writes it is about.
    pub constraints: Constraints,
    /// The kind of its parameters.
    pub parameter_kind: Option<ParameterKind>,
    /// Whether writes are let through when it cannot be evaluated.
    pub fails_open: bool,
    /// Whether it is asked again when something changed the object later.
    pub reinvoked: bool,
    /// The changes, in their order.
    pub mutations: Vec<Mutation>,
    conditions: Conditions,
    variables: Vec<Variable>,
    variable_names: Json,
}

/// One change of a policy.
#[derive(Debug)]
pub struct Mutation {
    expression: Expression,
    patches: bool,
}

/// What is to be done to an object.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// Apply this, as server-side apply would, without ownership.
    Apply(Json),
    /// Run these operations of a JSON patch.
    Patch(Json),
}

impl MutatingPolicy {
    /// Reads and compiles a policy. What does not compile is an error when it is used.
    pub fn compile(policy: &Json) -> Self {
        let spec = &policy["spec"];
        let parameter_kind = ParameterKind::read(&spec["paramKind"]);
        let scope = Scope { parameters: parameter_kind.is_some(), authorizer: true, constructs: false };
        let (variables, composed, variable_names) = compile_variables(spec, scope);
        let fails_open = spec["failurePolicy"] == "Ignore";
        let conditions = Condition::read_all(&spec["matchConditions"]);
        let mutations = spec["mutations"].as_array().into_iter().flatten().map(|mutation| {
            let patches = mutation["patchType"] == "JSONPatch";
            let (holder, wanted) =
                if patches { ("jsonPatch", Wanted::Patches) } else { ("applyConfiguration", Wanted::Object) };
            let text = mutation[holder]["expression"].as_str().unwrap_or_default();
            let scope = Scope { constructs: true, ..scope };
            Mutation { expression: Expression::compile(text, scope, Some(&composed), wanted), patches }
        });
        Self {
            name: policy["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            constraints: Constraints::read(&spec["matchConstraints"]),
            fails_open,
            reinvoked: spec["reinvocationPolicy"] == "IfNeeded",
            conditions: Conditions::compile(&conditions, scope, Some(&composed), fails_open),
            mutations: mutations.collect(),
            parameter_kind,
            variables,
            variable_names,
        }
    }

    /// Whether the policy's conditions let it change a write.
    pub fn matches(&self, input: &Input<'_>) -> Verdict {
        self.conditions.matches(input, &self.variables, &self.variable_names)
    }

    /// What a mutation does, or why that cannot be told.
    pub fn evaluate(&self, mutation: &Mutation, input: &Input<'_>) -> Result<Change, String> {
        if let Err(problem) = &mutation.expression.program {
            return Err(problem.words.clone());
        }
        let pass = Pass::new(input, &self.variables, &self.variable_names, REQUEST_BUDGET);
        let value = pass.evaluate(&mutation.expression).map_err(str::to_owned)??;
        if mutation.patches { operations(&value).map(Change::Patch) } else { configuration(&value).map(Change::Apply) }
    }
}

fn configuration(value: &Value<'_>) -> Result<Json, String> {
    let Value::Instance(instance) = value else {
        return Err(format!("unsupported return type from ApplyConfiguration expression: {}", value.type_name()));
    };
    if let Some(words) = instance.misplaced_types() {
        return Err(format!("type mismatch: {words}"));
    }
    value.to_json()
}

fn operations(value: &Value<'_>) -> Result<Json, String> {
    const MISMATCH: &str = "type mismatch: JSONPatchType.expression should evaluate to array";
    let Value::List(list) = value else { return Err(MISMATCH.to_owned()) };
    let mut operations = Vec::new();
    for element in list.iter() {
        let element = element.map_err(|error| error.to_string())?;
        let Value::Instance(instance) = &element else {
            return Err(format!("{MISMATCH} of JSONPatch, got element of {}", element.type_name()));
        };
        let text = |field: &str| match instance.fields.get(field) {
            Some(Value::String(text)) => text.to_string(),
            _ => String::new(),
        };
        let mut operation = json!({"op": text("op"), "path": text("path")});
        if !text("from").is_empty() {
            operation["from"] = text("from").into();
        }
        if let Some(value) = instance.fields.get("value") {
            if let Value::Instance(made) = value
                && let Some(words) = made.misplaced_types()
            {
                return Err(format!("type mismatch: {words}"));
            }
            operation["value"] = value.to_json().map_err(|why| {
                format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}")
            })?;
        }
        operations.push(operation);
    }
    Ok(Json::Array(operations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roost_schema::cel::{AccessCheck, AccessDecision, Authorize};

    struct Nobody;

    impl Authorize for Nobody {
        fn decide(&self, _: &AccessCheck, _: &str) -> AccessDecision {
            AccessDecision::default()
        }
    }

    fn evaluate(kind: &str, expression: &str) -> Result<Change, String> {
        let holder = if kind == "JSONPatch" { "jsonPatch" } else { "applyConfiguration" };
        let policy = MutatingPolicy::compile(&json!({"spec": {
            "variables": [{"name": "app", "expression": "object.metadata.name"}],
            "mutations": [{"patchType": kind, holder: {"expression": expression}}],
        }}));
        let object = json!({"metadata": {"name": "web", "labels": {"x/y": "1"}}});
        let (null, request) = (Json::Null, json!({}));
        let input = Input {
            object: &object,
            old_object: &null,
            request: &request,
            parameters: &null,
            namespace: &null,
            authorizer: &Nobody,
        };
        policy.evaluate(&policy.mutations[0], &input)
    }

    #[test]
    fn objects_are_made() {
        let made = evaluate(
            "ApplyConfiguration",
            "Object{metadata: Object.metadata{labels: {'app': variables.app}}, spec: Object.spec{list: [Object.spec.list{n: 1}]}}",
        );
        let wanted = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"list": [{"n": 1}]}});
        assert_eq!(made, Ok(Change::Apply(wanted)));
        let words = "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", which matches field name path from root Object type";
        assert_eq!(evaluate("ApplyConfiguration", "Object{metadata: Object.spec{a: 1}}"), Err(words.into()));
        let optional = evaluate("ApplyConfiguration", "Object{?spec: optional.none()}");
        assert_eq!(optional, Ok(Change::Apply(json!({}))));
        let wrong = evaluate("ApplyConfiguration", "'text'").unwrap_err();
        assert_eq!(wrong, "must evaluate to Object but got string");
    }

    #[test]
    fn patches_are_made() {
        let made = evaluate(
            "JSONPatch",
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: {'a': 1}}, JSONPatch{op: 'move', from: '/a', path: '/b'}]",
        );
        let wanted = json!([
            {"op": "add", "path": "/metadata/labels/x~1y", "value": {"a": 1}},
            {"op": "move", "from": "/a", "path": "/b"},
        ]);
        assert_eq!(made, Ok(Change::Patch(wanted)));
        let wrong = evaluate("JSONPatch", "[JSONPatch{op: 1}]").unwrap_err();
        assert!(wrong.contains("expected type of field 'op' is 'string' but provided type is 'int'"), "{wrong}");
        let unknown = evaluate("JSONPatch", "[JSONPatch{nope: 1}]").unwrap_err();
        assert!(unknown.contains("expected type of field 'nope' is '' but provided type is 'int'"), "{unknown}");
    }
}
