//! Budgets: how many pods may still be taken away, when pods are driven off for more important ones.

use std::sync::Arc;

use roost_object::selector::Selector;
use serde_json::Value;

use crate::{Pod, selector, value};

/// What is left of a PodDisruptionBudget.
#[derive(Clone, Debug)]
pub struct Budget {
    namespace: String,
    selector: Selector,
    allowed: i64,
    /// Pods that were let go already, and no longer count.
    disrupted: Vec<String>,
}

impl Budget {
    /// Reads a budget.
    pub fn read(budget: &Value) -> Budget {
        let disrupted = budget["status"]["disruptedPods"].as_object();
        Budget {
            namespace: value::text(budget, &["metadata", "namespace"]).to_owned(),
            selector: selector::read(&budget["spec"]["selector"]),
            allowed: value::number(budget, &["status", "disruptionsAllowed"]),
            disrupted: disrupted.into_iter().flatten().map(|(name, _)| name.clone()).collect(),
        }
    }

    fn protects(&self, pod: &Pod) -> bool {
        self.namespace == pod.metadata.namespace
            && !pod.metadata.labels.is_empty()
            && !self.selector.is_empty()
            && self.selector.matches(&pod.metadata.labels)
            && !self.disrupted.contains(&pod.metadata.name)
    }
}

/// Parts pods into those that no budget lets go and those that may, each in their order.
pub(super) fn part(pods: &[Arc<Pod>], budgets: &[Budget]) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let mut left: Vec<i64> = budgets.iter().map(|budget| budget.allowed).collect();
    pods.iter().cloned().partition(|pod| {
        let mut violates = false;
        for (budget, left) in budgets.iter().zip(&mut left) {
            if budget.protects(pod) {
                *left -= 1;
                violates |= *left < 0;
            }
        }
        violates
    })
}
