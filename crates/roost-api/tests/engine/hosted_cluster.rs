//! `HostedCluster` and `HostedControlPlane`.

use kube::api::{Api, Patch, PatchParams, PostParams};
use roost_api::hypershift::{
    AvailabilityPolicy, HostedCluster, HostedClusterSpec, HostedClusterStatus, HostedControlPlane, NetworkType,
    PlatformType,
};
use serde_json::{Value, json};

use crate::plane::{change, client, create};

/// A hosted cluster as the command line writes it.
fn hosted_cluster() -> Value {
    let service = |name: &str| {
        json!({
            "service": name,
            "servicePublishingStrategy": {"type": "NodePort", "nodePort": {"address": "192.0.2.10"}},
        })
    };
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1",
        "kind": "HostedCluster",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": {
            "autoscaling": {},
            "capabilities": {},
            "configuration": {},
            "controllerAvailabilityPolicy": "SingleReplica",
            "dns": {"baseDomain": "example.com"},
            "etcd": {
                "managed": {"storage": {"persistentVolume": {"size": "8Gi"}, "type": "PersistentVolume"}},
                "managementType": "Managed",
            },
            "fips": false,
            "infraID": "example-sffhb",
            "clusterID": "6d1b7c1e-5f0a-4c8e-9a55-9d2f5c5b1f0e",
            "networking": {
                "clusterNetwork": [{"cidr": "10.132.0.0/14"}],
                "networkType": "OVNKubernetes",
                "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
            },
            "olmCatalogPlacement": "management",
            "platform": {"agent": {"agentNamespace": "hosts"}, "type": "Agent"},
            "pullSecret": {"name": "example-pull-secret"},
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.0-multi"},
            "secretEncryption": {"aescbc": {"activeKey": {"name": "example-etcd-encryption-key"}}, "type": "aescbc"},
            "services": (["APIServer", "Ignition", "Konnectivity", "OAuthServer"].map(service)),
            "sshKey": {},
        },
    })
}

#[tokio::test]
async fn the_command_lines_manifest_survives_a_round_trip() {
    let client = client().await;
    let stored = create(&client, &hosted_cluster()).await.unwrap();
    let clusters: Api<HostedCluster> = Api::default_namespaced(client);
    let typed = clusters.get("example").await.unwrap();
    assert_eq!(typed.spec.platform.r#type, PlatformType::Agent);
    assert_eq!(typed.spec.networking.network_type, Some(NetworkType::OvnKubernetes));
    let replaced = clusters.replace("example", &PostParams::default(), &typed).await.unwrap();
    assert_eq!(replaced.metadata.resource_version, typed.metadata.resource_version, "nothing changed");
    assert_eq!(stored["spec"]["sshKey"], json!({"name": ""}));
}

#[tokio::test]
async fn what_is_not_said_gets_its_default() {
    let mut cluster = hosted_cluster();
    let spec = cluster["spec"].as_object_mut().unwrap();
    for field in ["etcd", "networking", "controllerAvailabilityPolicy", "olmCatalogPlacement", "capabilities"] {
        spec.remove(field);
    }
    let stored = create(&client().await, &cluster).await.unwrap();
    let expected = json!({
        "etcd": {
            "managed": {"storage": {"persistentVolume": {"size": "8Gi"}, "type": "PersistentVolume"}},
            "managementType": "Managed",
        },
        "networking": {
            "clusterNetwork": [{"cidr": "10.132.0.0/14"}],
            "networkType": "OVNKubernetes",
            "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
        },
        "controllerAvailabilityPolicy": "HighlyAvailable",
        "infrastructureAvailabilityPolicy": "SingleReplica",
        "olmCatalogPlacement": "management",
        "capabilities": {},
        "issuerURL": "https://kubernetes.default.svc",
        "autoscaling": {"scaling": "ScaleUpAndScaleDown"},
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&stored["spec"][field], value, "{field}");
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let client = client().await;
    let refusals: &[(&str, Value, &str)] = &[
        (
            "/spec/networking/clusterNetwork/0/cidr",
            json!("10.132.0/14"),
            "spec.networking.clusterNetwork[0].cidr: Invalid value: \"10.132.0/14\": cidr must be a valid IPv4 or IPv6 \
             CIDR notation",
        ),
        ("/spec/clusterID", json!("6d1b7c1e-5f0a-4c8e-9a55-9d2f5c5b1f0"), "should be at least 36 chars long"),
        ("/spec/clusterID", json!("6d1b7c1e_5f0a_4c8e_9a55_9d2f5c5b1f0e"), "clusterID must be an RFC4122 UUID value"),
        ("/spec/platform/type", json!("GCP"), "spec.platform.type: Unsupported value: \"GCP\""),
        ("/spec/services", json!([]), "spec.services in body should have at least 4 items or 3 for IBMCloud"),
        (
            "/spec/services/0/servicePublishingStrategy",
            json!({"type": "NodePort"}),
            "nodePort is required when type is NodePort, and forbidden otherwise",
        ),
        ("/spec/release/image", json!(""), "spec.release.image in body should be at least 1 chars long"),
        ("/spec/pullSecret", Value::Null, "spec.pullSecret: Required value"),
    ];
    for (path, value, words) in refusals {
        let mut cluster = hosted_cluster();
        if value.is_null() {
            let (parent, field) = path.rsplit_once('/').unwrap();
            cluster.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field);
        } else {
            *cluster.pointer_mut(path).unwrap() = value.clone();
        }
        let refusal = create(&client, &cluster).await.expect_err(path);
        assert!(refusal.contains(words), "{path}: {refusal}");
    }
}

#[tokio::test]
async fn an_object_without_a_spec_can_be_read() {
    let client = client().await;
    let mut cluster = hosted_cluster();
    cluster.as_object_mut().unwrap().remove("spec");
    create(&client, &cluster).await.unwrap();
    let clusters: Api<HostedCluster> = Api::default_namespaced(client);
    assert_eq!(clusters.get("example").await.unwrap().spec, HostedClusterSpec::default());
}

#[tokio::test]
async fn what_is_settled_stays() {
    let client = client().await;
    let stored = create(&client, &hosted_cluster()).await.unwrap();
    let refusals: &[(&str, Value, &str)] = &[
        ("/spec/clusterID", Value::Null, "clusterID cannot be removed once set"),
        ("/spec/clusterID", json!("7d1b7c1e-5f0a-4c8e-9a55-9d2f5c5b1f0e"), "clusterID is immutable"),
        ("/spec/infraID", Value::Null, "infraID cannot be removed once set"),
        ("/spec/secretEncryption", Value::Null, "secretEncryption cannot be removed once configured"),
        ("/spec/controllerAvailabilityPolicy", json!("HighlyAvailable"), "ControllerAvailabilityPolicy is immutable"),
        ("/spec/platform", json!({"type": "None"}), "Type is immutable"),
        ("/spec/services/0/servicePublishingStrategy/nodePort/address", json!("192.0.2.11"), "Services is immutable"),
        ("/spec/fips", json!(true), "fips is immutable"),
    ];
    for (path, value, words) in refusals {
        let refusal = change(&client, &stored, |cluster| {
            let (parent, field) = path.rsplit_once('/').unwrap();
            let parent = cluster.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            if value.is_null() {
                parent.remove(field)
            } else {
                parent.insert(field.to_owned(), value.clone())
            };
        });
        let refusal = refusal.await.expect_err(path);
        assert!(refusal.contains(words), "{path}: {refusal}");
    }
    let changed = change(&client, &stored, |cluster| {
        cluster["spec"]["infrastructureAvailabilityPolicy"] = json!("HighlyAvailable");
    });
    assert_eq!(changed.await.unwrap()["metadata"]["generation"], 2);
}

#[tokio::test]
async fn other_platforms_are_kept_as_they_were_written() {
    let client = client().await;
    let mut cluster = hosted_cluster();
    let aws = json!({"region": "eu-west-1", "resourceTags": [{"key": "a", "value": "b"}]});
    cluster["spec"]["platform"] = json!({"type": "AWS", "aws": aws});
    create(&client, &cluster).await.unwrap();
    let clusters: Api<HostedCluster> = Api::default_namespaced(client);
    let typed = clusters.get("example").await.unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap()["spec"]["platform"]["aws"], aws);
}

