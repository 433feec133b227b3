//! Cluster roles that are made of others.

use std::collections::BTreeMap;
use std::sync::Arc;

use roost_access::rbac;
use roost_object::selector::Selector;
use roost_object::{Status, Value};
use roost_store::{Entry, ListQuery};
use serde::Deserialize;
use serde_json::json;

use super::edit::{self, Object};
use crate::cluster::Cluster;
use crate::write::metadata_text;

/// Who gathers rules on stock.
pub(crate) const MANAGER: &str = "clusterrole-aggregation-controller";

/// Gathers the rules of all aggregated cluster roles.
pub(super) async fn aggregate(cluster: &Arc<Cluster>) -> Result<(), Status> {
    for (name, rules) in gather(&concerned(cluster)) {
        let mut said =
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}});
        if !rules.is_empty() {
            said["rules"] = rules.into();
        }
        let object = Object::of_cluster(rbac::GROUP, "clusterroles", &name);
        edit::apply(cluster, object, "", MANAGER, &said).await?;
    }
    Ok(())
}

/// The rules of each aggregated role whose rules are not what they should be, by its name.
pub(crate) fn gather(roles: &[Value]) -> Vec<(String, Vec<Value>)> {
    let mut gathered = Vec::new();
    for role in roles.iter().filter(|role| rbac::is_aggregated(role)) {
        match rbac::aggregate(role, roles) {
            Ok(Some(rules)) if role["rules"].as_array() != Some(&rules) => {
                gathered.push((metadata_text(role, "name").to_owned(), rules));
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(role = metadata_text(role, "name"), %error, "a cluster role cannot be aggregated");
            }
        }
    }
    gathered
}

/// What decides whether a role is made of others or goes into others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    metadata: Labelled,
    aggregation_rule: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Labelled {
    labels: Option<BTreeMap<String, String>>,
}

/// The roles that are made of others, and those that go into them. Most roles are neither, and are not built up.
fn concerned(cluster: &Cluster) -> Vec<Value> {
    let Some(resource) = cluster.storage_resource(rbac::GROUP, "clusterroles") else { return Vec::new() };
    let Ok(page) = cluster.store.list(&resource.collection(&cluster.tenant), ListQuery::default()) else {
        return Vec::new();
    };
    let part = |entry: &Entry| {
        let stored = cluster.open(&resource, entry).ok()?;
        serde_json::from_slice::<Part>(stored.json()).ok()
    };
    let parts: Vec<Option<Part>> = page.entries.iter().map(part).collect();
    let selectors: Vec<Selector> = parts
        .iter()
        .flatten()
        .filter_map(|part| part.aggregation_rule.as_ref()?.get("clusterRoleSelectors")?.as_array())
        .flatten()
        .filter_map(|selector| Selector::from_object(selector).ok())
        .collect();
    let concerns = |part: &Part| {
        let labels = part.metadata.labels.as_ref();
        part.aggregation_rule.is_some() || selectors.iter().any(|selector| selector.matches(&labels))
    };
    let chosen = page.entries.iter().zip(&parts).filter(|(_, part)| part.as_ref().is_some_and(concerns));
    chosen.filter_map(|(entry, _)| cluster.decode(&resource, entry).ok()).collect()
}
