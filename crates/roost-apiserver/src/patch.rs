//! Patches of all four kinds, as functions from the live object to the new one.

use bytes::Bytes;
use http::HeaderMap;
use roost_kinds::TypeRef;
use roost_merge::{apply, json_patch, merge_patch, strategic};
use roost_object::field::{Error, Path, quote};
use roost_object::status::Details;
use roost_object::{GroupKind, Status, Value, json, yaml};

use crate::clock;
use crate::options::{FieldValidation, WriteOptions};
use crate::resource::{AnyNode, Origin, Resource};
use crate::write::{Target, apply_defaults, filter, match_namespace, tracking};

/// The kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own, which merges lists by key.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchType {
    /// Reads the content type; custom resources take no strategic merge patches.
    pub(crate) fn parse(headers: &HeaderMap, resource: &Resource) -> Result<PatchType, Status> {
        let content_type =
            headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        let built_in = matches!(resource.origin, Origin::BuiltIn(..));
        match media_type {
            "application/json-patch+json" => Ok(PatchType::Json),
            "application/merge-patch+json" => Ok(PatchType::Merge),
            "application/strategic-merge-patch+json" if built_in => Ok(PatchType::Strategic),
            "application/apply-patch+yaml" => Ok(PatchType::Apply),
            _ if built_in => Err(Status::failure(415, "UnsupportedMediaType", "415: Unsupported Media Type")
                .with_details(Details::default())),
            _ => Err(Status::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ])),
        }
    }
}

/// A patch that is ready to be applied, perhaps several times when others write in between.
pub(crate) struct Patch {
    kind: PatchType,
    bytes: Bytes,
    /// The patch as a tree, for all but JSON patches.
    tree: Value,
    /// Duplicate fields in the patch itself.
    duplicates: Vec<String>,
}

impl Patch {
    /// Reads a patch.
    pub(crate) fn parse(kind: PatchType, bytes: Bytes) -> Result<Patch, Status> {
        let parsed = match kind {
            PatchType::Apply => yaml::read(&bytes).map_err(|error| {
                Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: {error}"))
            })?,
            PatchType::Json | PatchType::Merge => {
                json::read(&bytes).map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?
            }
            PatchType::Strategic => json::read(&bytes).map_err(|error| Status::bad_request(error.to_string()))?,
        };
        if matches!(kind, PatchType::Merge | PatchType::Strategic | PatchType::Apply)
            && !parsed.value.is_object()
            && !parsed.value.is_null()
        {
            let found = go_kind(&parsed.value);
            let why = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
            return Err(Status::bad_request(match kind {
                PatchType::Merge => format!("error decoding patch: {why}"),
                PatchType::Apply => format!("error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}"),
                _ => why,
            }));
        }
        Ok(Patch { kind, bytes, tree: parsed.value, duplicates: parsed.duplicates })
    }

    /// The new object, in the served version with defaults, from the live one.
    pub(crate) fn transform(&self, target: &Target<'_>, live: &Value, options: &WriteOptions) -> Result<Value, Status> {
        if self.kind == PatchType::Apply {
            return self.apply(target, live, options);
        }
        let patched = match self.kind {
            PatchType::Json => json_patch::apply(live, &self.bytes).map_err(|error| error.status())?,
            PatchType::Merge => {
                merge_patch::check(&self.tree).map_err(|error| error.status())?;
                merge_patch::apply(live.clone(), self.tree.clone())
            }
            _ => strategic::apply(live.clone(), self.tree.clone(), type_ref(target.resource))
                .map_err(|error| error.status())?,
        };
        let mut object = self.decode(target, &patched, options)?;
        apply_defaults(target.resource, &mut object);
        match_namespace(target, &mut object)?;
        check_name(target, &object)?;
        Ok(object)
    }

    /// Reads the patched tree as the kind's own type.
    fn decode(&self, target: &Target<'_>, patched: &Value, options: &WriteOptions) -> Result<Value, Status> {
        let shown = || match self.kind {
            PatchType::Strategic => strategic::show(&self.tree),
            _ => show(patched, target.resource),
        };
        let refuse = |value: String, why: String| {
            let error = Error::invalid(&Path::new("patch"), value, why);
            Status::invalid(&GroupKind::new("", ""), "", &[error])
        };
        let mut strict: Vec<String> = self
            .duplicates
            .iter()
            .map(
                |duplicate| {
                    if self.kind == PatchType::Json { format!("json patch {duplicate}") } else { duplicate.clone() }
                },
            )
            .collect();
        if self.kind != PatchType::Strategic {
            check_identity(target.resource, patched).map_err(|error| match error {
                Identity::Unreadable(why) => refuse(shown(), why),
                Identity::Refused(status) => *status,
            })?;
        }
        let object = match &target.resource.origin {
            Origin::BuiltIn(resource, _) => {
                let text = if options.validation == FieldValidation::Strict { shown() } else { String::new() };
                let decoded = roost_kinds::json::decode(patched.clone(), resource.ty)
                    .map_err(|error| refuse(shown(), error.to_string()))?;
                strict.extend(decoded.findings);
                if !strict.is_empty() && options.validation == FieldValidation::Strict {
                    return Err(refuse(text, format!("strict decoding error: {}", strict.join(", "))));
                }
                let mut object = decoded.value;
                if patched["metadata"]["managedFields"].as_array().is_some_and(Vec::is_empty) {
                    crate::write::metadata_mut(&mut object).insert("managedFields".into(), Value::Array(Vec::new()));
                }
                object
            }
            Origin::Custom(custom) => {
                let mut object = patched.clone();
                if let Some(schema) = &custom.version().schema {
                    let pruned = schema.decode(&mut object).map_err(|error| refuse(shown(), error.to_string()))?;
                    strict.extend(pruned.iter().map(|field| format!("unknown field {}", quote(field))));
                }
                if !strict.is_empty() && options.validation == FieldValidation::Strict {
                    return Err(refuse(shown(), format!("strict decoding error: {}", strict.join(", "))));
                }
                object
            }
        };
        if options.validation == FieldValidation::Warn {
            target.call.warnings.extend(strict);
        }
        Ok(object)
    }

