//! Ingresses and their classes.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::service_update::validate_ingress;
use crate::address;
use crate::check::{Check, Field, LABEL, SUBDOMAIN, Spot, elements, immutable_text, text};
use crate::fill::Fill;

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const CONTROLLER_MAX: usize = 250;
const PATH_CHARACTERS: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
const SEGMENT: Check = Check::Text(names::is_path_segment);

static REFERENCE: &[Field] = &[("kind", &[Check::Required, SEGMENT]), ("name", &[Check::Required, SEGMENT])];

/// What an older server let through, and an update may keep.
#[derive(Clone, Copy, Default)]
struct Tolerated {
    secret_names: bool,
    wildcard_rules: bool,
}

pub(super) fn validate(ingress: &Value, errors: &mut Errors) {
    validate_spec(ingress, Tolerated::default(), errors);
    let class = ingress["metadata"]["annotations"].get(CLASS_ANNOTATION);
    if let (Some(class), Some(name)) = (class, ingress["spec"]["ingressClassName"].as_str())
        && class != name
    {
        let annotations = Path::new("annotations");
        let words = "must match `ingressClassName` when both are specified";
        errors.push(Error::invalid(&annotations.child(CLASS_ANNOTATION), class.clone(), words));
    }
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let spec = &old["spec"];
    let tolerated = Tolerated {
        secret_names: elements(&spec["tls"]).iter().any(|tls| {
            let name = text(tls, "secretName");
            !name.is_empty() && !names::is_dns1123_subdomain(name).is_empty()
        }),
        wildcard_rules: elements(&spec["rules"]).iter().any(|rule| {
            let mut found = Errors::new();
            let spot = Spot::root(rule);
            validate_paths(&spot.field("http"), &mut found);
            text(rule, "host").contains('*') && !found.is_empty()
        }),
    };
    validate_spec(new, tolerated, errors);
}

fn validate_spec(ingress: &Value, tolerated: Tolerated, errors: &mut Errors) {
    let root = Spot::root(ingress);
    let spec = root.field("spec");
    let (rules, backend) = (spec.field("rules"), spec.field("defaultBackend"));
    if !rules.filled() && !backend.given() {
        let words = "either `defaultBackend` or `rules` must be specified";
        errors.push(Error::invalid(&spec.path, rules.value.clone(), words));
    }
    if backend.given() {
        validate_backend(&backend, errors);
    }
    rules.each(|_, rule| {
        let host = rule.field("host");
        if host.filled() {
            if address::parse_leniently(host.text()).is_some() {
                host.invalid("must be a DNS name, not an IP address", errors);
            }
            validate_host(&host, errors);
        }
        if !tolerated.wildcard_rules || !host.text().contains('*') {
            validate_paths(&rule.field("http"), errors);
        }
    });
    spec.field("tls").each(|_, tls| {
        tls.field("hosts").each(|_, host| validate_host(host, errors));
        if !tolerated.secret_names {
            tls.field("secretName").check(&[SUBDOMAIN], errors);
        }
    });
    let class = spec.field("ingressClassName");
    if class.given() {
        class.text_passes(names::is_dns1123_subdomain, errors);
    }
}

fn validate_host(host: &Spot<'_>, errors: &mut Errors) {
    if host.text().contains('*') {
        host.text_passes(names::is_wildcard_dns1123_subdomain, errors);
    } else {
        host.text_passes(names::is_dns1123_subdomain, errors);
    }
}

fn validate_paths(http: &Spot<'_>, errors: &mut Errors) {
    if !http.given() {
        return;
    }
    let paths = http.field("paths");
    if !paths.filled() {
        errors.push(Error::required(&paths.path, ""));
    }
    paths.each(|_, one| {
        let (kind, path) = (one.field("pathType"), one.field("path"));
        if !kind.given() {
            return errors.push(Error::required(&kind.path, "pathType must be specified"));
        }
        let absolute = path.text().starts_with('/');
        let mut report = |words: String| errors.push(Error::invalid(&path.path, path.text(), words));
        match kind.text() {
            "Exact" | "Prefix" => {
                if !absolute {
                    report("must be an absolute path".to_owned());
                }
                for part in ["//", "/./", "/../", "%2f", "%2F"] {
                    if path.text().contains(part) {
                        report(format!("must not contain '{part}'"));
                    }
                }
                for end in ["/..", "/."] {
                    if path.text().ends_with(end) {
                        report(format!("cannot end with '{end}'"));
                    }
                }
            }
            "ImplementationSpecific" => {
                if path.filled() && !absolute {
                    report("must be an absolute path".to_owned());
                }
            }
            other => {
                errors.push(Error::not_supported(&kind.path, other, &["Exact", "ImplementationSpecific", "Prefix"]));
            }
        }
        validate_backend(&one.field("backend"), errors);
    });
}

fn validate_backend(backend: &Spot<'_>, errors: &mut Errors) {
    let (resource, service) = (backend.field("resource"), backend.field("service"));
    match (resource.given(), service.given()) {
        (true, true) => {
            errors.push(Error::invalid(&backend.path, "", "cannot set both resource and service backends"));
        }
        (true, false) => {
            validate_group(&resource.field("apiGroup"), errors);
            resource.check_fields(REFERENCE, errors);
        }
        (false, true) => {
            service.field("name").check(&[Check::Required, LABEL], errors);
            let port = service.field("port");
            let (name, number) = (port.field("name"), port.field("number"));
            match (name.filled(), number.filled()) {
                (true, true) => {
                    errors.push(Error::invalid(&backend.path, "", "cannot set both port name & port number"));
                }
                (true, false) => name.text_passes(names::is_port_name, errors),
                (false, true) => number.port(errors),
                (false, false) => errors.push(Error::required(&backend.path, "port name or number is required")),
            }
        }
        (false, false) => errors.push(Error::invalid(&backend.path, "", "resource or service backend is required")),
    }
}

