//! Volumes: claims get the default class and grow only where that can be done, and neither claims nor volumes go while
//! they are in use.

use std::cmp::Reverse;

use roost_object::{Quantity, Status, Value};
use serde_json::json;

use super::policies::ClassKind;
use super::{Attributes, Verb};

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const DEFAULT_CLASS_BETA: &str = "storageclass.beta.kubernetes.io/is-default-class";
const DEFAULT_INGRESS_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// `DefaultStorageClass` and `StorageObjectInUseProtection`.
pub(super) fn complete(attributes: &Attributes<'_>, object: &mut Value) {
    if attributes.verb != Verb::Create {
        return;
    }
    if attributes.is("", "persistentvolumeclaims") {
        default_storage_class(attributes, object);
        add_finalizer(object, "kubernetes.io/pvc-protection");
    } else if attributes.is("", "persistentvolumes") {
        add_finalizer(object, "kubernetes.io/pv-protection");
    } else if attributes.is("storage.k8s.io", "volumeattributesclasses") {
        add_finalizer(object, "kubernetes.io/vac-protection");
    }
}

fn add_finalizer(object: &mut Value, name: &str) {
    let metadata = crate::write::metadata_mut(object);
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|finalizer| finalizer == name)
    {
        list.push(name.into());
    }
}

fn default_storage_class(attributes: &Attributes<'_>, claim: &mut Value) {
    if claim["spec"].get("storageClassName").is_some_and(|name| !name.is_null())
        || claim["metadata"]["annotations"].get(CLASS_ANNOTATION).is_some()
    {
        return;
    }
    if let Some(class) = newest_default(attributes, ClassKind::Storage, &[DEFAULT_CLASS, DEFAULT_CLASS_BETA]) {
        claim["spec"]["storageClassName"] = class.into();
    }
}

/// `DefaultIngressClass`.
pub(super) fn default_ingress_class(attributes: &Attributes<'_>, ingress: &mut Value) {
    if attributes.verb != Verb::Create
        || !attributes.is("networking.k8s.io", "ingresses")
        || ingress["spec"].get("ingressClassName").is_some_and(|name| !name.is_null())
        || ingress["metadata"]["annotations"].get("kubernetes.io/ingress.class").is_some()
    {
        return;
    }
    if let Some(class) = newest_default(attributes, ClassKind::Ingress, &[DEFAULT_INGRESS_CLASS]) {
        ingress["spec"]["ingressClassName"] = class.into();
    }
}

/// The newest class that is marked as the default; of several as new, the first by name.
fn newest_default(attributes: &Attributes<'_>, kind: ClassKind, annotations: &[&str]) -> Option<String> {
    let text = |class: &Value, field: &str| crate::write::metadata_text(class, field).to_owned();
    let class = attributes.target.call.cluster.first_class(
        kind,
        |class| annotations.iter().any(|annotation| class["metadata"]["annotations"][annotation] == "true"),
        |class| (Reverse(text(class, "creationTimestamp")), text(class, "name")),
    )?;
    Some(text(&class, "name"))
}

/// `PersistentVolumeClaimResize`.
pub(super) fn check_resize(attributes: &Attributes<'_>, claim: &Value) -> Result<(), Status> {
    let (Verb::Update, true, Some(old)) =
        (attributes.verb, attributes.is("", "persistentvolumeclaims"), attributes.old)
    else {
        return Ok(());
    };
    let size = |claim: &Value| {
        Quantity::from_value(&claim["spec"]["resources"]["requests"]["storage"]).unwrap_or(Quantity::ZERO)
    };
    if size(claim) <= size(old) {
        return Ok(());
    }
    if old["status"]["phase"] != "Bound" {
        return Err(attributes.forbidden(claim, "Only bound persistent volume claims can be expanded"));
    }
    let class = class_of(claim);
    let expandable = !class.is_empty()
        && class == class_of(old)
        && attributes
            .target
            .call
            .cluster
            .class(ClassKind::Storage, class)
            .is_some_and(|class| class["allowVolumeExpansion"] == true);
    if expandable {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
    Err(attributes.forbidden(claim, why))
}

fn class_of(claim: &Value) -> &str {
    let annotated = claim["metadata"]["annotations"].get(CLASS_ANNOTATION);
    annotated.unwrap_or(&claim["spec"]["storageClassName"]).as_str().unwrap_or_default()
}
