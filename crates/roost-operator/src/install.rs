//! What a management plane has to have before the controllers can work: definitions, namespaces, and the word on
//! which versions are served.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use roost_runtime::Runtime;
use serde_json::{Value, json};

use crate::object::{Kind, ObjectError, Objects, annotation};

/// The operator's own namespace.
pub(crate) const NAMESPACE: &str = "hypershift";
/// Where HostedClusters are made unless somebody says otherwise.
const CLUSTERS: &str = "clusters";
/// On a definition: what it was made from, so that it is only written when it changed.
const FINGERPRINT: &str = "roost.dev/fingerprint";

/// Brings a management plane up to date.
pub(crate) async fn install<R: Runtime>(objects: &Objects, runtime: &R) -> Result<(), ObjectError> {
    let live = objects.list(Kind::CustomResourceDefinition, "").await?;
    let mut documents = Vec::new();
    for definition in roost_api::definitions() {
        let mut document = serde_json::to_value(&definition).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        document.to_string().hash(&mut hasher);
        let fingerprint = format!("{:016x}", hasher.finish());
        let name = &document["metadata"]["name"];
        let known = live.iter().find(|live| live["metadata"]["name"] == *name);
        if known.is_some_and(|known| annotation(known, FINGERPRINT) == fingerprint) {
            continue;
        }
        document["apiVersion"] = json!(Kind::CustomResourceDefinition.api_version());
        document["kind"] = json!(Kind::CustomResourceDefinition.name());
        document["metadata"]["annotations"][FINGERPRINT] = json!(fingerprint);
        documents.push(document);
    }
    objects.apply_all(&documents).await?;
    objects.apply_all(&[namespace(NAMESPACE), namespace(CLUSTERS)]).await?;
    objects.apply(&supported_versions(runtime)).await?;
    Ok(())
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// What the command line reads to choose a release.
fn supported_versions<R: Runtime>(runtime: &R) -> Value {
    let mut parts = runtime.version().split('.');
    let minor = format!("{}.{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "supported-versions", "namespace": NAMESPACE,
            "labels": {"hypershift.openshift.io/supported-versions": "true"},
        },
        "data": {
            "supported-versions": json!({"versions": [minor]}).to_string(),
            "server-version": env!("CARGO_PKG_VERSION"),
            "default-release": runtime.default_release(),
        },
    })
}
