//! PodDisruptionBudgets.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use roost_object::Status;
use roost_workloads::metadata::Metadata;
use roost_workloads::{Pod, Source, disruption, selector};

use super::Desk;

impl Desk<'_> {
    /// Counts how many pods of a budget may be taken away.
    pub(super) async fn disruption(self) -> Result<(), Status> {
        let Some(budget) = self.subject(Source::DisruptionBudgets) else { return Ok(()) };
        let namespace = &self.work.namespace;
        let selector = selector::read(&budget["spec"]["selector"]);
        let pods: Vec<Arc<Pod>> = self.ask(|index| {
            let selected = index.pods_in(namespace).filter(|pod| selector.matches(&pod.metadata.labels));
            selected.cloned().collect()
        });
        let owners: BTreeSet<(String, String)> = pods
            .iter()
            .filter_map(|pod| pod.metadata.controller())
            .map(|owner| (owner.kind.clone(), owner.name.clone()))
            .collect();
        let loose = pods.iter().filter(|pod| pod.metadata.controller().is_none()).count() as i64;
        let tops: BTreeSet<(String, i64)> =
            owners.iter().filter_map(|(kind, name)| self.scale_of(kind, name)).collect();
        let expected = loose + tops.iter().map(|(_, replicas)| replicas).sum::<i64>();
        self.apply(disruption::plan(&budget, &pods, expected, Timestamp::now())).await
    }

    /// Who decides how many pods there are, and how many that is.
    fn scale_of(self, kind: &str, name: &str) -> Option<(String, i64)> {
        let namespace = &self.work.namespace;
        let plural = match kind {
            "ReplicaSet" => "replicasets",
            "StatefulSet" => "statefulsets",
            _ => return None,
        };
        let owner = self.cluster.find("apps", plural, namespace, name)?;
        let replicas = |object: &roost_object::Value| object["spec"]["replicas"].as_i64().unwrap_or_default();
        let about = Metadata::read(&owner);
        if let Some(top) = about.controller().filter(|top| top.kind == "Deployment") {
            let deployment = self.cluster.find("apps", "deployments", namespace, &top.name)?;
            return Some((top.uid.clone(), replicas(&deployment)));
        }
        Some((about.uid, replicas(&owner)))
    }
}
