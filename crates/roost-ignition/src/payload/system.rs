//! The rest of the host: modules, kernel settings, network directories, keys, proxy, trust, large files.

use serde_json::json;

use super::pool::{Pool, Proxy, Runtime};
use super::{env, paths};
use crate::config::Config;

const MODULES: &str = "overlay\nbr_netfilter\n";

/// What pods and Services need, what the kubelet checks, and enough watches for a full node.
const SYSCTLS: &str = "net.ipv4.ip_forward = 1\n\
    net.ipv6.conf.all.forwarding = 1\n\
    net.bridge.bridge-nf-call-iptables = 1\n\
    net.bridge.bridge-nf-call-ip6tables = 1\n\
    vm.overcommit_memory = 1\n\
    kernel.panic = 10\n\
    kernel.panic_on_oops = 1\n\
    kernel.keys.root_maxkeys = 1000000\n\
    kernel.keys.root_maxbytes = 25000000\n\
    fs.inotify.max_user_instances = 8192\n\
    fs.inotify.max_user_watches = 524288\n";

/// The unit that makes the host trust the user's authorities.
const TRUST_UNIT: &str = "user-ca-bundle.service";

pub(super) fn put(pool: &Pool, config: &mut Config) {
    config.put_file(paths::MODULES, 0o644, MODULES.as_bytes());
    config.put_file(paths::SYSCTLS, 0o644, SYSCTLS.as_bytes());
    config.put_directory(paths::CNI_CONFIG, 0o755);
    config.put_directory(pool.kubelet.cni_binaries.as_deref().unwrap_or(paths::CNI_BINARIES), 0o755);
    if pool.has_default_network {
        config.put_file(paths::NETWORK_CONFIG, 0o644, pool.network().to_text().as_bytes());
    }
    if let Some(secret) = &pool.pull_secret {
        config.put_file(paths::PULL_SECRET, 0o600, secret.expose().as_bytes());
    }
    if !pool.ssh_keys.is_empty() {
        let user = if pool.ssh_user.is_empty() { "core" } else { &pool.ssh_user };
        let mut keys: Vec<String> = pool.ssh_keys.iter().map(|key| key.trim().to_owned()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| !key.is_empty());
        config.put_ssh_keys(user, &keys);
    }
    if let Some(proxy) = &pool.proxy {
        put_proxy(pool, proxy, config);
    }
    if let Some(bundle) = &pool.trust_bundle {
        config.put_file(paths::TRUST_BUNDLE_RHEL, 0o644, bundle.as_bytes());
        config.put_file(paths::TRUST_BUNDLE_DEBIAN, 0o644, bundle.as_bytes());
        config.put_unit(TRUST_UNIT, Some(true), Some(&trust_unit(pool.runtime)));
        if !pool.artifacts.is_empty() {
            config.trust_authority(bundle);
        }
    }
    if let Some(server) = &pool.ignition {
        config.put_file(paths::AGENT_CONFIG, 0o644, server.to_text().as_bytes());
        config.put_unit(paths::AGENT_UNIT, Some(true), Some(&agent_unit()));
    }
    for artifact in &pool.artifacts {
        config.put_remote_file(&artifact.path, artifact.mode, &artifact.url, &artifact.hash);
    }
    if !pool.artifacts.is_empty() && !pool.artifact_trust.is_empty() {
        config.trust_authority(&pool.artifact_trust);
    }
}

/// Nodes may have no agent; then nobody changes them in place.
fn agent_unit() -> String {
    format!(
        "[Unit]\n\
         Description=Keeps this node as its pool wants it\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         ConditionFileIsExecutable={agent}\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         EnvironmentFile=-{proxy}\n\
         ExecStart={agent} serve\n\
         Restart=always\n\
         RestartSec=5\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        agent = paths::AGENT_BINARY,
        proxy = paths::PROXY_ENV,
    )
}

fn trust_unit(runtime: Runtime) -> String {
    format!(
        "[Unit]\n\
         Description=Trust the authorities of the cluster's administrator\n\
         Before={} {}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart=/bin/sh -c 'if command -v update-ca-trust; then update-ca-trust extract; else update-ca-certificates; fi'\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        runtime.unit(),
        paths::KUBELET_UNIT,
    )
}

/// What is reached directly: what the user says, and the cluster itself.
pub(crate) fn no_proxy(pool: &Pool, proxy: &Proxy) -> Vec<String> {
    let mut direct = proxy.no_proxy.clone();
    direct.extend(pool.pod_networks.iter().chain(&pool.service_networks).cloned());
    direct.extend(["localhost", "127.0.0.1", "::1", ".svc"].map(str::to_owned));
    direct.push(format!(".{}", pool.domain()));
    direct.push(pool.api.host.clone());
    direct.retain(|place| !place.is_empty());
    direct.sort();
    direct.dedup();
    direct
}

fn put_proxy(pool: &Pool, proxy: &Proxy, config: &mut Config) {
    let direct = no_proxy(pool, proxy);
    let mut text = String::new();
    let mut own = serde_json::Map::new();
    for (name, field, value) in [("HTTP_PROXY", "httpProxy", &proxy.http), ("HTTPS_PROXY", "httpsProxy", &proxy.https)]
    {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            env::line(&mut text, name, value);
            own.insert(field.to_owned(), value.into());
        }
    }
    env::line(&mut text, "NO_PROXY", &direct.join(","));
    config.put_file(paths::PROXY_ENV, 0o600, text.as_bytes());
    if !pool.artifacts.is_empty() && !own.is_empty() {
        own.insert("noProxy".to_owned(), json!(direct));
        config.set_ignition_field("proxy", own.into());
    }
}