#[tokio::test]
async fn status_is_kept_apart() {
    let client = client().await;
    create(&client, &hosted_cluster()).await.unwrap();
    let clusters: Api<HostedCluster> = Api::default_namespaced(client);
    let status: HostedClusterStatus = serde_json::from_value(json!({
        "conditions": [{
            "type": "Available", "status": "True", "reason": "AsExpected", "message": "The hosted control plane is available",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }],
        "version": {
            "desired": {"image": "i", "version": "4.20.0"}, "availableUpdates": null, "observedGeneration": 1,
            "history": [{
                "state": "Partial", "startedTime": "2026-01-02T03:04:05Z", "completionTime": null, "image": "i",
                "verified": false, "version": "4.20.0",
            }],
        },
        "controlPlaneEndpoint": {"host": "192.0.2.10", "port": 6443},
        "kubeconfig": {"name": "example-admin-kubeconfig"},
    }))
    .unwrap();
    let mut cluster = clusters.get("example").await.unwrap();
    cluster.status = Some(status.clone());
    let replaced = clusters.replace_status("example", &PostParams::default(), &cluster).await.unwrap();
    assert_eq!(replaced.status, Some(status));
    assert_eq!(replaced.spec.controller_availability_policy, Some(AvailabilityPolicy::SingleReplica));
}

#[tokio::test]
async fn a_control_plane_is_a_cluster_resolved() {
    let client = client().await;
    let cluster: HostedCluster = serde_json::from_value(hosted_cluster()).unwrap();
    let control_plane = json!({
        "apiVersion": "hypershift.openshift.io/v1beta1",
        "kind": "HostedControlPlane",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": {
            "dns": cluster.spec.dns,
            "etcd": cluster.spec.etcd,
            "infraID": cluster.spec.infra_id,
            "issuerURL": "https://kubernetes.default.svc",
            "platform": {"type": "None", "agent": cluster.spec.platform.agent},
            "pullSecret": {"name": "pull-secret"},
            "releaseImage": cluster.spec.release.image,
            "services": cluster.spec.services,
            "sshKey": {"name": "ssh-key"},
        },
    });
    create(&client, &control_plane).await.unwrap();
    let control_planes: Api<HostedControlPlane> = Api::default_namespaced(client);
    let patch = Patch::Merge(json!({"status": {"ready": true, "initialized": true}}));
    let patched = control_planes.patch_status("example", &PatchParams::default(), &patch).await.unwrap();
    let status = patched.status.unwrap();
    assert!(status.ready && status.external_managed_control_plane == Some(true));
}
