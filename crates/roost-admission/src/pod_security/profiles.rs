//! The profiles that confine a container: `AppArmor`, `SELinux`, seccomp.

use std::collections::BTreeSet;

use roost_object::Value;
use roost_object::field::quote;

use super::{Pod, Violation, containers, name, plural, quoted, setters};

const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// The type of a profile that a pod or container sets, if it sets one at all.
fn profile<'a>(holder: &'a Value, kind: &str) -> Option<&'a str> {
    let profile = &holder["securityContext"][kind];
    profile.is_object().then(|| profile["type"].as_str().unwrap_or_default())
}

fn is_confined(kind: &str) -> bool {
    matches!(kind, "RuntimeDefault" | "Localhost")
}

pub(super) fn app_armor(pod: Pod<'_>) -> Option<Violation> {
    let mut kinds = BTreeSet::new();
    let of_pod = profile(pod.spec, "appArmorProfile").filter(|kind| !is_confined(kind));
    kinds.extend(of_pod);
    let mut names = Vec::new();
    for container in pod.containers() {
        if let Some(kind) = profile(container, "appArmorProfile").filter(|kind| !is_confined(kind)) {
            names.push(name(container));
            kinds.insert(kind);
        }
    }
    let mut annotations: Vec<String> = pod.metadata["annotations"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with(APP_ARMOR_ANNOTATION))
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        .filter(|(_, value)| !value.is_empty() && *value != "runtime/default" && !value.starts_with("localhost/"))
        .map(|(key, value)| format!("{key}={}", quote(value)))
        .collect();
    annotations.sort();
    let mut who: Vec<String> = setters(of_pod.is_some(), &names).into_iter().collect();
    if !annotations.is_empty() {
        who.push(plural("annotation", "annotations", annotations.len()).to_owned());
    }
    if who.is_empty() {
        return None;
    }
    let bad: Vec<String> = kinds.into_iter().map(str::to_owned).chain(annotations).collect();
    Some(Violation {
        reason: plural("forbidden AppArmor profile", "forbidden AppArmor profiles", bad.len()),
        detail: format!("{} must not set AppArmor profile type to {}", who.join(" and "), quoted(&bad)),
    })
}

pub(super) const SE_LINUX_TYPES: &[&str] = &["", "container_t", "container_init_t", "container_kvm_t"];
pub(super) const SE_LINUX_TYPES_1_31: &[&str] =
    &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

pub(super) fn se_linux(pod: Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let (mut user, mut role) = (false, false);
    let mut is_bad = |holder: &Value| {
        let options = &holder["securityContext"]["seLinuxOptions"];
        let text = |field: &str| options[field].as_str().unwrap_or_default();
        let bad_type = !allowed.contains(&text("type"));
        if bad_type {
            types.insert(text("type").to_owned());
        }
        let (sets_user, sets_role) = (!text("user").is_empty(), !text("role").is_empty());
        user |= sets_user;
        role |= sets_role;
        bad_type || sets_user || sets_role
    };
    let bad_pod = is_bad(pod.spec);
    let names: Vec<&str> = pod.containers().filter(|container| is_bad(container)).map(name).collect();
    let who = setters(bad_pod, &names)?;
    let mut bad = Vec::new();
    if !types.is_empty() {
        bad.push(format!("{} {}", plural("type", "types", types.len()), quoted(&types)));
    }
    if user {
        bad.push("user may not be set".to_owned());
    }
    if role {
        bad.push("role may not be set".to_owned());
    }
    Some(Violation {
        reason: "seLinuxOptions",
        detail: format!("{who} set forbidden securityContext.seLinuxOptions: {}", bad.join("; ")),
    })
}

/// Before 1.19 profiles were annotations.
pub(super) fn seccomp_annotations(pod: Pod<'_>) -> Option<Violation> {
    let of_containers = pod.containers().map(|container| format!("{SECCOMP_CONTAINER_ANNOTATION}{}", name(container)));
    let bad: BTreeSet<String> = std::iter::once(SECCOMP_POD_ANNOTATION.to_owned())
        .chain(of_containers)
        .filter_map(|key| {
            let value = pod.metadata["annotations"].get(&key)?.as_str()?;
            let valid = matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
            (!valid).then(|| format!("{key}={}", quote(value)))
        })
        .collect();
    (!bad.is_empty()).then(|| Violation {
        reason: "seccompProfile",
        detail: format!(
            "forbidden {} {}",
            plural("annotation", "annotations", bad.len()),
            bad.into_iter().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// With `required`, every container must have a profile, of its own or the pod's.
pub(super) fn seccomp(pod: Pod<'_>, required: bool) -> Option<Violation> {
    let of_pod = profile(pod.spec, "seccompProfile");
    let bad_pod = of_pod.filter(|kind| !is_confined(kind));
    let covered = of_pod.is_some_and(is_confined);
    let mut kinds: BTreeSet<&str> = bad_pod.into_iter().collect();
    let (mut bad, mut without) = (Vec::new(), Vec::new());
    for container in pod.containers() {
        match profile(container, "seccompProfile") {
            Some(kind) if is_confined(kind) => {}
            Some(kind) => {
                bad.push(name(container));
                kinds.insert(kind);
            }
            None if covered => {}
            None => without.push(name(container)),
        }
    }
    if let Some(who) = setters(bad_pod.is_some(), &bad) {
        let detail = format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(&kinds));
        return Some(Violation { reason: "seccompProfile", detail });
    }
    (required && !without.is_empty()).then(|| Violation {
        reason: "seccompProfile",
        detail: format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            containers(&without)
        ),
    })
}
