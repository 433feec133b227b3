//! Cluster roles whose rules are gathered from others by label.

use roost_object::selector::{Error, Selector};
use serde_json::Value;

use super::rule::Rule;

/// Whether a cluster role gathers its rules from others.
pub fn is_aggregated(cluster_role: &Value) -> bool {
    cluster_role.get("aggregationRule").is_some_and(Value::is_object)
}

/// The rules that an aggregated cluster role should have, given all cluster roles in any order: selector by selector,
/// then in the order of names, each rule once. None when the role does not aggregate.
pub fn aggregate<'a>(
    cluster_role: &Value,
    all: impl IntoIterator<Item = &'a Value>,
) -> Result<Option<Vec<Value>>, Error> {
    let Some(aggregation) = cluster_role.get("aggregationRule").filter(|rule| rule.is_object()) else {
        return Ok(None);
    };
    let name = |role: &'a Value| role["metadata"]["name"].as_str().unwrap_or_default();
    let own_name = cluster_role["metadata"]["name"].as_str().unwrap_or_default();
    let mut others: Vec<&Value> = all.into_iter().filter(|role| name(role) != own_name).collect();
    others.sort_by_key(|role| name(role));
    let mut seen: Vec<Rule> = Vec::new();
    let mut rules = Vec::new();
    let selectors = aggregation.get("clusterRoleSelectors").and_then(Value::as_array);
    for selector in selectors.into_iter().flatten() {
        let selector = Selector::from_object(selector)?;
        for role in others.iter().filter(|role| selector.matches_object(role)) {
            for object in role.get("rules").and_then(Value::as_array).into_iter().flatten() {
                let rule = Rule::from_object(object);
                if !seen.contains(&rule) {
                    seen.push(rule);
                    rules.push(object.clone());
                }
            }
        }
    }
    Ok(Some(rules))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_gathered_by_label_in_the_order_of_names() {
        let role = |name: &str, label: &str, resource: &str| {
            json!({"metadata": {"name": name, "labels": {label: "true"}},
                "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]})
        };
        let admin = json!({"metadata": {"name": "admin", "labels": {"to-admin": "true"}},
            "aggregationRule": {"clusterRoleSelectors": [
                {"matchLabels": {"to-admin": "true"}}, {"matchLabels": {"to-edit": "true"}}]},
            "rules": [{"verbs": ["x"]}]});
        let all = [
            role("c", "to-edit", "pods"),
            role("b", "to-admin", "secrets"),
            role("a", "to-admin", "pods"),
            role("d", "to-view", "nodes"),
            admin.clone(),
        ];
        let rules = aggregate(&admin, &all).unwrap().unwrap();
        let resources: Vec<&Value> = rules.iter().map(|rule| &rule["resources"][0]).collect();
        assert_eq!(resources, ["pods", "secrets"]);
        assert_eq!(aggregate(&all[0], &all).unwrap(), None);
        assert!(is_aggregated(&admin) && !is_aggregated(&all[0]));
    }
}
