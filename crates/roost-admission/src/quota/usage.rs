//! Usage from scratch: what all objects of a namespace use of a quota, for those who bring its status up to date.

use std::collections::BTreeSet;

use roost_object::Value;
use serde_json::json;

use super::{DeviceClasses, Evaluator, Quota, mask};
use crate::amounts::{self, Amounts};

/// Gives the objects of a namespace.
pub trait Objects {
    /// Calls back for every object of a resource; an unknown resource has none and returns false.
    fn for_each(&self, group: &str, plural: &str, visit: &mut dyn FnMut(&Value)) -> bool;
    /// How many objects a resource has; none when it is unknown.
    fn count(&self, group: &str, plural: &str) -> Option<usize>;
}

/// The kinds that are measured in more than their number.
const MEASURED: &[(&str, &str)] =
    &[("", "pods"), ("", "services"), ("", "persistentvolumeclaims"), ("resource.k8s.io", "resourceclaims")];
const ALIASED: &[&str] = &["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/// What a quota's status becomes; none when it is right already.
pub fn recalculate(quota: &Value, objects: &dyn Objects, devices: &dyn DeviceClasses, now: i64) -> Option<Value> {
    let hard = amounts::read(&quota["spec"]["hard"]);
    let mut counted = Quota::read(quota);
    counted.hard.clone_from(&hard);
    let mut measured = Amounts::new();
    for (group, plural) in MEASURED {
        let Some(evaluator) = Evaluator::of(group, plural) else { continue };
        add_usage(&mut measured, &counted, &evaluator, (group, plural), objects, (now, devices));
    }
    for (group, plural) in counts(&hard) {
        let Some(evaluator @ Evaluator::Count { .. }) = Evaluator::of(&group, &plural) else { continue };
        add_count(&mut measured, &counted, &evaluator, (&group, &plural), objects);
    }
    let names: Vec<&str> = hard.keys().map(String::as_str).collect();
    let mut used = counted.used;
    used.extend(measured);
    let used = mask(&used, &names);
    let status = &quota["status"];
    let known = status["hard"].is_object() && (used.is_empty() || status["used"].is_object());
    let same = known && amounts::read(&status["hard"]) == hard && amounts::read(&status["used"]) == used;
    (!same).then(|| {
        let mut status = json!({"hard": amounts::write(&hard)});
        if !used.is_empty() {
            status["used"] = amounts::write(&used);
        }
        status
    })
}

/// The resources that a quota counts objects of.
fn counts(hard: &Amounts) -> BTreeSet<(String, String)> {
    hard.keys()
        .filter_map(|name| {
            if let Some(resource) = name.strip_prefix("count/") {
                let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
                return Some((group.to_owned(), plural.to_owned()));
            }
            ALIASED.contains(&name.as_str()).then(|| (String::new(), name.clone()))
        })
        .collect()
}

fn add_usage(
    measured: &mut Amounts,
    quota: &Quota,
    evaluator: &Evaluator,
    (group, plural): (&str, &str),
    objects: &dyn Objects,
    (now, devices): (i64, &dyn DeviceClasses),
) {
    let names: Vec<&str> =
        quota.hard.keys().map(String::as_str).filter(|name| evaluator.is_measured(name, devices)).collect();
    if names.is_empty() {
        return;
    }
    let mut sum: Amounts = names.iter().map(|name| ((*name).to_owned(), amounts::count(0))).collect();
    let known = objects.for_each(group, plural, &mut |object| {
        if quota.scopes.iter().all(|scope| evaluator.in_scope(scope, object)) {
            amounts::add(&mut sum, &mask(&evaluator.usage(object, now, devices), &names));
        }
    });
    if known {
        amounts::add(measured, &sum);
    }
}

/// Counts without reading: objects of most kinds are in no scope, so a quota with scopes counts none.
fn add_count(
    measured: &mut Amounts,
    quota: &Quota,
    evaluator: &Evaluator,
    (group, plural): (&str, &str),
    objects: &dyn Objects,
) {
    let Evaluator::Count { name, alias } = evaluator else { return };
    let Some(number) = objects.count(group, plural) else { return };
    let number = if quota.scopes.is_empty() { number } else { 0 };
    for name in std::iter::once(name.as_str()).chain(*alias).filter(|name| quota.hard.contains_key(*name)) {
        measured.insert(name.to_owned(), amounts::count(number as i64));
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoDevices;
    use super::*;

    struct Namespace(Vec<(&'static str, Value)>);

    impl Objects for Namespace {
        fn for_each(&self, _: &str, plural: &str, visit: &mut dyn FnMut(&Value)) -> bool {
            self.0.iter().filter(|(kind, _)| *kind == plural).for_each(|(_, object)| visit(object));
            true
        }

        fn count(&self, _: &str, plural: &str) -> Option<usize> {
            (plural != "unknowns").then(|| self.0.iter().filter(|(kind, _)| *kind == plural).count())
        }
    }

    #[test]
    fn usage_is_found_again() {
        let pod = |phase: &str| json!({"status": {"phase": phase}, "spec": {"containers": [{"resources": {"requests": {"cpu": "500m"}}}]}});
        let namespace = Namespace(vec![
            ("pods", pod("Running")),
            ("pods", pod("Pending")),
            ("pods", pod("Succeeded")),
            ("configmaps", json!({})),
            ("widgets", json!({})),
        ]);
        let hard = json!({"pods": "9", "count/pods": "9", "requests.cpu": "4", "configmaps": "3",
            "count/widgets.example.com": "5", "count/unknowns": "5", "services.nodeports": "7"});
        let mut quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
        let status = recalculate(&quota, &namespace, &NoDevices, 0).unwrap();
        assert_eq!(status["hard"], hard);
        let used = json!({"pods": "2", "count/pods": "3", "requests.cpu": "1", "configmaps": "1",
            "count/widgets.example.com": "1", "services.nodeports": "0"});
        assert_eq!(status["used"], used);
        quota["status"] = status;
        assert_eq!(recalculate(&quota, &namespace, &NoDevices, 0), None);
    }

    #[test]
    fn scopes_leave_other_kinds_out() {
        let namespace = Namespace(vec![("pods", json!({"spec": {}})), ("configmaps", json!({}))]);
        let quota = json!({"spec": {"hard": {"pods": "1"}, "scopes": ["NotBestEffort"]}});
        let status = recalculate(&quota, &namespace, &NoDevices, 0).unwrap();
        assert_eq!(status["used"], json!({"pods": "0"}));
    }
}
