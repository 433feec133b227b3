//! `KubeletConfig`: settings that are merged into the kubelet's configuration.

use serde_json::{Map, Value};

/// What the join depends on, and what the cluster knows better.
const RESERVED: &[&str] = &[
    "apiVersion",
    "authentication",
    "authorization",
    "cgroupDriver",
    "clusterDNS",
    "clusterDomain",
    "containerRuntimeEndpoint",
    "kind",
    "providerID",
    "registerNode",
    "registerWithTaints",
    "rotateCertificates",
    "serverTLSBootstrap",
    "staticPodPath",
    "tlsCertFile",
    "tlsPrivateKeyFile",
];

/// What a manifest says about the kubelet.
pub(super) struct KubeletSettings {
    pub(super) kubelet: Map<String, Value>,
    pub(super) verbosity: Option<u8>,
}

pub(super) fn read(manifest: &Value) -> Result<KubeletSettings, String> {
    let spec = &manifest["spec"];
    let mut kubelet = match spec.get("kubeletConfig") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(settings)) => settings.clone(),
        Some(_) => return Err("spec.kubeletConfig must be an object".to_owned()),
    };
    // Upstream's users write these two because the type asks for them.
    for name in ["apiVersion", "kind"] {
        kubelet.remove(name);
    }
    if let Some(name) = RESERVED.iter().find(|name| kubelet.contains_key(**name)) {
        return Err(format!("spec.kubeletConfig.{name} is set by the cluster and cannot be set here"));
    }
    if spec.get("autoSizingReserved") == Some(&Value::Bool(true)) {
        return Err("spec.autoSizingReserved is not supported; set kubeReserved and systemReserved".to_owned());
    }
    if let Some(version) = tls_version(spec)? {
        kubelet.entry("tlsMinVersion").or_insert_with(|| version.into());
    }
    let verbosity = match spec.get("logLevel") {
        None | Some(Value::Null) => None,
        Some(level) => {
            let level = level.as_u64().filter(|level| *level <= 10);
            Some(level.ok_or("spec.logLevel must be a number from 0 to 10")? as u8)
        }
    };
    Ok(KubeletSettings { kubelet, verbosity })
}

fn tls_version(spec: &Value) -> Result<Option<&'static str>, String> {
    match spec.pointer("/tlsSecurityProfile/type").and_then(Value::as_str) {
        None | Some("") => Ok(None),
        Some("Old") => Ok(Some("VersionTLS10")),
        Some("Intermediate") => Ok(Some("VersionTLS12")),
        Some("Modern") => Ok(Some("VersionTLS13")),
        Some(other) => Err(format!(
            "spec.tlsSecurityProfile.type {other:?} is not supported; set tlsMinVersion and tlsCipherSuites in \
             spec.kubeletConfig, or use Old, Intermediate or Modern"
        )),
    }
}
