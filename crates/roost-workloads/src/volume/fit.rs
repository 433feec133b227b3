//! Which volume suits a claim.

use std::collections::BTreeSet;

use roost_object::Quantity;
use serde_json::Value;

use super::{class_of, is_going, is_kept_for};
use crate::{selector, value};

/// Whether claims of a class wait until a pod wants them.
pub fn delays(class: Option<&Value>) -> bool {
    class.is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer")
}

/// What is wrong with a volume that a claim asks for by name; none when nothing is.
pub(super) fn mismatch(volume: &Value, claim: &Value) -> Option<String> {
    let name = value::text(volume, &["metadata", "name"]);
    if is_going(volume) {
        return Some(format!("the volume is marked for deletion {name:?}"));
    }
    if capacity(volume) < wanted(claim) {
        return Some("requested PV is too small".to_owned());
    }
    if class_of(volume) != class_of(claim) {
        return Some("storageClassName does not match".to_owned());
    }
    if attributes(volume) != attributes(claim) {
        return Some("volumeAttributesClassName does not match".to_owned());
    }
    if mode(volume) != mode(claim) {
        return Some("incompatible volumeMode".to_owned());
    }
    (!modes(volume).is_superset(&modes(claim))).then(|| "incompatible accessMode".to_owned())
}

/// The best volume for a claim: one that is kept for it, else the smallest that suits it, of those with the fewest ways of
/// access. A claim that waits for a pod gets only what is kept for it, unless `here` says which volumes are where the pod
/// is to run.
pub fn best<'a>(
    volumes: &'a [Value],
    claim: &Value,
    waits: bool,
    here: Option<&dyn Fn(&Value) -> bool>,
) -> Option<&'a Value> {
    let selector = &claim["spec"]["selector"];
    let selector = (!selector.is_null()).then(|| selector::read(selector));
    let mut found: Option<((usize, i64), &Value)> = None;
    for volume in volumes {
        let reachable = here.is_none_or(|here| here(volume));
        let suits = modes(volume).is_superset(&modes(claim)) && mode(volume) == mode(claim);
        if !suits || is_going(volume) || attributes(volume) != attributes(claim) {
            continue;
        }
        if is_kept_for(volume, claim) {
            if capacity(volume) >= wanted(claim) && reachable {
                return Some(volume);
            }
            continue;
        }
        let taken = volume["spec"]["claimRef"].is_object();
        let waiting = here.is_none() && waits;
        if taken || waiting || !reachable || volume["status"]["phase"] != "Available" {
            continue;
        }
        let selected = selector.as_ref().is_none_or(|selector| selector.matches_object(volume));
        if !selected || class_of(volume) != class_of(claim) || capacity(volume) < wanted(claim) {
            continue;
        }
        let size = (modes(volume).len(), capacity(volume));
        if found.is_none_or(|(least, _)| size < least) {
            found = Some((size, volume));
        }
    }
    found.map(|(_, volume)| volume)
}

fn amount(value: &Value) -> i64 {
    Quantity::from_value(value).map(|amount| amount.value()).unwrap_or_default()
}

fn capacity(volume: &Value) -> i64 {
    amount(&volume["spec"]["capacity"]["storage"])
}

/// How much a claim asks for, in bytes.
pub fn wanted(claim: &Value) -> i64 {
    amount(&claim["spec"]["resources"]["requests"]["storage"])
}

fn modes(object: &Value) -> BTreeSet<&str> {
    value::list(object, &["spec", "accessModes"]).iter().filter_map(Value::as_str).collect()
}

pub(super) fn mode(object: &Value) -> &str {
    match value::text(object, &["spec", "volumeMode"]) {
        "" => "Filesystem",
        mode => mode,
    }
}

fn attributes(object: &Value) -> &str {
    value::text(object, &["spec", "volumeAttributesClassName"])
}
