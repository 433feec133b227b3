//! Endpoints of Services.

use std::sync::Arc;

use jiff::Timestamp;
use roost_object::Status;
use roost_workloads::endpoints::{View, legacy, slices};
use roost_workloads::{Action, Pod, Reference, Source, selector};

use super::Desk;

impl Desk<'_> {
    /// Writes down who answers for a Service.
    pub(super) async fn endpoints(self) -> Result<(), Status> {
        let (namespace, name) = (&self.work.namespace, &self.work.name);
        let older = self.cluster.find("", "endpoints", namespace, name);
        let Some(service) = self.subject(Source::Services) else {
            let gone = older.as_ref().map(|older| Action::Delete {
                object: Reference::of(older),
                propagation: None,
                grace_seconds: None,
            });
            return self.apply(gone.into_iter().collect()).await;
        };
        if service["spec"]["selector"].as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        let now = Timestamp::now();
        let selector = selector::of_labels(&service["spec"]["selector"]);
        let names =
            self.ask(|index| index.labelled(Source::EndpointSlices, namespace, "kubernetes.io/service-name", name));
        let existing: Vec<_> = names
            .iter()
            .filter_map(|name| self.cluster.find("discovery.k8s.io", "endpointslices", namespace, name))
            .collect();
        let mut actions = self.ask(|index| {
            let selected = index.pods_in(namespace).filter(|pod| selector.matches(&pod.metadata.labels));
            let pods: Vec<Arc<Pod>> = selected.cloned().collect();
            let zone = |node: &str| index.scheduler.node(node)?.labels.get("topology.kubernetes.io/zone").cloned();
            let view = View { service: &service, pods: &pods, zone: &zone };
            let mut actions = slices(&view, &existing, now);
            actions.extend(legacy(&view, older.as_ref().unwrap_or(&roost_object::Value::Null), now));
            actions
        });
        if !service["metadata"]["deletionTimestamp"].is_null() {
            actions.retain(|action| !matches!(action, Action::Create(_)));
        }
        match self.try_apply(actions).await {
            Err(failure) if super::apply::namespace_is_going(&failure.status) => Ok(()),
            Err(failure) => Err(failure.status),
            Ok(()) => Ok(()),
        }
    }
}