fn validate_group(group: &Spot<'_>, errors: &mut Errors) {
    if group.given() {
        group.text_passes(names::is_dns1123_subdomain, errors);
    }
}

pub(super) fn validate_status_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let status = root.field("status");
    let balancer = status.field("loadBalancer");
    validate_ingress(&balancer.field("ingress"), &old["status"]["loadBalancer"]["ingress"], errors, |_, _| {});
}

pub(super) fn warnings(ingress: &Value, warnings: &mut Vec<String>) {
    if ingress["metadata"]["annotations"].get(CLASS_ANNOTATION).is_some()
        && ingress["spec"]["ingressClassName"].is_null()
    {
        warnings.push(format!(
            "annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        ));
    }
}

pub(super) fn class_defaults(class: &mut Value) {
    if let Some(parameters) = class.at("spec").and_then(|spec| spec.at("parameters")) {
        parameters.fill("scope", "Cluster");
    }
}

pub(super) fn validate_class(class: &Value, errors: &mut Errors) {
    let root = Spot::root(class);
    let spec = root.field("spec");
    let controller = spec.field("controller");
    controller.check(&[Check::Longest(CONTROLLER_MAX)], errors);
    validate_controller(&controller, errors);
    let parameters = spec.field("parameters");
    if parameters.given() {
        validate_parameters(&parameters, errors);
    }
}

fn validate_controller(controller: &Spot<'_>, errors: &mut Errors) {
    if !controller.filled() {
        return errors.push(Error::required(&controller.path, ""));
    }
    let (host, path) = controller.text().split_once('/').unwrap_or_default();
    if host.is_empty() || path.is_empty() {
        return controller.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")", errors);
    }
    errors.extend(
        names::is_dns1123_subdomain(host).into_iter().map(|words| Error::invalid(&controller.path, host, words)),
    );
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(allowed) {
        let words = names::format_error("Invalid path", PATH_CHARACTERS, &[]);
        errors.push(Error::invalid(&controller.path, path, words));
    }
}

fn validate_parameters(parameters: &Spot<'_>, errors: &mut Errors) {
    validate_group(&parameters.field("apiGroup"), errors);
    parameters.check_fields(REFERENCE, errors);
    let (scope, namespace) = (parameters.field("scope"), parameters.field("namespace"));
    if !scope.given() {
        return errors.push(Error::required(&scope.path, ""));
    }
    match (scope.text(), namespace.given()) {
        ("Namespace", false) => {
            errors.push(Error::required(&namespace.path, "`parameters.scope` is set to 'Namespace'"));
        }
        ("Namespace", true) => namespace.text_passes(names::is_dns1123_label, errors),
        ("Cluster", true) => namespace.forbidden("`parameters.scope` is set to 'Cluster'", errors),
        ("Cluster", false) => {}
        (other, _) => errors.push(Error::not_supported(&scope.path, other, &["Cluster", "Namespace"])),
    }
}

pub(super) fn validate_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    immutable_text(&spec.field("controller"), &old["spec"]["controller"], errors);
    validate_class(new, errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn rules_lead_somewhere() {
        let ingress = json!({"spec": {"rules": [
            {"host": "1.1.1.1", "http": {"paths": [{"path": "a//b", "pathType": "Exact", "backend": {}}, {}]}},
            {"host": "*.x", "http": {"paths": [{"path": "/", "pathType": "Odd", "backend": {"service": {"name": "s", "port": {}}}}]}}],
            "tls": [{"secretName": "A"}], "ingressClassName": "B"}});
        let found = words(|errors| validate(&ingress, errors));
        assert_eq!(
            found[..7],
            [
                r#"spec.rules[0].host: Invalid value: "1.1.1.1": must be a DNS name, not an IP address"#,
                r#"spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path"#,
                r#"spec.rules[0].http.paths[0].path: Invalid value: "a//b": must not contain '//'"#,
                r#"spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required"#,
                "spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified",
                r#"spec.rules[1].http.paths[0].pathType: Unsupported value: "Odd": supported values: "Exact", "ImplementationSpecific", "Prefix""#,
                "spec.rules[1].http.paths[0].backend: Required value: port name or number is required",
            ]
        );
        assert_eq!(found.len(), 9);
        assert_eq!(
            words(|errors| validate(&json!({"spec": {}}), errors)),
            ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
        );
    }

    #[test]
    fn classes_name_their_controller() {
        let class =
            json!({"spec": {"controller": "x", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}});
        assert_eq!(
            words(|errors| validate_class(&class, errors)),
            [
                r#"spec.controller: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")"#,
                "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
            ]
        );
        let new = json!({"spec": {"controller": "a.b/c"}});
        assert_eq!(
            words(|errors| validate_class_update(&new, &class, errors)),
            [r#"spec.controller: Invalid value: "a.b/c": field is immutable"#]
        );
    }
}
