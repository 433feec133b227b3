//! What is allowed in pods but should be known.

use roost_object::field::{Path, quote};
use roost_object::{Quantity, Value, names};

use super::annotations::{APP_ARMOR, SECCOMP_OF_CONTAINER, SECCOMP_OF_POD, app_armor_profile};
use super::{overlap, visit_containers};
use crate::address;
use crate::check::{Spot, elements, text};
use crate::internal;

/// The internal type of a profile.
const APP_ARMOR_PROFILE: &str = "*AppArmorProfile";

static OLD_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    ("security.alpha.kubernetes.io/sysctls", r#"non-functional in v1.11+; use the "sysctls" field instead"#),
    ("security.alpha.kubernetes.io/unsafe-sysctls", r#"non-functional in v1.11+; use the "sysctls" field instead"#),
];

static OLD_VOLUMES: &[(&str, &str, &str)] = &[
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Why a label of nodes should no longer be used.
pub(crate) fn old_node_label(key: &str) -> Option<&'static str> {
    Some(match key {
        "beta.kubernetes.io/arch" => r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#,
        "beta.kubernetes.io/os" => r#"deprecated since v1.14; use "kubernetes.io/os" instead"#,
        "failure-domain.beta.kubernetes.io/region" => {
            r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#
        }
        "beta.kubernetes.io/instance-type" => {
            r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#
        }
        "app.kubernetes.io/created-by" => "deprecated since v1.9",
        "scheduler.alpha.kubernetes.io/preferAvoidPods" => "deprecated since v1.22; use Taints and Tolerations instead",
        "node-role.kubernetes.io/master" => r#"use "node-role.kubernetes.io/control-plane" instead"#,
        _ => return None,
    })
}

/// Warnings about a new pod.
pub(super) fn of_pod(pod: &Value, warnings: &mut Vec<String>) {
    let root = Spot::root(pod);
    of_app_armor_annotations(pod, warnings);
    let sentences = names::is_dns1123_label(text(&pod["metadata"], "name"));
    if !sentences.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]",
            sentences.join(" ")
        ));
    }
    of_spec(&root, false, warnings);
}

/// Warnings about a pod template.
pub(crate) fn of_template(template: &Spot<'_>, warnings: &mut Vec<String>) {
    of_spec(template, true, warnings);
}

fn of_spec(holder: &Spot<'_>, is_template: bool, warnings: &mut Vec<String>) {
    let spec = holder.field("spec");
    let meta = holder.field("metadata");
    let annotations = meta.field("annotations");
    spec.field("nodeSelector").entries(|key, label| {
        if let Some(words) = old_node_label(key) {
            warnings.push(format!("{}: {words}", label.path));
        }
    });
    of_node_affinity(&spec, warnings);
    spec.field("topologySpreadConstraints").each(|_, constraint| {
        let key = constraint.field("topologyKey");
        if let Some(words) = old_node_label(key.text()) {
            warnings.push(format!("{}: {} is {words}", key.path, key.text()));
        }
        of_missing_selector(constraint, warnings);
    });
    for (key, words) in OLD_ANNOTATIONS {
        if annotations.value.get(key).is_some() {
            warnings.push(format!("{}: {words}", annotations.path.key(key)));
        }
    }
    spec.field("volumes").each(|_, volume| of_volume(volume, warnings));
    overlap::warn(elements(&spec.value["volumes"]), warnings);
    of_repeated(&spec.field("hostAliases"), "ip", warnings);
    of_repeated(&spec.field("imagePullSecrets"), "name", warnings);
    spec.field("imagePullSecrets").each(|_, secret| {
        if !secret.field("name").filled() {
            warnings.push(format!("{}: invalid empty name \"\"", secret.field("name").path));
        }
    });
    of_fractional_bytes(&spec.field("overhead"), warnings);
    if spec.value["securityContext"]["seccompProfile"].is_null() && annotations.value.get(SECCOMP_OF_POD).is_some() {
        of_seccomp_annotation(&annotations.path.key(SECCOMP_OF_POD), warnings);
    }
    visit_containers(&spec, |container| of_container(container, &spec, &annotations, is_template, warnings));
    of_ports(&spec, warnings);
    if spec.field("terminationGracePeriodSeconds").number() < 0 {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            spec.field("terminationGracePeriodSeconds").path
        ));
    }
    let affinity = spec.field("affinity");
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = affinity.field(kind);
        terms
            .field("requiredDuringSchedulingIgnoredDuringExecution")
            .each(|_, term| of_missing_selector(term, warnings));
        terms
            .field("preferredDuringSchedulingIgnoredDuringExecution")
            .each(|_, term| of_missing_selector(&term.field("podAffinityTerm"), warnings));
    }
    let dns = spec.field("dnsConfig");
    dns.field("nameservers").each(|_, server| address::warn(server.text(), &server.path, warnings));
    spec.field("hostAliases").each(|_, alias| {
        let ip = alias.field("ip");
        address::warn(ip.text(), &ip.path, warnings);
    });
}

