//! Leases, runtime classes, and the services that answer for parts of the API.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use crate::check::{Check, LABEL, NOT_NEGATIVE, SUBDOMAIN, Spot, elements, immutable, text};
use crate::fill::Fill;
use crate::pod::warnings::old_node_label;
use crate::pod::{PodOptions, validate_overhead, validate_tolerations};
use crate::{NameRule, Rules, keep_metadata, keep_spec, keep_status, shown};

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        group: "coordination.k8s.io",
        kind: "Lease",
        prepare_create: |lease| drop_election(lease, None),
        prepare_update: |new, old| drop_election(new, Some(old)),
        validate: validate_lease,
        validate_update: |new, _, errors| validate_lease(new, errors),
        create_on_update: true,
        unconditional_update: false,
        ..Rules::NONE
    },
    Rules {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        validate: validate_runtime_class,
        validate_update: |new, old, errors| {
            validate_runtime_class(new, errors);
            immutable(&Spot::root(new).field("handler"), &old["handler"], "s", errors);
        },
        warnings: runtime_class_warnings,
        create_on_update: true,
        unconditional_update: false,
        ..Rules::NONE
    },
    Rules {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        name: NameRule::VersionAndGroup,
        defaults: api_service_defaults,
        prepare_create: prepare_api_service,
        prepare_update: keep_status,
        prepare_status_update: |new, old| {
            keep_spec(new, old);
            keep_metadata(new, old, &["labels", "annotations", "finalizers", "ownerReferences"]);
        },
        stamp: stamp_api_service,
        validate: validate_api_service,
        validate_update: |new, _, errors| validate_api_service(new, errors),
        validate_status_update: validate_api_service_status,
        unconditional_update: false,
        ..Rules::NONE
    },
];

/// Drops the fields of coordinated leader election, which is not on by default.
fn drop_election(lease: &mut Value, old: Option<&Value>) {
    let Some(spec) = lease.at("spec") else { return };
    for field in ["strategy", "preferredHolder"] {
        if old.is_none_or(|old| old["spec"][field].is_null()) {
            spec.drop_field(field);
        }
    }
}

fn validate_lease(lease: &Value, errors: &mut Errors) {
    let root = Spot::root(lease);
    let spec = root.field("spec");
    let (duration, transitions) = (spec.field("leaseDurationSeconds"), spec.field("leaseTransitions"));
    if duration.given() && duration.number() <= 0 {
        duration.invalid("must be greater than 0", errors);
    }
    if transitions.number() < 0 {
        transitions.invalid(NOT_NEGATIVE, errors);
    }
    if spec.field("preferredHolder").filled() && !spec.field("strategy").filled() {
        spec.field("preferredHolder").forbidden("may only be specified if `strategy` is defined", errors);
    }
}

fn validate_runtime_class(class: &Value, errors: &mut Errors) {
    let root = Spot::root(class);
    root.field("handler").check(&[Check::Required, LABEL], errors);
    let options = PodOptions::default();
    if root.field("overhead").given() {
        let fixed = Spot::new(&class["overhead"]["podFixed"], Path::new("overhead"));
        validate_overhead(&fixed, &options, errors);
    }
    let scheduling = root.field("scheduling");
    scheduling.field("nodeSelector").check(&[Check::Labels], errors);
    let tolerations = scheduling.field("tolerations");
    validate_tolerations(&tolerations, &options, errors);
    tolerations.each(|index, toleration| {
        let same_key = |earlier: &Value| {
            ["key", "operator", "value", "effect"]
                .iter()
                .all(|field| text(earlier, field) == text(toleration.value, field))
        };
        if tolerations.elements()[..index].iter().any(same_key) {
            errors.push(shown::duplicate(&toleration.path, "Toleration", toleration.value));
        }
    });
}

fn runtime_class_warnings(class: &Value, warnings: &mut Vec<String>) {
    for (label, _) in class["scheduling"]["nodeSelector"].as_object().into_iter().flatten() {
        if let Some(words) = old_node_label(label) {
            warnings.push(format!("scheduling.nodeSelector: {words}"));
        }
    }
}

fn api_service_defaults(service: &mut Value) {
    if let Some(reference) = service.at("spec").and_then(|spec| spec.at("service")) {
        reference.fill("port", 443);
    }
}

/// What this server answers for itself is available at once.
fn prepare_api_service(service: &mut Value) {
    let local = service["spec"]["service"].is_null();
    let available = serde_json::json!({"conditions": [{
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }]});
    service.put("status", if local { available } else { serde_json::json!({}) });
}

