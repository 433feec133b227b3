//! Roles, and who they are bound to.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::GROUP;
use crate::check::{Check, SelectorValues, Spot, elements, label_selector, text};
use crate::fill::Fill;
use crate::shown;

pub(super) fn validate(role: &Value, namespaced: bool, errors: &mut Errors) {
    Spot::root(role).field("rules").each(|_, rule| {
        let (verbs, urls) = (rule.field("verbs"), rule.field("nonResourceURLs"));
        let (groups, resources) = (rule.field("apiGroups"), rule.field("resources"));
        if !verbs.filled() {
            errors.push(Error::required(&verbs.path, "verbs must contain at least one value"));
        }
        if urls.filled() {
            if namespaced {
                urls.invalid("namespaced rules cannot apply to non-resource URLs", errors);
            }
            if groups.filled() || resources.filled() || rule.field("resourceNames").filled() {
                urls.invalid("rules cannot apply to both regular resources and non-resource URLs", errors);
            }
            return;
        }
        if !groups.filled() {
            errors.push(Error::required(&groups.path, "resource rules must supply at least one api group"));
        }
        if !resources.filled() {
            errors.push(Error::required(&resources.path, "resource rules must supply at least one resource"));
        }
    });
}

pub(super) fn validate_cluster_role(role: &Value, old: Option<&Value>, errors: &mut Errors) {
    validate(role, false, errors);
    let values = match old {
        Some(old) if selectors_are_bad(old) => SelectorValues::Trusted,
        _ => SelectorValues::Checked,
    };
    let root = Spot::root(role);
    let rule = root.field("aggregationRule");
    if !rule.given() {
        return;
    }
    let selectors = rule.field("clusterRoleSelectors");
    if !selectors.filled() {
        let words = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(Error::required(&selectors.path, words));
    }
    selectors.each(|_, selector| {
        let before = errors.len();
        label_selector(selector, values, errors);
        if errors.len() > before {
            errors.push(Error::invalid(&selector.path, Value::Null, "invalid label selector."));
        }
    });
}

/// Whether a role has selectors that would not be allowed today.
fn selectors_are_bad(role: &Value) -> bool {
    let mut found = Errors::new();
    for selector in elements(&role["aggregationRule"]["clusterRoleSelectors"]) {
        label_selector(&Spot::root(selector), SelectorValues::Checked, &mut found);
    }
    !found.is_empty()
}

pub(super) fn binding_defaults(binding: &mut Value) {
    binding.at_or_empty("roleRef").fill_text("apiGroup", GROUP);
    for subject in binding.each("subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            subject.fill_text("apiGroup", GROUP);
        }
    }
}

pub(super) fn validate_binding(binding: &Value, namespaced: bool, errors: &mut Errors) {
    let root = Spot::root(binding);
    let role = root.field("roleRef");
    let (group, kind, name) = (role.field("apiGroup"), role.field("kind"), role.field("name"));
    if group.text() != GROUP {
        errors.push(Error::not_supported(&group.path, group.text(), &[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind.text()) {
        errors.push(Error::not_supported(&kind.path, kind.text(), kinds));
    }
    name.check(&[Check::Required, Check::Text(names::is_path_segment)], errors);
    root.field("subjects").each(|_, subject| validate_subject(subject, namespaced, errors));
}

fn validate_subject(subject: &Spot<'_>, namespaced: bool, errors: &mut Errors) {
    let (kind, name) = (subject.field("kind"), subject.field("name"));
    let (group, namespace) = (subject.field("apiGroup"), subject.field("namespace"));
    if !name.filled() {
        errors.push(Error::required(&name.path, ""));
    }
    match kind.text() {
        "ServiceAccount" => {
            name.check(&[crate::check::SUBDOMAIN], errors);
            if group.filled() {
                errors.push(Error::not_supported(&group.path, group.text(), &[""]));
            }
            if !namespaced && !namespace.filled() {
                errors.push(Error::required(&namespace.path, ""));
            }
        }
        "User" | "Group" => {
            if group.text() != GROUP {
                errors.push(Error::not_supported(&group.path, group.text(), &[GROUP]));
            }
        }
        other => errors.push(Error::not_supported(&kind.path, other, &["ServiceAccount", "User", "Group"])),
    }
}

pub(super) fn validate_binding_update(new: &Value, old: &Value, namespaced: bool, errors: &mut Errors) {
    validate_binding(new, namespaced, errors);
    if ["apiGroup", "kind", "name"].iter().any(|field| text(&new["roleRef"], field) != text(&old["roleRef"], field)) {
        errors.push(shown::invalid(&Path::new("roleRef"), "rbac.RoleRef", &new["roleRef"], "cannot change roleRef"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn rules_say_what_on_what() {
        let role = json!({"rules": [{}, {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]});
        assert_eq!(
            words(|errors| validate(&role, true, errors)),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
                r#"rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
                r#"rules[1].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#,
            ]
        );
        assert_eq!(
            words(|errors| validate_cluster_role(&json!({"aggregationRule": {}}), None, errors)),
            [
                "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil"
            ]
        );
    }

    #[test]
    fn bindings_name_a_role_and_subjects() {
        let mut binding = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "S"}, {"kind": "Odd"}]});
        binding_defaults(&mut binding);
        assert_eq!(binding["roleRef"]["apiGroup"], json!(GROUP));
        assert_eq!(binding["subjects"][0]["apiGroup"], json!(GROUP));
        let found = words(|errors| validate_binding(&binding, false, errors));
        assert_eq!(found[0], r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#);
        assert!(found[1].starts_with(r#"subjects[1].name: Invalid value: "S": a lowercase RFC 1123 subdomain"#));
        assert_eq!(
            found[2..],
            [
                "subjects[1].namespace: Required value",
                "subjects[2].name: Required value",
                r#"subjects[2].kind: Unsupported value: "Odd": supported values: "ServiceAccount", "User", "Group""#,
            ]
        );
        let mut new = binding.clone();
        new["roleRef"]["name"] = json!("s");
        assert_eq!(
            words(|errors| validate_binding_update(&new, &binding, true, errors)).last().unwrap(),
            r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change roleRef"#
        );
    }
}
