//! What claims for volumes use: their number and size, in all and by storage class.

use roost_object::Value;
use roost_object::quantity::Quantity;

use super::scope::attributes_classes;
use crate::amounts::{Amounts, count};

const COUNT: &str = "count/persistentvolumeclaims";
const RESOURCES: &[&str] = &["persistentvolumeclaims", "requests.storage"];
const CLASS_SUFFIX: &str = ".storageclass.storage.k8s.io/";
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn is_measured(name: &str) -> bool {
    let by_class = |resource: &&str| name.strip_suffix(*resource).is_some_and(|class| class.ends_with(CLASS_SUFFIX));
    name == COUNT || RESOURCES.contains(&name) || RESOURCES.iter().any(by_class)
}

pub(super) fn usage(claim: &Value) -> Amounts {
    let class = storage_class(claim);
    let mut usage = Amounts::from([("persistentvolumeclaims".to_owned(), count(1)), (COUNT.to_owned(), count(1))]);
    if !class.is_empty() {
        usage.insert(format!("{class}{CLASS_SUFFIX}persistentvolumeclaims"), count(1));
    }
    if let Some(size) = size(claim) {
        if !class.is_empty() {
            usage.insert(format!("{class}{CLASS_SUFFIX}requests.storage"), size.clone());
        }
        usage.insert("requests.storage".to_owned(), size);
    }
    usage
}

/// The class of a claim: an old annotation comes before the field.
pub(super) fn storage_class(claim: &Value) -> &str {
    claim["metadata"]["annotations"]
        .get(CLASS_ANNOTATION)
        .or_else(|| claim["spec"].get("storageClassName"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The size that is asked for, or that is being allocated if that is more, in whole bytes.
fn size(claim: &Value) -> Option<Quantity> {
    let asked = claim["spec"]["resources"]["requests"].get("storage")?;
    let asked = Quantity::from_value(asked).ok()?;
    let allocated =
        claim["status"]["allocatedResources"].get("storage").and_then(|size| Quantity::from_value(size).ok());
    Some(whole(allocated.filter(|allocated| *allocated > asked).unwrap_or(asked)))
}

fn whole(size: Quantity) -> Quantity {
    if size.is_whole() { size } else { Quantity::new(size.value(), size.format()) }
}

/// Whether a change of status changes what a claim uses.
pub(super) fn status_counts(claim: &Value, old: &Value) -> bool {
    let allocated = |claim: &Value| {
        claim["status"]["allocatedResources"].get("storage").and_then(|size| Quantity::from_value(size).ok())
    };
    allocated(claim) != allocated(old) || attributes_classes(claim) != attributes_classes(old)
}
