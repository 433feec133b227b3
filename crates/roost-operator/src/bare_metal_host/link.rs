//! What a bare-metal host says about its Agent: annotations become its spec, hints its disk. Pure.

use roost_api::agent_install::names::annotation::bare_metal_host as names;
use roost_api::agent_install::names::label;
use serde_json::{Map, Value, json};

use crate::object::{annotation, has_all};

/// The disk of a host whose hints no disk has: nothing is written then, and the Agent says so. Upstream's value.
const NO_DISK: &str = "/dev/not-found-by-hints";

/// Annotations that become fields of an Agent's spec.
const FIELDS: [(&str, &str); 5] = [
    (names::ROLE, "role"),
    (names::HOSTNAME, "hostname"),
    (names::MACHINE_CONFIG_POOL, "machineConfigPool"),
    (names::INSTALLER_ARGUMENTS, "installerArgs"),
    (names::IGNITION_CONFIG_OVERRIDES, "ignitionConfigOverrides"),
];

/// What changes in an Agent, as a merge; none when nothing does.
pub(super) fn changes(host: &Value, agent: &Value) -> Option<Value> {
    let mut labels = prefixed(host, names::AGENT_LABEL_PREFIX);
    labels.insert(label::BARE_METAL_HOST.to_owned(), host["metadata"]["name"].clone());
    // Who has a management controller that is ours is not a stranger.
    let mut spec = json!({"approved": true});
    for (name, field) in FIELDS {
        let wanted = annotation(host, name);
        if !wanted.is_empty() {
            spec[field] = json!(wanted);
        }
    }
    let node_labels = prefixed(host, names::NODE_LABEL_PREFIX);
    if !node_labels.is_empty() {
        let mut wanted = node_labels;
        for key in agent["spec"]["nodeLabels"].as_object().into_iter().flat_map(Map::keys) {
            wanted.entry(key.clone()).or_insert(Value::Null);
        }
        spec["nodeLabels"] = Value::Object(wanted);
    }
    let hints = host["spec"]["rootDeviceHints"].as_object().filter(|hints| !hints.is_empty());
    let disks = agent["status"]["inventory"]["disks"].as_array().filter(|disks| !disks.is_empty());
    if let (Some(hints), Some(disks)) = (hints, disks) {
        let found = disks.iter().find(|disk| is_hinted(hints, disk)).and_then(|disk| disk["id"].as_str());
        spec["installation_disk_id"] = json!(found.unwrap_or(NO_DISK));
    }
    let wanted = json!({"metadata": {"labels": labels}, "spec": spec});
    (!is_so(agent, &wanted)).then_some(wanted)
}

/// Whether an Agent is already what a merge would make of it.
fn is_so(agent: &Value, wanted: &Value) -> bool {
    let is_clean = wanted["spec"]["nodeLabels"].as_object().is_none_or(|labels| {
        labels.iter().all(|(key, value)| agent["spec"]["nodeLabels"].get(key).unwrap_or(&Value::Null) == value)
    });
    let mut rest = wanted.clone();
    if let Some(spec) = rest["spec"].as_object_mut() {
        spec.remove("nodeLabels");
    }
    is_clean && has_all(agent, &rest)
}

fn prefixed(host: &Value, prefix: &str) -> Map<String, Value> {
    let annotations = host["metadata"]["annotations"].as_object().into_iter().flatten();
    annotations.filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), value.clone()))).collect()
}

