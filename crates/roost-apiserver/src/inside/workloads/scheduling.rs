//! The scheduler: pods that wait get a node, or are told why not.

use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;
use roost_object::Status;
use roost_workloads::action::Reference;
use roost_workloads::index::Next;
use roost_workloads::scheduler::{Bindings, Budget, DEFAULT_NAME, Preemption, Surroundings, choose, preempt};
use roost_workloads::{Event, Pod, volume};
use serde_json::{Value, json};

use super::super::Task;
use super::Desk;
use crate::call::Call;
use crate::clock;
use crate::subresource::assign;
use crate::write::internal_options;

/// The pods that get a node in one turn; others may have work too.
const TURN: usize = 256;
/// The pods that are bound at a time: they share syncs.
const TOGETHER: usize = 64;
/// Who owns what the scheduler writes, by stock's name.
const MANAGER: &str = "kube-scheduler";

/// What was decided about a pod.
enum Decision {
    Bind { pod: Arc<Pod>, node: String, volumes: Bindings },
    Prepare { node: String, volumes: Bindings },
    Refuse { pod: Arc<Pod>, message: String, nomination: Nomination<'static> },
    Preempt { pod: Arc<Pod>, message: String, node: String, victims: Vec<Arc<Pod>>, lesser: Vec<Arc<Pod>> },
    Later(Timestamp),
    Done,
}

/// What becomes of the node that a pod is nominated for.
#[derive(Clone, Copy)]
enum Nomination<'a> {
    Stays,
    Is(&'a str),
}

/// No node.
const NOWHERE: Nomination<'static> = Nomination::Is("");

impl Desk<'_> {
    /// Gives pods that wait a node, until none waits that could get one.
    pub(super) async fn schedule(self) -> Result<(), Status> {
        for _ in 0..TURN / TOGETHER {
            let mut decisions = Vec::with_capacity(TOGETHER);
            let mut done = false;
            while decisions.len() < TOGETHER {
                match self.decide() {
                    Decision::Later(time) => {
                        self.again(time.duration_since(Timestamp::now()));
                        done = true;
                        break;
                    }
                    Decision::Done => {
                        done = true;
                        break;
                    }
                    decision => decisions.push(decision),
                }
            }
            join_all(decisions.into_iter().map(|decision| self.carry_out(decision))).await;
            if done {
                return Ok(());
            }
        }
        self.inside.queue.add(&self.cluster.tenant, Task::Work(self.work.clone()));
        Ok(())
    }

    fn decide(self) -> Decision {
        let now = Timestamp::now();
        self.ask(|index| {
            let key = match index.waiting.next(now) {
                Next::Pod(key) => key,
                Next::NotBefore(time) => return Decision::Later(time),
                Next::Nobody => return Decision::Done,
            };
            let Some(pod) = index.pod(&key).cloned() else { return Decision::Done };
            let surroundings = Surroundings { same_kind: index.same_kind(&pod), volumes: self.volumes_of(&pod) };
            let unfit = match choose(&mut index.scheduler, &pod, &surroundings) {
                Ok(choice) => {
                    let volumes = surroundings.volumes.and_then(Result::ok);
                    let node = index.scheduler.node(&choice.node);
                    let volumes = volumes.zip(node).and_then(|(volumes, node)| volumes.on(node)).unwrap_or_default();
                    if !volumes.provisioned.is_empty() {
                        // Somebody makes the volume first; the pod comes back when its claim has it.
                        index.waiting.failed(&key, &pod, now);
                        return Decision::Prepare { node: choice.node, volumes };
                    }
                    index.scheduler.assume(&pod, &choice.node);
                    return Decision::Bind { pod, node: choice.node, volumes };
                }
                Err(unfit) => unfit,
            };
            index.waiting.failed(&key, &pod, now);
            let budgets = self.cluster.find_all("policy", "poddisruptionbudgets", "");
            let budgets: Vec<Budget> = budgets.iter().map(Budget::read).collect();
            match preempt(&mut index.scheduler, &pod, &unfit, &surroundings, &budgets) {
                Preemption::Ineligible(words) => {
                    Decision::Refuse { message: unfit.message(&words), pod, nomination: Nomination::Stays }
                }
                Preemption::Impossible(words) => {
                    index.scheduler.renounce(&pod);
                    Decision::Refuse { message: unfit.message(&words), pod, nomination: NOWHERE }
                }
                Preemption::Victims { node, victims } => {
                    let lesser = index.scheduler.nominate(&pod, &node);
                    Decision::Preempt { message: unfit.message(""), pod, node, victims, lesser }
                }
            }
        })
    }

