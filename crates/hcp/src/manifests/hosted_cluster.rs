//! The HostedCluster of a new cluster.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::high::{ClassMapping, HighArguments, KubeVirt, Network, Platform, Publishing, Release};

use super::{API_VERSION, Circumstances, TRUST_BUNDLE};

pub(super) fn hosted_cluster(request: &HighArguments, circumstances: &Circumstances) -> Value {
    let mut metadata = json!({"name": request.name, "namespace": request.namespace});
    put_map(&mut metadata, "annotations", &request.annotations);
    put_map(&mut metadata, "labels", &request.labels);
    json!({
        "apiVersion": API_VERSION,
        "kind": "HostedCluster",
        "metadata": metadata,
        "spec": spec(request, circumstances),
        "status": {"controlPlaneEndpoint": {"host": "", "port": 0}},
    })
}

fn spec(request: &HighArguments, circumstances: &Circumstances) -> Value {
    let (name, network, control_plane) = (&request.name, &request.network, &request.control_plane);
    let has_ssh_key = circumstances.ssh_key.is_some() || request.files.ssh_public_key.is_some();
    let mut spec = json!({
        "autoscaling": {},
        "capabilities": capabilities(&request.release),
        "configuration": configuration(&request.release),
        "controllerAvailabilityPolicy": control_plane.availability,
        "dns": {"baseDomain": network.base_domain},
        "etcd": {
            "managed": {
                "storage": {
                    "persistentVolume": {"size": control_plane.etcd_storage_size},
                    "type": "PersistentVolume",
                },
            },
            "managementType": "Managed",
        },
        "fips": control_plane.fips,
        "infraID": circumstances.infra_id,
        "networking": networking(network),
        "olmCatalogPlacement": request.release.catalog_placement,
        "platform": platform(request),
        "pullSecret": {"name": format!("{name}-pull-secret")},
        "release": {"image": circumstances.release_image},
        "secretEncryption": {
            "aescbc": {"activeKey": {"name": format!("{name}-etcd-encryption-key")}},
            "type": "aescbc",
        },
        "services": services(&network.publishing, circumstances.plane_address.as_deref()),
        "sshKey": if has_ssh_key { json!({"name": format!("{name}-ssh-key")}) } else { json!({}) },
    });
    put_text(&mut spec["dns"], "baseDomainPrefix", network.base_domain_prefix.as_ref());
    put_text(
        &mut spec["etcd"]["managed"]["storage"]["persistentVolume"],
        "storageClassName",
        control_plane.etcd_storage_class.as_ref(),
    );
    put_text(&mut spec, "infrastructureAvailabilityPolicy", control_plane.infra_availability.as_ref());
    put_text(&mut spec, "kubeAPIServerDNSName", network.api_dns_name.as_ref());
    put_text(&mut spec, "pausedUntil", request.paused_until.as_ref());
    put_map(&mut spec, "nodeSelector", &control_plane.node_selector);
    put_map(&mut spec, "labels", &control_plane.pod_labels);
    if !control_plane.tolerations.is_empty() {
        spec["tolerations"] = json!(control_plane.tolerations);
    }
    if request.files.trust_bundle.is_some() {
        spec["additionalTrustBundle"] = json!({"name": TRUST_BUNDLE});
    }
    if let Some(sources) = &request.files.image_content_sources {
        spec["imageContentSources"] = sources.clone();
    }
    if let Some(network_operator) = network_operator(network) {
        spec["operatorConfiguration"] = json!({"clusterNetworkOperator": network_operator});
    }
    spec
}

fn capabilities(release: &Release) -> Value {
    let mut capabilities = Map::new();
    for (field, names) in [("disabled", &release.disabled_capabilities), ("enabled", &release.enabled_capabilities)] {
        if !names.is_empty() {
            capabilities.insert(field.to_owned(), json!(names));
        }
    }
    Value::Object(capabilities)
}

fn configuration(release: &Release) -> Value {
    let mut configuration = Map::new();
    if let Some(set) = &release.feature_set {
        configuration.insert("featureGate".to_owned(), json!({"featureSet": set}));
    }
    if release.disable_default_catalogs {
        configuration.insert("operatorhub".to_owned(), json!({"disableAllDefaultSources": true}));
    }
    Value::Object(configuration)
}