fn of_missing_selector(holder: &Spot<'_>, warnings: &mut Vec<String>) {
    let selector = holder.field("labelSelector");
    if !selector.given() {
        warnings.push(format!("{}: a null labelSelector results in matching no pod", selector.path));
    }
}

fn of_seccomp_annotation(path: &Path<'_>, warnings: &mut Vec<String>) {
    warnings.push(format!("{path}: non-functional in v1.27+; use the \"seccompProfile\" field instead"));
}

fn of_node_affinity(spec: &Spot<'_>, warnings: &mut Vec<String>) {
    let affinity = spec.field("affinity");
    let nodes = affinity.field("nodeAffinity");
    let mut of_term = |term: &Spot<'_>, check_values: bool| {
        term.field("matchExpressions").each(|_, expression| {
            let key = expression.field("key");
            if let Some(words) = old_node_label(key.text()) {
                warnings.push(format!("{}: {} is {words}", key.path, key.text()));
            }
            if check_values {
                expression.field("values").each(|_, value| {
                    for words in names::is_label_value(value.text()) {
                        warnings.push(format!("{}: {} is invalid, {words}", value.path, value.text()));
                    }
                });
            }
        });
    };
    let required = nodes.field("requiredDuringSchedulingIgnoredDuringExecution");
    required.field("nodeSelectorTerms").each(|_, term| of_term(term, false));
    nodes
        .field("preferredDuringSchedulingIgnoredDuringExecution")
        .each(|_, term| of_term(&term.field("preference"), true));
}

fn of_volume(volume: &Spot<'_>, warnings: &mut Vec<String>) {
    for (field, reported_as, words) in OLD_VOLUMES {
        // Warnings about claims come where stock looks at them, between the older and the newer kinds.
        if *field == "cephfs" {
            of_ephemeral(volume, warnings);
        }
        if !volume.value[field].is_null() {
            warnings.push(format!("{}: {words}", volume.path.child(reported_as)));
        }
    }
}

fn of_ephemeral(volume: &Spot<'_>, warnings: &mut Vec<String>) {
    let ephemeral = volume.field("ephemeral");
    let template = ephemeral.field("volumeClaimTemplate");
    let spec = template.field("spec");
    of_claim(&spec, warnings);
}

/// Warnings about the spec of a claim.
pub(crate) fn of_claim(spec: &Spot<'_>, warnings: &mut Vec<String>) {
    let resources = spec.field("resources");
    for kind in ["requests", "limits"] {
        of_fraction(&resources.field(kind), "storage", warnings);
    }
}

fn of_fraction(list: &Spot<'_>, name: &str, warnings: &mut Vec<String>) {
    let Some(Ok(amount)) = list.value.get(name).map(Quantity::from_value) else { return };
    if amount.milli_value() % 1000 != 0 {
        let shown = quote(&amount.to_string());
        warnings.push(format!("{}: fractional byte value {shown} is invalid, must be an integer", list.path.key(name)));
    }
}

fn of_fractional_bytes(list: &Spot<'_>, warnings: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        of_fraction(list, name, warnings);
    }
}

fn of_repeated(list: &Spot<'_>, key: &str, warnings: &mut Vec<String>) {
    list.each(|index, element| {
        let value = element.field(key);
        if list.elements()[..index].iter().any(|earlier| text(earlier, key) == value.text()) {
            warnings.push(format!("{}: duplicate {key} {}", value.path, quote(value.text())));
        }
    });
}