    async fn carry_out(self, decision: Decision) {
        match decision {
            Decision::Prepare { node, volumes } => {
                if let Err(status) = self.prepare(&node, volumes).await {
                    tracing::debug!(%status, node, "volumes could not be asked for");
                    self.again(jiff::SignedDuration::from_secs(1));
                }
            }
            Decision::Bind { pod, node, volumes } => {
                let prepared = self.prepare(&node, volumes).await;
                let bound = match prepared {
                    Ok(()) => self.bind(&pod, &node).await,
                    Err(status) => Err(status),
                };
                if let Err(status) = bound {
                    tracing::debug!(%status, pod = pod.metadata.name, node, "a pod could not be bound");
                    let key = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
                    self.ask(|index| {
                        index.scheduler.remove_pod(&pod.metadata.uid);
                        if let Some(current) = index.pod(&key).cloned() {
                            index.scheduler.set_pod(&current);
                            index.waiting.failed(&key, &current, Timestamp::now());
                            index.waiting.something_moved();
                        }
                    });
                    self.again(jiff::SignedDuration::from_secs(1));
                }
            }
            Decision::Refuse { pod, message, nomination } => self.refuse(&pod, &message, nomination).await,
            Decision::Preempt { pod, message, node, victims, lesser } => {
                for other in &lesser {
                    self.set_status(other, None, NOWHERE).await;
                }
                for victim in victims.iter().filter(|victim| !victim.metadata.is_going()) {
                    self.drive_away(&pod, victim).await;
                }
                self.refuse(&pod, &message, Nomination::Is(&node)).await;
            }
            Decision::Later(_) | Decision::Done => {}
        }
    }

    /// Gives claims the volumes that were chosen for them, and asks for those that are still to be made for a node.
    async fn prepare(self, node: &str, volumes: Bindings) -> Result<(), Status> {
        for (volume, claim) in &volumes.bound {
            self.apply(volume::bind(volume, claim)).await?;
        }
        for claim in &volumes.provisioned {
            let patch = json!({"metadata": {"annotations": {volume::SELECTED_NODE: node}}});
            self.patch(&Reference::of(claim), "", &patch).await?;
        }
        Ok(())
    }

    async fn bind(self, pod: &Pod, node: &str) -> Result<(), Status> {
        let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
        let call = Call::internal(self.cluster);
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": pod.metadata.uid},
            "target": {"kind": "Node", "name": node},
        });
        assign(&call, namespace, name, binding, &internal_options(MANAGER)).await?;
        let message = format!("Successfully assigned {namespace}/{name} to {node}");
        self.report(pod, false, "Scheduled", message, "Binding").await;
        Ok(())
    }

    /// Says why a pod has no node, and on which one room is being made for it.
    async fn refuse(self, pod: &Pod, message: &str, nomination: Nomination<'_>) {
        self.report(pod, true, "FailedScheduling", message.to_owned(), "Scheduling").await;
        let told = pod.status.condition("PodScheduled").is_some_and(|condition| {
            condition.status == "False" && condition.reason == "Unschedulable" && condition.message == message
        });
        let stays = match nomination {
            Nomination::Stays => true,
            Nomination::Is(node) => pod.status.nominated_node_name == node,
        };
        if told && stays {
            return;
        }
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
        self.set_status(pod, Some(condition), nomination).await;
    }

    async fn drive_away(self, preemptor: &Pod, victim: &Pod) {
        let message = format!("{DEFAULT_NAME}: preempting to accommodate a higher priority pod");
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message,
        });
        self.set_status(victim, Some(condition), Nomination::Stays).await;
        if let Err(status) = self.delete(&Reference::of_pod(victim), None, None).await {
            tracing::debug!(%status, pod = victim.metadata.name, "a pod could not be driven away");
            return;
        }
        let node = &victim.spec.node_name;
        let message = format!("Preempted by pod {} on node {node}", preemptor.metadata.uid);
        self.report(victim, false, "Preempted", message, "Preempting").await;
    }

    async fn set_status(self, pod: &Pod, condition: Option<Value>, nomination: Nomination<'_>) {
        let now = clock::now_text();
        let generation = pod.metadata.generation;
        let transform = |live: &Value| {
            let mut next = live.clone();
            if let Some(mut condition) = condition.clone() {
                if generation > 0 {
                    condition["observedGeneration"] = live["metadata"]["generation"].clone();
                }
                crate::subresource::set_condition(&mut next, condition, &now);
            }
            match (nomination, next["status"].as_object_mut()) {
                (Nomination::Is(""), Some(status)) => {
                    status.remove("nominatedNodeName");
                }
                (Nomination::Is(node), Some(status)) => {
                    status.insert("nominatedNodeName".into(), node.into());
                }
                _ => {}
            }
            Ok(next)
        };
        let (namespace, name) = (pod.metadata.namespace.as_str(), pod.metadata.name.as_str());
        let object = super::super::edit::Object { group: "", plural: "pods", namespace, name };
        if let Err(status) = super::super::edit::change(self.cluster, object, "status", MANAGER, &transform).await {
            tracing::debug!(%status, pod = name, "a pod could not be told why it has no node");
        }
    }

    async fn report(self, pod: &Pod, warning: bool, reason: &'static str, message: String, action: &'static str) {
        let event =
            Event { regarding: Reference::of_pod(pod), warning, reason, message, component: DEFAULT_NAME, action };
        self.tell(&event).await;
    }
}
