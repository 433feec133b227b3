//! The scale subresource: the number of replicas of anything that has one.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::Response;
use roost_merge::managed::ManagedError;
use roost_object::field::{Error, Errors, Path, quote};
use roost_object::selector::LabelSelector;
use roost_object::{GroupResource, Map, Status, Value, group, metadata};
use serde_json::json;

use crate::call::Call;
use crate::negotiate::{self, Format, View};
use crate::options::{WriteKind, WriteOptions};
use crate::patch::{Patch, PatchType, check_name, is_same_but_managers};
use crate::resource::{Origin, Resource};
use crate::respond::{self, Body};
use crate::write::{self, Change, ChangeKind, Target, metadata_text};
use crate::{after, handle, read};

/// Where an object keeps its replicas.
struct Paths {
    spec: Vec<String>,
    status: Vec<String>,
    selector: Option<Vec<String>>,
}

impl Paths {
    fn of(resource: &Resource) -> Option<Paths> {
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

    /// The path of the replicas as a definition writes it.
    fn shown(&self) -> String {
        format!(".{}", self.spec.join("."))
    }
}

fn split(path: &str) -> Vec<String> {
    path.trim_start_matches('.').split('.').map(str::to_owned).collect()
}

/// Answers a get, update or patch of a scale.
pub(crate) async fn handle(call: &Call, resource: &Arc<Resource>, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let info = &call.info;
    let paths = Paths::of(resource).ok_or_else(Status::unknown_path)?;
    let format = negotiate::negotiate(&call.headers, &call.query, resource.encodings())?;
    let target = Target { call, resource, namespace: &info.namespace, name: &info.name, subresource: "scale" };
    if info.verb == "get" {
        let (object, _) = target.read_live().await?.ok_or_else(|| target.not_found())?;
        let served = write::convert_from_storage(resource, object)?;
        if resource.as_custom().is_some() && lookup(&served, &paths.spec).is_none() {
            let why = format!("the spec replicas field {} does not exist", quote(&paths.shown()));
            return Err(Status::internal(why));
        }
        return present(call, resource, &format, scale_of(&paths, &served));
    }
    let kind = if resource.namespaced { &*SCALES } else { &*CLUSTER_SCALES };
    let own = Target { resource: kind, ..target };
    let (options, wanted) = if info.verb == "update" {
        let options = WriteOptions::parse(&call.query, WriteKind::Update)?;
        let mut scale = handle::decode(&own, bytes, &options).map_err(|status| {
            let unreadable = status.code == 400 && !status.message.starts_with("the API version in the data");
            // Stock cannot even say what it expected there.
            if unreadable && resource.as_custom().is_some() { Status::bad_request(UNREADABLE) } else { status }
        })?;
        write::match_namespace(&own, &mut scale)?;
        check_name(&own, &scale)?;
        (options, Wanted::Whole(scale))
    } else {
        let kind = PatchType::parse(&call.headers, resource)?;
        let write_kind = if kind == PatchType::Apply { WriteKind::Apply } else { WriteKind::Patch };
        let options = WriteOptions::parse(&call.query, write_kind)?;
        (options, Wanted::Patched(kind, Patch::parse(kind, bytes.clone())?))
    };
    let versions = versions_of(resource);
    let transform = |live: &Value| rescale(&target, &own, &paths, &versions, &wanted, live, &options);
    // The owners of replicas are already those of the scale, brought back to the parent.
    let change = Change { kind: ChangeKind::Apply, transform: &transform, create: false };
    let updated = write::update(target, change, &options).await?;
    if !options.dry_run {
        after::written(&target, &updated.object).await;
    }
    let served = write::convert_from_storage(resource, updated.object)?;
    present(call, resource, &format, scale_of(&paths, &served))
}

/// What stock says of a body that is not the scale of a custom resource.
const UNREADABLE: &str = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";

/// How a caller changes a scale.
enum Wanted {
    Whole(Value),
    Patched(PatchType, Patch),
}

/// Replicas that nobody set: a patch that leaves them so is refused.
const UNSET_REPLICAS: i64 = i32::MIN as i64;

/// From the live parent to the next one, by way of their scales.
fn rescale(
    target: &Target<'_>,
    own: &Target<'_>,
    paths: &Paths,
    versions: &[(String, Option<Vec<String>>)],
    wanted: &Wanted,
    live: &Value,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let resource = target.resource;
    let names: Vec<Option<Vec<&str>>> =
        versions.iter().map(|(_, path)| path.as_ref().map(|path| path.iter().map(String::as_str).collect())).collect();
    let mapped: Vec<(&str, Option<&[&str]>)> =
        versions.iter().zip(&names).map(|((version, _), path)| (version.as_str(), path.as_deref())).collect();
    let unreadable = |error: ManagedError| Status::failure(500, "", error.to_string());
    let entries = live["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut before = scale_of(paths, live);
    if resource.as_custom().is_some() && lookup(live, &paths.spec).is_none() {
        before["spec"]["replicas"] = UNSET_REPLICAS.into();
    }
    let owners = roost_merge::scale::to_subresource(entries, &mapped).map_err(unreadable)?;
    if !owners.is_empty() {
        before["metadata"]["managedFields"] = Value::Array(owners);
    }
    let after = match wanted {
        Wanted::Whole(scale) => {
            write::check_uid(target, scale, live)?;
            let mut after = scale.clone();
            write::track(own, Some(&before), &mut after, &target.call.manager_or_agent(&options.field_manager));
            after
        }
        Wanted::Patched(kind, patch) => {
            let mut after = patch.transform(own, &before, options)?;
            if *kind != PatchType::Apply {
                write::track(own, Some(&before), &mut after, &target.call.manager_or_agent(&options.field_manager));
            } else if resource.as_custom().is_some() && !is_same_but_managers(&before, &after) {
                return Err(patch.unscalable());
            }
            after
        }
    };
    let replicas = after["spec"].get("replicas").and_then(Value::as_i64).unwrap_or(0);
    if resource.as_custom().is_none() {
        check(&after, target, live)?;
    } else if replicas == UNSET_REPLICAS {
        let why = format!("the spec replicas field {} cannot be empty", quote(&paths.shown()));
        return Err(Status::bad_request(why));
    }
    let mut next = live.clone();
    set(&mut next, &paths.spec, replicas.into());
    let owners = after["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let owners = roost_merge::scale::to_parent(entries, owners, &resource.api_version, &mapped).map_err(unreadable)?;
    let metadata = write::metadata_mut(&mut next);
    metadata.insert("managedFields".into(), Value::Array(owners));
    match after["metadata"].get("resourceVersion") {
        Some(version) => metadata.insert("resourceVersion".into(), version.clone()),
        None if resource.as_custom().is_some() => None,
        None => metadata.remove("resourceVersion"),
    };
    Ok(next)
}

/// What stock checks of the scale of a built-in kind.
fn check(scale: &Value, target: &Target<'_>, live: &Value) -> Result<(), Status> {
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    metadata::validate(&scale["metadata"], true, metadata::name_is_subdomain, &path, &mut errors);
    if let Some(replicas) = scale["spec"].get("replicas").and_then(Value::as_i64).filter(|replicas| *replicas < 0) {
        errors.push(Error::invalid(&Path::new("spec.replicas"), replicas, "must be greater than or equal to 0"));
    }
    if !errors.is_empty() {
        let kind = roost_object::GroupKind::new("autoscaling", "Scale");
        return Err(Status::invalid(&kind, target.name, &errors));
    }
    let (wanted, found) = (metadata_text(scale, "uid"), metadata_text(live, "uid"));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let resource = GroupResource::new(&*target.resource.group, format!("{}/scale", target.resource.plural));
    let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Err(Status::conflict(&resource, target.name, &why))
}

/// The kind of all scales, as a resource: it has a type and a table, but no place of its own.
static SCALES: LazyLock<Arc<Resource>> = LazyLock::new(|| scales(true));
static CLUSTER_SCALES: LazyLock<Arc<Resource>> = LazyLock::new(|| scales(false));

fn scales(namespaced: bool) -> Arc<Resource> {
    Arc::new(Resource::of_kind("autoscaling", "v1", "Scale", namespaced).expect("Scale is a built-in kind"))
}

/// Where the versions of a parent have their replicas.
fn versions_of(resource: &Resource) -> Vec<(String, Option<Vec<String>>)> {
    match &resource.origin {
        Origin::BuiltIn(..) => {
            let path = || Some(split(".spec.replicas"));
            let versions: &[&str] =
                if resource.group == "apps" { &["apps/v1beta1", "apps/v1beta2", "apps/v1"] } else { &["v1"] };
            versions.iter().map(|version| ((*version).to_owned(), path())).collect()
        }
        Origin::Custom(custom) => custom
            .definition
            .versions
            .iter()
            .map(|version| {
                let path = version.scale.as_ref().map(|scale| split(&scale.spec_replicas));
                (group::api_version(&resource.group, &version.name), path)
            })
            .collect(),
    }
}

/// Answers with a scale in the agreed view.
fn present(call: &Call, parent: &Resource, format: &Format, scale: Value) -> Result<Response<Body>, Status> {
    if parent.as_custom().is_none() || format.view != View::Table {
        return read::present(call, &SCALES, format, 200, scale);
    }
    let meta = json!({"resourceVersion": scale["metadata"]["resourceVersion"]});
    let mut table = read::table(&SCALES, format, read::Include::parse(call)?, &meta, &[scale], true);
    let column = |name: &str, kind: &str, form: &str, description: &str| json!({"name": name, "type": kind, "format": form, "description": description, "priority": 0});
    let words = |field: &str| crate::openapi::description("v1", "ConfigMap", field);
    table["columnDefinitions"] = json!([
        column("Name", "string", "name", &words("metadata.name")),
        column("Desired", "integer", "", "Number of desired replicas"),
        column("Available", "integer", "", "Number of actual replicas"),
        column("Age", "date", "", &words("metadata.creationTimestamp")),
    ]);
    Ok(respond::object(200, format, &table))
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
