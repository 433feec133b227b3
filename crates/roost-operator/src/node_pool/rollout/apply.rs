//! Carries a plan out: nothing is decided here.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

use super::observe::{self, DESIRED_CONFIG, UPDATE_FAILED, UPDATING};
use super::plan::{Action, Mark, Plan, State, Step, plan};
use crate::context::{Context, ReconcileError};
use crate::event::{self, Tone};
use crate::machine::NODE_NAME;
use crate::node_pool::dereference::Observed;
use crate::node_pool::validate::Wanted;
use crate::object::{Evicted, Kind, Objects, Reference, annotation};

/// A rollout as it stood, and what stood in the way when it was carried on.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    /// Pods that could not be asked to go, and why.
    pub(crate) blocked: Vec<String>,
}

/// Carries a pool's rollout on by one pass; none when there is none.
pub(crate) async fn advance<R: Runtime>(
    context: &Arc<Context<R>>,
    observed: &Observed,
    wanted: &Wanted,
    is_paused: bool,
    now: Timestamp,
) -> Result<Option<Report>, ReconcileError> {
    if !observe::concerns(observed, &wanted.hash, now) {
        return Ok(None);
    }
    let guest = wanted.cluster_id.parse::<PlaneId>().ok().and_then(|plane| context.runtime.client(&plane));
    let Some(guest) = guest.map(Objects::new) else { return Ok(None) };
    let nodes = guest.list(Kind::Node, "").await?;
    let pods = pods_in_hand(&guest, observed, &nodes).await?;
    let count = |node: &str| pods.get(node).map_or(0, Vec::len);
    let plan = plan(&observe::situation(observed, &wanted.hash, &nodes, is_paused, count), now);
    let mut blocked = Vec::new();
    for step in &plan.steps {
        let carrier = Carrier { objects: &context.objects, guest: &guest, observed, target: &wanted.hash, now };
        carrier.carry_out(step, &nodes, &pods, &mut blocked).await?;
    }
    if let State::Halted(words) = &plan.state {
        tell(context, observed, words).await;
    }
    Ok(Some(Report { plan, blocked }))
}

/// The pods that have to go from the nodes that are in hand, by node.
async fn pods_in_hand(
    guest: &Objects,
    observed: &Observed,
    nodes: &[Value],
) -> Result<HashMap<String, Vec<Value>>, ReconcileError> {
    let mut found = HashMap::new();
    for machine in observed.machines.iter().filter(|machine| observe::mark(machine).is_some()) {
        let name = annotation(machine, NODE_NAME);
        let node = nodes.iter().find(|node| node["metadata"]["name"] == name);
        let is_ready = node.is_some_and(|node| crate::condition::is_true(node, "Ready"));
        let mut pods = guest.list_of_node(Kind::Pod, name).await?;
        pods.retain(|pod| observe::has_to_go(pod, is_ready));
        found.insert(name.to_owned(), pods);
    }
    Ok(found)
}

/// Says on the pool that its rollout stopped. The same words again are the same event.
async fn tell<R: Runtime>(context: &Arc<Context<R>>, observed: &Observed, words: &str) {
    let about = Reference::of(&observed.pool);
    let uid = observed.pool["metadata"]["uid"].as_str().unwrap_or_default();
    event::record(&context.objects, &about, uid, Tone::Warning, "RolloutStopped", words).await;
}

struct Carrier<'a> {
    objects: &'a Objects,
    guest: &'a Objects,
    observed: &'a Observed,
    target: &'a str,
    now: Timestamp,
}

impl Carrier<'_> {
    async fn carry_out(
        &self,
        step: &Step,
        nodes: &[Value],
        pods: &HashMap<String, Vec<Value>>,
        blocked: &mut Vec<String>,
    ) -> Result<(), ReconcileError> {
        let node = Reference::new(Kind::Node, "", &step.node);
        let is_its = |machine: &&Value| machine["metadata"]["name"] == *step.machine;
        let Some(machine) = self.observed.machines.iter().find(is_its) else { return Ok(()) };
        tracing::info!(node = step.node, action = %step.action, reason = step.reason, "a node of a pool");
        match step.action {
            Action::Cordon(purpose) => {
                let live = nodes.iter().find(|node| node["metadata"]["name"] == *step.node);
                let was_cordoned = live.is_some_and(|node| node["spec"]["unschedulable"] == true);
                let mark = observe::mark(machine).unwrap_or(Mark { purpose, since: self.now, was_cordoned });
                self.mark(machine, &mark).await?;
                self.guest.merge(&node, &json!({"spec": {"unschedulable": true}})).await?;
            }
            Action::Drain => {
                for pod in pods.get(&step.node).into_iter().flatten() {
                    if pod["metadata"]["deletionTimestamp"].is_null() {
                        self.evict(&step.node, pod, blocked).await?;
                    }
                }
            }
            Action::Desire => {
                if let Some(mark) = observe::mark(machine) {
                    self.mark(machine, &Mark { since: self.now, ..mark }).await?;
                }
                let annotations = json!({(DESIRED_CONFIG): self.target, (UPDATE_FAILED): null});
                self.guest.merge(&node, &json!({"metadata": {"annotations": annotations}})).await?;
            }
            Action::Release => {
                if !observe::mark(machine).is_some_and(|mark| mark.was_cordoned) {
                    self.guest.merge(&node, &json!({"spec": {"unschedulable": null}})).await?;
                }
                let change = json!({"metadata": {"annotations": {(UPDATING): null}}});
                self.objects.merge(&Reference::of(machine), &change).await?;
            }
            Action::Remove => self.objects.delete(&Reference::of(machine)).await?,
        }
        Ok(())
    }

    /// Marks a Machine, unless it changed since it was read.
    async fn mark(&self, machine: &Value, mark: &Mark) -> Result<(), ReconcileError> {
        let mut change = observe::written(mark);
        change["metadata"]["resourceVersion"] = machine["metadata"]["resourceVersion"].clone();
        self.objects.merge(&Reference::of(machine), &change).await?;
        Ok(())
    }

    async fn evict(&self, node: &str, pod: &Value, blocked: &mut Vec<String>) -> Result<(), ReconcileError> {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
        let pod = Reference::new(Kind::Pod, text("namespace"), text("name"));
        if let Evicted::Refused(words) = self.guest.evict(&pod).await? {
            blocked.push(format!("{node} cannot be drained yet: {}/{}: {words}", pod.namespace, pod.name));
        }
        Ok(())
    }
}
