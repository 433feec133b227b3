//! Making room: which pods of less importance would have to go.

use std::sync::Arc;

use super::budget::{self, Budget};
use super::choose::{Surroundings, rejects};
use super::outcome::{Rejection, Unfit, histogram};
use super::state::State;
use crate::Pod;

const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
/// What the rule about devices says about pods that have none.
const NO_CLAIMS: &str = "no new claims to deallocate";
/// What it says when it was not asked before.
const NOT_NOTED: &str = "not found";

/// What came of the attempt to make room.
#[derive(Clone, Debug)]
pub enum Preemption {
    /// These pods must go from this node first.
    Victims {
        /// The node.
        node: String,
        /// The pods.
        victims: Vec<Arc<Pod>>,
    },
    /// It may not be tried, and why; room that is being made already stays for the pod.
    Ineligible(String),
    /// It cannot be done, and why; no room is kept for the pod.
    Impossible(String),
}

/// Looks for the node where the least is lost when pods of lower priority go. The state is as before afterwards.
pub fn preempt(
    state: &mut State,
    pod: &Pod,
    unfit: &Unfit,
    surroundings: &Surroundings,
    budgets: &[Budget],
) -> Preemption {
    let ineligible = |words: &str| Preemption::Ineligible(format!("{NO_CLAIMS}, preemption: {words}"));
    if !unfit.before.is_empty() {
        // Nodes were not even asked, and the rule about devices misses what it would have noted then.
        return Preemption::Ineligible(NOT_NOTED.to_owned());
    }
    if pod.spec.preemption_policy == "Never" {
        return ineligible("not eligible due to preemptionPolicy=Never.");
    }
    let nominated = pod.status.nominated_node_name.as_str();
    if !nominated.is_empty() && unfit.rejections.get(nominated).is_none_or(|rejection| rejection.resolvable) {
        let waits =
            state.pods_on(nominated).any(|other| other.spec.priority < pod.spec.priority && is_being_preempted(other));
        if waits {
            return ineligible("not eligible due to a terminating pod on the nominated node.");
        }
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut best: Option<(Cost, String, Vec<Arc<Pod>>)> = None;
    for (name, rejection) in &unfit.rejections {
        if !rejection.resolvable {
            reasons.push(NOT_HELPFUL.to_owned());
            continue;
        }
        match victims_on(state, pod, name, surroundings, budgets) {
            Ok((violations, victims)) => {
                let cost = Cost::of(violations, &victims);
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, name.clone(), victims));
                }
            }
            Err(rejection) => reasons.extend(rejection.reasons),
        }
    }
    if let Some((_, node, victims)) = best {
        Preemption::Victims { node, victims }
    } else {
        let counted = histogram(reasons.iter().map(String::as_str));
        let words = format!("0/{} nodes are available: {counted}.", unfit.nodes);
        Preemption::Impossible(format!("{NO_CLAIMS}, preemption: {words}"))
    }
}

fn is_being_preempted(pod: &Pod) -> bool {
    pod.metadata.is_going()
        && pod
            .status
            .condition("DisruptionTarget")
            .is_some_and(|condition| condition.status == "True" && condition.reason == "PreemptionByScheduler")
}

/// What is lost: how many that a budget protects, the highest priority, the sum of all, how many, and the youngest of the most important.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    violations: usize,
    highest: i64,
    sum: i64,
    count: usize,
    youngest: std::cmp::Reverse<Option<jiff::Timestamp>>,
}

impl Cost {
    fn of(violations: usize, victims: &[Arc<Pod>]) -> Cost {
        let highest = victims.iter().map(|victim| victim.spec.priority).max().unwrap_or(i64::MIN);
        let important = victims.iter().filter(|victim| victim.spec.priority == highest);
        let start = |victim: &Arc<Pod>| victim.status.start_time.or(victim.metadata.creation_timestamp);
        Cost {
            violations,
            highest,
            sum: victims.iter().map(|victim| victim.spec.priority + i64::from(i32::MAX) + 1).sum(),
            count: victims.len(),
            youngest: std::cmp::Reverse(important.filter_map(start).min()),
        }
    }
}

/// Takes all lesser pods off a node and puts back those that can stay: first those that a budget protects, then the
/// others, the most important first. How many of the protected must go is counted.
fn victims_on(
    state: &mut State,
    pod: &Pod,
    name: &str,
    surroundings: &Surroundings,
    budgets: &[Budget],
) -> Result<(usize, Vec<Arc<Pod>>), Rejection> {
    let mut lesser: Vec<Arc<Pod>> =
        state.pods_on(name).filter(|other| other.spec.priority < pod.spec.priority).cloned().collect();
    if lesser.is_empty() {
        return Err(Rejection::unresolvable(NO_VICTIMS));
    }
    lesser.sort_by(|one, other| {
        let age = |pod: &Pod| pod.status.start_time.or(pod.metadata.creation_timestamp);
        other.spec.priority.cmp(&one.spec.priority).then_with(|| age(one).cmp(&age(other)))
    });
    for victim in &lesser {
        state.lift(&victim.metadata.uid);
    }
    let outcome = if let Some(rejection) = rejects(state, pod, name, surroundings) {
        Err(rejection)
    } else {
        let (protected, others) = budget::part(&lesser, budgets);
        let mut victims = Vec::new();
        let mut violations = 0;
        for (number, candidate) in protected.iter().chain(&others).enumerate() {
            state.put(candidate, name);
            if rejects(state, pod, name, surroundings).is_some() {
                state.lift(&candidate.metadata.uid);
                victims.push(Arc::clone(candidate));
                violations += usize::from(number < protected.len());
            }
        }
        Ok((violations, victims))
    };
    for victim in &lesser {
        state.lift(&victim.metadata.uid);
        state.put(victim, name);
    }
    outcome
}
