//! Plain requests to a cluster that serves every kind of this crate.

use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};
use serde_json::Value;

/// A client of a fresh cluster that has all definitions.
pub(crate) async fn plane() -> kube::Client {
    let client = crate::plane::client().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in roost_api::definitions() {
        match definitions.create(&PostParams::default(), &definition).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            Err(error) => panic!("{:?}: {error}", definition.metadata.name),
        }
    }
    client
}

/// Sends a request; the answer is the body.
pub(crate) async fn request(
    client: &kube::Client,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> kube::Result<Value> {
    let body = body.map(|body| serde_json::to_vec(body).expect("JSON")).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(body).expect("a request")).await
}

/// The words in which an object is refused.
pub(crate) async fn refusal(client: &kube::Client, collection: &str, object: &Value) -> String {
    match request(client, "POST", collection, Some(object)).await {
        Err(kube::Error::Api(status)) if status.code == 422 => status.message.clone(),
        other => panic!("it was not refused: {other:?}"),
    }
}

/// The columns, those of the wide output with a star, and the rows of a list.
pub(crate) async fn table(client: &kube::Client, collection: &str) -> (Vec<String>, Vec<Value>) {
    let request = Request::get(collection).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = client.request(request.body(Vec::new()).expect("a request")).await.expect("a table");
    let columns = table["columnDefinitions"].as_array().expect("columns").iter().map(|column| {
        let wide = if column["priority"] == 0 { "" } else { "*" };
        format!("{}{wide}", column["name"].as_str().expect("a name"))
    });
    let rows = table["rows"].as_array().expect("rows").iter().map(|row| row["cells"].clone());
    (columns.collect(), rows.collect())
}
