//! Filters that look at one node alone.

use std::collections::BTreeMap;

use super::node::{Node, Taint};
use super::outcome::Rejection;
use super::state::{Place, host_ports};
use crate::Pod;
use crate::pod::{NodeSelector, NodeSelectorTerm, NodeTermRequirement, Resources};

const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

/// What a pod asks of every node, read once.
pub(super) struct Wish {
    pub(super) requests: Resources,
    pub(super) ports: Vec<(String, String, i64)>,
}

impl Wish {
    pub(super) fn of(pod: &Pod) -> Wish {
        Wish { requests: pod.requests(), ports: host_ports(pod) }
    }
}

/// Asks the filters in stock's order; the first that rejects says why.
pub(super) fn filter(pod: &Pod, wish: &Wish, place: &Place, node: &Node) -> Option<Rejection> {
    node_unschedulable(pod, node)
        .or_else(|| node_name(pod, node))
        .or_else(|| taint_toleration(pod, node))
        .or_else(|| node_affinity(pod, node))
        .or_else(|| node_ports(wish, place))
        .or_else(|| node_resources_fit(wish, place, node))
}

fn node_unschedulable(pod: &Pod, node: &Node) -> Option<Rejection> {
    let borne =
        || pod.spec.tolerations.iter().any(|toleration| toleration.bears(UNSCHEDULABLE_TAINT, "", "NoSchedule"));
    (node.unschedulable && !borne()).then(|| Rejection::unresolvable("node(s) were unschedulable"))
}

fn node_name(pod: &Pod, node: &Node) -> Option<Rejection> {
    (!pod.spec.node_name.is_empty() && pod.spec.node_name != node.name)
        .then(|| Rejection::unresolvable("node(s) didn't match the requested node name"))
}

fn taint_toleration(pod: &Pod, node: &Node) -> Option<Rejection> {
    untolerated(pod, &node.taints).map(|_| Rejection::unresolvable("node(s) had untolerated taint(s)"))
}

/// A taint that keeps a pod away.
pub(crate) fn untolerated<'a>(pod: &Pod, taints: &'a [Taint]) -> Option<&'a Taint> {
    taints.iter().filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")).find(|taint| {
        !pod.spec.tolerations.iter().any(|toleration| toleration.bears(&taint.key, &taint.value, &taint.effect))
    })
}

fn node_affinity(pod: &Pod, node: &Node) -> Option<Rejection> {
    (!wants(pod, node)).then(|| Rejection::unresolvable("node(s) didn't match Pod's node affinity/selector"))
}

/// Whether a node is one that the pod must be on.
pub(crate) fn wants(pod: &Pod, node: &Node) -> bool {
    let selected = pod.spec.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    let required = pod.spec.affinity.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    selected && required.is_none_or(|required| any_term(required, node))
}

/// Whether any of a selector's terms describes a node.
pub(super) fn any_term(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| matches_term(term, node))
}

/// Whether a term describes a node; one that says nothing describes none.
pub(super) fn matches_term(term: &NodeSelectorTerm, node: &Node) -> bool {
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return false;
    }
    let name = BTreeMap::from([("metadata.name".to_owned(), node.name.clone())]);
    term.match_expressions.iter().all(|requirement| holds(requirement, &node.labels))
        && term.match_fields.iter().all(|requirement| holds(requirement, &name))
}

fn holds(requirement: &NodeTermRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let compares = |holds: fn(&i64, &i64) -> bool| {
        let wanted = requirement.values.first().and_then(|wanted| wanted.parse::<i64>().ok());
        let found = value.and_then(|value| value.parse::<i64>().ok());
        matches!((found, wanted), (Some(found), Some(wanted)) if holds(&found, &wanted))
    };
    match requirement.operator.as_str() {
        "In" => value.is_some_and(|value| requirement.values.contains(value)),
        "NotIn" => value.is_none_or(|value| !requirement.values.contains(value)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compares(i64::gt),
        "Lt" => compares(i64::lt),
        _ => false,
    }
}

fn node_ports(wish: &Wish, place: &Place) -> Option<Rejection> {
    let taken = wish.ports.iter().any(|(address, protocol, port)| {
        place.ports.keys().any(|(other, other_protocol, other_port)| {
            port == other_port
                && protocol == other_protocol
                && (address == other || address == "0.0.0.0" || other == "0.0.0.0")
        })
    });
    taken.then(|| Rejection::resolvable("node(s) didn't have free ports for the requested pod ports"))
}

fn node_resources_fit(wish: &Wish, place: &Place, node: &Node) -> Option<Rejection> {
    let mut reasons = Vec::new();
    let mut resolvable = true;
    if place.pods.len() as i64 + 1 > node.allowed_pods {
        reasons.push("Too many pods".to_owned());
    }
    let mut check = |name: &str, wanted: i64, has: i64, used: i64| {
        if wanted > 0 && wanted > has - used {
            reasons.push(format!("Insufficient {name}"));
            resolvable &= wanted <= has;
        }
    };
    let (wanted, has, used) = (&wish.requests, &node.allocatable, &place.requested);
    check("cpu", wanted.milli_cpu, has.milli_cpu, used.milli_cpu);
    check("memory", wanted.memory, has.memory, used.memory);
    check("ephemeral-storage", wanted.ephemeral_storage, has.ephemeral_storage, used.ephemeral_storage);
    for (name, amount) in &wanted.others {
        let of = |resources: &Resources| resources.others.get(name).copied().unwrap_or_default();
        check(name, *amount, of(has), of(used));
    }
    (!reasons.is_empty()).then_some(Rejection { reasons, resolvable })
}
