//! Volumes: claims get the default class, and neither claims nor volumes go while they are in use.

use roost_object::Value;
use serde_json::json;

use super::{Attributes, Verb};

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const DEFAULT_INGRESS_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";

pub(super) fn complete(attributes: &Attributes<'_>, object: &mut Value) {
    if attributes.verb != Verb::Create {
        return;
    }
    if attributes.is("", "persistentvolumeclaims") {
        add_finalizer(object, "kubernetes.io/pvc-protection");
        default_storage_class(attributes, object);
    } else if attributes.is("", "persistentvolumes") {
        add_finalizer(object, "kubernetes.io/pv-protection");
    } else if attributes.is("storage.k8s.io", "volumeattributesclasses") {
        add_finalizer(object, "kubernetes.io/vac-protection");
    } else if attributes.is("networking.k8s.io", "ingresses") {
        default_ingress_class(attributes, object);
    }
}

/// `StorageObjectInUseProtection`.
fn add_finalizer(object: &mut Value, name: &str) {
    let metadata = crate::write::metadata_mut(object);
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|finalizer| finalizer == name)
    {
        list.push(name.into());
    }
}

/// `DefaultStorageClass`: the newest class that is marked as the default.
fn default_storage_class(attributes: &Attributes<'_>, claim: &mut Value) {
    if claim["spec"].get("storageClassName").is_some()
        || claim["metadata"]["annotations"].get("volume.beta.kubernetes.io/storage-class").is_some()
    {
        return;
    }
    if let Some(class) = newest_default(attributes, "storage.k8s.io", "storageclasses", DEFAULT_CLASS) {
        claim["spec"]["storageClassName"] = class.into();
    }
}

/// `DefaultIngressClass`.
fn default_ingress_class(attributes: &Attributes<'_>, ingress: &mut Value) {
    if ingress["spec"].get("ingressClassName").is_some()
        || ingress["metadata"]["annotations"].get("kubernetes.io/ingress.class").is_some()
    {
        return;
    }
    if let Some(class) = newest_default(attributes, "networking.k8s.io", "ingressclasses", DEFAULT_INGRESS_CLASS) {
        ingress["spec"]["ingressClassName"] = class.into();
    }
}

fn newest_default(attributes: &Attributes<'_>, group: &str, plural: &str, annotation: &str) -> Option<String> {
    let mut classes: Vec<Value> = attributes
        .target
        .call
        .cluster
        .find_all(group, plural, "")
        .into_iter()
        .filter(|class| class["metadata"]["annotations"][annotation] == "true")
        .collect();
    classes.sort_by(|a, b| {
        let time = |class: &Value| class["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
        let name = |class: &Value| class["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        time(b).cmp(&time(a)).then_with(|| name(a).cmp(&name(b)))
    });
    classes.first().and_then(|class| class["metadata"]["name"].as_str().map(str::to_owned))
}
