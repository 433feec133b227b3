//! Autoscalers of pods: what they look at, and how what they scale is found and set.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, USER_AGENT};
use jiff::Timestamp;
use roost_object::field::quote;
use roost_object::selector::Selector;
use roost_object::{GroupResource, Status, Value};
use roost_workloads::Pod;
use roost_workloads::autoscaler::{self, Scale, Surroundings};
use serde_json::json;

use super::Desk;
use crate::call::Call;
use crate::request::RequestInfo;
use crate::resource::Resource;
use crate::subresource::scale;
use crate::write::{CONTROLLERS, convert_from_storage, metadata_text};

const GROUP: &str = "autoscaling";
const PLURAL: &str = "horizontalpodautoscalers";

/// What is scaled: its kind, its scale as it is, and what of it counts.
struct Found {
    resource: Arc<Resource>,
    object: Value,
    scale: Scale,
}

impl Desk<'_> {
    /// Looks at what pods use, and sets how many there should be. It is done again after a while, as long as there is one.
    pub(super) async fn autoscaler(self) -> Result<(), Status> {
        let (namespace, name) = (&self.work.namespace, &self.work.name);
        let key = format!("{namespace}/{name}");
        let Some(subject) = self.cluster.find(GROUP, PLURAL, namespace, name) else {
            self.workloads.autoscalers.lock().remove(&key);
            return Ok(());
        };
        self.again(autoscaler::INTERVAL);
        let now = Timestamp::now();
        let found = match self.scale_target(&subject) {
            Ok(found) => found,
            Err(status) => return self.apply(autoscaler::without_scale(&subject, &status.message, now)).await,
        };
        let surroundings = self.surroundings(&found.scale).await;
        let mut memory = self.workloads.autoscalers.lock().get(&key).cloned().unwrap_or_default();
        let mut plan = autoscaler::plan(&subject, &found.scale, &surroundings, &mut memory, now);
        self.apply(std::mem::take(&mut plan.events)).await?;
        let outcome = match &plan.rescale {
            Some((replicas, _)) => self.set_scale(&found, *replicas).await,
            None => Ok(()),
        };
        let after = match outcome {
            Ok(()) => plan.succeeded(&mut memory, now),
            Err(status) => plan.failed(&status.message, now),
        };
        self.workloads.autoscalers.lock().insert(key, memory);
        self.apply(after).await
    }

    /// What an autoscaler scales, as it is.
    fn scale_target(self, autoscaler: &Value) -> Result<Found, Status> {
        let target = &autoscaler["spec"]["scaleTargetRef"];
        let text = |field: &str| target[field].as_str().unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
        let (kind, name) = (text("kind"), text("name"));
        let known = self.cluster.resources().into_iter().find(|one| one.group == group && one.kind == kind);
        let Some(resource) = known.and_then(|one| self.cluster.storage_resource(group, &one.plural)) else {
            let why = format!("no matches for kind {} in group {}", quote(kind), quote(group));
            return Err(Status::failure(404, "NotFound", why));
        };
        if !resource.has_subresource("scale") {
            return Err(Status::failure(404, "NotFound", "the server could not find the requested resource"));
        }
        let missing = || Status::not_found(&GroupResource::new(group, &*resource.plural), name);
        let stored = self.cluster.find(group, &resource.plural, &self.work.namespace, name).ok_or_else(missing)?;
        let object = scale::of(&resource, &convert_from_storage(&resource, stored)?).ok_or_else(missing)?;
        let scale = Scale {
            replicas: object["spec"]["replicas"].as_i64().unwrap_or_default(),
            selector: object["status"]["selector"].as_str().unwrap_or_default().to_owned(),
        };
        Ok(Found { resource, object, scale })
    }

    /// The pods that a scale selects, what they use, and who else scales them.
    async fn surroundings(self, scale: &Scale) -> Surroundings {
        let selector = match Selector::parse(&scale.selector) {
            Ok(selector) if !scale.selector.is_empty() => selector,
            _ => return Surroundings::default(),
        };
        let namespace = &self.work.namespace;
        let pods: Vec<Arc<Pod>> = self.ask(|index| {
            let selected = index.pods_in(namespace).filter(|pod| selector.matches(&pod.metadata.labels));
            selected.cloned().collect()
        });
        let mut claimants = Vec::new();
        for other in self.cluster.find_all(GROUP, PLURAL, namespace) {
            let Ok(found) = self.scale_target(&other) else { continue };
            let Ok(own) = Selector::parse(&found.scale.selector) else { continue };
            if pods.iter().any(|pod| own.matches(&pod.metadata.labels)) {
                claimants.push(format!("{namespace}/{}", metadata_text(&other, "name")));
            }
        }
        let usage = self.workloads.usage.usage(self.cluster).await;
        let used = |pod: &Arc<Pod>| {
            let key = (namespace.clone(), pod.metadata.name.clone());
            Some((key.1.clone(), usage.pods.get(&key)?.clone()))
        };
        Surroundings { usage: pods.iter().filter_map(used).collect(), pods, claimants }
    }

    /// Sets the number of replicas, in the way in which everyone does.
    async fn set_scale(self, found: &Found, replicas: i64) -> Result<(), Status> {
        let mut body = found.object.clone();
        body["spec"] = json!({"replicas": replicas});
        let mut call = Call::internal(self.cluster);
        let resource = &found.resource;
        call.info = Arc::new(RequestInfo {
            is_resource: true,
            verb: "update".to_owned(),
            group: resource.group.clone(),
            version: resource.version.clone(),
            namespace: self.work.namespace.clone(),
            resource: resource.plural.clone(),
            subresource: "scale".to_owned(),
            name: metadata_text(&found.object, "name").to_owned(),
            ..RequestInfo::default()
        });
        call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        call.headers.insert(USER_AGENT, HeaderValue::from_static(CONTROLLERS));
        scale::handle(&call, resource, &Bytes::from(body.to_string())).await.map(drop)
    }
}
