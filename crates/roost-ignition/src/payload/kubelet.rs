//! The kubelet: its configuration, its unit, and whom it trusts.

use serde_json::{Map, Value, json};

use super::manifests::Manifests;
use super::pool::{CgroupDriver, Pool};
use super::{RenderError, paths};
use crate::config::Config;

/// What the kubelet writes to its log unless told otherwise.
const VERBOSITY: u8 = 2;

/// The first minor version that reads a directory of additions to its configuration.
const CONFIG_DIRECTORY_SINCE: u32 = 30;

/// The first minor version that can refuse, and must be told to accept, hosts with the old control groups.
const OLD_CGROUPS_SINCE: u32 = 31;

pub(super) fn put(pool: &Pool, manifests: &Manifests, config: &mut Config) -> Result<(), RenderError> {
    let minor = minor(&pool.release_version)?;
    let mut settings = settings(pool, minor);
    super::manifests::merge_values(&mut settings, manifests.kubelet());
    let mut text = String::from("# Written by the pool; changes are lost when the node is made anew.\n");
    text.push_str(&roost_object::yaml::write(&Value::Object(settings)));
    config.put_file(paths::KUBELET_CONFIG, 0o644, text.as_bytes());
    config.put_file(paths::CA, 0o644, pool.api_trust.as_bytes());
    let clients = if pool.kubelet_client_trust.is_empty() { &pool.api_trust } else { &pool.kubelet_client_trust };
    config.put_file(paths::KUBELET_CLIENT_CA, 0o644, clients.as_bytes());
    config.put_directory(paths::STATIC_PODS, 0o755);
    if minor >= CONFIG_DIRECTORY_SINCE {
        config.put_directory(paths::KUBELET_CONFIG_DIRECTORY, 0o755);
    }
    let verbosity = manifests.kubelet_verbosity().or(pool.kubelet.verbosity).unwrap_or(VERBOSITY);
    config.put_unit(paths::KUBELET_UNIT, Some(true), Some(&unit(pool, minor, verbosity)));
    Ok(())
}

/// The minor version of a release such as `1.36.3`; of OpenShift's `4.y.z`, that of the Kubernetes inside.
fn minor(version: &str) -> Result<u32, RenderError> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let parsed = match (numbers.next(), numbers.next().and_then(|minor| minor.parse::<u32>().ok())) {
        (Some("1"), Some(minor)) => Some(minor),
        (Some("4"), Some(minor)) => Some(minor + 13),
        (Some("5"), Some(minor)) => Some(minor + 36),
        _ => None,
    };
    parsed.ok_or_else(|| RenderError::Pool {
        field: "release_version",
        problem: format!("{version:?} is no version such as 1.36.3"),
    })
}

/// How often a kubelet looks whether its node's status is what it should be, and how long its heartbeats may take: a node
/// whose line was cut is Ready again about that long after it was mended. Nothing is sent when nothing has changed.
const STATUS_UPDATE: &str = "4s";

fn settings(pool: &Pool, minor: u32) -> Map<String, Value> {
    let driver = match pool.kubelet.cgroup_driver {
        CgroupDriver::Systemd => "systemd",
        CgroupDriver::Cgroupfs => "cgroupfs",
    };
    let mut taints = pool.taints.clone();
    taints.sort();
    let mut settings = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": paths::KUBELET_CLIENT_CA},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": driver,
        "clusterDomain": pool.domain(),
        "containerRuntimeEndpoint": pool.runtime.endpoint(),
        "nodeStatusUpdateFrequency": STATUS_UPDATE,
        "rotateCertificates": true,
        "serverTLSBootstrap": true,
        "staticPodPath": paths::STATIC_PODS,
        "tlsMinVersion": "VersionTLS12",
    });
    if !pool.cluster_dns.is_empty() {
        settings["clusterDNS"] = pool.cluster_dns.iter().map(ToString::to_string).collect();
    }
    if let Some(pods) = pool.kubelet.max_pods {
        settings["maxPods"] = pods.into();
    }
    if minor >= OLD_CGROUPS_SINCE {
        settings["failCgroupV1"] = false.into();
    }
    if !taints.is_empty() {
        settings["registerWithTaints"] = taints
            .iter()
            .map(|taint| {
                let mut value = json!({"key": taint.key, "effect": taint.effect.name()});
                if !taint.value.is_empty() {
                    value["value"] = taint.value.as_str().into();
                }
                value
            })
            .collect();
    }
    match settings {
        Value::Object(settings) => settings,
        _ => Map::new(),
    }
}

fn unit(pool: &Pool, minor: u32, verbosity: u8) -> String {
    let runtime = pool.runtime.unit();
    let additions = if minor >= CONFIG_DIRECTORY_SINCE {
        format!("  --config-dir={} \\\n", paths::KUBELET_CONFIG_DIRECTORY)
    } else {
        String::new()
    };
    // The binary is found through the search path: it may be an artifact, a package's or the image's own.
    format!(
        "[Unit]\n\
         Description=Kubernetes kubelet\n\
         Documentation=https://kubernetes.io/docs/\n\
         Wants=network-online.target {runtime}\n\
         After=network-online.target {runtime}\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         EnvironmentFile={env}\n\
         EnvironmentFile=-{proxy}\n\
         ExecStart=/usr/bin/env kubelet \\\n\
         \u{20} --config={config} \\\n\
         {additions}\
         \u{20} --bootstrap-kubeconfig={bootstrap} \\\n\
         \u{20} --kubeconfig={kubeconfig} \\\n\
         \u{20} --cert-dir={certificates} \\\n\
         \u{20} --hostname-override=${{KUBELET_NODE_NAME}} \\\n\
         \u{20} --node-labels=${{KUBELET_NODE_LABELS}} \\\n\
         \u{20} --provider-id=${{KUBELET_PROVIDER_ID}} \\\n\
         \u{20} --v={verbosity}\n\
         Restart=always\n\
         RestartSec=5\n\
         KillMode=process\n\
         OOMScoreAdjust=-999\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        env = paths::KUBELET_ENV,
        proxy = paths::PROXY_ENV,
        config = paths::KUBELET_CONFIG,
        bootstrap = paths::BOOTSTRAP_KUBECONFIG,
        kubeconfig = paths::KUBECONFIG,
        certificates = paths::KUBELET_CERTIFICATES,
    )
}
