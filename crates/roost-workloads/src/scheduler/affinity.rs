//! `InterPodAffinity`: near some pods, away from others.

use std::collections::HashMap;

use super::node::Node;
use super::outcome::Rejection;
use super::score::MAX_SCORE;
use super::state::{Place, State};
use super::term::{Term, Terms};
use crate::Pod;

/// How much a required term of a placed pod counts when nodes are compared.
const HARD_WEIGHT: i64 = 1;

type Counts = HashMap<(String, String), i64>;

/// What the filter goes by: how many placed pods matter for each value of each label of nodes.
pub(super) struct Affinity {
    terms: Terms,
    /// Placed pods that do not want this one near.
    against: Counts,
    /// Placed pods that this one wants near.
    wanted: Counts,
    /// Placed pods that this one does not want near.
    unwanted: Counts,
    wants_itself: bool,
}

fn add(counts: &mut Counts, node: &Node, key: &str, amount: i64) {
    if let Some(value) = node.labels.get(key) {
        *counts.entry((key.to_owned(), value.clone())).or_default() += amount;
    }
}

impl Affinity {
    /// Counts, if there is anything to count.
    pub(super) fn new(state: &State, pod: &Pod) -> Option<Affinity> {
        let terms = Terms::of(pod);
        let asks = !terms.required.is_empty() || !terms.required_anti.is_empty();
        if !asks && state.with_terms == 0 {
            return None;
        }
        let (namespace, labels) = (pod.metadata.namespace.as_str(), &pod.metadata.labels);
        let namespaces = &state.namespaces;
        let all_of = |terms: &[Term], namespace: &str, labels| {
            !terms.is_empty() && terms.iter().all(|term| term.matches(namespace, labels, namespaces))
        };
        let (mut against, mut wanted, mut unwanted) = (Counts::new(), Counts::new(), Counts::new());
        for place in state.places.values() {
            let Some(node) = &place.node else { continue };
            for (number, count) in &place.groups {
                let Some(group) = state.group(*number) else { continue };
                for term in &group.terms.required_anti {
                    if term.matches(namespace, labels, namespaces) {
                        add(&mut against, node, &term.topology_key, count.all);
                    }
                }
                if all_of(&terms.required, &group.namespace, &group.labels) {
                    for term in &terms.required {
                        add(&mut wanted, node, &term.topology_key, count.all);
                    }
                }
                for term in &terms.required_anti {
                    if term.matches(&group.namespace, &group.labels, namespaces) {
                        add(&mut unwanted, node, &term.topology_key, count.all);
                    }
                }
            }
        }
        if !asks && against.is_empty() {
            return None;
        }
        let wants_itself = all_of(&terms.required, namespace, labels);
        Some(Affinity { terms, against, wanted, unwanted, wants_itself })
    }

    /// Whether a node is too far from some pods or too near to others.
    pub(super) fn filter(&self, node: &Node) -> Option<Rejection> {
        if !self.is_near(node) {
            return Some(Rejection::unresolvable("node(s) didn't match pod affinity rules"));
        }
        let pair = |key: &String, value: &String| (key.clone(), value.clone());
        let near_unwanted = !self.unwanted.is_empty()
            && self.terms.required_anti.iter().any(|term| {
                let value = node.labels.get(&term.topology_key);
                value.is_some_and(|value| self.unwanted.contains_key(&pair(&term.topology_key, value)))
            });
        if near_unwanted {
            return Some(Rejection::resolvable("node(s) didn't match pod anti-affinity rules"));
        }
        let disliked = !self.against.is_empty()
            && node.labels.iter().any(|(key, value)| self.against.contains_key(&pair(key, value)));
        disliked.then(|| Rejection::resolvable("node(s) didn't satisfy existing pods anti-affinity rules"))
    }

    fn is_near(&self, node: &Node) -> bool {
        let mut near = true;
        for term in &self.terms.required {
            let Some(value) = node.labels.get(&term.topology_key) else { return false };
            near &= self.wanted.contains_key(&(term.topology_key.clone(), value.clone()));
        }
        // The first of pods that want each other has to begin somewhere.
        near || (self.wanted.is_empty() && self.wants_itself)
    }
}

/// Scores nodes by what is near them and is liked, or likes this pod.
pub(super) fn score(state: &State, pod: &Pod, nodes: &[(&Place, &Node)]) -> Option<Vec<i64>> {
    let terms = Terms::of(pod);
    let asks = !terms.preferred.is_empty() || !terms.preferred_anti.is_empty();
    if !asks && state.with_terms == 0 {
        return None;
    }
    let (namespace, labels) = (pod.metadata.namespace.as_str(), &pod.metadata.labels);
    let namespaces = &state.namespaces;
    let mut counts = Counts::new();
    for place in state.places.values() {
        let Some(node) = &place.node else { continue };
        for (number, count) in &place.groups {
            let Some(group) = state.group(*number) else { continue };
            for (terms, sign) in [(&terms.preferred, 1), (&terms.preferred_anti, -1)] {
                for term in terms {
                    if term.matches(&group.namespace, &group.labels, namespaces) {
                        add(&mut counts, node, &term.topology_key, sign * term.weight * count.all);
                    }
                }
            }
            let theirs = &group.terms;
            for term in &theirs.required {
                if term.matches(namespace, labels, namespaces) {
                    add(&mut counts, node, &term.topology_key, HARD_WEIGHT * count.all);
                }
            }
            for (terms, sign) in [(&theirs.preferred, 1), (&theirs.preferred_anti, -1)] {
                for term in terms {
                    if term.matches(namespace, labels, namespaces) {
                        add(&mut counts, node, &term.topology_key, sign * term.weight * count.all);
                    }
                }
            }
        }
    }
    if counts.is_empty() {
        return None;
    }
    let sum = |node: &Node| {
        node.labels.iter().filter_map(|(key, value)| counts.get(&(key.clone(), value.clone()))).sum::<i64>()
    };
    let sums: Vec<i64> = nodes.iter().map(|(_, node)| sum(node)).collect();
    let (least, most) = (sums.iter().min().copied()?, sums.iter().max().copied()?);
    let normal = |sum: i64| {
        if most == least { 0 } else { (MAX_SCORE as f64 * ((sum - least) as f64 / (most - least) as f64)) as i64 }
    };
    Some(sums.into_iter().map(normal).collect())
}
