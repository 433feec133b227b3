//! What a pod takes of its host: namespaces, ports, volumes, kernel settings.

use std::collections::BTreeSet;

use roost_object::Value;

use super::{Pod, Violation, containers, name, plural, quoted, setters};

pub(super) fn namespaces(pod: Pod<'_>) -> Option<Violation> {
    let shared: Vec<&str> =
        [("hostNetwork", "hostNetwork=true"), ("hostPID", "hostPID=true"), ("hostIPC", "hostIPC=true")]
            .into_iter()
            .filter(|(field, _)| pod.spec[*field] == true)
            .map(|(_, words)| words)
            .collect();
    (!shared.is_empty()).then(|| Violation { reason: "host namespaces", detail: shared.join(", ") })
}

pub(super) fn path_volumes(pod: Pod<'_>) -> Option<Violation> {
    let names: Vec<&str> = pod.volumes().filter(|volume| volume["hostPath"].is_object()).map(name).collect();
    (!names.is_empty()).then(|| Violation {
        reason: "hostPath volumes",
        detail: format!("{} {}", plural("volume", "volumes", names.len()), quoted(&names)),
    })
}

const FREE_VOLUMES: &[&str] = &[
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
const RESTRICTED_VOLUMES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn restricted_volumes(pod: Pod<'_>) -> Option<Violation> {
    let (mut names, mut kinds) = (Vec::new(), BTreeSet::new());
    let is = |volume: &Value, kind: &&&str| volume[**kind].is_object();
    for volume in pod.volumes().filter(|volume| !FREE_VOLUMES.iter().any(|kind| is(volume, &kind))) {
        names.push(name(volume));
        kinds.insert(RESTRICTED_VOLUMES.iter().find(|kind| is(volume, kind)).copied().unwrap_or("unknown"));
    }
    (!names.is_empty()).then(|| Violation {
        reason: "restricted volume types",
        detail: format!(
            "{} {} {} {} {}",
            plural("volume", "volumes", names.len()),
            quoted(&names),
            plural("uses", "use", names.len()),
            plural("restricted volume type", "restricted volume types", kinds.len()),
            quoted(&kinds)
        ),
    })
}

pub(super) fn ports(pod: Pod<'_>) -> Option<Violation> {
    let (mut names, mut used) = (Vec::new(), BTreeSet::new());
    for container in pod.containers() {
        let ports = container["ports"].as_array().into_iter().flatten();
        let bad: Vec<i64> = ports.filter_map(|port| port["hostPort"].as_i64()).filter(|port| *port != 0).collect();
        if !bad.is_empty() {
            names.push(name(container));
            used.extend(bad.iter().map(ToString::to_string));
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "hostPort",
        detail: format!(
            "{} {} {} {}",
            containers(&names),
            plural("uses", "use", names.len()),
            plural("hostPort", "hostPorts", used.len()),
            used.into_iter().collect::<Vec<_>>().join(", ")
        ),
    })
}

pub(super) fn probes(pod: Pod<'_>) -> Option<Violation> {
    let (mut names, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        let handlers = [
            &container["livenessProbe"],
            &container["readinessProbe"],
            &container["startupProbe"],
            &container["lifecycle"]["postStart"],
            &container["lifecycle"]["preStop"],
        ];
        for handler in handlers {
            for kind in ["httpGet", "tcpSocket"] {
                if let Some(host) = handler[kind]["host"].as_str().filter(|host| !host.is_empty()) {
                    names.insert(name(container));
                    hosts.insert(host);
                }
            }
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| Violation {
        reason: "probe or lifecycle host",
        detail: format!(
            "{} {} {} {}",
            containers(&names),
            plural("uses", "use", names.len()),
            plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len()),
            quoted(&hosts)
        ),
    })
}

pub(super) fn privileged(pod: Pod<'_>) -> Option<Violation> {
    let names: Vec<&str> =
        pod.containers().filter(|container| container["securityContext"]["privileged"] == true).map(name).collect();
    (!names.is_empty()).then(|| Violation {
        reason: "privileged",
        detail: format!("{} must not set securityContext.privileged=true", containers(&names)),
    })
}

pub(super) fn proc_mount(pod: Pod<'_>) -> Option<Violation> {
    let (mut names, mut kinds) = (Vec::new(), BTreeSet::new());
    for container in pod.containers() {
        if let Some(kind) = container["securityContext"]["procMount"].as_str().filter(|kind| *kind != "Default") {
            names.push(name(container));
            kinds.insert(kind);
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "procMount",
        detail: format!("{} must not set securityContext.procMount to {}", containers(&names), quoted(&kinds)),
    })
}

/// Settings that only reach the pod itself, and the release since which that is known.
const SAFE_SYSCTLS: &[(&str, u64)] = &[
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) fn sysctls(pod: Pod<'_>, minor: u64) -> Option<Violation> {
    let set = pod.spec["securityContext"]["sysctls"].as_array().into_iter().flatten().map(name);
    let safe = |sysctl: &str| SAFE_SYSCTLS.iter().any(|(name, since)| *name == sysctl && *since <= minor);
    let bad: Vec<&str> = set.filter(|sysctl| !safe(sysctl)).collect();
    (!bad.is_empty()).then(|| Violation { reason: "forbidden sysctls", detail: bad.join(", ") })
}

pub(super) fn windows_host_process(pod: Pod<'_>) -> Option<Violation> {
    let asks = |holder: &Value| holder["securityContext"]["windowsOptions"]["hostProcess"] == true;
    let names: Vec<&str> = pod.containers().filter(|container| asks(container)).map(name).collect();
    setters(asks(pod.spec), &names).map(|who| Violation {
        reason: "hostProcess",
        detail: format!("{who} must not set securityContext.windowsOptions.hostProcess=true"),
    })
}
