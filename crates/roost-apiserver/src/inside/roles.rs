//! Cluster roles that are made of others.

use std::sync::Arc;

use roost_access::rbac;
use roost_object::{Status, Value};

use crate::call::Call;
use crate::cluster::Cluster;
use crate::write::{self, CONTROLLERS, Change, ChangeKind, Target, internal_options, metadata_text};

/// Gathers the rules of all aggregated cluster roles.
pub(super) async fn aggregate(cluster: &Arc<Cluster>) -> Result<(), Status> {
    let roles = cluster.find_all(rbac::GROUP, "clusterroles", "");
    let call = Call::internal(cluster);
    let Some(resource) = cluster.storage_resource(rbac::GROUP, "clusterroles") else { return Ok(()) };
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
        let target = Target {
            call: &call,
            resource: &resource,
            namespace: "",
            name: metadata_text(role, "name"),
            subresource: "",
        };
        let transform = |live: &Value| {
            let mut next = live.clone();
            next["rules"] = rules.clone().into();
            Ok(next)
        };
        match write::update(target, Change { kind: ChangeKind::Patch, transform: &transform, create: false }, &internal_options(CONTROLLERS))
            .await
        {
            Ok(_) => {}
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    Ok(())
}
