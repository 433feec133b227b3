//! Policy rules and what they allow.

use std::collections::HashMap;
use std::fmt;

use roost_object::field::quote;
use serde_json::{Map, Value};

use crate::attributes::Attributes;

/// From how many rules on looking one up beats walking through all of them.
const INDEX_FROM: usize = 24;

/// One policy rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    /// What may be done; `*` is anything.
    pub verbs: Vec<String>,
    /// The API groups of the resources; `*` is any.
    pub api_groups: Vec<String>,
    /// The resources, such as `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// The objects; empty is any.
    pub resource_names: Vec<String>,
    /// The paths that are no resources; a trailing `*` is any rest.
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Reads a `PolicyRule` object.
    pub fn from_object(object: &Value) -> Self {
        let texts = |name: &str| {
            let list = object.get(name).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: texts("verbs"),
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
        }
    }

    /// The `PolicyRule` object; `verbs` is always there, the rest where not empty.
    pub fn to_object(&self) -> Value {
        let mut object = Map::new();
        object.insert("verbs".into(), self.verbs.clone().into());
        for (name, list) in [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ] {
            if !list.is_empty() {
                object.insert(name.into(), list.clone().into());
            }
        }
        Value::Object(object)
    }

    /// The rules of a role or cluster role object.
    pub fn all_of(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::from_object).collect()
    }

    /// Whether the rule allows a request.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has_or_any(&self.verbs, attributes.verb) {
            return false;
        }
        let Some(resource) = &attributes.resource else {
            return self.non_resource_urls.iter().any(|pattern| path_matches(pattern, attributes.path));
        };
        has_or_any(&self.api_groups, resource.group)
            && self.resources.iter().any(|pattern| resource_matches(pattern, resource.resource, resource.subresource))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|name| name == resource.name))
    }
}

/// The short form that messages about escalation show.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "{";
        for (name, list) in [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ] {
            if !list.is_empty() {
                write!(f, "{separator}{name}:{}", quote_list(list))?;
                separator = ", ";
            }
        }
        f.write_str(if separator == "{" { "{}" } else { "}" })
    }
}

/// Quotes a list as Go's `%q` does.
pub(crate) fn quote_list<S: AsRef<str>>(list: &[S]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

pub(super) fn has_or_any(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    if subresource.is_empty() {
        return pattern == resource;
    }
    match pattern.strip_suffix(subresource).and_then(|rest| rest.strip_suffix('/')) {
        Some(head) => head == resource || head == "*",
        None => false,
    }
}

pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
}

/// The rules of one role, ready for many questions. Roles with equal rules can share one.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    by_resource: Option<HashMap<String, Vec<u32>>>,
}

impl RuleSet {
    /// Prepares rules.
    pub fn new(rules: Vec<Rule>) -> Self {
        let by_resource = (rules.len() >= INDEX_FROM).then(|| {
            let mut places: HashMap<String, Vec<u32>> = HashMap::new();
            for (place, rule) in (0..).zip(&rules) {
                for resource in &rule.resources {
                    places.entry(resource.clone()).or_default().push(place);
                }
            }
            places
        });
        Self { rules, by_resource }
    }

    /// Reads the rules of a role or cluster role object.
    pub fn from_role(role: &Value) -> Self {
        Self::new(Rule::all_of(role))
    }

    /// The rules as written.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether any rule allows a request.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        let (Some(by_resource), Some(resource)) = (&self.by_resource, &attributes.resource) else {
            return self.rules.iter().any(|rule| rule.allows(attributes));
        };
        let allowed = |key: &str| {
            let places = by_resource.get(key).map(Vec::as_slice).unwrap_or_default();
            places.iter().any(|place| self.rules[*place as usize].allows(attributes))
        };
        if resource.subresource.is_empty() {
            return allowed(resource.resource) || allowed("*");
        }
        allowed(&format!("{}/{}", resource.resource, resource.subresource))
            || allowed(&format!("*/{}", resource.subresource))
            || allowed("*")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attributes::ResourceAttributes;
    use crate::user::User;

    fn ask<'a>(user: &'a User, verb: &'a str, group: &'a str, resource: &'a str, name: &'a str) -> Attributes<'a> {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Attributes::resource(
            user,
            verb,
            ResourceAttributes { group, version: "v1", resource, subresource, namespace: "", name },
        )
    }

    #[test]
    fn rules_match_verbs_groups_resources_and_names() {
        let user = User::default();
        let rule = |object: Value| Rule::from_object(&object);
        let pods = rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "pods/log"]}));
        let scales = rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*/scale"]}));
        let all = rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        let named = rule(
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a", "b"]}),
        );
        let cases = [
            (&pods, ask(&user, "get", "", "pods", "x"), true),
            (&pods, ask(&user, "get", "", "pods/log", "x"), true),
            (&pods, ask(&user, "get", "", "pods/exec", "x"), false),
            (&pods, ask(&user, "list", "", "pods", ""), false),
            (&pods, ask(&user, "get", "apps", "pods", "x"), false),
            (&scales, ask(&user, "update", "apps", "deployments/scale", "x"), true),
            (&scales, ask(&user, "update", "apps", "deployments/autoscale", "x"), false),
            (&scales, ask(&user, "update", "apps", "deployments", "x"), false),
            (&all, ask(&user, "x", "y", "z/w", ""), true),
            (&named, ask(&user, "get", "", "configmaps", "b"), true),
            (&named, ask(&user, "get", "", "configmaps", "c"), false),
            (&named, ask(&user, "get", "", "configmaps", ""), false),
            (&pods, Attributes::path(&user, "get", "/pods"), false),
        ];
        for (rule, attributes, expected) in cases {
            assert_eq!(rule.allows(&attributes), expected, "{rule} {attributes:?}");
            let mut many = vec![Rule::default(); INDEX_FROM];
            many.push(rule.clone());
            assert_eq!(RuleSet::new(many).allows(&attributes), expected, "{rule} {attributes:?}");
        }
    }

    #[test]
    fn paths_match_by_prefix_only_with_a_star() {
        let user = User::default();
        let rule = Rule::from_object(&json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*", "/x**"]}));
        let allowed = |path: &str| rule.allows(&Attributes::path(&user, "get", path));
        assert!(allowed("/healthz") && allowed("/api/") && allowed("/api/v1") && allowed("/xyz"));
        assert!(!allowed("/healthz/ping") && !allowed("/api"));
        assert!(!rule.allows(&Attributes::path(&user, "post", "/healthz")));
    }

    #[test]
    fn the_short_form_names_only_what_is_there() {
        let rule = Rule::from_object(&json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}));
        assert_eq!(rule.to_string(), r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#);
        let path = Rule::from_object(&json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}));
        assert_eq!(path.to_string(), r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#);
        assert_eq!(Rule::default().to_string(), "{}");
    }
}
