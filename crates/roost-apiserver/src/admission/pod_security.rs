//! `PodSecurity`: the levels that a namespace's labels ask for, over its pods and the templates of pods.

use roost_admission::pod_security::{self, Level, Pod, Policy, evaluate};
use roost_object::{GroupKind, Status, Value};

use super::{Attributes, Verb};

/// Subresources of pods that cannot change what a pod may do.
const HARMLESS: &[&str] = &["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

const WORKLOADS: &[(&str, &str)] = &[
    ("", "replicationcontrollers"),
    ("", "podtemplates"),
    ("apps", "replicasets"),
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
];

pub(super) fn check(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    if attributes.verb == Verb::Delete {
        return Ok(());
    }
    if target.resource.is("", "pods") {
        return check_pod(attributes, object);
    }
    if !target.subresource.is_empty() {
        return Ok(());
    }
    if target.resource.is("", "namespaces") {
        return check_namespace(attributes, object);
    }
    if WORKLOADS.iter().any(|(group, plural)| target.resource.is(group, plural)) {
        check_workload(attributes, object);
    }
    Ok(())
}

/// Labels must be readable, and those who make a namespace stricter hear of the pods that are no longer welcome.
fn check_namespace(attributes: &Attributes<'_>, namespace: &Value) -> Result<(), Status> {
    let name = crate::write::metadata_text(namespace, "name");
    let (policy, errors) = Policy::read(&namespace["metadata"]["labels"]);
    let refused = || Err(Status::invalid(&GroupKind::new("", "Namespace"), name, &errors));
    let Some(old) = attributes.old else {
        return if errors.is_empty() { Ok(()) } else { refused() };
    };
    let (old_policy, old_errors) = Policy::read(&old["metadata"]["labels"]);
    if !errors.is_empty() && errors != old_errors {
        return refused();
    }
    let (new, old) = (policy.enforce, old_policy.enforce);
    let relaxed = new.version == old.version && new.level <= old.level;
    if new == old || new.level == Level::Privileged || relaxed {
        return Ok(());
    }
    let call = attributes.target.call;
    let pods = call.cluster.find_all("", "pods", name);
    for warning in pod_security::existing_pods(name, new, &pods) {
        call.warnings.add(warning);
    }
    Ok(())
}

fn check_pod(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    if HARMLESS.contains(&target.subresource) {
        return Ok(());
    }
    let Some(namespace) = target.call.cluster.namespace(target.namespace) else {
        let why = format!("failed to lookup namespace \"{}\"", target.namespace);
        return Err(Status::internal(why));
    };
    let policy = namespace.pod_security;
    if namespace.pod_security_errors.is_empty() && policy.is_privileged() {
        target.call.annotations.add("pod-security.kubernetes.io/enforce-policy", "privileged:latest");
        return Ok(());
    }
    if attributes.old.is_some_and(|old| !pod_security::is_significant_update(object, old)) {
        return Ok(());
    }
    let pod = Pod::of(object);
    let annotations = &target.call.annotations;
    annotate_errors(attributes, &namespace.pod_security_errors);
    annotations.add("pod-security.kubernetes.io/enforce-policy", policy.enforce.to_string());
    let verdict = evaluate(policy.enforce, pod);
    annotate_violations(attributes, &policy, pod);
    if !verdict.is_allowed() {
        let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, verdict.details());
        return Err(Status::forbidden(&target.resource.group_resource(), target.name, &why));
    }
    warn(attributes, &policy, pod);
    Ok(())
}

/// Workloads are never refused, as their pods will be; but it is better to hear of it at once.
fn check_workload(attributes: &Attributes<'_>, object: &Value) {
    let target = &attributes.target;
    let Some(namespace) = target.call.cluster.namespace(target.namespace) else { return };
    let policy = namespace.pod_security;
    if namespace.pod_security_errors.is_empty() && policy.is_silent() {
        return;
    }
    if let Some(pod) = Pod::of_workload(&target.resource.plural, object) {
        annotate_errors(attributes, &namespace.pod_security_errors);
        annotate_violations(attributes, &policy, pod);
        warn(attributes, &policy, pod);
    }
}

fn warn(attributes: &Attributes<'_>, policy: &Policy, pod: Pod<'_>) {
    let verdict = evaluate(policy.warn, pod);
    if !verdict.is_allowed() {
        let words = format!("would violate PodSecurity \"{}\": {}", policy.warn, verdict.details());
        attributes.target.call.warnings.add(words);
    }
}

fn annotate_violations(attributes: &Attributes<'_>, policy: &Policy, pod: Pod<'_>) {
    let verdict = evaluate(policy.audit, pod);
    if !verdict.is_allowed() {
        let words = format!("would violate PodSecurity \"{}\": {}", policy.audit, verdict.details());
        attributes.target.call.annotations.add("pod-security.kubernetes.io/audit-violations", words);
    }
}

fn annotate_errors(attributes: &Attributes<'_>, errors: &[roost_object::field::Error]) {
    if !errors.is_empty() {
        let words = format!("Failed to parse policy: {}", roost_object::field::aggregate(errors));
        attributes.target.call.annotations.add("pod-security.kubernetes.io/error", words);
    }
}
