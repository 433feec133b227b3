//! Cluster roles that are made of others.

use std::sync::Arc;

use roost_access::rbac;
use roost_object::{Status, Value};

use super::edit::{self, Object};
use crate::cluster::Cluster;
use crate::write::{CONTROLLERS, metadata_text};

/// Gathers the rules of all aggregated cluster roles.
pub(super) async fn aggregate(cluster: &Arc<Cluster>) -> Result<(), Status> {
    let roles = cluster.find_all(rbac::GROUP, "clusterroles", "");
    for role in roles.iter().filter(|role| rbac::is_aggregated(role)) {
        let rules = match rbac::aggregate(role, &roles) {
            Ok(Some(rules)) => rules,
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(role = metadata_text(role, "name"), %error, "a cluster role cannot be aggregated");
                continue;
            }
        };
        if role.get("rules").and_then(Value::as_array).is_some_and(|current| *current == rules) {
            continue;
        }
        let transform = |live: &Value| {
            let mut next = live.clone();
            next["rules"] = rules.clone().into();
            Ok(next)
        };
        let object = Object::of_cluster(rbac::GROUP, "clusterroles", metadata_text(role, "name"));
        edit::change(cluster, object, "", CONTROLLERS, &transform).await?;
    }
    Ok(())
}
