//! Names, labels and storage by the place in the order.

use serde_json::{Value, json};

use crate::{Pod, history, template, value};

const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// A pod's place in the order of a set; none when it is not named like one of it.
pub fn ordinal(set: &Value, pod: &Pod) -> Option<i64> {
    let (stem, number) = pod.metadata.name.rsplit_once('-')?;
    if stem != value::text(set, &["metadata", "name"]) || number.starts_with('+') {
        return None;
    }
    number.parse().ok().filter(|number| *number >= 0)
}

/// The name of the claim that a place has by a template.
pub fn claim_name(set: &Value, template: &Value, number: i64) -> String {
    let name = |object: &Value| value::text(object, &["metadata", "name"]).to_owned();
    format!("{}-{}-{number}", name(template), name(set))
}

/// The claims of a place.
pub fn claims(set: &Value, number: i64) -> Vec<Value> {
    let one = |template: &Value| {
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim_name(set, template, number), "namespace": set["metadata"]["namespace"]},
            "spec": template["spec"],
        });
        for field in ["labels", "annotations"] {
            if let Some(own) = template["metadata"].get(field) {
                claim["metadata"][field] = own.clone();
            }
        }
        for (key, label) in set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten() {
            value::set(&mut claim, &["metadata", "labels", key], label.clone());
        }
        claim
    };
    value::list(set, &["spec", "volumeClaimTemplates"]).iter().map(one).collect()
}

/// The pod of a place.
pub(super) fn pod(set: &Value, template: &Value, revision: &str, number: i64) -> Value {
    let mut pod = template::pod(set, template);
    let name = format!("{}-{number}", value::text(set, &["metadata", "name"]));
    pod["metadata"]["name"] = name.as_str().into();
    value::set(&mut pod, &["metadata", "labels", POD_NAME], name.as_str());
    value::set(&mut pod, &["metadata", "labels", POD_INDEX], number.to_string());
    value::set(&mut pod, &["metadata", "labels", history::POD_REVISION], revision);
    pod["spec"]["hostname"] = name.into();
    if let Some(service) = set["spec"]["serviceName"].as_str().filter(|service| !service.is_empty()) {
        pod["spec"]["subdomain"] = service.into();
    }
    let templates = value::list(set, &["spec", "volumeClaimTemplates"]);
    let mut volumes: Vec<Value> = templates
        .iter()
        .map(|template| {
            json!({"name": template["metadata"]["name"],
                "persistentVolumeClaim": {"claimName": claim_name(set, template, number)}})
        })
        .collect();
    let replaced = |volume: &Value| templates.iter().any(|template| template["metadata"]["name"] == volume["name"]);
    volumes.extend(value::list(&pod, &["spec", "volumes"]).iter().filter(|volume| !replaced(volume)).cloned());
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = volumes.into();
    }
    pod
}
