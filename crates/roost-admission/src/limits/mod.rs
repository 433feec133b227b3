//! `LimitRanger`: what containers get when they ask for nothing, and how much pods and claims may ask for.

mod constraint;
mod defaults;

use std::collections::BTreeSet;

use roost_object::{Quantity, Value};

use crate::amounts::{self, Amounts};
use constraint::{limit_to_request_ratio, maximum, maximum_request, minimum};

pub use defaults::apply_defaults;

/// A limit range, read once.
#[derive(Debug, Default)]
pub struct LimitRange {
    limits: Vec<Limit>,
}

/// One of the limits of a range.
#[derive(Debug)]
struct Limit {
    subject: Subject,
    minimum: Amounts,
    maximum: Amounts,
    ratio: Amounts,
    default_limits: Amounts,
    default_requests: Amounts,
}

/// What a limit is about. The words are those of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Container,
    Pod,
    Claim,
    Other,
}

impl Subject {
    fn parse(text: &str) -> Self {
        match text {
            "Container" => Self::Container,
            "Pod" => Self::Pod,
            "PersistentVolumeClaim" => Self::Claim,
            _ => Self::Other,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Container => "Container",
            Self::Pod => "Pod",
            Self::Claim => "PersistentVolumeClaim",
            Self::Other => "",
        }
    }
}

impl LimitRange {
    /// Reads a `LimitRange` object.
    pub fn read(object: &Value) -> Self {
        let limits = object["spec"]["limits"].as_array().into_iter().flatten().map(|limit| Limit {
            subject: Subject::parse(limit["type"].as_str().unwrap_or_default()),
            minimum: amounts::read(&limit["min"]),
            maximum: amounts::read(&limit["max"]),
            ratio: amounts::read(&limit["maxLimitRequestRatio"]),
            default_limits: amounts::read(&limit["default"]),
            default_requests: amounts::read(&limit["defaultRequest"]),
        });
        Self { limits: limits.collect() }
    }

    /// Why the range refuses a pod; none when it does not.
    pub fn check_pod(&self, pod: &Value) -> Option<String> {
        let mut complaints = Vec::new();
        let spec = &pod["spec"];
        for limit in &self.limits {
            match limit.subject {
                Subject::Container => {
                    for list in ["containers", "initContainers"] {
                        for container in spec[list].as_array().into_iter().flatten() {
                            let resources = &container["resources"];
                            let requests = amounts::read(&resources["requests"]);
                            limit.check(&requests, &amounts::read(&resources["limits"]), &mut complaints);
                        }
                    }
                }
                Subject::Pod => limit.check(&total(spec, "requests"), &total(spec, "limits"), &mut complaints),
                Subject::Claim | Subject::Other => {}
            }
        }
        aggregate(complaints)
    }

    /// Why the range refuses a claim; none when it does not.
    pub fn check_claim(&self, claim: &Value) -> Option<String> {
        let requests = amounts::read(&claim["spec"]["resources"]["requests"]);
        let mut complaints = Vec::new();
        for limit in self.limits.iter().filter(|limit| limit.subject == Subject::Claim) {
            let subject = limit.subject.word();
            let least = limit.minimum.iter().filter_map(|(n, a)| minimum(subject, n, a, &requests, &Amounts::new()));
            complaints.extend(least);
            complaints.extend(limit.maximum.iter().filter_map(|(n, a)| maximum_request(subject, n, a, &requests)));
        }
        aggregate(complaints)
    }
}

impl Limit {
    fn check(&self, requests: &Amounts, limits: &Amounts, complaints: &mut Vec<String>) {
        let subject = self.subject.word();
        let each = |amounts: &Amounts, check: fn(&str, &str, &Quantity, &Amounts, &Amounts) -> Option<String>| {
            let found = amounts.iter().filter_map(|(name, amount)| check(subject, name, amount, requests, limits));
            found.collect::<Vec<_>>()
        };
        complaints.extend(each(&self.minimum, minimum));
        complaints.extend(each(&self.maximum, maximum));
        complaints.extend(each(&self.ratio, limit_to_request_ratio));
    }
}

