//! What a patched object says it is: it must stay the object and the kind that the path names.

use roost_kinds::Type;
use roost_object::field::{Error, Path, quote};
use roost_object::{GroupKind, GroupVersionKind, Status, Value};
use serde_json::json;

use crate::registered;
use crate::resource::Resource;
use crate::write::Target;

/// The object must be the one that the path names.
pub(crate) fn check_name(target: &Target<'_>, object: &Value) -> Result<(), Status> {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    let (name, namespace) = (text("name"), text("namespace"));
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name
        )));
    }
    if name != target.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        )));
    }
    if target.resource.namespaced && !namespace.is_empty() && namespace != target.namespace {
        return Err(Status::bad_request(format!(
            "the namespace of the object ({namespace}) does not match the namespace on the request ({})",
            target.namespace
        )));
    }
    Ok(())
}

/// The type that an object says it has.
pub(super) fn type_of(object: &Value) -> GroupVersionKind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    GroupVersionKind::parse(text("apiVersion"), text("kind"))
}

/// A patch may not turn a custom resource into another kind.
pub(super) fn check_custom_identity(resource: &Resource, patched: &Value) -> Result<(), Status> {
    let text = |name: &str| patched.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut errors = Vec::new();
    if kind != resource.kind {
        let words = format!("must be {}", resource.kind);
        errors.push(Error::invalid(&Path::new("kind"), kind, words));
    }
    if api_version != resource.api_version {
        let words = format!("must be {}", resource.api_version);
        errors.push(Error::invalid(&Path::new("apiVersion"), api_version, words));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    let name = patched["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid(&GroupKind::new(group, kind), name, &errors))
}

/// The Go type by which stock finds out what an object is.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// What a patched object of a built-in kind says it is.
pub(super) enum Identity {
    /// The kind of the path.
    Own,
    /// The same kind in another version that is served.
    Other(&'static Type),
}

/// What a patched object of a built-in kind is to be read as, or why it cannot be read.
pub(super) fn identity_of(resource: &Resource, patched: &Value) -> Result<Identity, String> {
    if !patched.is_object() && !patched.is_null() {
        let found = roost_object::json::Kind::of(patched).go();
        return Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {TYPE_META}"
        ));
    }
    let text = |name: &str| patched.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let kind = if kind.is_empty() { resource.kind.as_str() } else { kind };
    if kind == resource.kind && (api_version.is_empty() || api_version == resource.api_version) {
        return Ok(Identity::Own);
    }
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    let scheme = quote("pkg/runtime/scheme.go:111");
    let unknown = |version: String| format!("no kind {} is registered for {version} in scheme {scheme}", quote(kind));
    let own = registered::internal_name(&resource.group, &resource.kind);
    let unrelated = |found: &str| format!("converting ({found}) to ({own}): unknown conversion");
    if api_version.is_empty() {
        // Events are of two groups, of which stock's own package is in the older one.
        let group = if resource.kind == "Event" { "" } else { &resource.group };
        return Err(if registered::is_internal(group, kind) {
            unrelated(&registered::internal_name(group, kind))
        } else {
            unknown(format!("the internal version of group {}", quote(group)))
        });
    }
    let found = registered::type_of(&resource.group, &GroupVersionKind::parse(api_version, kind));
    let ty = found.ok_or_else(|| unknown(format!("version {}", quote(api_version))))?;
    if kind == resource.kind && registered::internal_name(group_of(api_version), kind) == own {
        return Ok(Identity::Other(ty));
    }
    roost_kinds::json::decode(patched.clone(), ty).map_err(|error| error.to_string())?;
    Err(unrelated(ty.go))
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether a patched object does not say of which version it is.
pub(super) fn is_without_version(patched: &Value) -> bool {
    patched.get("apiVersion").and_then(Value::as_str).unwrap_or_default().is_empty()
}

/// Without a version stock reads the object as its internal type. That has the fields of the metadata at its top, and none
/// of the others that JSON names.
pub(super) fn read_without_version(
    patched: &Value,
    kind: &str,
    ty: &'static Type,
) -> Result<(Value, Vec<String>), String> {
    let fields = patched.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind"));
    let metadata: Value = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    let decoded = roost_kinds::json::decode(json!({ "metadata": metadata }), ty).map_err(|error| {
        let words = error.to_string().replacen(" ObjectMeta.metadata.", &format!(" {kind}.metadata."), 1);
        words.replacen(".metadata.", ".ObjectMeta.", 1)
    })?;
    let findings = decoded.findings.iter().map(|finding| finding.replacen("\"metadata.", "\"", 1)).collect();
    Ok((decoded.value, findings))
}
