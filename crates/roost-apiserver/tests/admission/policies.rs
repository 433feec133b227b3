//! Admission policies of both kinds.

use http::StatusCode;
use serde_json::{Value, json};

use crate::plane::{NAMESPACE, Plane};

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

fn rules(operations: &Value) -> Value {
    json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": ["configmaps"]}]})
}

async fn bind(plane: &Plane, kind: &str, policy: &str, more: Value) {
    let mut spec = json!({"policyName": policy});
    for (name, value) in more.as_object().into_iter().flatten() {
        spec[name] = value.clone();
    }
    let binding = json!({"metadata": {"name": policy}, "spec": spec});
    plane.create(&format!("{REGISTRATION}/{kind}admissionpolicybindings"), binding).await;
}

#[tokio::test]
async fn policies_refuse_with_parameters_and_messages() {
    let plane = Plane::start().await;
    let maps = format!("{NAMESPACE}/configmaps");
    plane.create(&maps, json!({"metadata": {"name": "limits"}, "data": {"most": "1"}})).await;
    let policy = json!({"metadata": {"name": "small"}, "spec": {
        "matchConstraints": rules(&json!(["CREATE"])),
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "variables": [{"name": "size", "expression": "has(object.data) ? size(object.data) : 0"}],
        "validations": [{
            "expression": "variables.size <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most + ', not ' + string(variables.size)",
        }],
    }});
    plane.create(&format!("{REGISTRATION}/validatingadmissionpolicies"), policy).await;
    let reference = json!({"name": "limits", "namespace": "test", "parameterNotFoundAction": "Deny"});
    bind(&plane, "validating", "small", json!({"paramRef": reference, "validationActions": ["Deny"]})).await;
    plane.create(&maps, json!({"metadata": {"name": "one"}, "data": {"a": ""}})).await;
    let refused = plane.post(&maps, json!({"metadata": {"name": "two"}, "data": {"a": "", "b": ""}})).await;
    let words = "configmaps \"two\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small' denied request: at most 1, not 2";
    assert_eq!((refused.status, refused.message()), (StatusCode::UNPROCESSABLE_ENTITY, words));
    assert!(plane.delete(&format!("{maps}/limits")).await.status.is_success());
    let missing = plane.post(&maps, json!({"metadata": {"name": "three"}})).await;
    assert!(missing.message().ends_with(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    ));
}

#[tokio::test]
async fn policies_change_objects_and_are_asked_again() {
    let plane = Plane::start().await;
    let apply = |expression: &str| json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]);
    let policies = [
        ("a-first", "IfNeeded", "Object{data: {'first': string(has(object.data.second))}}"),
        ("b-second", "Never", "Object{data: {'second': object.metadata.name}}"),
    ];
    for (name, reinvocation, expression) in policies {
        let policy = json!({"metadata": {"name": name}, "spec": {
            "matchConstraints": rules(&json!(["CREATE", "UPDATE"])),
            "reinvocationPolicy": reinvocation,
            "mutations": apply(expression),
        }});
        plane.create(&format!("{REGISTRATION}/mutatingadmissionpolicies"), policy).await;
        bind(&plane, "mutating", name, json!({})).await;
    }
    let made = plane
        .create(&format!("{NAMESPACE}/configmaps"), json!({"metadata": {"name": "m"}, "data": {"own": "1"}}))
        .await;
    assert_eq!(made["data"], json!({"own": "1", "first": "true", "second": "m"}));
}

#[tokio::test]
async fn expressions_that_do_not_compile_are_refused() {
    let plane = Plane::start().await;
    let policy = json!({"metadata": {"name": "broken"}, "spec": {
        "matchConstraints": rules(&json!(["CREATE"])),
        "validations": [{"expression": "object.data +"}],
    }});
    let refused = plane.post(&format!("{REGISTRATION}/validatingadmissionpolicies"), policy).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.message().contains("spec.validations[0].expression: Invalid value: \"object.data +\": compilation failed: ERROR: <input>:1:14: Syntax error:"), "{}", refused.message());
}
