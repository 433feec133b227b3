//! The scale subresource: the number of replicas of anything that has one.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use roost_object::selector::LabelSelector;
use roost_object::{Map, Status, Value, json, yaml};
use serde_json::json;

use super::decode_as;
use crate::call::Call;
use crate::negotiate::{self, BUILT_IN};
use crate::options::{WriteKind, WriteOptions};
use crate::patch::{PatchType, check_name};
use crate::resource::{Origin, Resource};
use crate::respond::{self, Body};
use crate::write::{self, Change, ChangeKind, Target, metadata_text};
use crate::{after, handle};

/// Where an object keeps its replicas.
struct Paths {
    spec: Vec<String>,
    status: Vec<String>,
    selector: Option<Vec<String>>,
}

impl Paths {
    fn of(resource: &Resource) -> Option<Paths> {
        let split = |path: &str| path.trim_start_matches('.').split('.').map(str::to_owned).collect::<Vec<_>>();
        match &resource.origin {
            Origin::BuiltIn(..) => {
                Some(Paths { spec: split(".spec.replicas"), status: split(".status.replicas"), selector: None })
            }
            Origin::Custom(custom) => custom.version().scale.as_ref().map(|scale| Paths {
                spec: split(&scale.spec_replicas),
                status: split(&scale.status_replicas),
                selector: scale.label_selector.as_deref().map(split),
            }),
        }
    }
}

/// Answers a get, update or patch of a scale.
pub(super) async fn handle(call: &Call, resource: &Arc<Resource>, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let info = &call.info;
    if !resource.serves("scale", &info.verb) {
        return Err(handle::method_not_allowed(resource, call));
    }
    let paths = Paths::of(resource).ok_or_else(Status::unknown_path)?;
    let format = negotiate::negotiate(&call.headers, &call.query, BUILT_IN)?;
    let target = Target { call, resource, namespace: &info.namespace, name: &info.name, subresource: "scale" };
    if info.verb == "get" {
        let (object, _) = target.read_live().await?.ok_or_else(|| target.not_found())?;
        let served = write::convert_from_storage(resource, object)?;
        return Ok(respond::object(200, &format, &scale_of(&paths, &served)));
    }
    let (options, change) = if info.verb == "update" {
        let options = WriteOptions::parse(&call.query, WriteKind::Update)?;
        let scale = decode_as(call, bytes, "autoscaling/v1", "Scale", &options)?;
        check_name(&target, &scale)?;
        (options, ScaleChange::Replace(scale))
    } else {
        let kind = PatchType::parse(&call.headers, resource)?;
        let write_kind = if kind == PatchType::Apply { WriteKind::Apply } else { WriteKind::Patch };
        let options = WriteOptions::parse(&call.query, write_kind)?;
        (options, ScaleChange::parse(kind, bytes)?)
    };
    let transform = |live: &Value| {
        let before = scale_of(&paths, live);
        let after = change.apply(before)?;
        let replicas = after["spec"].get("replicas").cloned().unwrap_or_else(|| 0.into());
        check_replicas(&after)?;
        let mut next = live.clone();
        set(&mut next, &paths.spec, replicas);
        let metadata = write::metadata_mut(&mut next);
        match after["metadata"].get("resourceVersion") {
            Some(version) => metadata.insert("resourceVersion".into(), version.clone()),
            None => metadata.remove("resourceVersion"),
        };
        if let Some(uid) = after["metadata"].get("uid") {
            metadata.insert("uid".into(), uid.clone());
        }
        if metadata.get("resourceVersion").is_none() {
            let version = live["metadata"]["resourceVersion"].clone();
            metadata.insert("resourceVersion".into(), version);
        }
        Ok(next)
    };
    let updated =
        write::update(target, Change { kind: ChangeKind::Patch, transform: &transform, create: false }, &options)
            .await?;
    if !options.dry_run {
        after::written(&target, &updated.object).await;
    }
    let served = write::convert_from_storage(resource, updated.object)?;
    Ok(respond::object(200, &format, &scale_of(&paths, &served)))
}

/// How a caller changes a scale.
enum ScaleChange {
    Replace(Value),
    Merge(Value),
    Json(Bytes),
}

impl ScaleChange {
    fn parse(kind: PatchType, bytes: &Bytes) -> Result<ScaleChange, Status> {
        let unreadable = |error: &dyn std::fmt::Display| Status::bad_request(format!("error decoding patch: {error}"));
        match kind {
            PatchType::Json => Ok(ScaleChange::Json(bytes.clone())),
            PatchType::Apply => Ok(ScaleChange::Merge(yaml::read(bytes).map_err(|error| unreadable(&error))?.value)),
            _ => Ok(ScaleChange::Merge(json::read(bytes).map_err(|error| unreadable(&error))?.value)),
        }
    }

    fn apply(&self, scale: Value) -> Result<Value, Status> {
        match self {
            ScaleChange::Replace(new) => Ok(new.clone()),
            ScaleChange::Merge(patch) => Ok(roost_merge::merge_patch::apply(scale, patch.clone())),
            ScaleChange::Json(patch) => roost_merge::json_patch::apply(&scale, patch)
                .map_err(|error| Status::failure(422, "Invalid", error.to_string())),
        }
    }
}

fn check_replicas(scale: &Value) -> Result<(), Status> {
    use roost_object::field::{Error, Path};
    match scale["spec"].get("replicas").and_then(Value::as_i64) {
        Some(replicas) if replicas < 0 => {
            let error = Error::invalid(&Path::new("spec.replicas"), replicas, "must be greater than or equal to 0");
            let kind = roost_object::GroupKind::new("autoscaling", "Scale");
            Err(Status::invalid(&kind, metadata_text(scale, "name"), &[error]))
        }
        _ => Ok(()),
    }
}

/// The scale of an object in the served version, where its kind has one.
pub(crate) fn of(resource: &Resource, object: &Value) -> Option<Value> {
    Paths::of(resource).map(|paths| scale_of(&paths, object))
}

/// Takes over the replicas of a scale.
pub(crate) fn set_replicas(resource: &Resource, object: &mut Value, scale: &Value) {
    if let Some(paths) = Paths::of(resource) {
        set(object, &paths.spec, scale["spec"].get("replicas").cloned().unwrap_or_else(|| 0.into()));
    }
}

/// An object's scale.
fn scale_of(paths: &Paths, object: &Value) -> Value {
    let mut metadata = Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(name) {
            metadata.insert(name.into(), value.clone());
        }
    }
    let mut spec = Map::new();
    if let Some(replicas) = lookup(object, &paths.spec).and_then(Value::as_i64).filter(|replicas| *replicas != 0) {
        spec.insert("replicas".into(), replicas.into());
    }
    let mut status = Map::new();
    status.insert("replicas".into(), lookup(object, &paths.status).and_then(Value::as_i64).unwrap_or(0).into());
    let selector = match &paths.selector {
        Some(path) => lookup(object, path).and_then(Value::as_str).unwrap_or_default().to_owned(),
        None => selector_text(object),
    };
    if !selector.is_empty() {
        status.insert("selector".into(), selector.into());
    }
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": spec, "status": status})
}

fn selector_text(object: &Value) -> String {
    let selector = &object["spec"]["selector"];
    if object["kind"] == "ReplicationController" {
        let labels = selector.as_object().into_iter().flatten();
        return labels
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(",");
    }
    LabelSelector::from_object(selector).map(|selector| selector.to_string()).unwrap_or_default()
}

fn lookup<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| value.get(step))
}

fn set(object: &mut Value, path: &[String], value: Value) {
    let mut place = object;
    for step in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[step.as_str()];
    }
    *place = value;
}
