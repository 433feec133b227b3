//! NodePools: the first one of a cluster, and later ones.

use serde_json::{Value, json};

use crate::arguments::written_duration;
use crate::high::{HighArguments, HostDevice, Machine, NodePlatform, NodePool};

use super::API_VERSION;

pub(super) fn of_cluster(request: &HighArguments, release_image: &str) -> Option<Value> {
    let names = (request.namespace.as_str(), request.name.as_str(), request.name.as_str());
    let pool = request.node_pool.as_ref()?;
    Some(node_pool(names, pool, release_image, request.paused_until.as_ref()))
}

/// The names are the namespace, the NodePool's and the cluster's.
pub(super) fn node_pool(
    (namespace, name, cluster_name): (&str, &str, &str),
    pool: &NodePool,
    release_image: &str,
    paused_until: Option<&String>,
) -> Value {
    let mut spec = json!({
        "arch": pool.arch,
        "clusterName": cluster_name,
        "management": {"autoRepair": pool.auto_repair, "upgradeType": pool.upgrade_type},
        "platform": platform(&pool.platform),
        "release": {"image": release_image},
        "replicas": pool.replicas,
    });
    if let Some(timeouts) = &pool.timeouts {
        spec["nodeDrainTimeout"] = json!(written_duration(timeouts.drain));
        spec["nodeVolumeDetachTimeout"] = json!(written_duration(timeouts.volume_detach));
    }
    if let Some(until) = paused_until {
        spec["pausedUntil"] = json!(until);
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "NodePool",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": {"replicas": 0},
    })
}

fn platform(platform: &NodePlatform) -> Value {
    match platform {
        NodePlatform::Agent { selector } => {
            let agent = selector.as_ref().map_or_else(|| json!({}), |selector| json!({"agentLabelSelector": selector}));
            json!({"agent": agent, "type": "Agent"})
        }
        NodePlatform::None => json!({"type": "None"}),
        NodePlatform::KubeVirt(machine) => json!({"kubevirt": kubevirt(machine), "type": "KubeVirt"}),
    }
}

fn kubevirt(machine: &Machine) -> Value {
    let mut compute = json!({"cores": machine.cores, "memory": machine.memory});
    if let Some(class) = &machine.qos_class {
        compute["qosClass"] = json!(class);
    }
    let mut kubevirt = json!({
        "attachDefaultNetwork": machine.attach_default_network,
        "compute": compute,
        "networkInterfaceMultiqueue": machine.multiqueue,
        "rootVolume": root_volume(machine),
    });
    if !machine.additional_networks.is_empty() {
        kubevirt["additionalNetworks"] =
            machine.additional_networks.iter().map(|network| json!({"name": network})).collect();
    }
    if !machine.node_selector.is_empty() {
        kubevirt["nodeSelector"] = json!(machine.node_selector);
    }
    if !machine.host_devices.is_empty() {
        let device = |HostDevice { name, count }: &HostDevice| json!({"deviceName": name, "count": count});
        kubevirt["hostDevices"] = machine.host_devices.iter().map(device).collect();
    }
    kubevirt
}

fn root_volume(machine: &Machine) -> Value {
    let mut persistent = json!({"size": machine.root_volume_size});
    if let Some(class) = &machine.root_volume_class {
        persistent["storageClass"] = json!(class);
    }
    if !machine.root_volume_access_modes.is_empty() {
        persistent["accessModes"] = json!(machine.root_volume_access_modes);
    }
    if let Some(mode) = &machine.root_volume_mode {
        persistent["volumeMode"] = json!(mode);
    }
    let mut volume = json!({"persistent": persistent, "type": "Persistent"});
    if let Some(image) = &machine.container_disk {
        volume["diskImage"] = json!({"containerDiskImage": image});
    }
    if let Some(strategy) = &machine.cache_strategy {
        volume["cacheStrategy"] = json!({"type": strategy});
    }
    volume
}
