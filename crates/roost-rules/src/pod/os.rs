//! What differs between Linux and Windows.

use std::sync::LazyLock;

use regex::Regex;
use roost_object::field::{Error, Errors};
use roost_object::names;

use super::visit_containers;
use crate::check::{Spot, text};

/// Checks the options that only containers on Windows have.
pub(super) fn validate_windows_options(options: &Spot<'_>, errors: &mut Errors) {
    const CREDENTIAL_MAX: usize = 64 * 1024;
    if !options.given() {
        return;
    }
    let name = options.field("gmsaCredentialSpecName");
    if name.given() {
        name.text_passes(names::is_dns1123_subdomain, errors);
    }
    let credential = options.field("gmsaCredentialSpec");
    if credential.given() && !credential.filled() {
        credential.invalid("gmsaCredentialSpec cannot be an empty string", errors);
    } else if credential.text().len() > CREDENTIAL_MAX {
        credential.invalid("gmsaCredentialSpec size must be under 64 KiB", errors);
    }
    let user = options.field("runAsUserName");
    if user.given() {
        for words in windows_user_problems(user.text()) {
            user.invalid(words, errors);
        }
    }
}

fn windows_user_problems(name: &str) -> Vec<&'static str> {
    static NET_BIOS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$"#).expect("a fixed expression"));
    static DNS: LazyLock<Regex> = LazyLock::new(|| {
        let label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
        Regex::new(&format!(r"^{label}(?:\.{label})*$")).expect("a fixed expression")
    });
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string"];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters"];
    }
    let parts: Vec<_> = name.split('\\').collect();
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    let mut problems = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= 256 {
            problems.push("runAsUserName's Domain length must be under 256 characters");
        }
        if !NET_BIOS.is_match(domain) && !DNS.is_match(domain) {
            problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        problems.push("runAsUserName's User cannot be empty");
    } else if user.len() > 104 {
        problems.push("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.bytes().all(|byte| matches!(byte, b'.' | b' ')) {
        problems.push("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        problems.push(r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#);
    }
    problems
}

/// Checks that either all containers run as processes of a Windows host, or none.
pub(super) fn validate_windows_host_process(spec: &Spot<'_>, errors: &mut Errors) {
    let of_pod = spec.value["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
    let (mut count, mut on_host) = (0, 0);
    visit_containers(spec, |container| {
        count += 1;
        let of_container = container.value["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
        if let (Some(of_pod), Some(own)) = (of_pod, of_container)
            && of_pod != own
        {
            let path = container.path.child("securityContext.windowsOptions.hostProcess");
            let words = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            errors.push(Error::invalid(&path, own, words));
        }
        if of_container.or(of_pod) == Some(true) {
            on_host += 1;
        }
    });
    if on_host == 0 {
        return;
    }
    if on_host != count {
        let words = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(Error::invalid(&spec.path, "", words));
    }
    if !spec.field("hostNetwork").is_true() {
        let words = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(Error::invalid(&spec.path.child("hostNetwork"), false, words));
    }
}

/// Checks that nothing of the other operating system is asked for.
pub(super) fn validate_os(spec: &Spot<'_>, errors: &mut Errors) {
    let os = spec.field("os");
    if !os.given() {
        return;
    }
    match text(os.value, "name") {
        "" => errors.push(Error::required(&os.path.child("name"), "")),
        "linux" => validate_linux(spec, errors),
        "windows" => validate_windows(spec, errors),
        other => errors.push(Error::not_supported(&os.path, other, &["linux", "windows"])),
    }
}

fn validate_linux(spec: &Spot<'_>, errors: &mut Errors) {
    let mut check = |context: &Spot<'_>| {
        if context.field("windowsOptions").given() {
            context.field("windowsOptions").forbidden("windows options cannot be set for a linux pod", errors);
        }
    };
    check(&spec.field("securityContext"));
    visit_containers(spec, |container| check(&container.field("securityContext")));
}

fn validate_windows(spec: &Spot<'_>, errors: &mut Errors) {
    const WORDS: &str = "cannot be set for a windows pod";
    /// What only Linux pods have; with `true`, a field of the security context and not of the spec.
    static OF_POD: &[(&str, bool)] = &[
        ("appArmorProfile", true),
        ("seLinuxOptions", true),
        ("hostUsers", false),
        ("hostPID", false),
        ("hostIPC", false),
        ("seccompProfile", true),
        ("fsGroup", true),
        ("fsGroupChangePolicy", true),
        ("sysctls", true),
        ("shareProcessNamespace", false),
        ("runAsUser", true),
        ("runAsGroup", true),
        ("supplementalGroups", true),
        ("supplementalGroupsPolicy", true),
        ("seLinuxChangePolicy", true),
    ];
    static OF_CONTAINER: &[&str] = &[
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    let context = spec.field("securityContext");
    for (name, in_context) in OF_POD {
        let field = if *in_context { context.field(name) } else { spec.field(name) };
        let is_set = match *name {
            "hostPID" | "hostIPC" | "sysctls" => field.filled(),
            _ => field.given(),
        };
        if is_set {
            field.forbidden(WORDS, errors);
        }
    }
    visit_containers(spec, |container| {
        let context = container.field("securityContext");
        for name in OF_CONTAINER {
            if context.field(name).given() {
                context.field(name).forbidden(WORDS, errors);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_users_are_split_at_the_backslash() {
        assert!(windows_user_problems("ContainerUser").is_empty());
        assert!(windows_user_problems(r"NT AUTHORITY\NETWORK SERVICE").is_empty());
        assert_eq!(windows_user_problems(r"a\b\c"), ["runAsUserName cannot contain more than one backslash"]);
        assert_eq!(windows_user_problems(r"..\b").len(), 1);
        assert_eq!(windows_user_problems("...").len(), 1);
    }
}
