//! Requests on resources: from a verb and a path to the read or write behind it.

use bytes::Bytes;
use http::Response;
use roost_object::field::{Error, Path};
use roost_object::selector::FieldSelector;
use roost_object::status::Details;
use roost_object::{GroupVersionKind, Map, Status, Value};

use crate::body;
use crate::call::Call;
use crate::negotiate::{self, BUILT_IN, Format};
use crate::options::{DeleteOptions, ListOptions, WriteKind, WriteOptions};
use crate::patch::{Patch, PatchType, check_name};
use crate::read;
use crate::resource::Resource;
use crate::respond::{self, Body};
use crate::write::{self, Change, ChangeKind, Target, apply_defaults};
use crate::{after, resource_metrics, route, subresource};

/// Answers a request on a resource.
pub(crate) async fn resource(call: &Call, body: Bytes) -> Result<Response<Body>, Status> {
    let info = &call.info;
    let Some(resource) = call.cluster.resource(&info.group, &info.version, &info.resource) else {
        let answer = resource_metrics::answer(call).await;
        return answer.unwrap_or_else(|| Ok(route::unknown_path(call)));
    };
    if let Some(refusal) = route::refuse(&resource, call) {
        return refusal;
    }
    let verb = info.verb.as_str();
    let words = if info.name.is_empty() { Vec::new() } else { roost_object::names::is_path_segment(&info.name) };
    if !words.is_empty() && !matches!(verb, "list" | "watch") {
        let name = roost_object::field::quote(&info.name);
        return Err(Status::bad_request(format!("Name parameter invalid: {name}: {}", words.join(";"))));
    }
    let routed = match resource.as_custom() {
        None => {
            negotiate::route_to(&call.headers, if matches!(verb, "list" | "watch") { LISTED } else { &LISTED[..3] })
        }
        Some(_) => Ok(()),
    };
    // Nobody is warned of what stock's router refuses already.
    if routed.is_ok() {
        warn_of_deprecation(call, &resource);
    }
    if let Some(answer) = subresource::handle(call, &resource, &body).await {
        return answer;
    }
    routed?;
    let format = if has_table(&resource, &info.subresource) {
        negotiate::negotiate(&call.headers, &call.query, resource.encodings())?
    } else {
        negotiate::negotiate_without_table(&call.headers, &call.query)?
    };
    let target = Target {
        call,
        resource: &resource,
        namespace: &info.namespace,
        name: &info.name,
        subresource: &info.subresource,
    };
    match verb {
        "get" => read::get(&target, &format).await,
        "list" | "watch" => {
            let options = ListOptions::parse(&call.query, verb == "watch")?;
            if verb == "watch" {
                let options = watch_of_one(call, options)?;
                return read::watch(call, &resource, &info.namespace, &options, &format).await;
            }
            read::list(call, &resource, &info.namespace, &options, &format).await
        }
        "create" => create(&target, &body, &format).await,
        "update" => replace(&target, &body, &format).await,
        "patch" => patch(&target, body, &format).await,
        "delete" => delete(&target, &body, &format).await,
        "deletecollection" => delete_collection(&target, &body, &format).await,
        _ => Err(route::method_not_allowed(&resource, call)),
    }
}

/// What stands beside objects and is not shown as a table.
const WITHOUT_TABLE: &[(&str, &str, &str)] = &[
    ("", "pods", "ephemeralcontainers"),
    ("", "pods", "resize"),
    ("", "namespaces", "finalize"),
    ("certificates.k8s.io", "certificatesigningrequests", "approval"),
    ("resource.k8s.io", "resourceclaims", "status"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "status"),
    ("apiregistration.k8s.io", "apiservices", "status"),
];

fn has_table(resource: &Resource, subresource: &str) -> bool {
    !WITHOUT_TABLE.iter().any(|(group, plural, part)| resource.is(group, plural) && *part == subresource)
}

/// What a collection can be had as: the last two only by those who watch it.
const LISTED: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