    /// Server-side apply.
    fn apply(&self, target: &Target<'_>, live: &Value, options: &WriteOptions) -> Result<Value, Status> {
        let resource = target.resource;
        let now = clock::now_text();
        let filter = filter(target);
        let tracking = tracking(target, &options.field_manager, &now, &filter);
        if let Origin::BuiltIn(..) = &resource.origin {
            apply::check(&self.tree, &tracking, resource.node(), built_in_holds).map_err(|error| error.status())?;
        }
        let merged = apply::apply(live, &self.tree, &tracking, options.force, resource.node())
            .map_err(|error| error.status())?;
        if !self.duplicates.is_empty() {
            match options.validation {
                FieldValidation::Strict => {
                    return Err(Status::bad_request(format!(
                        "error strict decoding YAML: error converting YAML to JSON: {}",
                        self.duplicates.join(", ")
                    )));
                }
                FieldValidation::Warn => {
                    let bare = |text: &String| text.trim_start_matches("yaml: unmarshal errors:").trim().to_owned();
                    self.duplicates.iter().for_each(|duplicate| target.call.warnings.add(bare(duplicate)));
                }
                FieldValidation::Ignore => {}
            }
        }
        let mut object = match &resource.origin {
            Origin::BuiltIn(built_in, _) => {
                roost_kinds::json::decode(merged, built_in.ty)
                    .map_err(|error| Status::failure(500, "", error.to_string()))?
                    .value
            }
            Origin::Custom(custom) => {
                let mut merged = merged;
                if let Some(schema) = &custom.version().schema {
                    schema.prune(&mut merged);
                }
                merged
            }
        };
        apply_defaults(resource, &mut object);
        match_namespace(target, &mut object)?;
        check_name(target, &object)?;
        Ok(object)
    }
}

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

fn type_ref(resource: &Resource) -> TypeRef {
    match &resource.origin {
        Origin::BuiltIn(resource, _) => TypeRef::from(resource.ty),
        Origin::Custom(_) => unreachable!("strategic merge patches of custom resources are refused by content type"),
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Why a patched object is not of the kind that it was.
enum Identity {
    /// It cannot be read as what it says it is.
    Unreadable(String),
    /// It is refused outright.
    Refused(Box<Status>),
}

/// A patch may not turn an object into another kind.
fn check_identity(resource: &Resource, patched: &Value) -> Result<(), Identity> {
    let text = |name: &str| patched.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == resource.api_version && kind == resource.kind {
        return Ok(());
    }
    match &resource.origin {
        Origin::Custom(_) => {
            let mut errors = Vec::new();
            if kind != resource.kind {
                let words = format!("must be {}", resource.kind);
                errors.push(Error::invalid(&Path::new("kind"), kind, words));
            }
            if api_version != resource.api_version {
                let words = format!("must be {}", resource.api_version);
                errors.push(Error::invalid(&Path::new("apiVersion"), api_version, words));
            }
            let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
            let name = patched["metadata"]["name"].as_str().unwrap_or_default();
            Err(Identity::Refused(Box::new(Status::invalid(&GroupKind::new(group, kind), name, &errors))))
        }
        Origin::BuiltIn(..) => {
            let same = |found: &str, own: &str| found.is_empty() || found == own;
            if same(api_version, &resource.api_version) && same(kind, &resource.kind) {
                return Ok(());
            }
            let why = match roost_kinds::type_of(api_version, kind) {
                None => format!(
                    "no kind {} is registered for version {} in scheme {}",
                    quote(kind),
                    quote(api_version),
                    quote("pkg/runtime/scheme.go:111")
                ),
                Some(ty) => match roost_kinds::json::decode(patched.clone(), ty) {
                    Err(error) => error.to_string(),
                    Ok(_) => format!("unable to decode {api_version}, Kind={kind} into {}", resource.kind),
                },
            };
            Err(Identity::Unreadable(why))
        }
    }
}

/// What the places of built-in kinds hold, for the check of an applied configuration.
fn built_in_holds(node: AnyNode<'_>) -> apply::Holds {
    match node {
        AnyNode::BuiltIn(node) => roost_merge::built_in::holds(node),
        _ => apply::Holds::Anything,
    }
}

/// A patched object as stock's messages show it: the outer fields in the order of the alphabet, what is in them in the
/// order of the Go type.
fn show(patched: &Value, resource: &Resource) -> String {
    let (Origin::BuiltIn(built_in, _), Some(fields)) = (&resource.origin, patched.as_object()) else {
        return patched.to_string();
    };
    let parts: Vec<String> = fields
        .iter()
        .map(|(name, value)| {
            let mut one = roost_object::Map::new();
            one.insert(name.clone(), value.clone());
            let mut text = Vec::new();
            roost_kinds::json::write(&mut text, &Value::Object(one), built_in.ty);
            let text = String::from_utf8_lossy(&text).into_owned();
            text.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned()
        })
        .collect();
    format!("{{{}}}", parts.join(","))
}
