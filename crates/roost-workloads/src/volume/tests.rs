//! Claims and volumes, by what each of them is told to do next.

use serde_json::{Value, json};

use super::{Classes, best, plan_claim, plan_volume, release_claim, release_volume};
use crate::Action;

fn volume(name: &str, size: &str, modes: &[&str]) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": name},
        "spec": {"capacity": {"storage": size}, "accessModes": modes, "storageClassName": "slow",
            "persistentVolumeReclaimPolicy": "Retain", "nfs": {}},
        "status": {"phase": "Available"}})
}

fn claim(size: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "n", "uid": "c", "resourceVersion": "7"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow",
            "resources": {"requests": {"storage": size}}},
        "status": {"phase": "Pending"}})
}

fn class(mode: &str) -> Value {
    json!({"metadata": {"name": "slow"}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode})
}

/// What is done, in short: kinds with their phases, and the reasons of events.
fn short(actions: &[Action]) -> Vec<String> {
    let one = |action: &Action| match action {
        Action::Update(object) => format!("update {}", object["kind"].as_str().unwrap_or_default()),
        Action::UpdateStatus(object) => object["status"]["phase"].as_str().unwrap_or_default().to_owned(),
        Action::Tell(event) => event.reason.to_owned(),
        Action::Patch { .. } => "patch".to_owned(),
        Action::Delete { .. } => "delete".to_owned(),
        other => format!("{other:?}"),
    };
    actions.iter().map(one).collect()
}

#[test]
fn the_smallest_that_suits_is_taken() {
    let mut volumes = vec![
        volume("large", "10Gi", &["ReadWriteOnce"]),
        volume("shared", "1Gi", &["ReadWriteOnce", "ReadWriteMany"]),
        volume("right", "2Gi", &["ReadWriteOnce"]),
        volume("small", "1Mi", &["ReadWriteOnce"]),
    ];
    let name = |volumes: &[Value], waits| {
        best(volumes, &claim("1Gi"), waits, None).map(|found| found["metadata"]["name"].clone())
    };
    assert_eq!(name(&volumes, false), Some("right".into()));
    assert_eq!(name(&volumes, true), None);
    volumes[0]["spec"]["claimRef"] = json!({"name": "c", "namespace": "n"});
    assert_eq!(name(&volumes, true), Some("large".into()), "what is kept for a claim comes first");
    volumes[0]["spec"]["claimRef"]["uid"] = "another".into();
    assert_eq!(name(&volumes, false), Some("right".into()));
    volumes[2]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(name(&volumes, false), Some("shared".into()));
}

#[test]
fn a_claim_and_its_volume_find_each_other() {
    let class = class("Immediate");
    let classes = Classes { own: Some(&class), default: None };
    let actions = plan_claim(&claim("1Gi"), classes, &[volume("v", "1Gi", &["ReadWriteOnce"])], &[]);
    let bound = ["update PersistentVolume", "Bound", "update PersistentVolumeClaim", "Bound"];
    assert_eq!(short(&actions), bound);
    let (Action::UpdateStatus(volume), Action::UpdateStatus(claim)) = (&actions[1], &actions[3]) else {
        panic!("two statuses")
    };
    assert_eq!(claim["spec"]["volumeName"], "v");
    assert_eq!(claim["status"]["capacity"]["storage"], "1Gi");
    assert_eq!(volume["spec"]["claimRef"]["uid"], "c");
    assert!(plan_claim(claim, classes, std::slice::from_ref(volume), &[]).is_empty());
    assert!(plan_volume(volume, Some(claim)).is_empty());
    assert_eq!(short(&plan_claim(claim, classes, &[], &[])), ["Lost", "ClaimLost"]);
    assert_eq!(short(&plan_volume(volume, None)), ["Released"]);
    let mut deleted = volume.clone();
    deleted["spec"]["persistentVolumeReclaimPolicy"] = "Delete".into();
    assert_eq!(short(&plan_volume(&deleted, None)), ["Released", "Failed", "VolumeFailedDelete"]);
    deleted["spec"]["hostPath"] = json!({"path": "/tmp/data"});
    assert_eq!(short(&plan_volume(&deleted, None)), ["Released", "delete"]);
    deleted["metadata"]["annotations"] = json!({"pv.kubernetes.io/provisioned-by": "somebody"});
    assert_eq!(short(&plan_volume(&deleted, None)), ["Released"]);
}

#[test]
fn claims_wait_and_say_for_what() {
    let (waits, now) = (class("WaitForFirstConsumer"), class("Immediate"));
    let mut external = now.clone();
    external["provisioner"] = "example.com/disks".into();
    let volumes = [volume("v", "1Gi", &["ReadWriteOnce"])];
    let mut free = claim("1Gi");
    free["spec"]["storageClassName"] = "".into();
    let mut unsaid = claim("1Gi");
    unsaid["spec"]["storageClassName"] = Value::Null;
    let none = Classes::default();
    for (claim, classes, pods, wanted) in [
        (claim("1Gi"), Classes { own: Some(&waits), default: None }, &[][..], vec!["WaitForFirstConsumer"]),
        (claim("1Gi"), Classes { own: Some(&waits), default: None }, &["p".to_owned()], vec!["WaitForPodScheduled"]),
        (claim("2Gi"), Classes { own: Some(&now), default: None }, &[], vec!["ProvisioningFailed"]),
        (claim("2Gi"), none, &[], vec!["ProvisioningFailed"]),
        (
            claim("2Gi"),
            Classes { own: Some(&external), default: None },
            &[],
            vec!["update PersistentVolumeClaim", "ExternalProvisioning"],
        ),
        (free, none, &[], vec!["FailedBinding"]),
        (unsaid, Classes { own: None, default: Some("slow") }, &[], vec!["update PersistentVolumeClaim"]),
    ] {
        assert_eq!(short(&plan_claim(&claim, classes, &volumes, pods)), wanted, "{claim}");
    }
    let mut named = claim("2Gi");
    named["spec"]["volumeName"] = "v".into();
    assert_eq!(short(&plan_claim(&named, none, &volumes, &[])), ["VolumeMismatch"]);
    assert!(plan_claim(&named, none, &[], &[]).is_empty());
}

#[test]
fn what_is_in_use_stays() {
    let mut claim = claim("1Gi");
    claim["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
    assert_eq!(release_claim(&claim, false), None);
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(release_claim(&claim, true), None);
    let Some(Action::Patch { patch, .. }) = release_claim(&claim, false) else { panic!("a patch") };
    assert_eq!(patch, json!({"metadata": {"finalizers": null}}));
    let mut volume = volume("v", "1Gi", &[]);
    volume["metadata"]["finalizers"] = json!(["other", "kubernetes.io/pv-protection"]);
    volume["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(release_volume(&volume).is_some());
    volume["status"]["phase"] = "Bound".into();
    assert_eq!(release_volume(&volume), None);
}
