//! Deployments: what they look at, and what follows when a ReplicaSet cannot be made.

use jiff::Timestamp;
use roost_object::Status;
use roost_workloads::{Action, Pod, Source, deployment, selector};

use super::Desk;
use super::apply::{Failure, namespace_is_going};
use crate::write::metadata_text;

impl Desk<'_> {
    /// Takes a Deployment one step further.
    pub(super) async fn deployment(self) -> Result<(), Status> {
        let Some(subject) = self.subject(Source::Deployments) else { return Ok(()) };
        let (namespace, now) = (&self.work.namespace, Timestamp::now());
        let selector = selector::read(&subject["spec"]["selector"]);
        let recreate = subject["spec"]["strategy"]["type"] == "Recreate";
        let names = self.ask(|index| {
            let mut names = index.owned(Source::ReplicaSets, metadata_text(&subject, "uid"));
            names.extend(index.loose(Source::ReplicaSets, namespace, &selector));
            names
        });
        let sets: Vec<_> =
            names.iter().filter_map(|name| self.cluster.find("apps", "replicasets", namespace, name)).collect();
        let pods = if recreate {
            self.ask(|index| sets.iter().flat_map(|set| index.pods_of(metadata_text(set, "uid"))).collect())
        } else {
            Vec::new()
        };
        let pods: Vec<&Pod> = pods.iter().map(AsRef::as_ref).collect();
        match self.try_apply(deployment::plan(&subject, sets, &pods, now)).await {
            Err(Failure { action: Action::Create(set), status }) if !namespace_is_going(&status) => {
                self.apply(deployment::creation_failed(&subject, &set, &status, now)).await?;
                if status.reason == "AlreadyExists" { Ok(()) } else { Err(status) }
            }
            Err(Failure { action: Action::Create(_), .. }) | Ok(()) => Ok(()),
            Err(failure) => Err(failure.status),
        }
    }
}
