//! Flow schemas say whether the priority level that they lead to is there.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use roost_object::field::quote;
use roost_object::{Status, Value};
use serde_json::json;

use super::edit::{self, Object};
use crate::clock;
use crate::cluster::Cluster;
use crate::write::metadata_text;

pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";
/// Who says so on stock.
pub(crate) const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";

/// Whether a flow schema or priority level is there from the start, which has been judged then.
pub(super) fn is_built_in(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let of_group = |object: &Value| object["apiVersion"].as_str().is_some_and(|version| version.starts_with(GROUP));
        let name = |object: Value| metadata_text(&object, "name").to_owned();
        roost_kinds::bootstrap::values().filter(of_group).map(name).collect()
    });
    NAMES.contains(name)
}

/// Brings the conditions of all flow schemas up to date.
pub(super) async fn judge(cluster: &Arc<Cluster>) -> Result<(), Status> {
    let levels = cluster.find_all(GROUP, "prioritylevelconfigurations", "");
    let is_there = |name: &str| levels.iter().any(|level| metadata_text(level, "name") == name);
    for schema in cluster.find_all(GROUP, "flowschemas", "") {
        let level = schema["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap_or_default();
        let Some(condition) = condition(&schema, level, is_there(level), &clock::now_text()) else { continue };
        let object = Object::of_cluster(GROUP, "flowschemas", metadata_text(&schema, "name"));
        let said = json!({
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
            "metadata": {"name": object.name}, "status": {"conditions": [condition]},
        });
        edit::apply(cluster, object, "status", MANAGER, &said).await?;
    }
    Ok(())
}

/// What a flow schema has to say about its priority level, when it does not say so already.
fn condition(schema: &Value, level: &str, is_there: bool, now: &str) -> Option<Value> {
    let (status, reason, words) = if is_there {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {} {words}", quote(level));
    let said = schema["status"]["conditions"].as_array().into_iter().flatten().any(|condition| {
        condition["type"] == "Dangling"
            && condition["status"] == status
            && condition["reason"] == reason
            && condition["message"] == message.as_str()
    });
    (!said).then(|| {
        json!({"type": "Dangling", "status": status, "reason": reason, "message": message, "lastTransitionTime": now})
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_says_whether_its_level_is_there_and_says_it_once() {
        let mut schema = json!({"spec": {"priorityLevelConfiguration": {"name": "low"}}});
        let missing = condition(&schema, "low", false, "now").unwrap();
        assert_eq!((&missing["status"], &missing["reason"]), (&json!("True"), &json!("NotFound")));
        schema["status"]["conditions"] = json!([missing]);
        assert!(condition(&schema, "low", false, "later").is_none());
        assert!(is_built_in("catch-all") && !is_built_in("low"));
        let found = condition(&schema, "low", true, "later").unwrap();
        assert_eq!(
            found["message"],
            "This FlowSchema references the PriorityLevelConfiguration object named \"low\" and it exists"
        );
    }
}
