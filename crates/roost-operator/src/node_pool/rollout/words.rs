//! A rollout in the words of a condition.

use super::plan::{Plan, State};

/// Names beyond these are counted only.
const MOST_NAMES: usize = 10;

/// What is under way, what comes next, and what stands in the way.
pub(crate) fn summary(plan: &Plan, outdated: usize, total: usize, blocked: &[String]) -> String {
    let mut sentences = vec![format!("{} of {total} machines have it", total - outdated.min(total))];
    if let State::Halted(words) = &plan.state {
        sentences.push(format!("stopped: {words}"));
    }
    for (node, words) in &plan.in_hand {
        if !matches!(&plan.state, State::Halted(halted) if halted == words) {
            sentences.push(format!("{node} {words}"));
        }
    }
    sentences.extend(blocked.iter().cloned());
    match &plan.state {
        State::Waiting(words) => sentences.push(format!("waiting: {words}")),
        State::Paused => sentences.push("paused".to_owned()),
        _ => {}
    }
    if !plan.queue.is_empty() {
        let named = plan.queue.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let rest = plan.queue.len().saturating_sub(MOST_NAMES);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        sentences.push(format!("to come: {named}{more}"));
    }
    sentences.join("; ")
}
