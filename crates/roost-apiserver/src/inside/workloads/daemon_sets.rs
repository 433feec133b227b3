//! DaemonSets.

use std::sync::Arc;

use jiff::Timestamp;
use roost_object::{Status, Value};
use roost_workloads::scheduler::Node;
use roost_workloads::{Source, daemon_set, selector};

use super::Desk;
use crate::write::metadata_text;

impl Desk<'_> {
    /// Brings a DaemonSet's pods to their nodes and tells how many there are.
    pub(super) async fn daemon_set(self) -> Result<(), Status> {
        let Some(set) = self.subject(Source::DaemonSets) else { return Ok(()) };
        let (namespace, now) = (&self.work.namespace, Timestamp::now());
        let revisions = self.revisions(&set);
        let plan = self.ask(|index| {
            let nodes: Vec<&Node> = index.scheduler.nodes().collect();
            let pods = index.pods_for(namespace, metadata_text(&set, "uid"));
            daemon_set::plan(&set, revisions, pods, &nodes, now)
        });
        self.apply(plan.before).await?;
        let mut failure = self.create_each(&set, plan.create, daemon_set::COMPONENT).await;
        if failure.is_none() {
            failure = self.delete_pods(&set, &plan.delete, daemon_set::COMPONENT).await;
        }
        self.apply(plan.after).await?;
        failure.map_or(Ok(()), Err)
    }

    /// The revisions of an owner, and those that nobody cares for and that it selects.
    pub(super) fn revisions(self, owner: &Value) -> Vec<Value> {
        let namespace = &self.work.namespace;
        let selector = selector::read(&owner["spec"]["selector"]);
        let names = self.ask(|index| {
            let mut names = index.owned(Source::ControllerRevisions, metadata_text(owner, "uid"));
            names.extend(index.loose(Source::ControllerRevisions, namespace, &selector));
            names
        });
        names.iter().filter_map(|name| self.cluster.find("apps", "controllerrevisions", namespace, name)).collect()
    }

    /// Makes pods that differ, one at first and twice as many each time.
    pub(super) async fn create_each(self, owner: &Value, pods: Vec<Value>, component: &'static str) -> Option<Status> {
        let owner = Arc::new(owner.clone());
        let (mut left, mut batch) = (pods.into_iter().peekable(), 1);
        while left.peek().is_some() {
            let together: Vec<Value> = left.by_ref().take(batch).collect();
            let made = together.into_iter().map(|pod| self.create_pod(&owner, pod, component));
            let outcomes = futures::future::join_all(made).await;
            if let Some(failure) = outcomes.into_iter().find_map(Result::err) {
                return (!super::apply::namespace_is_going(&failure)).then_some(failure);
            }
            batch *= 2;
        }
        None
    }
}
