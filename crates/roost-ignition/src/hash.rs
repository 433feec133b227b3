//! The content hash of a pool: it changes when what reaches a node changes, and with nothing else.
//!
//! Left out on purpose: labels and taints, which are put on running nodes; authorities of the cluster, which rotate in
//! stages and reach running nodes too; and large files, which belong to the release or to the operator's own version.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::payload::{ManifestError, Manifests, Pool, Runtime};

/// A content hash. Its text is short enough for names of objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of any value, which does not depend on the order of its keys.
    pub fn of_value(value: &Value) -> Self {
        let text = value.to_string();
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Self(bytes)
    }

    /// All 64 digits.
    pub fn full(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl fmt::Display for ContentHash {
    /// The eight digits that stand in names.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(formatter, "{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The hash of configuration and release.
pub fn of_pool(pool: &Pool) -> Result<ContentHash, ManifestError> {
    Ok(ContentHash::of_value(&json!([normalised(pool)?, pool.release_version.trim_start_matches('v')])))
}

/// The hash of the configuration alone, by which an update of the configuration is told from one of the release.
pub fn of_pool_without_version(pool: &Pool) -> Result<ContentHash, ManifestError> {
    Ok(ContentHash::of_value(&normalised(pool)?))
}

/// What counts, with everything that does not matter taken out: spelling, order and repetition.
fn normalised(pool: &Pool) -> Result<Value, ManifestError> {
    let manifests = Manifests::read(&pool.user_configs)?;
    let documents: Vec<Value> = manifests.documents().iter().map(meaning).collect();
    let pull_secret = pool.pull_secret.as_ref().map(|secret| {
        roost_object::json::read(secret.expose().as_bytes()).map_or(Value::Null, |document| document.value)
    });
    let trust = pool.trust_bundle.as_deref().map(|bundle| sorted(blocks(bundle)));
    let proxy = pool.proxy.as_ref().map(|proxy| {
        json!([proxy.http, proxy.https, sorted(proxy.no_proxy.iter().map(|place| place.trim().to_owned()).collect())])
    });
    let mirrors: Vec<Value> = {
        let mut mirrors = pool.mirrors.clone();
        mirrors.sort();
        mirrors.dedup();
        mirrors.iter().map(|mirror| json!([mirror.source, mirror.mirrors, mirror.never_contact_source])).collect()
    };
    let runtime = match pool.runtime {
        Runtime::Containerd => "containerd",
        Runtime::CriO => "cri-o",
    };
    let kubelet = &pool.kubelet;
    let mut value = json!({
        "api": [pool.api.host, pool.api.port],
        "dns": pool.cluster_dns,
        "domain": pool.domain(),
        "kubelet": [kubelet.max_pods, format!("{:?}", kubelet.cgroup_driver), kubelet.verbosity, kubelet.cni_binaries, kubelet.pause_image],
        "manifests": documents,
        "mirrors": mirrors,
        "networks": [sorted(pool.pod_networks.clone()), sorted(pool.service_networks.clone())],
        "proxy": proxy,
        "pullSecret": pull_secret,
        "runtime": runtime,
        "sshKeys": sorted(pool.ssh_keys.iter().map(|key| key.trim().to_owned()).collect()),
        "sshUser": if pool.ssh_user.is_empty() { "core" } else { &pool.ssh_user },
        "trust": trust,
    });
    if pool.has_default_network {
        value["defaultNetwork"] = true.into();
    }
    Ok(value)
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.retain(|text| !text.is_empty());
    texts.sort();
    texts.dedup();
    texts
}

/// The certificates of a PEM text without what stands between them and how lines end.
fn blocks(pem: &str) -> Vec<String> {
    pem.split("-----BEGIN ")
        .skip(1)
        .filter_map(|block| block.split_once("-----END "))
        .map(|(block, _)| block.split_ascii_whitespace().collect())
        .collect()
}

/// A manifest's kind, name and spec: its labels, annotations and other metadata reach no node.
fn meaning(document: &Value) -> Value {
    let mut spec = document.get("spec").cloned().unwrap_or(Value::Null);
    without_nothing(&mut spec);
    json!([document["kind"], document.pointer("/metadata/name"), spec])
}

/// Takes out fields that say nothing.
fn without_nothing(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_nothing);
            fields.retain(|_, value| !value.is_null());
        }
        Value::Array(items) => items.iter_mut().for_each(without_nothing),
        _ => {}
    }
}

#[cfg(test)]
#[path = "hash/tests.rs"]
mod tests;
