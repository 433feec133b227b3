//! Flow schemas.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};
use serde_json::json;

use super::validate_status;
use crate::check::{Check, LABEL, SUBDOMAIN, Spot, text};
use crate::fill::Fill;
use crate::internal;
use crate::shown;

const PRECEDENCE_MAX: i64 = 10_000;
const VERBS: [&str; 9] = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const NAMESPACE_WORDS: &str = "each member of this list must be '*' or a DNS-1123 label; ";

pub(super) fn defaults(schema: &mut Value) {
    schema.at_or_empty("spec").fill_number("matchingPrecedence", 1000);
}

/// The schemas without which the server does not run; their specs are fixed.
fn mandatory(name: &str) -> Option<Value> {
    let everything = json!({
        "nonResourceRules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
        "resourceRules": [{"apiGroups": ["*"], "clusterScope": true, "namespaces": ["*"], "resources": ["*"], "verbs": ["*"]}],
    });
    let for_groups = |groups: &[&str]| {
        let mut rule = everything.clone();
        let subjects: Vec<_> = groups.iter().map(|name| json!({"kind": "Group", "group": {"name": name}})).collect();
        rule.put("subjects", subjects);
        rule
    };
    match name {
        "exempt" => Some(json!({
            "matchingPrecedence": 1,
            "priorityLevelConfiguration": {"name": "exempt"},
            "rules": [for_groups(&["system:masters"])],
        })),
        "catch-all" => Some(json!({
            "matchingPrecedence": 10000,
            "priorityLevelConfiguration": {"name": "catch-all"},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [for_groups(&["system:unauthenticated", "system:authenticated"])],
        })),
        _ => None,
    }
}

pub(super) fn validate(schema: &Value, errors: &mut Errors) {
    let root = Spot::root(schema);
    let spec = root.field("spec");
    let name = text(&schema["metadata"], "name");
    validate_spec(&spec, name, errors);
    if mandatory(name).is_some_and(|fixed| !internal::same("flowcontrol.FlowSchemaSpec", &fixed, spec.value)) {
        let words = format!("spec of '{name}' must equal the fixed value");
        errors.push(shown::invalid(&spec.path, "flowcontrol.FlowSchemaSpec", spec.value, &words));
    }
    validate_status(schema, errors);
}

