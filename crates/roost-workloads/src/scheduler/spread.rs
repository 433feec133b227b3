//! `PodTopologySpread`: pods of a kind in even numbers over zones, nodes or whatever a label tells apart.

use std::collections::HashMap;

use roost_object::selector::{Operator, Requirement, Selector};

use super::filter::{untolerated, wants};
use super::node::Node;
use super::outcome::Rejection;
use super::score::MAX_SCORE;
use super::state::{Place, State};
use crate::Pod;
use crate::pod::SpreadConstraint;
use crate::selector;

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const MISMATCH: &str = "node(s) didn't match pod topology spread constraints";
const MISSING_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// A constraint, ready to be asked.
struct Constraint {
    key: String,
    max_skew: i64,
    min_domains: i64,
    selector: Selector,
    honor_affinity: bool,
    honor_taints: bool,
}

impl Constraint {
    fn new(pod: &Pod, constraint: &SpreadConstraint) -> Constraint {
        let mut own = selector::read(&constraint.label_selector);
        let keys = constraint.match_label_keys.iter();
        let shared: Vec<Requirement> = keys
            .filter_map(|key| Some((key, pod.metadata.labels.get(key)?)))
            .filter_map(|(key, value)| Requirement::new(key.as_str(), Operator::In, vec![value.clone()]).ok())
            .collect();
        if !shared.is_empty() {
            own = Selector::all_of(own.requirements().iter().cloned().chain(shared).collect());
        }
        Constraint {
            key: constraint.topology_key.clone(),
            max_skew: constraint.max_skew,
            min_domains: constraint.min_domains.unwrap_or(1),
            selector: own,
            honor_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
            honor_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        }
    }

    fn includes(&self, pod: &Pod, node: &Node) -> bool {
        (!self.honor_affinity || wants(pod, node)) && (!self.honor_taints || untolerated(pod, &node.taints).is_none())
    }
}

/// Which groups a selector means, found out once for each.
struct Matches<'a> {
    state: &'a State,
    namespace: &'a str,
    known: HashMap<usize, bool>,
}

impl<'a> Matches<'a> {
    fn new(state: &'a State, pod: &'a Pod) -> Matches<'a> {
        Matches { state, namespace: &pod.metadata.namespace, known: HashMap::new() }
    }

    fn count(&mut self, selector: &Selector, place: &Place) -> i64 {
        if selector.is_empty() {
            return 0;
        }
        let (state, namespace) = (self.state, self.namespace);
        let matches = |number: usize| {
            state.group(number).is_some_and(|group| group.namespace == namespace && selector.matches(&group.labels))
        };
        place
            .groups
            .iter()
            .filter(|(number, _)| *self.known.entry(**number).or_insert_with(|| matches(**number)))
            .map(|(_, count)| count.staying)
            .sum()
    }
}

fn constraints(pod: &Pod, when: &str) -> Vec<Constraint> {
    let own = pod.spec.topology_spread_constraints.iter();
    own.filter(|constraint| constraint.when_unsatisfiable == when)
        .map(|constraint| Constraint::new(pod, constraint))
        .collect()
}

fn has_all_labels(node: &Node, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| node.labels.contains_key(&constraint.key))
}

/// What the filter goes by: how many pods count for each value of each label.
pub(super) struct Spread {
    constraints: Vec<Constraint>,
    counts: Vec<HashMap<String, i64>>,
    own: Vec<i64>,
}

impl Spread {
    /// Counts, if the pod has constraints that must hold.
    pub(super) fn new(state: &State, pod: &Pod) -> Option<Spread> {
        let constraints = constraints(pod, "DoNotSchedule");
        if constraints.is_empty() {
            return None;
        }
        let mut counts: Vec<HashMap<String, i64>> = constraints.iter().map(|_| HashMap::new()).collect();
        let mut matches: Vec<Matches<'_>> = constraints.iter().map(|_| Matches::new(state, pod)).collect();
        for place in state.places.values() {
            let Some(node) = &place.node else { continue };
            if !has_all_labels(node, &constraints) {
                continue;
            }
            for (index, constraint) in constraints.iter().enumerate() {
                if constraint.includes(pod, node) {
                    let count = matches[index].count(&constraint.selector, place);
                    *counts[index].entry(node.labels[&constraint.key].clone()).or_default() += count;
                }
            }
        }
        let own = constraints.iter().map(|own| i64::from(own.selector.matches(&pod.metadata.labels))).collect();
        Some(Spread { constraints, counts, own })
    }

