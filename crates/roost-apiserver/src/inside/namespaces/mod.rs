//! Namespaces: what each one starts with, and how it ends.

mod end;

use std::sync::Arc;

use roost_object::{Status, Value};

use super::edit::{self, Object};
use crate::bootstrap;
use crate::cluster::Cluster;
use crate::write::{CONTROLLERS, metadata_mut};

pub(super) use end::end;

/// The ConfigMap with the bundle that pods verify the API server with.
pub(super) const ROOT_AUTHORITY: &str = "kube-root-ca.crt";
/// The annotation that tells people what the bundle is for.
const DESCRIPTION: &str = "kubernetes.io/description";

/// Makes the default account and the root CA bundle where they are missing or wrong.
pub(super) async fn fill(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    let Some(namespace) = cluster.find("", "namespaces", "", name) else { return Ok(()) };
    if namespace["metadata"].get("deletionTimestamp").is_some() {
        return Ok(());
    }
    if cluster.find("", "serviceaccounts", name, "default").is_none() {
        edit::make(cluster, bootstrap::default_account(name), CONTROLLERS).await?;
    }
    let wanted = bootstrap::root_authority(cluster, name);
    let bundle = Object { group: "", plural: "configmaps", namespace: name, name: ROOT_AUTHORITY };
    let described =
        |found: &Value| found["metadata"]["annotations"][DESCRIPTION].as_str().is_some_and(|text| !text.is_empty());
    match bundle.find(cluster) {
        None => edit::make(cluster, wanted, CONTROLLERS).await,
        Some(found) if found["data"] == wanted["data"] && described(&found) => Ok(()),
        Some(_) => {
            let transform = |live: &Value| {
                let mut next = live.clone();
                next["data"] = wanted["data"].clone();
                let annotations = metadata_mut(&mut next).entry("annotations").or_insert_with(|| serde_json::json!({}));
                annotations[DESCRIPTION] = wanted["metadata"]["annotations"][DESCRIPTION].clone();
                Ok(next)
            };
            edit::change(cluster, bundle, "", CONTROLLERS, &transform).await
        }
    }
}
