//! Whether a request is one that a webhook or policy wants to see.

use roost_object::Value;
use roost_object::selector::Selector;

/// A request, as rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The API version.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// The subresource; empty for the resource itself.
    pub subresource: &'a str,
    /// The namespace, or for a namespace its own name; empty for what is in none.
    pub namespace: &'a str,
    /// The object's name; empty when it is yet to be generated.
    pub name: &'a str,
}

/// The kinds that configure admission itself, which nothing they configure can get in the way of.
const EXEMPT: &[&str] = &[
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
];

impl Subject<'_> {
    /// Whether the request configures admission itself.
    pub fn is_exempt(&self) -> bool {
        self.group == "admissionregistration.k8s.io" && EXEMPT.contains(&self.resource)
    }

    fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.version == "v1" && self.resource == "namespaces"
    }
}

/// Which requests a webhook or policy wants to see.
#[derive(Clone, Debug)]
pub struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<(String, String)>,
    names: Vec<String>,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Any,
    Namespaced,
    Cluster,
    Unknown,
}

impl Rule {
    /// Reads a rule.
    pub fn read(rule: &Value) -> Self {
        let list = |field: &str| -> Vec<String> {
            rule[field].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let split = |resource: String| match resource.split_once('/') {
            Some((resource, subresource)) => (resource.to_owned(), subresource.to_owned()),
            None => (resource, String::new()),
        };
        let scope = match rule["scope"].as_str() {
            None | Some("*") => Scope::Any,
            Some("Namespaced") => Scope::Namespaced,
            Some("Cluster") => Scope::Cluster,
            Some(_) => Scope::Unknown,
        };
        Self {
            operations: list("operations"),
            groups: list("apiGroups"),
            versions: list("apiVersions"),
            resources: list("resources").into_iter().map(split).collect(),
            names: list("resourceNames"),
            scope,
        }
    }

    /// Reads a list of rules.
    pub fn read_all(rules: &Value) -> Vec<Self> {
        rules.as_array().into_iter().flatten().map(Self::read).collect()
    }

    /// Whether the rule is about a request.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        let names = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        let in_scope = match self.scope {
            Scope::Any => true,
            Scope::Namespaced => !subject.is_namespace() && !subject.namespace.is_empty(),
            Scope::Cluster => subject.is_namespace() || subject.namespace.is_empty(),
            Scope::Unknown => false,
        };
        in_scope
            && names(&self.operations, subject.operation)
            && names(&self.groups, subject.group)
            && names(&self.versions, subject.version)
            && self.resources.iter().any(|(resource, subresource)| {
                (resource == "*" || resource == subject.resource)
                    && (subresource == "*" || subresource == subject.subresource)
            })
            && (self.names.is_empty() || self.names.iter().any(|name| name == subject.name))
    }
}

/// The same objects under another name: another version, or another group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalent {
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural.
    pub resource: String,
    /// The kind.
    pub kind: String,
}

/// How a rule came to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// The request as it was made.
    Exact,
    /// The objects under another name, by its place among the equivalents.
    As(usize),
}

/// The first rule that is about a request, or about the same objects under another name. Earlier rules come first.
pub fn find(rules: &[Rule], subject: &Subject<'_>, equivalents: Option<&[Equivalent]>) -> Option<Match> {
    if rules.iter().any(|rule| rule.matches(subject)) {
        return Some(Match::Exact);
    }
    let equivalents = equivalents?;
    rules.iter().find_map(|rule| {
        let found = equivalents.iter().position(|equivalent| {
            let other = Subject {
                group: &equivalent.group,
                version: &equivalent.version,
                resource: &equivalent.resource,
                ..*subject
            };
            let same =
                (other.group, other.version, other.resource) == (subject.group, subject.version, subject.resource);
            !same && rule.matches(&other)
        });
        found.map(Match::As)
    })
}

/// A selector of objects or namespaces by their labels; without one, everything is selected.
#[derive(Clone, Debug)]
pub struct Selection(Result<Selector, String>);

impl Selection {
    /// Reads a selector.
    pub fn read(selector: &Value) -> Self {
        if selector.is_null() {
            return Self(Ok(Selector::everything()));
        }
        Self(Selector::from_object(selector).map_err(|error| error.to_string()))
    }

    /// Whether everything is selected, whatever its labels.
    pub fn is_everything(&self) -> bool {
        self.0.as_ref().is_ok_and(Selector::is_empty)
    }

    /// Whether labels are selected; the words of a selector that cannot be read are an error.
    pub fn matches(&self, labels: &Value) -> Result<bool, &str> {
        match &self.0 {
            Ok(selector) => Ok(selector.matches(labels)),
            Err(why) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POD: Subject<'static> = Subject {
        operation: "CREATE",
        group: "",
        version: "v1",
        resource: "pods",
        subresource: "",
        namespace: "n",
        name: "a",
    };

    #[test]
    fn rules_match_by_all_their_parts() {
        let rule = |change: Value| {
            let mut rule =
                json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
            for (name, value) in change.as_object().unwrap() {
                rule[name] = value.clone();
            }
            Rule::read(&rule)
        };
        let cases = [
            (json!({}), POD, true),
            (json!({"operations": ["*"]}), POD, true),
            (json!({"operations": ["UPDATE"]}), POD, false),
            (json!({"apiGroups": ["apps"]}), POD, false),
            (json!({"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}), POD, true),
            (json!({"resources": ["*"]}), Subject { subresource: "status", ..POD }, false),
            (json!({"resources": ["*/*"]}), Subject { subresource: "status", ..POD }, true),
            (json!({"resources": ["*/*"]}), POD, true),
            (json!({"resources": ["pods/*"]}), Subject { subresource: "status", ..POD }, true),
            (json!({"resources": ["*/status"]}), Subject { subresource: "status", ..POD }, true),
            (json!({"resources": ["pods/exec"]}), POD, false),
            (json!({"scope": "Namespaced"}), POD, true),
            (json!({"scope": "Cluster"}), POD, false),
            (json!({"scope": "Cluster", "resources": ["namespaces"]}), Subject { resource: "namespaces", ..POD }, true),
            (json!({"resourceNames": ["a"]}), POD, true),
            (json!({"resourceNames": ["b"]}), POD, false),
        ];
        for (change, subject, expected) in cases {
            assert_eq!(rule(change.clone()).matches(&subject), expected, "{change}");
        }
    }

    #[test]
    fn other_versions_count_where_asked_for() {
        let rules = [Rule::read(
            &json!({"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["scalers"]}),
        )];
        let subject = Subject { group: "autoscaling", version: "v2", resource: "scalers", ..POD };
        let version = |version: &str| Equivalent {
            group: "autoscaling".into(),
            version: version.into(),
            resource: "scalers".into(),
            kind: "Scaler".into(),
        };
        assert_eq!(find(&rules, &subject, None), None);
        assert_eq!(find(&rules, &subject, Some(&[version("v2"), version("v1")])), Some(Match::As(1)));
        assert_eq!(find(&rules, &Subject { version: "v1", ..subject }, None), Some(Match::Exact));
    }
}
