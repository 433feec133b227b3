//! From a pod to a node: filter, score, pick.

use std::collections::BTreeMap;
use std::sync::Arc;

use roost_object::selector::Selector;

use super::affinity::{self, Affinity};
use super::filter::{self, Wish};
use super::node::Node;
use super::outcome::{Rejection, Unfit};
use super::score;
use super::spread::{self, Spread};
use super::state::{Place, State};
use super::volumes::Volumes;
use crate::{Pod, hash};

/// From this many nodes on, not all of them are looked at.
const FEW_NODES: usize = 100;
/// The least share of the nodes that is looked at, in percent.
const LEAST_PERCENT: usize = 5;

/// What the scheduler must know beside nodes and pods.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Which pods are of the same kind: those of the same Services and of the same owner.
    pub same_kind: Option<Selector>,
    /// The pod's claims, where it has any, or what is wrong with them.
    pub volumes: Option<Result<Volumes, String>>,
}

/// Where a pod goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node.
    pub node: String,
    /// How many nodes were looked at.
    pub evaluated: usize,
}

/// Everything about a pod that is found out once for all nodes.
pub(super) struct Question<'a> {
    pod: &'a Pod,
    wish: Wish,
    spread: Option<Spread>,
    affinity: Option<Affinity>,
    volumes: Option<&'a Volumes>,
}

impl<'a> Question<'a> {
    pub(super) fn new(state: &State, pod: &'a Pod, surroundings: &'a Surroundings) -> Question<'a> {
        Question {
            pod,
            wish: Wish::of(pod),
            spread: Spread::new(state, pod),
            affinity: Affinity::new(state, pod),
            volumes: surroundings.volumes.as_ref().and_then(|volumes| volumes.as_ref().ok()),
        }
    }

    pub(super) fn ask(&self, place: &Place, node: &Node) -> Option<Rejection> {
        filter::filter(self.pod, &self.wish, place, node)
            .or_else(|| self.volumes.and_then(|volumes| volumes.filter(node)))
            .or_else(|| self.spread.as_ref().and_then(|spread| spread.filter(node)))
            .or_else(|| self.affinity.as_ref().and_then(|affinity| affinity.filter(node)))
    }
}

/// Finds a node for a pod, or says why there is none.
pub fn choose(state: &mut State, pod: &Pod, surroundings: &Surroundings) -> Result<Choice, Unfit> {
    if let Some(Err(why)) = &surroundings.volumes {
        let nodes = state.places.values().filter(|place| place.node.is_some()).count();
        return Err(Unfit { nodes, before: why.clone(), ..Unfit::default() });
    }
    // Room was made for the pod there: no other node is looked at when it fits.
    let nominated = pod.status.nominated_node_name.as_str();
    if state.node(nominated).is_some() && rejects(state, pod, nominated, surroundings).is_none() {
        return Ok(Choice { node: nominated.to_owned(), evaluated: 1 });
    }
    let crowded = crowded_nodes(state, pod, surroundings);
    let question = Question::new(state, pod, surroundings);
    let nodes: Vec<(&Place, &Node)> =
        state.places.values().filter_map(|place| Some((place, place.node.as_deref()?))).collect();
    let enough = enough_of(nodes.len());
    let mut feasible = Vec::with_capacity(enough);
    let mut unfit = Unfit { nodes: nodes.len(), ..Unfit::default() };
    let mut evaluated = 0;
    for index in 0..nodes.len() {
        if feasible.len() == enough {
            break;
        }
        evaluated += 1;
        let (place, node) = nodes[(state.start + index) % nodes.len()];
        match crowded.get(&node.name).cloned().or_else(|| question.ask(place, node)) {
            None => feasible.push((place, node)),
            Some(rejection) => {
                unfit.rejections.insert(node.name.clone(), rejection);
            }
        }
    }
    if feasible.is_empty() {
        return Err(unfit);
    }
    let node = best(state, pod, &question, surroundings, &feasible);
    let start = (state.start + evaluated) % nodes.len();
    state.start = start;
    Ok(Choice { node, evaluated })
}

