//! Custom resources whose versions a webhook converts.

use http::StatusCode;
use serde_json::{Value, json};

use crate::plane::Plane;
use crate::webhook_server::WebhookServer;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(server: &WebhookServer) -> Value {
    let version = |name: &str, storage: bool, properties: Value| {
        let spec = json!({"type": "object", "properties": properties});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
    };
    json!({"metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            version("v1", true, json!({"address": {"type": "string"}})),
            version("v2", false, json!({"host": {"type": "string"}, "port": {"type": "integer", "minimum": 10}})),
        ],
        "conversion": {"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": server.client_config(),
        }},
    }})
}

/// `address: host:port` in v1 is `host` and `port` in v2.
fn split_and_join(review: &Value) -> Value {
    let request = &review["request"];
    let wanted = &request["desiredAPIVersion"];
    let convert = |object: &Value| {
        let mut object = object.clone();
        object["apiVersion"] = wanted.clone();
        let spec = object["spec"].clone();
        object["spec"] = if *wanted == "example.com/v2" {
            let (host, port) = spec["address"].as_str().and_then(|text| text.split_once(':')).unwrap_or_default();
            json!({"host": host, "port": port.parse::<i64>().unwrap_or_default()})
        } else {
            json!({"address": format!("{}:{}", spec["host"].as_str().unwrap_or_default(), spec["port"])})
        };
        object
    };
    let objects: Vec<Value> = request["objects"].as_array().into_iter().flatten().map(convert).collect();
    let response = json!({"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
}

#[tokio::test]
async fn each_version_is_read_and_written_in_its_own_form() {
    let plane = Plane::start().await;
    let server = WebhookServer::start(split_and_join).await;
    plane.create(DEFINITIONS, definition(&server)).await;
    let path = |version: &str| format!("/apis/example.com/{version}/namespaces/test/things");
    let thing = |version: &str, name: &str, spec: Value| json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing", "metadata": {"name": name}, "spec": spec});
    plane.create(&path("v1"), thing("v1", "a", json!({"address": "h:80"}))).await;
    assert!(server.reviews().is_empty(), "what is stored as it came needs no conversion");
    let made = plane.create(&path("v2"), thing("v2", "b", json!({"host": "i", "port": 81}))).await;
    assert_eq!(made["spec"], json!({"host": "i", "port": 81}));
    assert_eq!(plane.get(&format!("{}/b", path("v1"))).await["spec"], json!({"address": "i:81"}));
    let before = server.reviews().len();
    let list = plane.get(&path("v2")).await;
    let specs: Vec<&Value> = list["items"].as_array().expect("items").iter().map(|item| &item["spec"]).collect();
    assert_eq!(specs, [&json!({"host": "h", "port": 80}), &json!({"host": "i", "port": 81})]);
    assert_eq!(server.reviews().len(), before + 1, "a list is one call");
    let patched = plane.patch(&format!("{}/a", path("v2")), json!({"spec": {"port": 90}})).await;
    assert_eq!(patched.body["spec"], json!({"host": "h", "port": 90}));
    assert_eq!(plane.get(&format!("{}/a", path("v1"))).await["spec"], json!({"address": "h:90"}));
    let refused = plane.patch(&format!("{}/a", path("v2")), json!({"spec": {"port": 1}})).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.message().contains("spec.port in body should be greater than or equal to 10"));
    drop(server);
    let down = plane.send(http::Method::GET, &format!("{}/a", path("v2")), None).await;
    assert_eq!(down.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        down.message()
            .starts_with("conversion webhook for example.com/v1, Kind=Thing failed: Post \"https://127.0.0.1"),
        "{}",
        down.message()
    );
    assert_eq!(plane.get(&format!("{}/a", path("v1"))).await["spec"], json!({"address": "h:90"}));
}