    /// Whether a node would make things too uneven.
    pub(super) fn filter(&self, node: &Node) -> Option<Rejection> {
        for (index, constraint) in self.constraints.iter().enumerate() {
            let Some(value) = node.labels.get(&constraint.key) else {
                return Some(Rejection::unresolvable(MISSING_LABEL));
            };
            let counts = &self.counts[index];
            let least = if (counts.len() as i64) < constraint.min_domains {
                0
            } else {
                counts.values().copied().min().unwrap_or_default()
            };
            let here = counts.get(value).copied().unwrap_or_default();
            if here + self.own[index] - least > constraint.max_skew {
                return Some(Rejection::resolvable(MISMATCH));
            }
        }
        None
    }
}

/// Scores nodes by how few pods of the kind are near. The selector is of the pod's Services and owner, for pods that
/// say nothing themselves.
pub(super) fn score(
    state: &State,
    pod: &Pod,
    default: Option<&Selector>,
    nodes: &[(&Place, &Node)],
) -> Option<Vec<i64>> {
    let said = !pod.spec.topology_spread_constraints.is_empty();
    let constraints = if said {
        constraints(pod, "ScheduleAnyway")
    } else {
        let selector = default.filter(|selector| !selector.is_empty())?;
        let of = |key: &str, max_skew| Constraint {
            key: key.to_owned(),
            max_skew,
            min_domains: 1,
            selector: selector.clone(),
            honor_affinity: true,
            honor_taints: false,
        };
        vec![of(HOSTNAME, 3), of(ZONE, 5)]
    };
    if constraints.is_empty() {
        return None;
    }
    let ignored: Vec<bool> = nodes.iter().map(|(_, node)| said && !has_all_labels(node, &constraints)).collect();
    let mut sums = vec![0.0; nodes.len()];
    for constraint in &constraints {
        let mut matches = Matches::new(state, pod);
        let near = (constraint.key != HOSTNAME).then(|| {
            let mut counts: HashMap<&str, i64> = HashMap::new();
            for ((_, node), _) in nodes.iter().zip(&ignored).filter(|(_, ignored)| !**ignored) {
                counts.entry(node.labels.get(&constraint.key).map_or("", String::as_str)).or_default();
            }
            for place in state.places.values() {
                let Some(node) = &place.node else { continue };
                if (said && !has_all_labels(node, &constraints)) || !constraint.includes(pod, node) {
                    continue;
                }
                let value = node.labels.get(&constraint.key).map_or("", String::as_str);
                if let Some(count) = counts.get_mut(value) {
                    *count += matches.count(&constraint.selector, place);
                }
            }
            counts
        });
        let domains = near.as_ref().map_or_else(|| ignored.iter().filter(|ignored| !**ignored).count(), HashMap::len);
        let weight = ((domains + 2) as f64).ln();
        for (index, (place, node)) in nodes.iter().enumerate() {
            let Some(value) = node.labels.get(&constraint.key).filter(|_| !ignored[index]) else { continue };
            let count = match &near {
                None => matches.count(&constraint.selector, place),
                Some(counts) => counts.get(value.as_str()).copied().unwrap_or_default(),
            };
            sums[index] += count as f64 * weight + (constraint.max_skew - 1) as f64;
        }
    }
    Some(normalised(&sums.iter().map(|sum: &f64| sum.round() as i64).collect::<Vec<_>>(), &ignored))
}

fn normalised(sums: &[i64], ignored: &[bool]) -> Vec<i64> {
    let counted = || sums.iter().zip(ignored).filter(|(_, ignored)| !**ignored).map(|(sum, _)| *sum);
    let (least, most) = (counted().min().unwrap_or_default(), counted().max().unwrap_or_default());
    let one = |(sum, ignored): (&i64, &bool)| match (ignored, most) {
        (true, _) => 0,
        (false, 0) => MAX_SCORE,
        _ => MAX_SCORE * (most + least - sum) / most,
    };
    sums.iter().zip(ignored).map(one).collect()
}