fn of_container(
    container: &Spot<'_>,
    spec: &Spot<'_>,
    annotations: &Spot<'_>,
    is_template: bool,
    warnings: &mut Vec<String>,
) {
    let name = text(container.value, "name");
    let context = &container.value["securityContext"];
    let key = format!("{SECCOMP_OF_CONTAINER}{name}");
    if context["seccompProfile"].is_null() && annotations.value.get(&key).is_some() {
        of_seccomp_annotation(&annotations.path.key(&key), warnings);
    }
    let key = format!("{APP_ARMOR}{name}");
    if is_template
        && context["appArmorProfile"].is_null()
        && let Some(annotation) = annotations.value.get(&key).and_then(Value::as_str)
    {
        let of_pod = &spec.value["securityContext"]["appArmorProfile"];
        let agrees = !of_pod.is_null()
            && app_armor_profile(annotation).is_some_and(|profile| internal::same(APP_ARMOR_PROFILE, &profile, of_pod));
        if !agrees {
            of_app_armor_annotation(&annotations.path.key(&key), warnings);
        }
    }
    let resources = container.field("resources");
    for name in ["memory", "ephemeral-storage"] {
        for kind in ["limits", "requests"] {
            of_fraction(&resources.field(kind), name, warnings);
        }
    }
    let variables = container.field("env");
    variables.each(|index, variable| {
        let name = text(variable.value, "name");
        if !variables.elements()[..index].iter().any(|earlier| text(earlier, "name") == name) {
            return;
        }
        // A definition that builds on the one before does not hide it.
        let reference = format!("$({name})");
        let value = text(variable.value, "value");
        if !variable.value["valueFrom"].is_null() || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                variable.path,
                quote(name)
            ));
        }
    });
}

fn of_app_armor_annotation(path: &Path<'_>, warnings: &mut Vec<String>) {
    warnings.push(format!("{path}: deprecated since v1.30; use the \"appArmorProfile\" field instead"));
}

/// Pods got their annotations as fields before they were stored; this tells so.
fn of_app_armor_annotations(pod: &Value, warnings: &mut Vec<String>) {
    let root = Spot::root(pod);
    let meta = root.field("metadata");
    let annotations = meta.field("annotations");
    let of_pod = &pod["spec"]["securityContext"]["appArmorProfile"];
    visit_containers(&root.field("spec"), |container| {
        let key = format!("{APP_ARMOR}{}", text(container.value, "name"));
        let Some(annotation) = annotations.value.get(&key).and_then(Value::as_str) else { return };
        let own = &container.value["securityContext"]["appArmorProfile"];
        let became_field = match app_armor_profile(annotation) {
            Some(profile) => {
                internal::same(APP_ARMOR_PROFILE, &profile, own) && !internal::same(APP_ARMOR_PROFILE, &profile, of_pod)
            }
            None => own.is_null(),
        };
        if became_field && pod["spec"]["os"]["name"] != "windows" {
            of_app_armor_annotation(&annotations.path.key(&key), warnings);
        }
    });
}

fn of_ports(spec: &Spot<'_>, warnings: &mut Vec<String>) {
    let number = |port: &Value, name: &str| port[name].as_i64().unwrap_or_default();
    let mut seen: Vec<(String, &Value)> = Vec::new();
    let mut all: Vec<(String, &Value)> = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in elements(&spec.value[list]).iter().enumerate() {
            for (position, port) in elements(&container["ports"]).iter().enumerate() {
                let list = spec.path.child(list);
                let container = list.index(index);
                let ports = container.child("ports");
                all.push((ports.index(position).to_string(), port));
            }
        }
    }
    for (path, port) in &all {
        let (ip, host_port) = (text(port, "hostIP"), number(port, "hostPort"));
        if !ip.is_empty() && host_port == 0 {
            let shown = format!(
                "{{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{ip}}}",
                text(port, "name"),
                number(port, "containerPort"),
                text(port, "protocol")
            );
            warnings.push(format!("{path}: hostIP set without hostPort: {shown}"));
        }
        for (other_path, other) in &seen {
            if other["containerPort"] != port["containerPort"] || text(other, "protocol") != text(port, "protocol") {
                continue;
            }
            let (other_ip, other_port) = (text(other, "hostIP"), number(other, "hostPort"));
            if ip == other_ip && host_port == other_port {
                warnings.push(format!("{path}: duplicate port definition with {other_path}"));
            } else if host_port == 0 || other_port == 0 {
                warnings.push(format!("{path}: overlapping port definition with {other_path}"));
            } else if host_port == other_port && ip.is_empty() != other_ip.is_empty() {
                warnings.push(format!("{path}: dangerously ambiguous port definition with {other_path}"));
            }
        }
        seen.push((path.clone(), port));
    }
    for (index, (path, port)) in all.iter().enumerate() {
        let name = text(port, "name");
        if let Some((other, _)) =
            all[..index].iter().find(|(_, earlier)| !name.is_empty() && text(earlier, "name") == name)
        {
            warnings.push(format!(
                "{path}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                quote(name)
            ));
        }
    }
}
