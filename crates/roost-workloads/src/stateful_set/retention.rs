//! Who claims belong to, so that they go with the set or with the pod, or stay.

use serde_json::Value;

use super::ordinal;
use crate::metadata::{Metadata, OwnerReference};
use crate::{Pod, value};

/// The owners that a claim of a pod should have; none when it has them, or is none of the set's business.
pub fn owners_of_claim(set: &Value, pod: &Pod, claim: &Value) -> Option<Vec<Value>> {
    let deletes = |when: &str| set["spec"]["persistentVolumeClaimRetentionPolicy"][when] == "Delete";
    let (when_deleted, when_scaled) = (deletes("whenDeleted"), deletes("whenScaled"));
    let owners = Metadata::read(claim).owner_references;
    let about = Metadata::read(set);
    let is_set = |owner: &OwnerReference| {
        owner.kind == "StatefulSet" && owner.api_version == "apps/v1" && owner.name == about.name
    };
    let is_pod =
        |owner: &OwnerReference| owner.kind == "Pod" && owner.api_version == "v1" && owner.name == pod.metadata.name;
    let of_before = |owner: &OwnerReference| {
        (is_set(owner) && owner.uid != about.uid) || (is_pod(owner) && owner.uid != pod.metadata.uid)
    };
    if owners.iter().any(of_before) {
        return None;
    }
    let (others, own): (Vec<_>, Vec<_>) = owners.into_iter().partition(|owner| !is_set(owner) && !is_pod(owner));
    let foreign = (when_deleted || when_scaled) && others.iter().any(|owner| owner.controller == Some(true));
    let leaves = !is_in_range(set, pod);
    let (set_owns, pod_owns) = match (foreign, when_scaled, when_deleted) {
        (true, ..) | (false, false, false) => (false, false),
        (false, false, true) => (true, false),
        (false, true, false) => (false, leaves),
        (false, true, true) => (!leaves, leaves),
    };
    let has = |uid: &str| own.iter().any(|owner| owner.uid == uid);
    let cares = own.iter().all(|owner| owner.controller == Some(true));
    if has(&about.uid) == set_owns && has(&pod.metadata.uid) == pod_owns && cares {
        return None;
    }
    let reference = |api_version: &str, kind: &str, name: &str, uid: &str| OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let mut wanted = others;
    if set_owns {
        wanted.push(reference("apps/v1", "StatefulSet", &about.name, &about.uid));
    }
    if pod_owns {
        wanted.push(reference("v1", "Pod", &pod.metadata.name, &pod.metadata.uid));
    }
    Some(wanted.iter().map(OwnerReference::to_value).collect())
}

/// Whether a pod's place is one that the set wants.
pub fn is_in_range(set: &Value, pod: &Pod) -> bool {
    let start = value::number(set, &["spec", "ordinals", "start"]);
    let count = value::number_given(set, &["spec", "replicas"]).unwrap_or(1);
    ordinal(set, pod).is_some_and(|number| (start..start + count).contains(&number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_belong_to_whom_they_go_with() {
        let set = |deleted: &str, scaled: &str| {
            json!({"metadata": {"name": "s", "uid": "set"}, "spec": {"replicas": 1,
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled}}})
        };
        let pod = |name: &str| -> Pod {
            serde_json::from_value(json!({"metadata": {"name": name, "uid": name}})).expect("a pod")
        };
        let kinds = |set: &Value, name: &str, claim: &Value| {
            let owners = owners_of_claim(set, &pod(name), claim)?;
            Some(owners.iter().map(|owner| owner["kind"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>())
        };
        let free = json!({"metadata": {"name": "c"}});
        for (deleted, scaled, stays, leaves) in [
            ("Retain", "Retain", None, None),
            ("Delete", "Retain", Some("StatefulSet"), Some("StatefulSet")),
            ("Retain", "Delete", None, Some("Pod")),
            ("Delete", "Delete", Some("StatefulSet"), Some("Pod")),
        ] {
            let set = set(deleted, scaled);
            assert_eq!(kinds(&set, "s-0", &free), stays.map(|kind| vec![kind.to_owned()]), "{deleted} {scaled}");
            assert_eq!(kinds(&set, "s-1", &free), leaves.map(|kind| vec![kind.to_owned()]), "{deleted} {scaled}");
        }
        let owned = json!({"metadata": {"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "set", "controller": true}]}});
        assert_eq!(kinds(&set("Retain", "Retain"), "s-0", &owned), Some(Vec::new()));
        assert_eq!(kinds(&set("Delete", "Retain"), "s-0", &owned), None);
        let stale = json!({"metadata": {"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "before", "controller": true}]}});
        assert_eq!(kinds(&set("Retain", "Retain"), "s-0", &stale), None);
    }
}
