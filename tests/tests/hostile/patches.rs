//! Patches that would do too much.

use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use roost_tests::client::Call;
use roost_tests::hostile;
use roost_tests::measurement::processor;
use serde_json::{Value, json};

/// What one patch may take of the processor, without optimisation; how long that is depends on what else runs.
const MOST_PROCESSOR_SECONDS: f64 = 40.0;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn json_patch(operations: &Value) -> Call {
    let mut call = Call::new(Method::PATCH, format!("{CONFIG_MAPS}/a")).json(operations);
    call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json-patch+json"));
    call
}

#[tokio::test]
async fn too_many_operations_are_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let made = Call::new(Method::POST, CONFIG_MAPS).json(&json!({"metadata": {"name": "a"}, "data": {"a": "b"}}));
    assert!(client.send(made).await.expect("an answer").status.is_success());
    let operation = json!({"op": "replace", "path": "/data/a", "value": "c"});
    let answer = client.send(json_patch(&vec![operation.clone(); 10_001].into())).await.expect("an answer");
    assert_eq!(answer.status, 413);
    assert_eq!(
        answer.json()["message"],
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
    let answer = client.send(json_patch(&vec![operation; 10_000].into())).await.expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.json());
}

#[tokio::test]
async fn copies_of_copies_are_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let made =
        Call::new(Method::POST, CONFIG_MAPS).json(&json!({"metadata": {"name": "a"}, "data": {"a": "x".repeat(1000)}}));
    assert!(client.send(made).await.expect("an answer").status.is_success());
    let operations: Vec<Value> =
        (0..1000).map(|_| json!({"op": "copy", "from": "/data", "path": "/data/again"})).collect();
    let answer = client.send(json_patch(&operations.into())).await.expect("an answer");
    assert!(matches!(answer.status.as_u16(), 400 | 413 | 422), "{}: {}", answer.status, answer.json());
    let now = client.send(Call::get(format!("{CONFIG_MAPS}/a"))).await.expect("an answer");
    assert_eq!(now.json()["data"].as_object().map(serde_json::Map::len), Some(1));
}

#[tokio::test]
async fn a_strategic_patch_of_thousands_of_directives_ends() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let container = |number: usize| json!({"name": format!("c{number}"), "image": "x"});
    let containers: Vec<Value> = (0..500).map(container).collect();
    let pods = "/api/v1/namespaces/default/pods";
    let made =
        Call::new(Method::POST, pods).json(&json!({"metadata": {"name": "a"}, "spec": {"containers": containers}}));
    let answer = client.send(made).await.expect("an answer");
    assert!(answer.status.is_success(), "{}", answer.json());
    let order: Vec<Value> = (0..20_000).map(|number| json!({"name": format!("c{}", number % 500)})).collect();
    let deletions: Vec<Value> =
        (0..20_000).map(|number| json!({"name": format!("c{}", number % 500), "$patch": "delete"})).collect();
    // All of one key, each with one more variable; the image makes it an error, which shows what came of them.
    let repeated: Vec<Value> =
        (0..20_000).map(|number| json!({"name": "c0", "image": 1, "env": [{"name": format!("e{number}")}]})).collect();
    for patch in [
        json!({"spec": {"containers": repeated}}),
        json!({"spec": {"$setElementOrder/containers": order}}),
        json!({"spec": {"containers": deletions}}),
        json!({"spec": {"containers": vec![json!({"$patch": "replace"}); 20_000]}}),
    ] {
        let mut call = Call::new(Method::PATCH, format!("{pods}/a")).json(&patch);
        call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/strategic-merge-patch+json"));
        let before = processor(&plane);
        let answer = client.send(call).await.expect("an answer");
        assert!(answer.status.is_client_error() || answer.status.is_success(), "{}", answer.json());
        let spent = processor(&plane) - before;
        assert!(spent < MOST_PROCESSOR_SECONDS, "took {spent} s of the processor");
    }
}
