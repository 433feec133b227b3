//! Under which flow schema and priority level a request falls, which every answer says in its headers.

use std::collections::HashMap;

use http::HeaderValue;
use roost_access::User;
use roost_access::user::split_service_account;
use roost_store::Revision;
use serde::Deserialize;

use crate::derived::Index;
use crate::request::RequestInfo;
use crate::stored::Stored;

/// Stands for everything in a rule.
const ALL: &str = "*";

/// The uids of the flow schema and the priority level that a request falls under.
pub(crate) type Class = (HeaderValue, HeaderValue);

/// The flow schemas of a tenant in the order in which they are tried, and its priority levels.
#[derive(Default)]
pub(crate) struct Flows {
    schemas: Vec<Schema>,
    levels: HashMap<String, HeaderValue>,
}

struct Schema {
    name: String,
    uid: HeaderValue,
    spec: Spec,
}

#[derive(Deserialize)]
struct Read<S> {
    metadata: Metadata,
    #[serde(default)]
    spec: S,
}

#[derive(Deserialize)]
struct Metadata {
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    matching_precedence: i64,
    priority_level_configuration: Reference,
    rules: Vec<Rule>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference {
    name: String,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<PathRule>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Subject {
    user: Option<Reference>,
    group: Option<Reference>,
    service_account: Option<Reference>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    cluster_scope: bool,
    namespaces: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PathRule {
    verbs: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    paths: Vec<String>,
}

impl Index for Flows {
    fn insert(&mut self, source: usize, name: &str, object: &Stored, _: Revision) {
        self.remove(source, name);
        if source == 0 {
            let Ok(read) = serde_json::from_slice::<Read<Spec>>(object.json()) else { return };
            let Ok(uid) = HeaderValue::from_str(&read.metadata.uid) else { return };
            self.schemas.push(Schema { name: name.to_owned(), uid, spec: read.spec });
            self.schemas
                .sort_by(|a, b| (a.spec.matching_precedence, &a.name).cmp(&(b.spec.matching_precedence, &b.name)));
        } else {
            let Ok(read) = serde_json::from_slice::<Read<serde::de::IgnoredAny>>(object.json()) else { return };
            let Ok(uid) = HeaderValue::from_str(&read.metadata.uid) else { return };
            self.levels.insert(name.to_owned(), uid);
        }
    }

    fn remove(&mut self, source: usize, name: &str) {
        if source == 0 {
            self.schemas.retain(|schema| schema.name != name);
        } else {
            self.levels.remove(name);
        }
    }
}

impl Flows {
    /// The class of a request; a schema whose priority level is missing is passed over.
    pub(crate) fn class(&self, user: &User, info: &RequestInfo) -> Option<Class> {
        self.schemas.iter().find_map(|schema| {
            let level = self.levels.get(&schema.spec.priority_level_configuration.name)?;
            let fits = schema.spec.rules.iter().any(|rule| rule.fits(user, info));
            fits.then(|| (schema.uid.clone(), level.clone()))
        })
    }
}

impl Rule {
    fn fits(&self, user: &User, info: &RequestInfo) -> bool {
        if !self.subjects.iter().any(|subject| subject.is(user)) {
            return false;
        }
        if info.is_resource {
            self.resource_rules.iter().any(|rule| rule.fits(info))
        } else {
            self.non_resource_rules.iter().any(|rule| rule.fits(info))
        }
    }
}

impl Subject {
    fn is(&self, user: &User) -> bool {
        if let Some(named) = &self.user {
            return named.name == ALL || named.name == user.name;
        }
        if let Some(group) = &self.group {
            return group.name == ALL || user.groups.contains(&group.name);
        }
        let Some(account) = &self.service_account else { return false };
        split_service_account(&user.name).is_some_and(|(namespace, name)| {
            account.namespace == namespace && (account.name == ALL || account.name == name)
        })
    }
}

impl ResourceRule {
    fn fits(&self, info: &RequestInfo) -> bool {
        let in_scope = if info.namespace.is_empty() {
            self.cluster_scope
        } else {
            contains(&self.namespaces, |namespace| namespace == info.namespace)
        };
        let is_resource = |asked: &str| match asked.split_once('/') {
            None => info.subresource.is_empty() && asked == info.resource,
            Some((resource, below)) => resource == info.resource && below == info.subresource,
        };
        in_scope
            && contains(&self.verbs, |verb| verb == info.verb)
            && contains(&self.resources, is_resource)
            && contains(&self.api_groups, |group| group == info.group)
    }
}

impl PathRule {
    fn fits(&self, info: &RequestInfo) -> bool {
        let is_path = |asked: &str| {
            let below = |prefix: &str| info.path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
            asked == info.path || below(asked.trim_end_matches('*').trim_end_matches('/'))
        };
        contains(&self.verbs, |verb| verb == info.verb) && contains(&self.paths, is_path)
    }
}

fn contains(list: &[String], is: impl Fn(&str) -> bool) -> bool {
    list.iter().any(|one| one == ALL || is(one))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;
    use crate::request::Query;

    fn rule(value: roost_object::Value) -> Rule {
        serde_json::from_value(value).unwrap()
    }

    fn info(path: &str) -> RequestInfo {
        RequestInfo::parse(&Method::GET, path, &Query::default())
    }

    #[test]
    fn rules_fit_as_stocks_do() {
        let account = rule(json!({
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}],
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods/status"], "namespaces": ["a"]}],
        }));
        let user = User::new("system:serviceaccount:kube-system:x", [""; 0]);
        assert!(account.fits(&user, &info("/api/v1/namespaces/a/pods/p/status")));
        assert!(!account.fits(&user, &info("/api/v1/namespaces/a/pods/p")));
        assert!(!account.fits(&user, &info("/api/v1/namespaces/b/pods/p/status")));
        let other = User::new("system:serviceaccount:kube-system2:x", [""; 0]);
        assert!(!account.fits(&other, &info("/api/v1/namespaces/a/pods/p/status")));
        let paths = rule(json!({
            "subjects": [{"kind": "Group", "group": {"name": "g"}}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/healthz", "/logs/*"]}],
        }));
        let member = User::new("a", ["g"]);
        for (path, fits) in [("/healthz", true), ("/healthz/ping", true), ("/logs/x", true), ("/healthzz", false)] {
            assert_eq!(paths.fits(&member, &info(path)), fits, "{path}");
        }
        assert!(!paths.fits(&User::new("a", ["h"]), &info("/healthz")));
    }
}