/// The resources and versions that are going out of use.
const DEPRECATED: &[(&str, &str, &str)] = &[
    ("", "endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    ("", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
];

pub(crate) fn warn_of_deprecation(call: &Call, resource: &Resource) {
    let warning = if let Some(custom) = resource.as_custom() {
        custom.version().deprecated.clone()
    } else {
        let row = DEPRECATED.iter().find(|(group, plural, _)| resource.is(group, plural));
        row.map(|(_, _, warning)| (*warning).to_owned())
    };
    if let Some(warning) = warning {
        call.warnings.add(warning);
    }
}

/// The deprecated `/watch/…/name` watches one object, and no selector can make it another one: the caller was only
/// asked whether they may watch the one that is named.
fn watch_of_one(call: &Call, mut options: ListOptions) -> Result<ListOptions, Status> {
    let name = &call.info.name;
    if !call.info.watch_prefix || name.is_empty() {
        return Ok(options);
    }
    if options.field_selector.is_empty() {
        options.field_selector = format!("metadata.name={name}");
        return Ok(options);
    }
    let selector = FieldSelector::parse(&options.field_selector).ok();
    match selector.as_ref().and_then(|selector| selector.requires_exact_match("metadata.name")) {
        Some(selected) if selected == name => Ok(options),
        _ => Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name")),
    }
}

/// The kind that a resource's bodies have.
pub(crate) fn expected_kind(resource: &Resource) -> GroupVersionKind {
    GroupVersionKind { group: resource.group.clone(), version: resource.version.clone(), kind: resource.kind.clone() }
}

/// Decodes a body into the resource's kind, with its version checked and warnings passed on.
pub(crate) fn decode(target: &Target<'_>, body: &Bytes, options: &WriteOptions) -> Result<Value, Status> {
    let resource = target.resource;
    let encoding = negotiate::body_encoding(&target.call.headers, resource.encodings())?;
    let expected = expected_kind(resource);
    let decoded = body::decode(body, encoding, &expected, options.validation, Some(resource))?;
    target.call.warnings.extend(decoded.warnings);
    if decoded.kind.group != expected.group || decoded.kind.version != expected.version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            decoded.kind.api_version(),
            resource.api_version
        )));
    }
    if decoded.kind.kind != expected.kind {
        let error = Error::invalid(&Path::new("kind"), &*decoded.kind.kind, format!("must be {}", expected.kind));
        let kind = decoded.kind.group_kind();
        return Err(Status::invalid(&kind, write::metadata_text(&decoded.object, "name"), &[error]));
    }
    let mut object = decoded.object;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".into(), resource.api_version.as_str().into());
        fields.insert("kind".into(), decoded.kind.kind.as_str().into());
    }
    Ok(object)
}

async fn create(target: &Target<'_>, bytes: &Bytes, format: &Format) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&target.call.query, WriteKind::Create)?;
    let object = decode(target, bytes, &options)?;
    refuse_while_terminating(target, &object)?;
    let name = write::metadata_text(&object, "name").to_owned();
    let created = write::create(Target { name: &name, ..*target }, object, &options).await?;
    finish(target, created, &options, format).await
}

/// Nothing new comes into a custom resource whose definition is going.
fn refuse_while_terminating(target: &Target<'_>, object: &Value) -> Result<(), Status> {
    match target.resource.as_custom() {
        Some(custom) if custom.terminating => {
            let name = write::metadata_text(object, "name");
            let why = "create not allowed while custom resource definition is terminating";
            Err(Status::forbidden(&target.resource.group_resource(), name, why))
        }
        _ => Ok(()),
    }
}

async fn replace(target: &Target<'_>, bytes: &Bytes, format: &Format) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&target.call.query, WriteKind::Update)?;
    let mut object = decode(target, bytes, &options)?;
    apply_defaults(target.resource, &mut object);
    write::match_namespace(target, &mut object)?;
    check_name(target, &object)?;
    let create = target.subresource.is_empty() && target.resource.rules().is_some_and(|rules| rules.create_on_update);
    let transform = |_: &Value| Ok(object.clone());
    let change = Change { kind: ChangeKind::Replace, transform: &transform, create };
    let updated = write::update(*target, change, &options).await?;
    finish(target, updated, &options, format).await
}

async fn patch(target: &Target<'_>, bytes: Bytes, format: &Format) -> Result<Response<Body>, Status> {
    let kind = PatchType::parse(&target.call.headers, target.resource)?;
    let write_kind = if kind == PatchType::Apply { WriteKind::Apply } else { WriteKind::Patch };
    let options = WriteOptions::parse(&target.call.query, write_kind)?;
    let patch = Patch::parse(kind, bytes)?;
    let transform = |live: &Value| patch.transform(target, live, &options);
    let applies = kind == PatchType::Apply;
    let change = Change {
        kind: if applies { ChangeKind::Apply } else { ChangeKind::Patch },
        transform: &transform,
        create: applies && target.subresource.is_empty(),
    };
    let updated = write::update(*target, change, &options).await?;
    finish(target, updated, &options, format).await
}

