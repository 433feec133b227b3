//! Scopes: which objects a quota is about.

use std::collections::BTreeSet;

use roost_object::Value;

/// One scope that an object must be in.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    name: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Scope {
    /// The scopes of a quota, plain ones and those of its selector.
    pub(super) fn of_quota(quota: &Value) -> Vec<Scope> {
        let spec = &quota["spec"];
        let plain = spec["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(|name| Scope {
            name: name.to_owned(),
            operator: Operator::Exists,
            values: BTreeSet::new(),
        });
        let selected = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten().map(|expression| {
            let operator = match expression["operator"].as_str() {
                Some("In") => Operator::In,
                Some("NotIn") => Operator::NotIn,
                Some("DoesNotExist") => Operator::DoesNotExist,
                _ => Operator::Exists,
            };
            let values = expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
            Scope {
                name: expression["scopeName"].as_str().unwrap_or_default().to_owned(),
                operator,
                values: values.map(str::to_owned).collect(),
            }
        });
        plain.chain(selected).collect()
    }

    pub(super) fn has_pod(&self, pod: &Value) -> bool {
        let spec = &pod["spec"];
        match self.name.as_str() {
            "Terminating" => is_terminating(pod),
            "NotTerminating" => !is_terminating(pod),
            "BestEffort" => is_best_effort(pod),
            "NotBestEffort" => !is_best_effort(pod),
            "PriorityClass" => {
                let class = spec["priorityClassName"].as_str().unwrap_or_default();
                self.selects(Some(class).filter(|class| !class.is_empty()))
            }
            "CrossNamespacePodAffinity" => reaches_other_namespaces(spec),
            _ => false,
        }
    }

    pub(super) fn has_volume_claim(&self, claim: &Value) -> bool {
        if self.name != "VolumeAttributesClass" {
            return false;
        }
        let classes = attributes_classes(claim);
        if self.operator == Operator::Exists {
            return !classes.is_empty();
        }
        if classes.is_empty() { self.selects(None) } else { classes.iter().any(|class| self.selects(Some(class))) }
    }

    /// The meaning of the operators is that of labels: what is not there is not in any list.
    fn selects(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
        }
    }
}

/// Whether a pod is meant to end.
pub(super) fn is_terminating(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0)
}

/// What a pod is once its class is set, as the class never changes.
fn is_best_effort(pod: &Value) -> bool {
    match pod["status"]["qosClass"].as_str() {
        Some(class) if !class.is_empty() => class == "BestEffort",
        _ => roost_rules::pod::qos_class(pod) == "BestEffort",
    }
}

fn reaches_other_namespaces(spec: &Value) -> bool {
    let crosses = |term: &Value| {
        term["namespaces"].as_array().is_some_and(|list| !list.is_empty()) || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let affinity = &spec["affinity"][kind];
        let list = |name: &str| affinity[name].as_array().into_iter().flatten();
        list("requiredDuringSchedulingIgnoredDuringExecution").any(crosses)
            || list("preferredDuringSchedulingIgnoredDuringExecution").any(|term| crosses(&term["podAffinityTerm"]))
    })
}

/// All classes that a claim has, wants, or is on the way to.
pub(super) fn attributes_classes(claim: &Value) -> BTreeSet<String> {
    [
        &claim["spec"]["volumeAttributesClassName"],
        &claim["status"]["currentVolumeAttributesClassName"],
        &claim["status"]["modifyVolumeStatus"]["targetVolumeAttributesClassName"],
    ]
    .iter()
    .filter_map(|name| name.as_str())
    .filter(|name| !name.is_empty())
    .map(str::to_owned)
    .collect()
}