/// Whether a disk is what all hints say.
fn is_hinted(hints: &Map<String, Value>, disk: &Value) -> bool {
    let text = |name: &str| disk[name].as_str().unwrap_or_default();
    let has = |name: &str, wanted: &str| text(name).to_ascii_lowercase().contains(&wanted.to_ascii_lowercase());
    hints.iter().all(|(hint, wanted)| {
        let words = wanted.as_str().unwrap_or_default();
        match hint.as_str() {
            "deviceName" => {
                [text("path"), text("byPath"), text("byID")].contains(&words)
                    || text("name") == words.trim_start_matches("/dev/")
            }
            "hctl" => text("hctl") == words,
            "model" => has("model", words),
            "vendor" => has("vendor", words),
            "serialNumber" => text("serial") == words,
            "wwn" | "wwnWithExtension" => text("wwn").eq_ignore_ascii_case(words),
            "minSizeGigabytes" => {
                let size = disk["sizeBytes"].as_i64().unwrap_or_default() / 1_000_000_000;
                wanted.as_i64().is_some_and(|smallest| size >= smallest)
            }
            "rotational" => wanted.as_bool().is_some_and(|rotates| (text("driveType") == "HDD") == rotates),
            // A hint that nobody understands must not lead to a disk that nobody meant.
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(hints: &Value) -> Value {
        json!({"metadata": {"name": "h1", "annotations": {
                "bmac.agent-install.openshift.io/hostname": "node-7", "bmac.agent-install.openshift.io/role": "worker",
                "bmac.agent-install.openshift.io.node-label.rack": "r1",
                "bmac.agent-install.openshift.io.agent-label.site": "north"}},
            "spec": {"rootDeviceHints": hints}})
    }

    fn agent() -> Value {
        json!({"metadata": {"labels": {"other": "x"}}, "spec": {"approved": false, "nodeLabels": {"old": "1"}},
        "status": {"inventory": {"disks": [
            {"id": "/dev/disk/by-id/a", "name": "sda", "path": "/dev/sda", "driveType": "HDD", "sizeBytes": 2_000_000_000_000_i64, "model": "ST2000"},
            {"id": "/dev/disk/by-id/b", "name": "sdb", "path": "/dev/sdb", "driveType": "SSD", "sizeBytes": 480_000_000_000_i64, "wwn": "0x5000C500"},
        ]}}})
    }

    /// What a merge makes of an Agent.
    fn merge(target: &mut Value, change: &Value) {
        for (key, value) in change.as_object().into_iter().flatten() {
            if value.is_null() {
                target.as_object_mut().unwrap().remove(key);
            } else if value.is_object() {
                merge(&mut target[key], value);
            } else {
                target[key] = value.clone();
            }
        }
    }

    #[test]
    fn annotations_become_the_agents_spec_once() {
        let (host, mut agent) = (host(&json!({"rotational": false})), agent());
        let change = changes(&host, &agent).expect("a change");
        merge(&mut agent, &change);
        assert_eq!(
            agent["spec"],
            json!({"approved": true, "role": "worker", "hostname": "node-7", "nodeLabels": {"rack": "r1"},
            "installation_disk_id": "/dev/disk/by-id/b"})
        );
        assert_eq!(
            agent["metadata"]["labels"],
            json!({"other": "x", "site": "north", "agent-install.openshift.io/bmh": "h1"})
        );
        assert_eq!(changes(&host, &agent), None);
    }

    #[test]
    fn hints_choose_a_disk_or_none() {
        for (hints, wanted) in [
            (json!({"deviceName": "/dev/sda"}), "/dev/disk/by-id/a"),
            (json!({"minSizeGigabytes": 1000}), "/dev/disk/by-id/a"),
            (json!({"model": "st2000", "rotational": true}), "/dev/disk/by-id/a"),
            (json!({"wwn": "0x5000c500"}), "/dev/disk/by-id/b"),
            (json!({"serialNumber": "nobody"}), NO_DISK),
            (json!({"colour": "red"}), NO_DISK),
        ] {
            let change = changes(&host(&hints), &agent()).expect("a change");
            assert_eq!(change["spec"]["installation_disk_id"], wanted, "{hints}");
        }
        let mut silent = agent();
        silent["status"] = json!({});
        let change = changes(&host(&json!({"rotational": true})), &silent).expect("a change");
        assert!(change["spec"]["installation_disk_id"].is_null(), "nothing is known of its disks yet");
    }
}