/// The end of a write: follow-up work, and the object as the caller sees it.
pub(crate) async fn finish(
    target: &Target<'_>,
    written: write::Written,
    options: &WriteOptions,
    format: &Format,
) -> Result<Response<Body>, Status> {
    if !options.dry_run {
        after::written(target, &written.object).await;
    }
    let code = if written.created { 201 } else { 200 };
    read::written(target, format, code, written)
}

/// Reads the options of a delete, which may come in a body of their own kind.
fn delete_options(call: &Call, bytes: &Bytes) -> Result<DeleteOptions, Status> {
    if bytes.is_empty() {
        return DeleteOptions::parse(&call.query, None);
    }
    let encoding = negotiate::body_encoding(&call.headers, BUILT_IN)?;
    let expected = GroupVersionKind { group: String::new(), version: "v1".into(), kind: "DeleteOptions".into() };
    let object = body::decode_options(bytes, encoding, &expected)?;
    DeleteOptions::parse(&call.query, Some(&object))
}

async fn delete(target: &Target<'_>, bytes: &Bytes, format: &Format) -> Result<Response<Body>, Status> {
    let options = delete_options(target.call, bytes)?;
    warn_of_orphans(target, &options);
    let deletion = write::delete(*target, &options).await?;
    let code = if !deletion.immediate && options.orphan_dependents == Some(false) { 202 } else { 200 };
    if deletion.immediate && !returns_deleted(target.resource) {
        let details = Details {
            name: target.name.to_owned(),
            group: target.resource.group.clone(),
            kind: target.resource.plural.clone(),
            uid: write::metadata_text(&deletion.object, "uid").to_owned(),
            ..Details::default()
        };
        return Ok(success(details, format));
    }
    let served = write::convert_from_storage(target.resource, deletion.object)?;
    read::present(target.call, target.resource, format, code, served)
}

/// Jobs still leave their pods behind when nothing is said, which few expect.
fn warn_of_orphans(target: &Target<'_>, options: &DeleteOptions) {
    let unsaid = options.propagation.is_none() && options.orphan_dependents.is_none();
    if unsaid && target.resource.is("batch", "jobs") {
        target.call.warnings.add("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning");
    }
}

/// A `Status` that says that all went well.
pub(crate) fn success(details: Details, format: &Format) -> Response<Body> {
    let mut value = Map::new();
    value.insert("kind".into(), "Status".into());
    value.insert("apiVersion".into(), "v1".into());
    value.insert("metadata".into(), Value::Object(Map::new()));
    value.insert("status".into(), "Success".into());
    value.insert("details".into(), serde_json::to_value(details).unwrap_or_default());
    let format = Format { view: negotiate::View::Object, ..*format };
    respond::object(200, &format, &Value::Object(value))
}

/// The kinds whose delete answers with the object instead of a `Status`.
fn returns_deleted(resource: &Resource) -> bool {
    const RETURNING: &[(&str, &[&str])] = &[
        (
            "",
            &[
                "resourcequotas",
                "persistentvolumes",
                "serviceaccounts",
                "persistentvolumeclaims",
                "namespaces",
                "pods",
                "services",
                "podtemplates",
            ],
        ),
        (
            "storage.k8s.io",
            &["csidrivers", "storageclasses", "volumeattachments", "csinodes", "volumeattributesclasses"],
        ),
        ("resource.k8s.io", &["resourceclaimtemplates", "resourceslices", "resourceclaims", "deviceclasses"]),
    ];
    resource.as_custom().is_none()
        && RETURNING.iter().any(|(group, plurals)| *group == resource.group && plurals.contains(&&*resource.plural))
}

async fn delete_collection(target: &Target<'_>, bytes: &Bytes, format: &Format) -> Result<Response<Body>, Status> {
    let call = target.call;
    let list_options = ListOptions::parse(&call.query, false)?;
    let options = delete_options(call, bytes)?;
    warn_of_orphans(target, &options);
    let (meta, objects) = read::select(call, target.resource, target.namespace, &list_options).await?;
    let mut deleted = Vec::new();
    for object in objects {
        let name = write::metadata_text(&object, "name").to_owned();
        let namespace = write::metadata_text(&object, "namespace").to_owned();
        let one = Target { name: &name, namespace: &namespace, ..*target };
        match write::delete(one, &options).await {
            Ok(_) => {}
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
        deleted.push(object);
    }
    read::present_list(call, target.resource, format, &meta, deleted)
}
