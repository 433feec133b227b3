//! What containers may do as if they were root.

use std::collections::BTreeSet;

use roost_object::Value;

use super::{Pod, Violation, containers, name, quoted};

const DEFAULT: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn list<'a>(container: &'a Value, kind: &str) -> impl Iterator<Item = &'a str> {
    container["securityContext"]["capabilities"][kind].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The containers that add what is not allowed, and what that is.
fn adding<'a>(pod: Pod<'a>, allowed: &[&str]) -> (Vec<&'a str>, BTreeSet<&'a str>) {
    let (mut names, mut added) = (Vec::new(), BTreeSet::new());
    for container in pod.containers() {
        let bad: Vec<&str> = list(container, "add").filter(|capability| !allowed.contains(capability)).collect();
        if !bad.is_empty() {
            names.push(name(container));
            added.extend(bad);
        }
    }
    (names, added)
}

pub(super) fn only_default(pod: Pod<'_>) -> Option<Violation> {
    let (names, added) = adding(pod, DEFAULT);
    (!names.is_empty()).then(|| Violation {
        reason: "non-default capabilities",
        detail: format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&names),
            quoted(added)
        ),
    })
}

pub(super) fn all_dropped(pod: Pod<'_>) -> Option<Violation> {
    let keeping: Vec<&str> = pod
        .containers()
        .filter(|container| !list(container, "drop").any(|capability| capability == "ALL"))
        .map(name)
        .collect();
    let (names, added) = adding(pod, &["NET_BIND_SERVICE"]);
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&keeping)));
    }
    if !names.is_empty() {
        details.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&names),
            quoted(added)
        ));
    }
    (!details.is_empty()).then(|| Violation { reason: "unrestricted capabilities", detail: details.join("; ") })
}
