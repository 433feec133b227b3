//! The checks of the baseline level, sorted as stock reports them.

use super::evaluate::{Check, Edition};
use super::{capabilities, host, profiles};

const fn once(id: &'static str, editions: &'static [Edition]) -> Check {
    Check { id, editions, replaces: None }
}

pub(super) const CHECKS: &[Check] = &[
    once("appArmorProfile", &[Edition { since: 0, check: profiles::app_armor }]),
    once("capabilities_baseline", &[Edition { since: 0, check: capabilities::only_default }]),
    once("hostNamespaces", &[Edition { since: 0, check: host::namespaces }]),
    once("hostPathVolumes", &[Edition { since: 0, check: host::path_volumes }]),
    once("hostPorts", &[Edition { since: 0, check: host::ports }]),
    once("hostProbesAndHostLifecycle", &[Edition { since: 34, check: host::probes }]),
    once("privileged", &[Edition { since: 0, check: host::privileged }]),
    once(
        "procMount",
        &[
            Edition { since: 0, check: host::proc_mount },
            Edition { since: 35, check: |pod| if pod.has_user_namespace() { None } else { host::proc_mount(pod) } },
        ],
    ),
    once(
        "seLinuxOptions",
        &[
            Edition { since: 0, check: |pod| profiles::se_linux(pod, profiles::SE_LINUX_TYPES) },
            Edition { since: 31, check: |pod| profiles::se_linux(pod, profiles::SE_LINUX_TYPES_1_31) },
        ],
    ),
    once(
        "seccompProfile_baseline",
        &[
            Edition { since: 0, check: profiles::seccomp_annotations },
            Edition { since: 19, check: |pod| profiles::seccomp(pod, false) },
        ],
    ),
    once(
        "sysctls",
        &[
            Edition { since: 0, check: |pod| host::sysctls(pod, 0) },
            Edition { since: 27, check: |pod| host::sysctls(pod, 27) },
            Edition { since: 29, check: |pod| host::sysctls(pod, 29) },
            Edition { since: 32, check: |pod| host::sysctls(pod, 32) },
        ],
    ),
    once("windowsHostProcess", &[Edition { since: 0, check: host::windows_host_process }]),
];
