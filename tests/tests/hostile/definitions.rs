//! Definitions whose rules or patterns would take for ever.

use std::time::{Duration, Instant};

use http::Method;
use roost_tests::client::{Call, Client};
use roost_tests::hostile;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Longer than any of these answers takes, on a busy machine too.
const SOON: Duration = Duration::from_secs(20);

fn definition(name: &str, spec: &Value) -> Value {
    json!({
        "metadata": {"name": format!("{name}s.hostile.example.com")},
        "spec": {
            "group": "hostile.example.com", "scope": "Namespaced",
            "names": {"plural": format!("{name}s"), "kind": name},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

async fn post(client: &Client, target: &str, body: &Value) -> (u16, Value) {
    let start = Instant::now();
    let answer = client.send(Call::new(Method::POST, target).json(body)).await.expect("an answer");
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn rules_that_cost_too_much_are_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let list = json!({"type": "array", "items": {"type": "string"}});
    let with_rule = |rule: &str| {
        let mut spec = list.clone();
        spec["x-kubernetes-validations"] = json!([{"rule": rule}]);
        spec
    };
    let nested = (0..40).fold("true".to_owned(), |inner, level| format!("self.all(x{level}, {inner})"));
    let added = vec!["self.size()"; 20_000].join(" + ");
    let parentheses = format!("{}true{}", "(".repeat(100_000), ")".repeat(100_000));
    for rule in [
        "self.all(a, self.all(b, self.all(c, a == b && b == c)))",
        "self.all(a, a.matches('(a+)+$'))  && self.all(a, self.exists(b, b.contains(a)))",
        &nested,
        &format!("{added} > 0"),
        &parentheses,
        "!".repeat(100_000).as_str(),
        "[[[[[[".repeat(10_000).as_str(),
    ] {
        let (code, status) = post(&client, DEFINITIONS, &definition("bomb", &with_rule(rule))).await;
        let shown: String = rule.chars().take(60).collect();
        assert_eq!(code, 422, "{shown}: {}", status["message"].as_str().unwrap_or_default().len());
    }
}

#[tokio::test]
async fn patterns_that_explode_are_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    for pattern in [
        "((a{1000}){1000}){1000}".to_owned(),
        "(".repeat(100_000),
        "a{1000000}".to_owned(),
        format!("{}a{}", "(".repeat(2_000), ")*".repeat(2_000)),
    ] {
        let spec = json!({"type": "string", "pattern": pattern});
        let (code, _) = post(&client, DEFINITIONS, &definition("pattern", &spec)).await;
        let shown: String = pattern.chars().take(60).collect();
        assert_eq!(code, 422, "{shown}");
    }
}

#[tokio::test]
async fn a_rule_that_runs_too_long_ends() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let spec = json!({
        "type": "array", "maxItems": 500, "items": {"type": "string", "maxLength": 20},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.exists_one(b, a == b))"}],
    });
    let (code, status) = post(&client, DEFINITIONS, &definition("slow", &spec)).await;
    assert_eq!(code, 201, "{status}");
    let items: Vec<String> = (0..500).map(|number| format!("item-{number}")).collect();
    let target = "/apis/hostile.example.com/v1/namespaces/default/slows";
    let object =
        json!({"apiVersion": "hostile.example.com/v1", "kind": "slow", "metadata": {"name": "a"}, "spec": items});
    let (code, status) = post(&client, target, &object).await;
    assert!(matches!(code, 201 | 422), "{code}: {status}");
}

#[tokio::test]
async fn a_schema_of_great_depth_or_width_is_answered() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let (code, _) = post(&client, DEFINITIONS, &definition("deep", &deep)).await;
    assert!(matches!(code, 201 | 422), "{code}");
    let properties: serde_json::Map<String, Value> =
        (0..20_000).map(|number| (format!("p{number}"), json!({"type": "string", "default": "x"}))).collect();
    let wide = json!({"type": "object", "properties": properties, "default": {}});
    let (code, _) = post(&client, DEFINITIONS, &definition("wide", &wide)).await;
    assert!(matches!(code, 201 | 413 | 422), "{code}");
    assert!(client.send(Call::get("/readyz")).await.expect("an answer").status.is_success());
}
