//! Volumes, claims, classes and drivers.

use serde_json::Value;

use crate::column::{AGE, Cell, Column, NAME, Table};
use crate::read::{at, being_deleted, filled, list, plain, text};

const GROUP: &str = "storage.k8s.io";

pub(crate) static TABLES: &[Table] = &[
    Table {
        kind: "PersistentVolume",
        columns: &[
            NAME,
            Column::text("Capacity", Cell::Made(|object, _| plain(at(object, "spec.capacity.storage")).into()))
                .doc("spec.capacity"),
            Column::text("Access Modes", Cell::Made(|object, _| access_modes(object, "spec.accessModes").into()))
                .doc("spec.accessModes"),
            Column::field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
            Column::text("Status", Cell::Made(phase)).doc("status.phase"),
            Column::text("Claim", Cell::Made(claim)).doc("spec.claimRef"),
            Column::text("StorageClass", Cell::Made(class)).says("The volume's storage class."),
            Column::text("VolumeAttributesClass", Cell::TextOr("spec.volumeAttributesClassName", "<unset>"))
                .says("The volume's attributes class."),
            Column::field("Reason", "status.reason"),
            AGE,
            Column::text("VolumeMode", Cell::TextOr("spec.volumeMode", "<unset>")).doc("spec.volumeMode").wide(),
        ],
        ..Table::EMPTY
    },
    Table {
        kind: "PersistentVolumeClaim",
        columns: &[
            NAME,
            Column::text("Status", Cell::Made(phase)).doc("status.phase"),
            Column::field("Volume", "spec.volumeName"),
            Column::text("Capacity", Cell::Made(claimed_capacity)).doc("status.capacity"),
            Column::text("Access Modes", Cell::Made(claimed_access_modes)).doc("status.accessModes"),
            Column::text("StorageClass", Cell::Made(class)).says("The claim's storage class."),
            Column::text("VolumeAttributesClass", Cell::TextOr("spec.volumeAttributesClassName", "<unset>"))
                .says("The claim's attributes class."),
            AGE,
            Column::text("VolumeMode", Cell::TextOr("spec.volumeMode", "<unset>")).doc("spec.volumeMode").wide(),
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "StorageClass",
        columns: &[
            Column::text("Name", Cell::Made(storage_class_name)).names().doc("metadata.name"),
            Column::field("Provisioner", "provisioner"),
            Column::text("ReclaimPolicy", Cell::TextOr("reclaimPolicy", "Delete")).doc("reclaimPolicy"),
            Column::text("VolumeBindingMode", Cell::TextOr("volumeBindingMode", "Immediate")).doc("volumeBindingMode"),
            Column::text("AllowVolumeExpansion", Cell::Boolean("allowVolumeExpansion", false))
                .doc("allowVolumeExpansion"),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "VolumeAttributesClass",
        columns: &[NAME, Column::field("DriverName", "driverName"), AGE],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "VolumeAttachment",
        columns: &[
            NAME,
            Column::field("Attacher", "spec.attacher").names(),
            Column::field("PV", "spec.source.persistentVolumeName"),
            Column::field("Node", "spec.nodeName"),
            Column::boolean("Attached", Cell::Boolean("status.attached", false)).doc("status.attached"),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "CSINode",
        columns: &[
            NAME,
            Column::integer("Drivers", Cell::Count(&["spec.drivers"])).says("How many drivers run on the node."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: GROUP,
        kind: "CSIDriver",
        columns: &[
            NAME,
            Column::boolean("AttachRequired", Cell::Boolean("spec.attachRequired", true)).doc("spec.attachRequired"),
            Column::boolean("PodInfoOnMount", Cell::Boolean("spec.podInfoOnMount", false)).doc("spec.podInfoOnMount"),
            Column::boolean("StorageCapacity", Cell::Boolean("spec.storageCapacity", false))
                .doc("spec.storageCapacity"),
            Column::text("TokenRequests", Cell::Made(audiences)).doc("spec.tokenRequests"),
            Column::boolean("RequiresRepublish", Cell::Boolean("spec.requiresRepublish", false))
                .doc("spec.requiresRepublish"),
            Column::text("Modes", Cell::Made(lifecycle_modes)).doc("spec.volumeLifecycleModes"),
            AGE,
        ],
        ..Table::EMPTY
    },
];

fn phase(object: &Value, _now: i64) -> Value {
    if being_deleted(object) { "Terminating".into() } else { text(object, "status.phase").into() }
}

fn claim(volume: &Value, _now: i64) -> Value {
    let Some(claim) = at(volume, "spec.claimRef") else { return "".into() };
    format!("{}/{}", text(claim, "namespace"), text(claim, "name")).into()
}

/// The class of a volume or claim; an old annotation comes before the field.
fn class(object: &Value, _now: i64) -> Value {
    at(object, "metadata.annotations")
        .and_then(|annotations| annotations.get("volume.beta.kubernetes.io/storage-class"))
        .and_then(Value::as_str)
        .unwrap_or_else(|| text(object, "spec.storageClassName"))
        .into()
}

fn access_modes(object: &Value, path: &str) -> String {
    let modes = list(object, path);
    let short =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let shown: Vec<_> =
        short.into_iter().filter(|(mode, _)| modes.iter().any(|given| given == mode)).map(|(_, word)| word).collect();
    shown.join(",")
}

fn claimed_capacity(claim: &Value, _now: i64) -> Value {
    match filled(claim, "spec.volumeName") {
        Some(_) => plain(at(claim, "status.capacity.storage")).into(),
        None => "".into(),
    }
}

fn claimed_access_modes(claim: &Value, _now: i64) -> Value {
    match filled(claim, "spec.volumeName") {
        Some(_) => access_modes(claim, "status.accessModes").into(),
        None => "".into(),
    }
}

fn storage_class_name(class: &Value, _now: i64) -> Value {
    let name = text(class, "metadata.name");
    let default = at(class, "metadata.annotations").is_some_and(|annotations| {
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|key| annotations.get(key).and_then(Value::as_str) == Some("true"))
    });
    if default { format!("{name} (default)").into() } else { name.into() }
}

fn audiences(driver: &Value, _now: i64) -> Value {
    if at(driver, "spec.tokenRequests").is_none() {
        return "<unset>".into();
    }
    list(driver, "spec.tokenRequests")
        .iter()
        .map(|request| text(request, "audience"))
        .collect::<Vec<_>>()
        .join(",")
        .into()
}

fn lifecycle_modes(driver: &Value, _now: i64) -> Value {
    let modes: Vec<_> = list(driver, "spec.volumeLifecycleModes").iter().filter_map(Value::as_str).collect();
    if modes.is_empty() { "<none>".into() } else { modes.join(",").into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn claims_show_capacity_once_bound() {
        let mut claim = json!({"metadata": {"name": "c"}, "spec": {"storageClassName": "fast"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}});
        let cells = crate::cells("", "PersistentVolumeClaim", &claim, 0);
        assert_eq!(cells[2..7], [json!(""), json!(""), json!(""), json!("fast"), json!("<unset>")]);
        claim["spec"]["volumeName"] = json!("v");
        let cells = crate::cells("", "PersistentVolumeClaim", &claim, 0);
        assert_eq!(cells[2..5], [json!("v"), json!("1Gi"), json!("RWO,RWX")]);
    }

    #[test]
    fn the_default_class_says_so() {
        let class =
            json!({"metadata": {"name": "a", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}});
        assert_eq!(
            crate::cells("storage.k8s.io", "StorageClass", &class, 0)[..5],
            [json!("a (default)"), json!(""), json!("Delete"), json!("Immediate"), json!(false)]
        );
    }
}
