//! Scores that look at one node alone, and what each weighs.

use super::filter::matches_term;
use super::node::Node;
use super::state::{Place, State};
use crate::Pod;
use crate::pod::Resources;

/// The best score that one rule gives.
pub(super) const MAX_SCORE: i64 = 100;

const MEGABYTE: i64 = 1024 * 1024;
/// Images smaller than this do not matter.
const SMALL_IMAGE: i64 = 23 * MEGABYTE;
/// Images larger than this, for each container, do not matter more.
const LARGE_IMAGE: i64 = 1000 * MEGABYTE;

/// By how many taints a node would rather not have the pod, turned round.
pub(super) fn taint_toleration(pod: &Pod, nodes: &[(&Place, &Node)]) -> Vec<i64> {
    let tolerations: Vec<_> = pod
        .spec
        .tolerations
        .iter()
        .filter(|toleration| matches!(toleration.effect.as_str(), "" | "PreferNoSchedule"))
        .collect();
    let unborne = |node: &Node| {
        let soft = node.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule");
        soft.filter(|taint| !tolerations.iter().any(|own| own.bears(&taint.key, &taint.value, &taint.effect))).count()
    };
    normalise(nodes.iter().map(|(_, node)| unborne(node) as i64).collect(), true)
}

/// By what the pod likes about nodes.
pub(super) fn node_affinity(pod: &Pod, nodes: &[(&Place, &Node)]) -> Option<Vec<i64>> {
    let preferred = &pod.spec.affinity.node_affinity.as_ref()?.preferred;
    if preferred.is_empty() {
        return None;
    }
    let liked = |node: &Node| {
        preferred.iter().filter(|term| matches_term(&term.preference, node)).map(|term| term.weight).sum::<i64>()
    };
    Some(normalise(nodes.iter().map(|(_, node)| liked(node)).collect(), false))
}

/// By how much is left.
pub(super) fn least_allocated(likely: (i64, i64), place: &Place, node: &Node) -> i64 {
    let left =
        |wanted: i64, has: i64| (has > 0).then(|| if wanted > has { 0 } else { (has - wanted) * MAX_SCORE / has });
    let scores = [
        left(likely.0 + place.likely.0, node.allocatable.milli_cpu),
        left(likely.1 + place.likely.1, node.allocatable.memory),
    ];
    let counted: Vec<i64> = scores.into_iter().flatten().collect();
    if counted.is_empty() { 0 } else { counted.iter().sum::<i64>() / counted.len() as i64 }
}

/// By how even cores and memory are used, with the pod rather than without.
pub(super) fn balanced_allocation(requests: &Resources, place: &Place, node: &Node) -> Option<i64> {
    if requests.is_nothing() {
        return None;
    }
    let balance = |cpu: i64, memory: i64| {
        let used = [(cpu, node.allocatable.milli_cpu), (memory, node.allocatable.memory)];
        let shares: Vec<f64> =
            used.iter().filter(|(_, has)| *has > 0).map(|(used, has)| (*used as f64 / *has as f64).min(1.0)).collect();
        let deviation = if let [one, other] = shares.as_slice() { ((one - other) / 2.0).abs() } else { 0.0 };
        ((1.0 - deviation) * MAX_SCORE as f64) as i64
    };
    let used = &place.requested;
    let with = balance(used.milli_cpu + requests.milli_cpu, used.memory + requests.memory);
    let without = balance(used.milli_cpu, used.memory);
    Some(MAX_SCORE / 2 + (MAX_SCORE / 2 + with - without) / 2)
}

/// By how much of the pod's images is there, weighed by how common each is.
pub(super) fn image_locality(state: &State, pod: &Pod, node: &Node) -> i64 {
    if node.images.is_empty() {
        return 0;
    }
    let total = state.node_count().max(1) as f64;
    let containers = || pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let mut sum = 0;
    for container in containers() {
        let name = normalised_image(&container.image);
        let Some(image) = node.images.iter().find(|image| image.names.contains(&name)) else { continue };
        let spread = state.images.get(&name).copied().unwrap_or_default() as f64 / total;
        sum += (image.size_bytes as f64 * spread) as i64;
    }
    let most = LARGE_IMAGE * containers().count().max(1) as i64;
    MAX_SCORE * (sum.clamp(SMALL_IMAGE, most) - SMALL_IMAGE) / (most - SMALL_IMAGE)
}

/// An image's name with a tag.
fn normalised_image(name: &str) -> String {
    let tagged = name.rfind(':').is_some_and(|colon| name.rfind('/').is_none_or(|slash| colon > slash));
    if tagged { name.to_owned() } else { format!("{name}:latest") }
}

/// Scores as shares of the best one, or of what is missing to it.
fn normalise(mut scores: Vec<i64>, reverse: bool) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or_default();
    for score in &mut scores {
        let share = if most == 0 { 0 } else { MAX_SCORE * *score / most };
        *score = if reverse { MAX_SCORE - share } else { share };
    }
    scores
}
