//! Pods that must leave their nodes.

use jiff::Timestamp;
use roost_object::Status;
use roost_workloads::eviction;

use super::Desk;

impl Desk<'_> {
    /// Looks whether a pod may stay where it is.
    pub(super) async fn eviction(self) -> Result<(), Status> {
        let key = format!("{}/{}", self.work.namespace, self.work.name);
        let found = self.ask(|index| {
            let pod = index.pod(&key)?.clone();
            let node = index.scheduler.node(&pod.spec.node_name).cloned();
            Some((pod, node))
        });
        let Some((pod, node)) = found else { return Ok(()) };
        let now = Timestamp::now();
        let actions = match &node {
            None => eviction::by_absence(&pod, false),
            Some(node) => {
                // The time counts from the moment the taint came, or the pod did.
                let taints = self.cluster.find("", "nodes", "", &node.name);
                let since = taints
                    .iter()
                    .flat_map(|node| node["spec"]["taints"].as_array().into_iter().flatten())
                    .filter(|taint| taint["effect"] == "NoExecute")
                    .filter_map(|taint| taint["timeAdded"].as_str()?.parse::<Timestamp>().ok())
                    .min();
                let placed = pod.status.condition("PodScheduled").and_then(|condition| condition.last_transition_time);
                let since = since.max(placed).unwrap_or(now);
                eviction::by_taints(&pod, node, since, now)
            }
        };
        self.apply(actions).await
    }
}
