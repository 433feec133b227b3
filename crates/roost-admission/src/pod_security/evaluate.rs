//! Which checks a level has in a release, and what they say about a pod.

use std::collections::BTreeMap;

use roost_object::Value;

use super::policy::{Level, LevelVersion, Version};
use super::{Pod, Violation, baseline, plural, restricted};

type CheckPod = fn(Pod<'_>) -> Option<Violation>;

/// A check in one of its editions, which counts from a release on.
pub(super) struct Edition {
    pub(super) since: u64,
    pub(super) check: CheckPod,
}

/// A check, with its editions from the oldest to the newest.
pub(super) struct Check {
    pub(super) id: &'static str,
    pub(super) editions: &'static [Edition],
    /// The baseline check that this one takes the place of.
    pub(super) replaces: Option<&'static str>,
}

impl Check {
    fn edition(&self, minor: u64) -> Option<&Edition> {
        self.editions.iter().rev().find(|edition| edition.since <= minor)
    }
}

/// The last release that changed a check; later ones are the same.
const NEWEST: u64 = 35;

/// How many pods are looked at when a namespace becomes stricter.
const MAX_EXISTING_PODS: usize = 3000;

/// All that is wrong with a pod.
#[derive(Debug, Default)]
pub struct Verdict {
    violations: Vec<Violation>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_allowed(&self) -> bool {
        self.violations.is_empty()
    }

    /// What is wrong, in short.
    pub fn reasons(&self) -> String {
        self.violations.iter().map(|violation| violation.reason).collect::<Vec<_>>().join(", ")
    }

    /// What is wrong, with details.
    pub fn details(&self) -> String {
        let each = |violation: &Violation| {
            if violation.detail.is_empty() {
                violation.reason.to_owned()
            } else {
                format!("{} ({})", violation.reason, violation.detail)
            }
        };
        self.violations.iter().map(each).collect::<Vec<_>>().join(", ")
    }
}

/// Checks a pod against a level.
pub fn evaluate(wanted: LevelVersion, pod: Pod<'_>) -> Verdict {
    if wanted.level == Level::Privileged {
        return Verdict::default();
    }
    let minor = match wanted.version {
        Version::Latest => NEWEST,
        Version::Minor(minor) => minor.min(NEWEST),
    };
    let strict = wanted.level == Level::Restricted;
    let stricter: &[Check] = if strict { restricted::CHECKS } else { &[] };
    let replaced = |id: &str| stricter.iter().any(|check| check.replaces == Some(id) && check.edition(minor).is_some());
    let lax = baseline::CHECKS.iter().filter(|check| !replaced(check.id));
    let editions = lax.chain(stricter).filter_map(|check| check.edition(minor));
    Verdict { violations: editions.filter_map(|edition| (edition.check)(pod)).collect() }
}

/// What to warn of when a namespace becomes stricter than some of its pods.
pub fn existing_pods(namespace: &str, enforce: LevelVersion, pods: &[Value]) -> Vec<String> {
    let ordered = one_of_each_controller_first(pods);
    let checked = ordered.len().min(MAX_EXISTING_PODS);
    let mut found: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for pod in &ordered[..checked] {
        let verdict = evaluate(enforce, Pod::of(pod));
        if verdict.is_allowed() {
            continue;
        }
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let entry = found.entry(verdict.reasons()).or_insert((name, 0));
        *entry = (entry.0.min(name), entry.1 + 1);
    }
    let mut warnings = Vec::new();
    if checked < ordered.len() {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {} existing pods",
            ordered.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{enforce}\""
        ));
    }
    let mut by_pod: Vec<String> = found
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            _ => format!("{name} (and {} other {}): {reasons}", count - 1, plural("pod", "pods", count - 1)),
        })
        .collect();
    by_pod.sort();
    warnings.extend(by_pod);
    warnings
}

/// Pods of one controller are alike, so the first of each comes before all seconds.
fn one_of_each_controller_first(pods: &[Value]) -> Vec<&Value> {
    let mut seen = std::collections::HashSet::new();
    let controller = |pod: &Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array()?;
        let owner = owners.iter().find(|owner| owner["controller"] == true)?;
        owner["uid"].as_str().map(str::to_owned)
    };
    let (mut first, rest): (Vec<&Value>, Vec<&Value>) =
        pods.iter().partition(|pod| controller(pod).is_none_or(|uid| seen.insert(uid)));
    first.extend(rest);
    first
}
