//! Carrying out what was decided.

use std::collections::HashMap;

use jiff::Timestamp;
use roost_object::{Status, Value};
use roost_workloads::{Action, Event, Reference};
use serde_json::json;

use super::super::edit;
use super::Desk;
use super::told::Key;
use crate::call::Call;
use crate::clock;
use crate::options::{DeleteOptions, Propagation};
use crate::write::{self, CONTROLLERS, Change, ChangeKind, Target, internal_options, metadata_text};

/// What could not be done, and why.
pub(super) struct Failure {
    pub(super) action: Action,
    pub(super) status: Status,
}

impl Desk<'_> {
    /// Does one thing after the other; stops at the first that fails.
    pub(super) async fn apply(self, actions: Vec<Action>) -> Result<(), Status> {
        self.try_apply(actions).await.map_err(|failure| failure.status)
    }

    /// Does one thing after the other, and says what failed.
    pub(super) async fn try_apply(self, actions: Vec<Action>) -> Result<(), Failure> {
        // What was written in this pass has another revision than when it was read.
        let mut revisions: HashMap<String, String> = HashMap::new();
        for action in actions {
            let outcome = match &action {
                Action::Create(object) => self.create(object.clone()).await.map(drop),
                Action::Update(object) => self.replace(object, "", &mut revisions).await,
                Action::UpdateStatus(object) => self.replace(object, "status", &mut revisions).await,
                Action::Patch { object, subresource, patch } => self.patch(object, subresource, patch).await,
                Action::Adopt { object, owner, patch } => self.adopt(object, owner, patch).await,
                Action::Delete { object, propagation, grace_seconds } => {
                    self.delete(object, *propagation, *grace_seconds).await
                }
                Action::SetCondition { object, condition } => self.set_pod_condition(object, condition).await,
                Action::Tell(event) => {
                    self.tell(event).await;
                    Ok(())
                }
                Action::LookAgain(wait) => {
                    self.again(*wait);
                    Ok(())
                }
            };
            if let Err(status) = outcome {
                return Err(Failure { action, status });
            }
        }
        Ok(())
    }

    /// Makes an object.
    pub(super) async fn create(self, object: Value) -> Result<Value, Status> {
        let call = Call::internal(self.cluster);
        let (api_version, kind) = (text(&object, "apiVersion"), text(&object, "kind"));
        let resource = self.cluster.resource_of_kind(&api_version, &kind).ok_or_else(Status::unknown_path)?;
        let namespace = metadata_text(&object, "namespace").to_owned();
        let name = metadata_text(&object, "name").to_owned();
        let target = Target { call: &call, resource: &resource, namespace: &namespace, name: &name, subresource: "" };
        write::create(target, object, &internal_options(CONTROLLERS)).await.map(|created| created.object)
    }

    async fn replace(
        self,
        object: &Value,
        subresource: &str,
        revisions: &mut HashMap<String, String>,
    ) -> Result<(), Status> {
        let mut object = object.clone();
        let uid = metadata_text(&object, "uid").to_owned();
        if let Some(revision) = revisions.get(&uid) {
            object["metadata"]["resourceVersion"] = revision.as_str().into();
        }
        let reference = Reference::of(&object);
        let transform = |_: &Value| Ok(object.clone());
        let updated = self.change(&reference, subresource, ChangeKind::Replace, &transform).await?;
        if let Some(updated) = updated {
            revisions.insert(uid, metadata_text(&updated, "resourceVersion").to_owned());
        }
        Ok(())
    }

    /// Merges a patch into an object that is still the same one.
    pub(super) async fn patch(self, object: &Reference, subresource: &str, patch: &Value) -> Result<(), Status> {
        let transform = |live: &Value| {
            if metadata_text(live, "uid") != object.uid {
                return Err(Status::failure(404, "NotFound", "it is another one"));
            }
            Ok(roost_merge::merge_patch::apply(live.clone(), patch.clone()))
        };
        self.change(object, subresource, ChangeKind::Patch, &transform).await.map(drop)
    }

    /// Takes in an object, if the owner as it is now stays: one that is going may have left it a moment ago.
    async fn adopt(self, object: &Reference, owner: &Reference, patch: &Value) -> Result<(), Status> {
        let resource =
            self.cluster.resource_of_kind(&owner.api_version, &owner.kind).ok_or_else(Status::unknown_path)?;
        let live = self.cluster.find(&resource.group, &resource.plural, &owner.namespace, &owner.name);
        let stays = live.is_some_and(|live| {
            metadata_text(&live, "uid") == owner.uid && live["metadata"].get("deletionTimestamp").is_none()
        });
        if !stays {
            return Err(Status::failure(409, "Conflict", "the owner is going"));
        }
        self.patch(object, "", patch).await
    }

    /// Sets a condition of a pod that is still the same one.
    async fn set_pod_condition(self, object: &Reference, condition: &Value) -> Result<(), Status> {
        let now = clock::now_text();
        let transform = |live: &Value| {
            if metadata_text(live, "uid") != object.uid {
                return Err(Status::failure(404, "NotFound", "it is another one"));
            }
            let mut next = live.clone();
            crate::subresource::set_condition(&mut next, condition.clone(), &now);
            Ok(next)
        };
        self.change(object, "status", ChangeKind::Patch, &transform).await.map(drop)
    }

    /// Changes an object; none when it is gone.
    async fn change(
        self,
        object: &Reference,
        subresource: &str,
        kind: ChangeKind,
        transform: write::Transform<'_>,
    ) -> Result<Option<Value>, Status> {
        let call = Call::internal(self.cluster);
        let Some(resource) = self.cluster.resource_of_kind(&object.api_version, &object.kind) else { return Ok(None) };
        let (namespace, name) = (object.namespace.as_str(), object.name.as_str());
        let target = Target { call: &call, resource: &resource, namespace, name, subresource };
        let change = Change { kind, transform, create: false };
        match write::update(target, change, &internal_options(CONTROLLERS)).await {
            Ok(updated) => Ok(Some(updated.object)),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Deletes an object that is still the same one.
    pub(super) async fn delete(
        self,
        object: &Reference,
        propagation: Option<&str>,
        grace_seconds: Option<i64>,
    ) -> Result<(), Status> {
        let call = Call::internal(self.cluster);
        let Some(resource) = self.cluster.resource_of_kind(&object.api_version, &object.kind) else { return Ok(()) };
        let (namespace, name) = (object.namespace.as_str(), object.name.as_str());
        let target = Target { call: &call, resource: &resource, namespace, name, subresource: "" };
        let options = DeleteOptions {
            uid: Some(object.uid.clone()),
            grace_period_seconds: grace_seconds,
            propagation: propagation.and_then(|way| match way {
                "Background" => Some(Propagation::Background),
                "Foreground" => Some(Propagation::Foreground),
                "Orphan" => Some(Propagation::Orphan),
                _ => None,
            }),
            ..DeleteOptions::default()
        };
        match write::delete(target, &options).await {
            Ok(_) => Ok(()),
            Err(status) if matches!(status.code, 404 | 409) => Ok(()),
            Err(status) => Err(status),
        }
    }

    /// Tells people. What cannot be told is not worth failing for.
    pub(super) async fn tell(self, event: &Event) {
        let regarding = &event.regarding;
        let namespace = if regarding.namespace.is_empty() { "default" } else { &regarding.namespace };
        let key = Key::of(event);
        let before = self.workloads.told.lock().find(&key).map(str::to_owned);
        if let Some(name) = before.filter(|name| self.cluster.find("", "events", namespace, name).is_some()) {
            self.count(event, namespace, &name).await;
            return;
        }
        let time = Timestamp::now();
        let name = format!("{}.{:x}", regarding.name, time.as_nanosecond());
        let mut involved = json!({
            "apiVersion": regarding.api_version, "kind": regarding.kind, "name": regarding.name, "uid": regarding.uid,
        });
        if !regarding.namespace.is_empty() {
            involved["namespace"] = regarding.namespace.as_str().into();
        }
        let mut object = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved, "reason": event.reason, "message": event.message,
            "type": if event.warning { "Warning" } else { "Normal" }, "reportingComponent": event.component,
        });
        if event.action.is_empty() {
            let now = clock::text(time);
            object["source"] = json!({"component": event.component});
            object["count"] = 1.into();
            object["firstTimestamp"] = now.as_str().into();
            object["lastTimestamp"] = now.into();
            object["reportingInstance"] = "".into();
        } else {
            object["action"] = event.action.into();
            object["eventTime"] = clock::now_micro_text().into();
            object["reportingInstance"] = format!("{}-{}", event.component, self.cluster.tenant).into();
        }
        match edit::make(self.cluster, object, CONTROLLERS).await {
            Ok(()) => self.workloads.told.lock().remember(key, name),
            Err(status) => tracing::debug!(%status, reason = event.reason, "an event could not be written"),
        }
    }

    /// Counts what was told before once more.
    async fn count(self, event: &Event, namespace: &str, name: &str) {
        let transform = |live: &Value| {
            let mut next = live.clone();
            if event.action.is_empty() {
                next["count"] = (live["count"].as_i64().unwrap_or(1) + 1).into();
                next["lastTimestamp"] = clock::now_text().into();
            } else {
                let count = live["series"]["count"].as_i64().unwrap_or(1) + 1;
                next["series"] = json!({"count": count, "lastObservedTime": clock::now_micro_text()});
            }
            Ok(next)
        };
        let object = edit::Object { group: "", plural: "events", namespace, name };
        if let Err(status) = edit::change(self.cluster, object, "", CONTROLLERS, &transform).await {
            tracing::debug!(%status, reason = event.reason, "an event could not be counted");
        }
    }
}

fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}

/// Whether something was refused because its namespace is going, which is nobody's fault.
pub(super) fn namespace_is_going(status: &Status) -> bool {
    status
        .details
        .as_ref()
        .is_some_and(|details| details.causes.iter().any(|cause| cause.reason == "NamespaceTerminating"))
}