fn validate_spec(spec: &Spot<'_>, name: &str, errors: &mut Errors) {
    let precedence = spec.field("matchingPrecedence");
    let mut report = |words: String| errors.push(Error::invalid(&precedence.path, precedence.number(), words));
    if precedence.number() <= 0 {
        report("must be a positive value".to_owned());
    }
    if precedence.number() > PRECEDENCE_MAX {
        report(format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if precedence.number() == 1 && name != "exempt" {
        report("only the schema named 'exempt' may have matchingPrecedence 1".to_owned());
    }
    let method = spec.field("distinguisherMethod");
    if method.given() && !matches!(text(method.value, "type"), "ByNamespace" | "ByUser") {
        let words = &["ByNamespace", "ByUser"];
        let path = method.path.child("type");
        errors.push(shown::not_supported(&path, "*flowcontrol.FlowDistinguisherMethod", method.value, words));
    }
    let level = spec.field("priorityLevelConfiguration");
    level.field("name").check(&[Check::RequiredBecause("must reference a priority level"), SUBDOMAIN], errors);
    spec.field("rules").each(|_, rule| validate_rule(rule, errors));
}

fn validate_rule(rule: &Spot<'_>, errors: &mut Errors) {
    let subjects = rule.field("subjects");
    if !subjects.filled() {
        errors.push(Error::required(&subjects.path, "subjects must contain at least one value"));
    }
    subjects.each(|_, subject| validate_subject(subject, errors));
    let (resources, others) = (rule.field("resourceRules"), rule.field("nonResourceRules"));
    if !resources.filled() && !others.filled() {
        let words = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(Error::required(&rule.path, words));
    }
    resources.each(|_, rule| validate_resource_rule(rule, errors));
    others.each(|_, rule| {
        validate_verbs(&rule.field("verbs"), errors);
        validate_urls(&rule.field("nonResourceURLs"), errors);
    });
}

fn validate_subject(subject: &Spot<'_>, errors: &mut Errors) {
    let kinds = [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = subject.field("kind");
    let Some((_, wanted)) = kinds.into_iter().find(|(known, _)| *known == kind.text()) else {
        return errors.push(Error::not_supported(&kind.path, kind.text(), &["Group", "ServiceAccount", "User"]));
    };
    let details = subject.field(wanted);
    if !details.given() {
        let words = format!("{wanted} is required when subject kind is '{}'", kind.text());
        errors.push(Error::required(&details.path, words));
    } else if wanted == "serviceAccount" {
        let name = details.field("name");
        if name.text() != "*" {
            name.check(&[Check::Required, SUBDOMAIN], errors);
        }
        let because = Check::RequiredBecause("must specify namespace for service account");
        details.field("namespace").check(&[because, LABEL], errors);
    } else {
        details.field("name").check(&[Check::Required], errors);
    }
    for (known, field) in kinds {
        if field != wanted && subject.field(field).given() {
            subject.field(field).forbidden(format!("{field} is forbidden when subject kind is not '{known}'"), errors);
        }
    }
}

fn has_wildcard(list: &Spot<'_>) -> bool {
    list.elements().iter().any(|one| one == "*")
}

/// Checks a list that must not be empty, and in which a wildcard stands alone. Answers whether its members count.
fn validate_list(list: &Spot<'_>, empty: &str, others: &str, errors: &mut Errors) -> bool {
    if !list.filled() {
        errors.push(Error::required(&list.path, empty));
    } else if has_wildcard(list) && list.elements().len() > 1 {
        list.invalid(format!("if '*' is present, must not specify other {others}"), errors);
    }
    list.filled() && !has_wildcard(list)
}

fn validate_verbs(verbs: &Spot<'_>, errors: &mut Errors) {
    let counts = validate_list(verbs, "verbs must contain at least one value", "verbs", errors);
    if counts && !verbs.elements().iter().all(|verb| VERBS.iter().any(|known| verb == known)) {
        errors.push(Error::not_supported(&verbs.path, verbs.value.clone(), &VERBS));
    }
}

fn validate_urls(urls: &Spot<'_>, errors: &mut Errors) {
    let counts = validate_list(urls, "nonResourceURLs must contain at least one value", "non-resource URLs", errors);
    if !counts {
        return;
    }
    urls.each(|_, url| {
        let path = url.text();
        let words = match path {
            "" => "must not be empty",
            "/" => return,
            _ if !path.starts_with('/') => "must start with slash",
            _ if path.contains(' ') => "must not contain white-space",
            _ if path.contains("//") => "must not contain double slash",
            _ if path.matches('*').count() > 1 || (path.contains('*') && !path.ends_with("/*")) => {
                "wildcard can only do suffix matching"
            }
            _ => return,
        };
        errors.push(Error::invalid(&url.path, path, words));
    });
}

fn validate_resource_rule(rule: &Spot<'_>, errors: &mut Errors) {
    validate_verbs(&rule.field("verbs"), errors);
    validate_list(&rule.field("apiGroups"), "resource rules must supply at least one api group", "api groups", errors);
    validate_list(&rule.field("resources"), "resource rules must supply at least one resource", "resources", errors);
    let namespaces = rule.field("namespaces");
    if !namespaces.filled() && rule.field("clusterScope").is_true() {
        return;
    }
    let empty = "resource rules that are not cluster scoped must supply at least one namespace";
    if validate_list(&namespaces, empty, "namespaces", errors) {
        namespaces.each(|_, namespace| report_namespace(namespace.text(), &namespace.path, errors));
    }
}

fn report_namespace(namespace: &str, path: &Path<'_>, errors: &mut Errors) {
    let problems = names::is_dns1123_label(namespace);
    errors
        .extend(problems.into_iter().map(|words| Error::invalid(path, namespace, format!("{NAMESPACE_WORDS}{words}"))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;

    #[test]
    fn schemas_say_whose_requests_go_where() {
        let mut schema = json!({"metadata": {"name": "s"}, "spec": {"rules": [{"subjects": [{"kind": "User", "group": {"name": "g"}}],
            "resourceRules": [{"verbs": ["odd"], "apiGroups": ["*", "a"], "resources": []}]}, {}]}});
        defaults(&mut schema);
        assert_eq!(
            words(|errors| validate(&schema, errors)),
            [
                "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
                "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
                "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
                r#"spec.rules[0].resourceRules[0].verbs: Unsupported value: ["odd"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch""#,
                r#"spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups"#,
                "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource",
                "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
                "spec.rules[1].subjects: Required value: subjects must contain at least one value",
                "spec.rules[1]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ]
        );
    }

    #[test]
    fn mandatory_schemas_are_fixed() {
        let exempt = json!({"metadata": {"name": "exempt"}, "spec": mandatory("exempt")});
        assert!(words(|errors| validate(&exempt, errors)).is_empty());
        let mut changed = exempt;
        changed["spec"]["matchingPrecedence"] = json!(2);
        let found = words(|errors| validate(&changed, errors));
        assert!(found[0].ends_with("}: spec of 'exempt' must equal the fixed value"), "{found:?}");
    }
}