/// The nodes that would have no room for a pod once those are there for which room is being made, and why.
fn crowded_nodes(state: &mut State, pod: &Pod, surroundings: &Surroundings) -> BTreeMap<String, Rejection> {
    let nodes: Vec<String> = state.nominations.nodes().cloned().collect();
    nodes.into_iter().filter_map(|name| crowds_out(state, pod, &name, surroundings).map(|why| (name, why))).collect()
}

/// Why a node has no room for a pod, with and without those for which room is being made there; none when it has, or
/// when there is no such node.
pub(super) fn rejects(state: &mut State, pod: &Pod, name: &str, surroundings: &Surroundings) -> Option<Rejection> {
    crowds_out(state, pod, name, surroundings).or_else(|| ask_one(state, pod, name, surroundings))
}

/// The same with those for which room is being made and who are as important as the pod, where there are any.
fn crowds_out(state: &mut State, pod: &Pod, name: &str, surroundings: &Surroundings) -> Option<Rejection> {
    let matters =
        |other: &&Arc<Pod>| other.spec.priority >= pod.spec.priority && other.metadata.uid != pod.metadata.uid;
    let others: Vec<Arc<Pod>> = state.nominations.on(name).iter().filter(matters).cloned().collect();
    if others.is_empty() {
        return None;
    }
    for other in &others {
        state.put(other, name);
    }
    let rejection = ask_one(state, pod, name, surroundings);
    for other in &others {
        state.lift(&other.metadata.uid);
    }
    rejection
}

fn ask_one(state: &State, pod: &Pod, name: &str, surroundings: &Surroundings) -> Option<Rejection> {
    let place = state.places.get(name)?;
    let node = place.node.as_deref()?;
    Question::new(state, pod, surroundings).ask(place, node)
}

/// How many nodes that would do are enough to choose from.
fn enough_of(nodes: usize) -> usize {
    if nodes < FEW_NODES {
        return nodes;
    }
    let percent = 50_usize.saturating_sub(nodes / 125).max(LEAST_PERCENT);
    (nodes * percent / 100).max(FEW_NODES)
}

fn best(
    state: &State,
    pod: &Pod,
    question: &Question<'_>,
    surroundings: &Surroundings,
    nodes: &[(&Place, &Node)],
) -> String {
    if let [(_, only)] = nodes {
        return only.name.clone();
    }
    let mut totals = vec![0; nodes.len()];
    let mut add = |weight: i64, scores: Option<Vec<i64>>| {
        for (total, score) in totals.iter_mut().zip(scores.into_iter().flatten()) {
            *total += weight * score;
        }
    };
    add(3, Some(score::taint_toleration(pod, nodes)));
    add(2, score::node_affinity(pod, nodes));
    let likely = pod.likely_requests();
    add(1, Some(nodes.iter().map(|(place, node)| score::least_allocated(likely, place, node)).collect()));
    add(2, spread::score(state, pod, surroundings.same_kind.as_ref(), nodes));
    add(2, affinity::score(state, pod, nodes));
    let requests = &question.wish.requests;
    add(1, nodes.iter().map(|(place, node)| score::balanced_allocation(requests, place, node)).collect());
    add(1, Some(nodes.iter().map(|(_, node)| score::image_locality(state, pod, node)).collect()));
    let most = totals.iter().copied().max().unwrap_or_default();
    let equals: Vec<usize> = (0..nodes.len()).filter(|index| totals[*index] == most).collect();
    // Which of equals is chance in stock; here it is the pod's uid, so that the same question has the same answer.
    let chance = hash::fnv1a(pod.metadata.uid.as_bytes()) as usize;
    nodes[equals[chance % equals.len()]].1.name.clone()
}

#[cfg(test)]
mod tests;
