//! The objects that a machine is discovered, started and wanted by.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::machine::CARD;
use crate::hosts::plane::CLUSTER;

/// Where machines are discovered.
pub(super) const SPACE: &str = "hardware";
pub(super) const ENVIRONMENT: &str = "pool-a";
pub(super) const POOL: &str = "workers";
pub(super) const BARE_METAL_HOST: &str = "metal";

pub(super) fn environment() -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret", "namespace": SPACE},
            "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{\"auths\":{}}"}},
        {"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": ENVIRONMENT, "namespace": SPACE, "annotations": {
                // Emulated memory is the memory of this machine.
                "agent-install.openshift.io/ignored-host-validations": "has-min-memory,has-memory-for-role"}},
            "spec": {"pullSecretRef": {"name": "pull-secret"}}},
    ]})
}

/// The machine as its management controller knows it.
pub(super) fn bare_metal_host(address: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        // The emulator asks for no password; the object needs one all the same.
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "controller", "namespace": SPACE},
            "stringData": {"username": "root", "password": "calvin"}},
        {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": BARE_METAL_HOST, "namespace": SPACE,
                "labels": {"infraenvs.agent-install.openshift.io": ENVIRONMENT}},
            "spec": {"online": true, "bootMACAddress": CARD,
                "bmc": {"address": address, "credentialsName": "controller"}}},
    ]})
}

/// A pool that brings the network of its pods: one host needs no more than a bridge.
pub(super) fn pool() -> Value {
    let network = json!({"cniVersion": "0.4.0", "name": "pods", "plugins": [
        {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.212.1.0/24"}]]}},
    ]});
    let source = format!("data:text/plain;base64,{}", STANDARD.encode(network.to_string()));
    let machine = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": {"name": "network"},
        "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [
            {"path": "/etc/cni/net.d/10-pods.conflist", "mode": 0o644, "overwrite": true, "contents": {"source": source}},
        ]}}},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "network", "namespace": "clusters"},
            "data": {"config": machine.to_string()}},
        {"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
            "metadata": {"name": POOL, "namespace": "clusters"},
            "spec": {"clusterName": CLUSTER, "replicas": 0, "arch": "amd64", "config": [{"name": "network"}],
                "management": {"upgradeType": "InPlace", "autoRepair": false},
                "platform": {"type": "Agent", "agent": {}}, "release": {"image": "embedded:v1.36.3"}}},
    ]})
}