/// What all containers of a pod ask for together, without its overhead, where the pod as a whole does not say.
fn total(spec: &Value, kind: &str) -> Amounts {
    let of = |container: &Value| amounts::read(&container["resources"][kind]);
    let mut total = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        amounts::add(&mut total, &of(container));
    }
    let (mut restartable, mut starting) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        let mut needed = of(container);
        if container["restartPolicy"] == "Always" {
            amounts::add(&mut total, &needed);
            amounts::add(&mut restartable, &needed);
            amounts::raise(&mut starting, &restartable);
        } else {
            amounts::add(&mut needed, &restartable);
            amounts::raise(&mut starting, &needed);
        }
    }
    amounts::raise(&mut total, &starting);
    let own = amounts::read(&spec["resources"][kind]);
    total.extend(own.into_iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
    total
}

/// Several complaints in one text: each once, in brackets when there is more than one.
fn aggregate(complaints: Vec<String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let unique: Vec<String> = complaints.into_iter().filter(|text| seen.insert(text.clone())).collect();
    match unique.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn range(limits: &Value) -> LimitRange {
        LimitRange::read(&json!({"spec": {"limits": limits}}))
    }

    fn pod(resources: &Value) -> Value {
        json!({"spec": {"containers": [{"name": "c", "resources": resources}]}})
    }

    #[test]
    fn pods_are_held_to_containers_pods_and_ratios() {
        let container = |key: &str, cpu: &str| range(&json!([{"type": "Container", key: {"cpu": cpu}}]));
        let both = |request: &str, limit: &str| pod(&json!({"requests": {"cpu": request}, "limits": {"cpu": limit}}));
        let cases = [
            (
                container("min", "100m"),
                pod(&json!({})),
                Some("minimum cpu usage per Container is 100m.  No request is specified"),
            ),
            (
                container("min", "100m"),
                both("50m", "1"),
                Some("minimum cpu usage per Container is 100m, but request is 50m"),
            ),
            (container("min", "100m"), both("100m", "1"), None),
            (
                container("max", "1"),
                pod(&json!({"requests": {"cpu": "1"}})),
                Some("maximum cpu usage per Container is 1.  No limit is specified"),
            ),
            (container("max", "1"), both("1", "2"), Some("maximum cpu usage per Container is 1, but limit is 2")),
            (
                container("maxLimitRequestRatio", "2"),
                both("1", "3"),
                Some("cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
            ),
            (
                container("maxLimitRequestRatio", "2"),
                pod(&json!({})),
                Some("cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"),
            ),
            (
                range(&json!([{"type": "Pod", "max": {"cpu": "1", "memory": "1Gi"}}])),
                pod(&json!({})),
                Some(
                    "[maximum cpu usage per Pod is 1.  No limit is specified, maximum memory usage per Pod is 1Gi.  No limit is specified]",
                ),
            ),
        ];
        for (range, pod, expected) in cases {
            assert_eq!(range.check_pod(&pod).as_deref(), expected, "{pod}");
        }
    }

    #[test]
    fn claims_are_held_to_their_requests() {
        let range =
            range(&json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}]));
        let claim = |storage: &str| json!({"spec": {"resources": {"requests": {"storage": storage}}}});
        assert_eq!(range.check_claim(&claim("1Gi")), None);
        let most = "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi";
        assert_eq!(range.check_claim(&claim("3Gi")).as_deref(), Some(most));
        let least = "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi";
        assert_eq!(range.check_claim(&claim("1Mi")).as_deref(), Some(least));
    }

    #[test]
    fn a_pod_counts_what_runs_at_once() {
        let spec = json!({
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
            "initContainers": [
                {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                {"resources": {"requests": {"cpu": "3"}}},
            ],
        });
        assert_eq!(amounts::words(&total(&spec, "requests")), "cpu=4");
    }
}
