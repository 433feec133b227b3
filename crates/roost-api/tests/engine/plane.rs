//! A cluster in memory that serves the kinds of this crate.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use roost_apiserver::{Cluster, ClusterConfig, Identity};
use roost_store::{Options, Store};
use serde_json::Value;

/// A client of a fresh cluster that has all definitions.
pub(crate) async fn client() -> kube::Client {
    let config = ClusterConfig::default();
    let identity = Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").unwrap();
    let cluster = Cluster::new("test", Store::memory(Options::default()), config, identity);
    cluster.bootstrap().await.unwrap();
    let client = Arc::clone(&cluster).client();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in roost_api::hypershift::definitions() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    client
}

/// The objects of a kind as plain JSON, as `kubectl` sees them.
pub(crate) fn objects(client: &kube::Client, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("hypershift.openshift.io", "v1beta1", kind));
    Api::namespaced_with(client.clone(), "default", &resource)
}

/// Creates an object and returns it as it was stored.
pub(crate) async fn create(client: &kube::Client, object: &Value) -> Result<Value, String> {
    let kind = object["kind"].as_str().unwrap();
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    stored(objects(client, kind).create(&PostParams::default(), &object).await)
}

/// Changes a stored object and returns it as it is then stored.
pub(crate) async fn change(
    client: &kube::Client,
    object: &Value,
    change: impl FnOnce(&mut Value),
) -> Result<Value, String> {
    let mut object = object.clone();
    change(&mut object);
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let api = objects(client, object["kind"].as_str().unwrap());
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    stored(api.replace(&name, &PostParams::default(), &object).await)
}

/// The object, or the words of the refusal.
fn stored(answer: kube::Result<DynamicObject>) -> Result<Value, String> {
    match answer {
        Ok(object) => Ok(serde_json::to_value(object).unwrap()),
        Err(kube::Error::Api(status)) if status.code == 422 => Err(status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}
