//! The checks that the restricted level adds, sorted as stock reports them.

use super::evaluate::{Check, Edition};
use super::{Pod, Violation, capabilities, host, profiles, user};

/// From 1.25 on, pods for Windows need not say what has no meaning there.
fn unless_windows(pod: Pod<'_>, check: fn(Pod<'_>) -> Option<Violation>) -> Option<Violation> {
    if pod.is_windows() { None } else { check(pod) }
}

/// From 1.35 on, root that is not root on the host is fine.
fn unless_user_namespace(pod: Pod<'_>, check: fn(Pod<'_>) -> Option<Violation>) -> Option<Violation> {
    if pod.has_user_namespace() { None } else { check(pod) }
}

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "allowPrivilegeEscalation",
        editions: &[
            Edition { since: 8, check: user::privilege_escalation },
            Edition { since: 25, check: |pod| unless_windows(pod, user::privilege_escalation) },
        ],
        replaces: None,
    },
    Check {
        id: "capabilities_restricted",
        editions: &[
            Edition { since: 22, check: capabilities::all_dropped },
            Edition { since: 25, check: |pod| unless_windows(pod, capabilities::all_dropped) },
        ],
        replaces: Some("capabilities_baseline"),
    },
    Check {
        id: "procMount_restricted",
        editions: &[Edition { since: 35, check: host::proc_mount }],
        replaces: Some("procMount"),
    },
    Check {
        id: "restrictedVolumes",
        editions: &[Edition { since: 0, check: host::restricted_volumes }],
        replaces: Some("hostPathVolumes"),
    },
    Check {
        id: "runAsNonRoot",
        editions: &[
            Edition { since: 0, check: user::non_root },
            Edition { since: 35, check: |pod| unless_user_namespace(pod, user::non_root) },
        ],
        replaces: None,
    },
    Check {
        id: "runAsUser",
        editions: &[
            Edition { since: 23, check: user::not_user_zero },
            Edition { since: 35, check: |pod| unless_user_namespace(pod, user::not_user_zero) },
        ],
        replaces: None,
    },
    Check {
        id: "seccompProfile_restricted",
        editions: &[
            Edition { since: 19, check: |pod| profiles::seccomp(pod, true) },
            Edition { since: 25, check: |pod| unless_windows(pod, |pod| profiles::seccomp(pod, true)) },
        ],
        replaces: Some("seccompProfile_baseline"),
    },
];

#[cfg(test)]
mod tests {
    use super::super::policy::{Level, LevelVersion, Version};
    use super::super::{Pod, evaluate};
    use serde_json::{Value, json};

    fn details(level: Level, minor: Option<u64>, spec: &Value) -> String {
        let version = minor.map_or(Version::Latest, Version::Minor);
        let metadata = json!({});
        evaluate(LevelVersion { level, version }, Pod { metadata: &metadata, spec }).details()
    }

    #[test]
    fn a_plain_pod_is_baseline_but_not_restricted() {
        let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        assert_eq!(details(Level::Baseline, None, &spec), "");
        let words = concat!(
            "allowPrivilegeEscalation != false (containers \"a\", \"b\" must set securityContext.allowPrivilegeEscalation=false), ",
            "unrestricted capabilities (containers \"a\", \"b\" must set securityContext.capabilities.drop=[\"ALL\"]), ",
            "runAsNonRoot != true (pod or containers \"a\", \"b\" must set securityContext.runAsNonRoot=true), ",
            "seccompProfile (pod or containers \"a\", \"b\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
        );
        assert_eq!(details(Level::Restricted, None, &spec), words);
        let old = "runAsNonRoot != true (pod or containers \"a\", \"b\" must set securityContext.runAsNonRoot=true)";
        assert_eq!(details(Level::Restricted, Some(7), &spec), old);
    }

    #[test]
    fn a_hardened_pod_is_restricted() {
        let spec = json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "a", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        });
        assert_eq!(details(Level::Restricted, None, &spec), "");
        let mut root = spec.clone();
        root["containers"][0]["securityContext"]["runAsUser"] = 0.into();
        assert_eq!(details(Level::Restricted, None, &root), "runAsUser=0 (container \"a\" must not set runAsUser=0)");
        root["hostUsers"] = false.into();
        assert_eq!(details(Level::Restricted, None, &root), "");
    }

    #[test]
    fn each_baseline_check_has_its_words() {
        let container = |security: Value| json!({"containers": [{"name": "c", "securityContext": security}]});
        let cases = [
            (json!({"hostNetwork": true, "hostIPC": true}), "host namespaces (hostNetwork=true, hostIPC=true)"),
            (
                container(json!({"privileged": true})),
                "privileged (container \"c\" must not set securityContext.privileged=true)",
            ),
            (
                container(json!({"capabilities": {"add": ["NET_ADMIN", "CHOWN", "BPF"]}})),
                "non-default capabilities (container \"c\" must not include \"BPF\", \"NET_ADMIN\" in securityContext.capabilities.add)",
            ),
            (json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "hostPath volumes (volume \"v\")"),
            (
                json!({"containers": [{"name": "c", "ports": [{"hostPort": 80}, {"hostPort": 443}]}]}),
                "hostPort (container \"c\" uses hostPorts 443, 80)",
            ),
            (
                json!({"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "a"}}, "lifecycle": {"preStop": {"tcpSocket": {"host": "b"}}}}]}),
                "probe or lifecycle host (container \"c\" uses probe or lifecycle hosts \"a\", \"b\")",
            ),
            (
                container(json!({"procMount": "Unmasked"})),
                "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")",
            ),
            (
                container(json!({"seLinuxOptions": {"type": "spc_t", "user": "u", "role": "r"}})),
                "seLinuxOptions (container \"c\" set forbidden securityContext.seLinuxOptions: type \"spc_t\"; user may not be set; role may not be set)",
            ),
            (
                json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}, "containers": [{"name": "c", "securityContext": {"seccompProfile": {"type": "Unconfined"}}}]}),
                "seccompProfile (pod and container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
            ),
            (json!({"securityContext": {"sysctls": [{"name": "kernel.msgmax"}]}}), "forbidden sysctls (kernel.msgmax)"),
            (
                container(json!({"windowsOptions": {"hostProcess": true}})),
                "hostProcess (container \"c\" must not set securityContext.windowsOptions.hostProcess=true)",
            ),
            (
                container(json!({"appArmorProfile": {"type": "Unconfined"}})),
                "forbidden AppArmor profile (container \"c\" must not set AppArmor profile type to \"Unconfined\")",
            ),
        ];
        for (spec, expected) in cases {
            assert_eq!(details(Level::Baseline, None, &spec), expected);
        }
    }

    #[test]
    fn releases_differ() {
        let sysctl = json!({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}});
        assert_eq!(details(Level::Baseline, Some(32), &sysctl), "");
        assert_eq!(details(Level::Baseline, Some(31), &sysctl), "forbidden sysctls (net.ipv4.tcp_rmem)");
        let volume = json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "nfs": {}}], "securityContext": {"runAsNonRoot": true}});
        let words = "restricted volume types (volumes \"v\", \"w\" use restricted volume types \"hostPath\", \"nfs\")";
        assert_eq!(details(Level::Restricted, Some(0), &volume), words);
    }
}