fn stamp_api_service(service: &mut Value, old: Option<&Value>, now: &str) {
    if old.is_none()
        && let Some(status) = service.at("status")
    {
        for condition in status.each("conditions") {
            condition.fill("lastTransitionTime", now);
        }
    }
}

fn validate_api_service(service: &Value, errors: &mut Errors) {
    let root = Spot::root(service);
    let spec = root.field("spec");
    let (group, version) = (spec.field("group"), spec.field("version"));
    if !group.filled() && version.text() != "v1" {
        let words = "only v1 may have an empty group and it better be legacy kube";
        errors.push(Error::required(&group.path, words));
    }
    group.check(&[SUBDOMAIN], errors);
    version.text_passes(names::is_dns1035_label, errors);
    for (field, max) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let priority = spec.field(field);
        if !(1..=max).contains(&priority.number()) {
            let words = format!("must be positive and less than {max}");
            errors.push(Error::invalid(&priority.path, priority.number(), words));
        }
    }
    let (reference, bundle, insecure) =
        (spec.field("service"), spec.field("caBundle"), spec.field("insecureSkipTLSVerify"));
    if !reference.given() {
        if bundle.filled() {
            let padding = bundle.text().bytes().filter(|byte| *byte == b'=').count();
            let bytes = (bundle.text().len() / 4 * 3).saturating_sub(padding);
            let words = "local APIServices may not have a caBundle";
            errors.push(Error::invalid(&bundle.path, format!("{bytes} bytes"), words));
        }
        if insecure.is_true() {
            insecure.invalid("local APIServices may not have insecureSkipTLSVerify", errors);
        }
        return;
    }
    reference.check_fields(&[("namespace", &[Check::Required]), ("name", &[Check::Required])], errors);
    let port = reference.field("port");
    let problems = names::is_port_number(port.number());
    if !problems.is_empty() {
        let words = format!("port is not valid: {}", problems.join(", "));
        errors.push(Error::invalid(&port.path, port.number(), words));
    }
    if insecure.is_true() && bundle.filled() {
        insecure.invalid("may not be true if caBundle is present", errors);
    }
}

fn validate_api_service_status(new: &Value, _old: &Value, errors: &mut Errors) {
    let path = Path::new("status.conditions");
    for (index, condition) in elements(&new["status"]["conditions"]).iter().enumerate() {
        let status = text(condition, "status");
        if !matches!(status, "True" | "False" | "Unknown") {
            let at = path.index(index);
            errors.push(Error::not_supported(&at.child("status"), status, &["True", "False", "Unknown"]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn leases_last() {
        let lease = json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}});
        assert_eq!(
            words(|errors| validate_lease(&lease, errors)),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"
            ]
        );
    }

    #[test]
    fn runtime_classes_name_a_handler() {
        let class = json!({"overhead": {"podFixed": {"gold": "1"}}, "scheduling": {"tolerations": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]}});
        let found = words(|errors| validate_runtime_class(&class, errors));
        assert_eq!(found[0], "handler: Required value");
        assert_eq!(
            found.last().unwrap(),
            r#"scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}"#
        );
    }

    #[test]
    fn api_services_and_definitions_are_named_after_their_group() {
        let service = json!({"metadata": {"name": "x"}, "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "service": {}}});
        assert_eq!(
            words(|errors| validate_api_service(&service, errors)),
            [
                "spec.service.namespace: Required value",
                "spec.service.name: Required value",
                "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
            ]
        );
        assert_eq!(NameRule::VersionAndGroup.check(&service, "v1.a.b", false), [""; 0]);
        assert_eq!(
            NameRule::VersionAndGroup.check(&service, "x", false),
            [r#"must be `spec.version+"."+spec.group`: "v1.a.b""#]
        );
        let definition = json!({"spec": {"group": "a.b", "names": {"plural": "things"}}});
        assert_eq!(NameRule::PluralAndGroup.check(&definition, "things.a.b", false), [""; 0]);
        assert_eq!(
            NameRule::PluralAndGroup.check(&definition, "x", false),
            ["must be spec.names.plural+\".\"+spec.group"]
        );
        let mut local = json!({"spec": {}});
        prepare_api_service(&mut local);
        stamp_api_service(&mut local, None, "now");
        assert_eq!(local["status"]["conditions"][0]["lastTransitionTime"], json!("now"));
    }
}