fn networking(network: &Network) -> Value {
    let list =
        |networks: &[IpNet]| -> Value { networks.iter().map(|network| json!({"cidr": network.to_string()})).collect() };
    let mut networking = json!({
        "clusterNetwork": list(&network.cluster),
        "networkType": network.provider,
        "serviceNetwork": list(&network.service),
    });
    if !network.machine.is_empty() {
        networking["machineNetwork"] = list(&network.machine);
    }
    if network.allocate_node_networks {
        networking["allocateNodeCIDRs"] = json!("Enabled");
    }
    networking
}

fn network_operator(network: &Network) -> Option<Value> {
    let mut operator = Map::new();
    if network.without_secondary {
        operator.insert("disableMultiNetwork".to_owned(), json!(true));
    }
    if let Some(mtu) = network.mtu {
        operator.insert("ovnKubernetesConfig".to_owned(), json!({"mtu": mtu}));
    }
    (!operator.is_empty()).then_some(Value::Object(operator))
}

fn platform(request: &HighArguments) -> Value {
    match &request.platform {
        Platform::Agent { agent_namespace } => {
            json!({"agent": {"agentNamespace": agent_namespace}, "type": "Agent"})
        }
        Platform::None => json!({"type": "None"}),
        Platform::KubeVirt(kubevirt) => json!({"kubevirt": kubevirt_platform(request, kubevirt), "type": "KubeVirt"}),
    }
}

fn kubevirt_platform(request: &HighArguments, kubevirt: &KubeVirt) -> Value {
    let mut platform = Map::new();
    if request.network.base_domain.is_empty() {
        platform.insert("baseDomainPassthrough".to_owned(), json!(true));
    }
    if let Some(namespace) = &kubevirt.infra_namespace {
        let secret = json!({"key": "kubeconfig", "name": format!("{}-infra-credentials", request.name)});
        let credentials = json!({"infraKubeConfigSecret": secret, "infraNamespace": namespace});
        platform.insert("credentials".to_owned(), credentials);
    }
    let mut manual = Map::new();
    for (field, mappings, kind) in [
        ("storageClassMapping", &kubevirt.storage_classes, "StorageClassName"),
        ("volumeSnapshotClassMapping", &kubevirt.snapshot_classes, "VolumeSnapshotClassName"),
    ] {
        if !mappings.is_empty() {
            manual.insert(field.to_owned(), mappings.iter().map(|mapping| class_mapping(mapping, kind)).collect());
        }
    }
    if !manual.is_empty() {
        platform.insert("storageDriver".to_owned(), json!({"manual": manual, "type": "Manual"}));
    }
    Value::Object(platform)
}

fn class_mapping(mapping: &ClassMapping, kind: &str) -> Value {
    let mut value = json!({});
    value[format!("infra{kind}")] = json!(mapping.infra);
    value[format!("guest{kind}")] = json!(mapping.guest);
    put_text(&mut value, "group", mapping.group.as_ref());
    value
}

/// How each service is published, sorted by name. Without any address to name, a node port cannot be described, and
/// what upstream renders then is a load balancer and routes.
fn services(publishing: &Publishing, plane_address: Option<&str>) -> Value {
    let node_port = |address: &str| -> Value {
        let strategy = json!({"nodePort": {"address": address}, "type": "NodePort"});
        ["APIServer", "Ignition", "Konnectivity", "OAuthServer", "OIDC"]
            .into_iter()
            .map(|service| json!({"service": service, "servicePublishingStrategy": strategy}))
            .collect()
    };
    let routed = |api: &str| -> Value {
        [("APIServer", api), ("Ignition", "Route"), ("Konnectivity", "Route"), ("OAuthServer", "Route")]
            .into_iter()
            .map(|(service, kind)| json!({"service": service, "servicePublishingStrategy": {"type": kind}}))
            .collect()
    };
    match (publishing, plane_address) {
        (Publishing::NodePort(address), _) => node_port(address),
        (Publishing::NodePortOfPlane, Some(address)) => node_port(address),
        (Publishing::NodePortOfPlane, None) | (Publishing::LoadBalancer, _) => routed("LoadBalancer"),
        (Publishing::Route, _) => routed("Route"),
    }
}

fn put_text(object: &mut Value, field: &str, text: Option<&String>) {
    if let Some(text) = text {
        object[field] = json!(text);
    }
}

fn put_map(object: &mut Value, field: &str, map: &BTreeMap<String, String>) {
    if !map.is_empty() {
        object[field] = json!(map);
    }
}
