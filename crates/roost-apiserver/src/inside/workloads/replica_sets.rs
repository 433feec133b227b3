//! ReplicaSets: pods made and deleted.

use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;
use roost_object::{Status, Value};
use roost_workloads::action::Reference;
use roost_workloads::{Action, Event, Pod, Source, replica_set};

use super::Desk;
use super::apply::namespace_is_going;
use crate::write::metadata_text;

impl Desk<'_> {
    /// Brings a ReplicaSet's pods to their number and tells how many there are.
    pub(super) async fn replica_set(self) -> Result<(), Status> {
        let Some(set) = self.subject(Source::ReplicaSets) else { return Ok(()) };
        let (namespace, uid) = (&self.work.namespace, metadata_text(&set, "uid"));
        let (pods, siblings) = self.ask(|index| {
            let owner = roost_workloads::metadata::Metadata::read(&set).controller().map(|owner| owner.uid.clone());
            let sets = owner.map(|owner| index.owned(Source::ReplicaSets, &owner)).unwrap_or_default();
            // Pods of the same Deployment: how many of them share a node decides who goes first.
            let siblings: Vec<Arc<Pod>> = index
                .pods_in(namespace)
                .filter(|pod| pod.metadata.controller().is_some_and(|owner| sets.contains(&owner.name)))
                .cloned()
                .collect();
            (index.pods_for(namespace, uid), siblings)
        });
        self.replicate(&set, pods, &siblings, replica_set::COMPONENT, |actions| actions).await
    }

    /// Brings a `ReplicationController`'s pods to their number and tells how many there are.
    pub(super) async fn replication_controller(self) -> Result<(), Status> {
        let Some(controller) = self.subject(Source::ReplicationControllers) else { return Ok(()) };
        let set = replica_set::from_older(&controller);
        let pods = self.ask(|index| index.pods_for(&self.work.namespace, metadata_text(&set, "uid")));
        let as_written = |actions| replica_set::for_older(&controller, actions);
        self.replicate(&set, pods, &[], replica_set::OLDER_COMPONENT, as_written).await
    }

    /// Makes or deletes pods; `as_written` brings what follows for the status into the form of the object that is there.
    async fn replicate(
        self,
        set: &Value,
        pods: Vec<Arc<Pod>>,
        siblings: &[Arc<Pod>],
        component: &'static str,
        as_written: impl FnOnce(Vec<Action>) -> Vec<Action>,
    ) -> Result<(), Status> {
        let now = Timestamp::now();
        let plan = replica_set::plan(set, pods, siblings, now);
        self.apply(plan.claims.clone()).await?;
        let mut failure = self.create_pods(set, &plan.template, plan.missing, component).await;
        if failure.is_none() {
            failure = self.delete_pods(set, &plan.surplus, component).await;
        }
        let message = failure.as_ref().map(|status| status.message.as_str());
        self.apply(as_written(replica_set::status(set, &plan, message, now))).await?;
        failure.map_or(Ok(()), Err)
    }

    /// Makes pods, one at first and twice as many each time, so that what cannot work fails once and not often. Returns
    /// what kept it from making all.
    pub(super) async fn create_pods(
        self,
        owner: &Value,
        pod: &Value,
        count: usize,
        component: &'static str,
    ) -> Option<Status> {
        let (mut left, mut batch) = (count, 1);
        while left > 0 {
            let size = batch.min(left);
            let outcomes = join_all((0..size).map(|_| self.create_pod(owner, pod.clone(), component))).await;
            if let Some(failure) = outcomes.into_iter().find_map(Result::err) {
                return (!namespace_is_going(&failure)).then_some(failure);
            }
            left -= size;
            batch *= 2;
        }
        None
    }

    /// Makes a pod and tells of it.
    pub(super) async fn create_pod(self, owner: &Value, pod: Value, component: &'static str) -> Result<(), Status> {
        let (outcome, event) = match self.create(pod).await {
            Ok(pod) => {
                let message = format!("Created pod: {}", metadata_text(&pod, "name"));
                (Ok(()), Event::normal(owner, component, "SuccessfulCreate", message))
            }
            Err(status) if namespace_is_going(&status) => return Err(status),
            Err(status) => {
                let message = format!("Error creating: {}", status.message);
                (Err(status), Event::warning(owner, component, "FailedCreate", message))
            }
        };
        if let Action::Tell(event) = event {
            self.tell(&event).await;
        }
        outcome
    }

    /// Deletes pods and tells of it. Returns what kept it from deleting all.
    pub(super) async fn delete_pods(self, owner: &Value, pods: &[Arc<Pod>], component: &'static str) -> Option<Status> {
        let outcomes = join_all(pods.iter().map(|pod| self.delete_pod(owner, pod, component))).await;
        outcomes.into_iter().find_map(Result::err)
    }

    /// Deletes a pod and tells of it.
    pub(super) async fn delete_pod(self, owner: &Value, pod: &Pod, component: &'static str) -> Result<(), Status> {
        let (outcome, event) = match self.delete(&Reference::of_pod(pod), None, None).await {
            Ok(()) => {
                let message = format!("Deleted pod: {}", pod.metadata.name);
                (Ok(()), Event::normal(owner, component, "SuccessfulDelete", message))
            }
            Err(mut status) => {
                let message = format!("Error deleting: {}", status.message);
                status.message = format!("unable to delete pods: {}", status.message);
                (Err(status), Event::warning(owner, component, "FailedDelete", message))
            }
        };
        if let Action::Tell(event) = event {
            self.tell(&event).await;
        }
        outcome
    }
}
