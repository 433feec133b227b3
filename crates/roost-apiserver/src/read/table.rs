//! Objects as tables of cells or as bare metadata, and how either is put into an answer.

use http::Response;
use roost_object::{Map, Status, Value, group};
use serde_json::json;

use super::list::ListMeta;
use crate::call::Call;
use crate::clock;
use crate::negotiate::{Format, View};
use crate::resource::{Origin, Resource};
use crate::respond::{self, Body};

/// How much of each object a table's rows carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

impl Include {
    /// Reads the `includeObject` parameter.
    pub(crate) fn parse(call: &Call) -> Result<Include, Status> {
        match call.query.get("includeObject").unwrap_or_default() {
            "None" => Ok(Include::None),
            "" | "Metadata" => Ok(Include::Metadata),
            "Object" => Ok(Include::Object),
            other => {
                let quoted = roost_object::field::quote(other);
                Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {quoted}: must be 'Metadata', 'Object', 'None', or empty"
                )))
            }
        }
    }
}

/// Answers with one object in the agreed view.
pub(crate) fn present(
    call: &Call,
    resource: &Resource,
    format: &Format,
    code: u16,
    object: Value,
) -> Result<Response<Body>, Status> {
    let view = match format.view {
        View::Object => object,
        View::Metadata => metadata_object(format, &object),
        View::MetadataList => {
            let kind = go_kind(resource, "");
            return Err(not_as_asked(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
            )));
        }
        View::Table => {
            // What is not stored has no version.
            let meta = match object["metadata"].get("resourceVersion") {
                Some(version) => json!({"resourceVersion": version}),
                None => json!({}),
            };
            table(resource, format, Include::parse(call)?, &meta, &[object], true)
        }
    };
    Ok(respond::object(code, format, &view))
}

/// Answers with a list in the agreed view.
pub(crate) fn present_list(
    call: &Call,
    resource: &Resource,
    format: &Format,
    meta: &ListMeta,
    objects: Vec<Value>,
) -> Result<Response<Body>, Status> {
    let view = match format.view {
        View::Object => {
            let mut objects = objects;
            if resource.as_custom().is_none() {
                objects.iter_mut().for_each(drop_type);
            }
            json!({"apiVersion": resource.api_version, "kind": resource.list_kind, "metadata": meta.to_value(resource.as_custom().is_some()), "items": objects})
        }
        View::Metadata => {
            let kind = go_kind(resource, "List");
            return Err(not_as_asked(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({kind})"
            )));
        }
        View::MetadataList => {
            let items: Vec<Value> = objects.iter().map(|object| metadata_object(format, object)).collect();
            json!({"apiVersion": format!("meta.k8s.io/{}", format.view_version), "kind": "PartialObjectMetadataList", "metadata": meta.to_value(false), "items": items})
        }
        View::Table => {
            let mut objects = objects;
            if let (Some(order), None) = (roost_tables::order(&resource.group, &resource.kind), resource.as_custom()) {
                objects.sort_by(order);
            }
            table(resource, format, Include::parse(call)?, &meta.to_value(false), &objects, true)
        }
    };
    Ok(respond::object(200, format, &view))
}

fn not_as_asked(message: String) -> Status {
    Status::failure(406, "NotAcceptable", message)
}

/// The Go type that stock would name.
fn go_kind(resource: &Resource, suffix: &str) -> String {
    match &resource.origin {
        Origin::Custom(_) => format!("*unstructured.Unstructured{suffix}"),
        Origin::BuiltIn(..) => {
            let package = match resource.group.as_str() {
                "" | "events.k8s.io" => "core",
                group => group.split('.').next().unwrap_or_default(),
            };
            format!("*{package}.{}{suffix}", resource.kind)
        }
    }
}

fn drop_type(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
}

/// What stock keeps in annotations of served objects, and in fields of their own in the objects that it shows the
/// metadata of.
const NOT_IN_METADATA: &[(&str, &str, &[&str])] = &[
    ("apps/v1", "DaemonSet", &["deprecated.daemonset.template.generation"]),
    (
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        &[
            "autoscaling.alpha.kubernetes.io/metrics",
            "autoscaling.alpha.kubernetes.io/current-metrics",
            "autoscaling.alpha.kubernetes.io/conditions",
            "autoscaling.alpha.kubernetes.io/behavior",
        ],
    ),
];

