//! Security contexts of pods and containers.

use roost_object::field::{Error, Errors};

use super::spec::Options;
use super::{os, visit_containers};
use crate::check::Check::{Between, Each, OneOf, OneOfGiven};
use crate::check::{Check, DESCENDING_PATH, Field, Spot, text};
use crate::internal;

const USER_OR_GROUP: &[Check] = &[Between(0, i32::MAX as i64)];

/// The three kinds of profile that seccomp and `AppArmor` know.
const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];

/// Checks the security context of a container.
pub(super) fn validate_container_context(context: &Spot<'_>, host_users: bool, errors: &mut Errors) {
    if !context.given() {
        return;
    }
    context.check_fields(&[("runAsUser", USER_OR_GROUP), ("runAsGroup", USER_OR_GROUP)], errors);
    let proc_mount = context.field("procMount");
    proc_mount.check(&[OneOfGiven(&["Default", "Unmasked"])], errors);
    if host_users && proc_mount.text() == "Unmasked" {
        proc_mount.invalid("`hostUsers` must be false to use `Unmasked`", errors);
    }
    validate_seccomp_profile(&context.field("seccompProfile"), errors);
    if context.value["allowPrivilegeEscalation"] == false {
        let mut report = |words: &str| {
            let shown = internal::print("SecurityContext", context.value);
            errors.push(Error::invalid_omitted(&context.path, format!("{shown}: {words}")));
        };
        if context.field("privileged").is_true() {
            report("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        let added = context.value["capabilities"]["add"].as_array();
        for _ in added.into_iter().flatten().filter(|capability| *capability == "CAP_SYS_ADMIN") {
            report("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    os::validate_windows_options(&context.field("windowsOptions"), errors);
    validate_app_armor_profile(&context.field("appArmorProfile"), errors);
}

/// Checks the security context of a pod.
pub(super) fn validate_pod_context(spec: &Spot<'_>, options: &Options, errors: &mut Errors) {
    static NUMBERS: &[Field] = &[
        ("fsGroup", USER_OR_GROUP),
        ("runAsUser", USER_OR_GROUP),
        ("runAsGroup", USER_OR_GROUP),
        ("supplementalGroups", &[Each(USER_OR_GROUP)]),
    ];
    let context = spec.field("securityContext");
    if !context.given() {
        return;
    }
    context.check_fields(NUMBERS, errors);
    if spec.field("hostPID").is_true() && spec.field("shareProcessNamespace").is_true() {
        let path = context.path.child("shareProcessNamespace");
        errors.push(Error::invalid(&path, true, "ShareProcessNamespace and HostPID cannot both be enabled"));
    }
    validate_sysctls(&context.field("sysctls"), spec, options, errors);
    let change_policy = context.field("fsGroupChangePolicy");
    if change_policy.given() && !matches!(change_policy.text(), "Always" | "OnRootMismatch") {
        errors.push(Error::not_supported(&change_policy.path, change_policy.text(), &["Always", "OnRootMismatch"]));
    }
    validate_seccomp_profile(&context.field("seccompProfile"), errors);
    os::validate_windows_options(&context.field("windowsOptions"), errors);
    validate_app_armor_profile(&context.field("appArmorProfile"), errors);
    let groups_policy = context.field("supplementalGroupsPolicy");
    if groups_policy.given() && !matches!(groups_policy.text(), "Merge" | "Strict") {
        errors.push(Error::not_supported(&groups_policy.path, groups_policy.text(), &["Merge", "Strict"]));
    }
    let label_policy = context.field("seLinuxChangePolicy");
    if label_policy.given() {
        let allowed: &[&str] =
            if options.allow_any_selinux_change_policy { &["MountOption", "Recursive"] } else { &["Recursive"] };
        if !allowed.contains(&label_policy.text()) {
            errors.push(Error::not_supported(&label_policy.path, label_policy.text(), allowed));
        }
    }
}

fn validate_sysctls(sysctls: &Spot<'_>, spec: &Spot<'_>, options: &Options, errors: &mut Errors) {
    sysctls.each(|index, sysctl| {
        let name = sysctl.field("name");
        let earlier = &sysctls.elements()[..index];
        if !name.filled() {
            errors.push(Error::required(&name.path, ""));
        } else if !is_sysctl(name.text()) {
            let words = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            name.invalid(words, errors);
        } else if earlier.iter().any(|other| text(other, "name") == name.text()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        if !options.allow_host_sysctls
            && let Some(words) = host_sysctl(name.text(), spec)
        {
            errors.push(Error::invalid(&name.path, name.text(), words));
        }
    });
}

fn is_sysctl(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        bytes.first().is_some_and(|byte| is_word(*byte))
            && bytes.last().is_some_and(|byte| is_word(*byte))
            && bytes.iter().all(|byte| is_word(*byte) || matches!(byte, b'-' | b'_'))
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_segment)
}

/// Says why a sysctl may not be set, where it would be the host's.
pub(super) fn host_sysctl(name: &str, spec: &Spot<'_>) -> Option<&'static str> {
    // Slashes and dots trade places where a slash comes first.
    let normalized = match name.find(['.', '/']) {
        Some(first) if name.as_bytes()[first] == b'/' => name
            .chars()
            .map(|c| {
                if c == '/' {
                    '.'
                } else if c == '.' {
                    '/'
                } else {
                    c
                }
            })
            .collect(),
        _ => name.to_owned(),
    };
    let normalized = normalized.split('*').next().unwrap_or_default();
    let is_ipc = matches!(
        normalized,
        "kernel.sem"
            | "kernel.shmall"
            | "kernel.shmmax"
            | "kernel.shmmni"
            | "kernel.shm_rmid_forced"
            | "kernel.shm"
            | "kernel.msgmax"
            | "kernel.msgmnb"
            | "kernel.msgmni"
            | "kernel.msg"
    ) || normalized.starts_with("fs.mqueue.");
    if spec.field("hostNetwork").is_true() && normalized.starts_with("net.") {
        Some("may not be specified when 'hostNetwork' is true")
    } else if spec.field("hostIPC").is_true() && is_ipc {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

fn validate_seccomp_profile(profile: &Spot<'_>, errors: &mut Errors) {
    if !profile.given() {
        return;
    }
    let kind = profile.field("type");
    kind.check(&[Check::RequiredBecause("type is required when seccompProfile is set"), OneOf(PROFILE_TYPES)], errors);
    let local = profile.field("localhostProfile");
    if kind.text() == "Localhost" {
        if local.given() {
            local.check(&[DESCENDING_PATH], errors);
        } else {
            errors.push(Error::required(&local.path, "must be set when seccomp type is Localhost"));
        }
    } else if local.given() {
        let shown = internal::print("SeccompProfile", profile.value);
        let words = format!("{shown}: can only be set when seccomp type is Localhost");
        errors.push(Error::invalid_omitted(&local.path, words));
    }
}

pub(super) fn validate_app_armor_profile(profile: &Spot<'_>, errors: &mut Errors) {
    const NEEDED: &str = "must be set when AppArmor type is Localhost";
    /// One byte less than the longest path of Linux.
    const LONGEST: usize = 4095;
    if !profile.given() {
        return;
    }
    let kind = profile.field("type");
    let local = profile.field("localhostProfile");
    match kind.text() {
        "Localhost" if !local.given() => errors.push(Error::required(&local.path, NEEDED)),
        "Localhost" => {
            if local.text() != local.text().trim() {
                local.invalid("must not be padded with whitespace", errors);
            } else if !local.filled() {
                errors.push(Error::required(&local.path, NEEDED));
            }
            local.check(&[Check::Longest(LONGEST)], errors);
        }
        "RuntimeDefault" | "Unconfined" => {
            if local.given() {
                local.invalid("can only be set when AppArmor type is Localhost", errors);
            }
        }
        "" => errors.push(Error::required(&kind.path, "type is required when appArmorProfile is set")),
        other => errors.push(Error::not_supported(&kind.path, other, PROFILE_TYPES)),
    }
}

/// Checks what user namespaces rule out.
pub(super) fn validate_host_users(spec: &Spot<'_>, options: &Options, errors: &mut Errors) {
    const WORDS: &str = "when `hostUsers` is false";
    if spec.value["hostUsers"] != false {
        return;
    }
    if !options.allow_host_network_in_user_namespace && spec.field("hostNetwork").is_true() {
        spec.field("hostNetwork").forbidden(WORDS, errors);
    }
    for (name, reported_as) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.field(name).is_true() {
            errors.push(Error::forbidden(&spec.path.child(reported_as), WORDS));
        }
    }
    if !options.allow_devices_in_user_namespace {
        visit_containers(spec, |container| {
            if container.field("volumeDevices").filled() {
                container.field("volumeDevices").forbidden(WORDS, errors);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysctls_are_dotted_or_slashed() {
        assert!(is_sysctl("net.ipv4.ip_forward") && is_sysctl("kernel/shm_rmid_forced"));
        assert!(!is_sysctl("Net.a") && !is_sysctl("a..b"));
    }
}
