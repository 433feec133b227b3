//! Whether some rules grant everything that others do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::rule::{Rule, path_matches};

/// How many parts rules are broken into for one check. The default roles together make a few thousand; without a limit
/// one crafted rule would make as many as the product of the lengths of its lists.
const MAX_PARTS: usize = 100_000;

/// The parts of `wanted` that `owned` does not grant, each with one group, resource, verb and name. Rules beyond all
/// reason are compared as a whole and come back whole.
pub fn covers(owned: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let is_missing = |part: &Rule| !owned.iter().any(|rule| rule_covers(rule, part));
    let mut left = MAX_PARTS;
    let mut missing = Vec::new();
    for rule in wanted {
        match left.checked_sub(count_parts(rule)) {
            Some(rest) => {
                left = rest;
                missing.extend(break_down(rule).into_iter().filter(is_missing));
            }
            None if is_missing(rule) => missing.push(rule.clone()),
            None => {}
        }
    }
    missing
}

fn count_parts(rule: &Rule) -> usize {
    let resources = rule.api_groups.len().saturating_mul(rule.resources.len());
    let objects = resources.saturating_mul(rule.resource_names.len().max(1));
    objects.saturating_add(rule.non_resource_urls.len()).saturating_mul(rule.verbs.len())
}

fn break_down(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut parts = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part =
                    Rule { api_groups: one(group), resources: one(resource), verbs: one(verb), ..Rule::default() };
                if rule.resource_names.is_empty() {
                    parts.push(part);
                } else {
                    parts.extend(
                        rule.resource_names.iter().map(|name| Rule { resource_names: one(name), ..part.clone() }),
                    );
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        parts.extend(rule.verbs.iter().map(|verb| Rule {
            non_resource_urls: one(url),
            verbs: one(verb),
            ..Rule::default()
        }));
    }
    parts
}

fn rule_covers(owner: &Rule, part: &Rule) -> bool {
    let has_all = |owned: &[String], wanted: &[String]| {
        owned.iter().any(|item| item == "*") || wanted.iter().all(|item| owned.contains(item))
    };
    let has_resource = |wanted: &String| {
        owner.resources.contains(wanted)
            || wanted.split_once('/').is_some_and(|(_, subresource)| {
                owner.resources.iter().any(|own| own.strip_prefix("*/") == Some(subresource))
            })
    };
    let has_resources = owner.resources.iter().any(|item| item == "*") || part.resources.iter().all(has_resource);
    let has_names = owner.resource_names.is_empty()
        || (!part.resource_names.is_empty()
            && part.resource_names.iter().all(|name| owner.resource_names.contains(name)));
    let has_url = |wanted: &String| owner.non_resource_urls.iter().any(|own| path_matches(own, wanted));
    has_all(&owner.verbs, &part.verbs)
        && has_all(&owner.api_groups, &part.api_groups)
        && has_resources
        && has_names
        && part.non_resource_urls.iter().all(has_url)
}

/// Joins rules that name one group and one resource and differ only in verbs. The order of what stays is not promised.
pub fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let is_simple = |rule: &Rule| {
        rule.resource_names.len() <= 1
            && rule.non_resource_urls.is_empty()
            && rule.api_groups.len() == 1
            && rule.resources.len() == 1
    };
    let mut compacted: Vec<Rule> = Vec::with_capacity(rules.len());
    let mut places: HashMap<_, usize> = HashMap::new();
    for rule in rules {
        if !is_simple(&rule) {
            compacted.push(rule);
            continue;
        }
        let key = (rule.api_groups.clone(), rule.resources.clone(), rule.resource_names.clone());
        match places.entry(key) {
            Entry::Occupied(place) => compacted[*place.get()].verbs.extend(rule.verbs),
            Entry::Vacant(place) => {
                place.insert(compacted.len());
                compacted.push(rule);
            }
        }
    }
    compacted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str], names: &[&str], urls: &[&str]) -> Rule {
        Rule::from_object(&json!({"apiGroups": groups, "resources": resources, "verbs": verbs,
            "resourceNames": names, "nonResourceURLs": urls}))
    }

    #[test]
    fn coverage_follows_wildcards_and_names() {
        let admin = rule(&["*"], &["*"], &["*"], &[], &[]);
        let urls = rule(&[], &[], &["*"], &[], &["*"]);
        let pods = rule(&[""], &["pods", "*/scale"], &["get", "list"], &[], &[]);
        let named = rule(&[""], &["secrets"], &["get"], &["a"], &[]);
        let cases = [
            (vec![&admin], rule(&["x"], &["y/z"], &["w"], &["n"], &[]), 0),
            (vec![&admin], rule(&[], &[], &["get"], &[], &["/x"]), 1),
            (vec![&urls], rule(&[], &[], &["get"], &[], &["/x", "/y*"]), 0),
            (vec![&pods], rule(&[""], &["pods"], &["get", "watch"], &[], &[]), 1),
            (vec![&pods], rule(&[""], &["pods"], &["get"], &["x"], &[]), 0),
            (vec![&pods], rule(&[""], &["deployments/scale"], &["get"], &[], &[]), 0),
            (vec![&pods], rule(&["apps"], &["deployments/scale"], &["get"], &[], &[]), 1),
            (vec![&pods], rule(&[""], &["*"], &["get"], &[], &[]), 1),
            (vec![&named], rule(&[""], &["secrets"], &["get"], &[], &[]), 1),
            (vec![&named], rule(&[""], &["secrets"], &["get"], &["a", "b"], &[]), 1),
            (vec![], rule(&["", "apps"], &["a", "b"], &["get", "list"], &["x", "y"], &[]), 16),
        ];
        for (owned, wanted, missing) in cases {
            let owned: Vec<Rule> = owned.into_iter().cloned().collect();
            assert_eq!(covers(&owned, std::slice::from_ref(&wanted)).len(), missing, "{wanted}");
        }
    }

    #[test]
    fn rules_beyond_all_reason_are_compared_whole() {
        let many: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
        let huge = Rule { api_groups: many.clone(), resources: many.clone(), verbs: many, ..Rule::default() };
        let admin = rule(&["*"], &["*"], &["*"], &[], &[]);
        assert!(covers(&[admin], std::slice::from_ref(&huge)).is_empty());
        assert_eq!(covers(&[], std::slice::from_ref(&huge)), [huge]);
    }

    #[test]
    fn simple_rules_are_joined_by_verb() {
        let wanted = rule(&[""], &["pods", "secrets"], &["get", "list"], &[], &["/x"]);
        let texts: Vec<String> = compact(covers(&[], &[wanted])).iter().map(Rule::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
                r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/x"], Verbs:["list"]}"#,
            ]
        );
        assert_eq!(Rule::from_object(&Value::Null), Rule::default());
    }
}