/// An object's metadata as an object of its own.
pub(crate) fn metadata_object(format: &Format, object: &Value) -> Value {
    let mut metadata = object.get("metadata").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    let is_of = |version: &str, kind: &str| object["kind"] == kind && object["apiVersion"] == version;
    if let Some((_, _, names)) = NOT_IN_METADATA.iter().find(|(version, kind, _)| is_of(version, kind))
        && let Some(fields) = metadata.as_object_mut()
        && let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.retain(|name, _| !names.contains(&name.as_str()));
        if annotations.is_empty() {
            fields.remove("annotations");
        }
    }
    json!({
        "apiVersion": format!("meta.k8s.io/{}", format.view_version),
        "kind": "PartialObjectMetadata",
        "metadata": metadata,
    })
}

/// A table with one row an object.
pub(crate) fn table(
    resource: &Resource,
    format: &Format,
    include: Include,
    meta: &Value,
    objects: &[Value],
    headers: bool,
) -> Value {
    let now = clock::unix_seconds();
    let rows: Vec<Value> = objects.iter().map(|object| row(resource, format, include, object, now)).collect();
    let mut table = json!({
        "apiVersion": format!("meta.k8s.io/{}", format.view_version),
        "kind": "Table",
        "metadata": meta,
        "columnDefinitions": Value::Null,
        "rows": rows,
    });
    if objects.is_empty() && shares_default(resource) {
        table["rows"] = Value::Null;
    }
    if headers {
        table["columnDefinitions"] = columns(resource).into();
    }
    table
}

/// Whether a built-in kind has no columns of its own. Stock's table of such a kind starts from nothing.
fn shares_default(resource: &Resource) -> bool {
    let is_default = |table: &roost_tables::Table| std::ptr::eq(table, &raw const roost_tables::DEFAULT);
    resource.as_custom().is_none() && is_default(roost_tables::table(&resource.group, &resource.kind))
}

fn row(resource: &Resource, format: &Format, include: Include, object: &Value, now: i64) -> Value {
    let mut row = Map::new();
    let cells = match &resource.origin {
        Origin::BuiltIn(..) => {
            if let Some(condition) = roost_tables::conditions(&resource.group, &resource.kind, object) {
                row.insert("conditions".into(), json!([{"type": condition.r#type, "status": condition.status, "reason": condition.reason, "message": condition.message}]));
            }
            let converted = is_converted(resource)
                .then(|| roost_kinds::convert(object.clone(), &resource.api_version, &resource.storage_api_version()))
                .and_then(Result::ok);
            roost_tables::cells(&resource.group, &resource.kind, converted.as_ref().unwrap_or(object), now)
        }
        Origin::Custom(custom) => {
            roost_schema::columns::cells(custom.version(), object, roost_schema::Instant::utc(now, 0))
        }
    };
    row.insert("cells".into(), cells.into());
    match include {
        Include::None => row.insert("object".into(), Value::Null),
        Include::Metadata => row.insert("object".into(), metadata_object(format, object)),
        Include::Object => row.insert("object".into(), object.clone()),
    };
    Value::Object(row)
}

/// Whether the cells come from the stored version, because the served one says less.
fn is_converted(resource: &Resource) -> bool {
    resource.is("autoscaling", "horizontalpodautoscalers") && resource.api_version != resource.storage_api_version()
}

fn columns(resource: &Resource) -> Vec<Value> {
    let column = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
    match &resource.origin {
        Origin::BuiltIn(..) => {
            let table = roost_tables::table(&resource.group, &resource.kind);
            let (api_version, kind) = match table.documented_by {
                Some((group, kind)) => (group::api_version(group, &resource.version), kind),
                None if is_converted(resource) => (resource.storage_api_version(), resource.kind.as_str()),
                None => (resource.api_version.clone(), resource.kind.as_str()),
            };
            let described = table.columns.iter().map(|entry| {
                let description = match entry.description {
                    "" => crate::openapi::description(&api_version, kind, entry.doc),
                    own => own.to_owned(),
                };
                column(entry.name, entry.r#type, entry.format, &description, i64::from(entry.priority))
            });
            described.collect()
        }
        Origin::Custom(custom) => {
            let name = crate::openapi::description("v1", "ConfigMap", "metadata.name");
            let own = custom.version().columns.iter().map(|entry| {
                let description = match entry.description.as_str() {
                    "" => crate::openapi::description("v1", "ConfigMap", "metadata.creationTimestamp"),
                    own => own.to_owned(),
                };
                column(&entry.name, &entry.kind, &entry.format, &description, entry.priority.into())
            });
            std::iter::once(column("Name", "string", "name", &name, 0)).chain(own).collect()
        }
    }
}
