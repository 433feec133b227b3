//! Patches of all four kinds, as functions from the live object to the new one.

mod identity;
mod shown;

use bytes::Bytes;
use http::HeaderMap;
use roost_kinds::TypeRef;
use roost_merge::{apply, json_patch, merge_patch, strategic};
use roost_object::field::{Error, Path, quote};
use roost_object::status::Details;
use roost_object::{GroupKind, Status, Value, json, yaml};
use roost_schema::Values;

use crate::body::one_a_line;
use crate::clock;
use crate::options::{FieldValidation, WriteOptions};
use crate::resource::{AnyNode, Origin, Resource};
use crate::versions::ResourceVersions;
use crate::write::{Target, apply_defaults, filter, match_namespace, tracking};
pub(crate) use identity::check_name;
use identity::{Identity, check_custom_identity, identity_of, is_without_version, read_without_version, type_of};

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
    /// The patch as a tree.
    tree: Value,
    /// Duplicate fields in the patch itself, and unknown ones in a JSON patch.
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
            let found = json::Kind::of(&parsed.value).go();
            let why = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
            return Err(Status::bad_request(match kind {
                PatchType::Merge => format!("error decoding patch: {why}"),
                PatchType::Apply => format!("error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}"),
                _ => why,
            }));
        }
        let mut duplicates = parsed.duplicates;
        if kind == PatchType::Json {
            duplicates.extend(unknown_members(&parsed.value));
        }
        Ok(Patch { kind, bytes, tree: parsed.value, duplicates })
    }

    /// The new object, in the served version with defaults, from the live one.
    pub(crate) fn transform(&self, target: &Target<'_>, live: &Value, options: &WriteOptions) -> Result<Value, Status> {
        if self.kind == PatchType::Apply {
            return self.apply(target, live, options);
        }
        let patched = match self.kind {
            PatchType::Json => {
                let patched = json_patch::apply(live, &self.bytes).map_err(|error| error.status())?;
                self.check_tests(live, target.resource).map_err(|error| error.status())?;
                patched
            }
            PatchType::Merge => {
                merge_patch::check(&self.tree).map_err(|error| error.status())?;
                merge_patch::apply(live.clone(), self.tree.clone())
            }
            _ => strategic::apply(live.clone(), self.tree.clone(), type_ref(target.resource))
                .map_err(|error| error.status())?,
        };
        let mut object = self.decode(target, live, &patched, options)?;
        apply_defaults(target.resource, &mut object);
        match_namespace(target, &mut object)?;
        check_name(target, &object)?;
        Ok(object)
    }

    /// Reads the patched tree as the kind's own type.
    fn decode(
        &self,
        target: &Target<'_>,
        live: &Value,
        patched: &Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let shown = || match self.kind {
            PatchType::Strategic => strategic::show(live, &self.tree, type_ref(target.resource)),
            _ => self.text(live, target.resource).unwrap_or_else(|| patched.to_string()),
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
        let object = match &target.resource.origin {
            Origin::BuiltIn(resource, _) => {
                let decoded = if self.kind == PatchType::Strategic {
                    roost_kinds::unstructured::convert(patched.clone(), resource.ty)
                } else {
                    identity_of(target.resource, patched).and_then(|identity| {
                        let ty = match identity {
                            Identity::Own => resource.ty,
                            Identity::Other(ty) => ty,
                        };
                        let decoded = roost_kinds::json::decode(patched.clone(), ty);
                        // Stock reads the text, in whose order it tells what is wrong, and where fields may stand twice.
                        let is_plain = decoded.as_ref().is_ok_and(|decoded| decoded.findings.is_empty());
                        let decoded = if is_plain && self.duplicates.is_empty() {
                            decoded
                        } else {
                            roost_kinds::json::read(shown().as_bytes(), ty)
                        };
                        let mut decoded = decoded.map_err(|error| error.to_string())?;
                        if let Identity::Other(_) = identity {
                            let (from, to) = (type_of(patched).api_version(), &target.resource.api_version);
                            decoded.value["kind"] = target.resource.kind.as_str().into();
                            decoded.value =
                                roost_kinds::convert(decoded.value, &from, to).map_err(|error| error.to_string())?;
                        }
                        Ok(decoded)
                    })
                };
                let decoded = decoded.map_err(|why| refuse(shown(), why))?;
                let (mut object, mut findings) = (decoded.value, decoded.findings);
                if self.kind == PatchType::Strategic {
                    findings.sort();
                } else if is_without_version(patched) {
                    let read = read_without_version(patched, &target.resource.kind, resource.ty);
                    (object, findings) = read.map_err(|why| refuse(shown(), why))?;
                }
                strict.extend(findings);
                if !strict.is_empty() && options.validation == FieldValidation::Strict {
                    return Err(refuse(shown(), format!("strict decoding error: {}", strict.join(", "))));
                }
                object["apiVersion"] = target.resource.api_version.as_str().into();
                object["kind"] = target.resource.kind.as_str().into();
                object
            }
            Origin::Custom(custom) => {
                if patched.is_object() && type_of(patched).kind.is_empty() {
                    let text = shown();
                    return Err(refuse(text.clone(), format!("Object 'Kind' is missing in '{text}'")));
                }
                let mut object = patched.clone();
                if !self.duplicates.is_empty()
                    && let Ok(document) = json::read(shown().as_bytes())
                {
                    strict.extend(document.duplicates);
                }
                if let Some(schema) = custom.schema_of(&type_of(patched)) {
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
        if target.resource.as_custom().is_some() {
            check_custom_identity(target.resource, patched)?;
        }
        Ok(object)
    }

    /// What stock says of a scale of a custom resource that an apply changes: it has no way back from the merged tree.
    pub(crate) fn unscalable(&self) -> Status {
        let why = "request to convert CR to an invalid group/version: autoscaling/v1";
        Status::failure(
            500,
            "",
            format!("failed to convert new object ({}) to proper version: {why}", shown_type(&self.tree)),
        )
    }

    /// Server-side apply.
    fn apply(&self, target: &Target<'_>, live: &Value, options: &WriteOptions) -> Result<Value, Status> {
        let resource = target.resource;
        let now = clock::now_text();
        let filter = filter(target);
        let tracking = tracking(target, &options.field_manager, &now, &filter);
        apply::check(&self.tree, &tracking, resource.node(), holds).map_err(|error| error.status())?;
        if resource.as_custom().is_some() && live.get("kind").is_some() {
            apply::check_live(live, resource.node(), holds).map_err(|error| error.status())?;
        }
        let versions = ResourceVersions(resource);
        let merged = apply::apply_in_versions(live, &self.tree, &tracking, options.force, resource.node(), &versions)
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
                    let lines = self.duplicates.iter().flat_map(|duplicate| one_a_line(duplicate));
                    lines.for_each(|line| target.call.warnings.add(line.to_owned()));
                }
                FieldValidation::Ignore => {}
            }
        }
        let mut object = match &resource.origin {
            Origin::BuiltIn(built_in, _) => {
                let converted = roost_kinds::unstructured::convert(merged, built_in.ty);
                converted.map_err(|why| unconverted(&self.tree, &why))?.value
            }
            Origin::Custom(custom) => {
                let mut merged = merged;
                // Where nothing is applied the live object stays as it is, without what this version would add or drop.
                if let Some(schema) = &custom.version().schema
                    && !is_same_but_managers(live, &merged)
                {
                    schema.prune_applied(&mut merged);
                    schema.fill_defaults(&mut merged);
                }
                merged
            }
        };
        if resource.as_custom().is_none() {
            apply_defaults(resource, &mut object);
        }
        match_namespace(target, &mut object)?;
        check_name(target, &object)?;
        Ok(object)
    }
}

/// Whether two states of an object differ in nothing but who manages their fields.
pub(crate) fn is_same_but_managers(left: &Value, right: &Value) -> bool {
    is_same_but("metadata", left, right) && is_same_but("managedFields", &left["metadata"], &right["metadata"])
}

/// Whether two objects are the same but for one field.
fn is_same_but(name: &str, left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return left == right };
    let count = |object: &serde_json::Map<String, Value>| object.len() - usize::from(object.contains_key(name));
    count(left) == count(right) && left.iter().all(|(key, value)| key == name || right.get(key) == Some(value))
}

/// What an apply leads to cannot be read as its kind. It is named as the applied object names itself.
fn unconverted(applied: &Value, why: &str) -> Status {
    let shown = shown_type(applied);
    let ty = shown.split_once("; ").map_or("", |(_, ty)| ty);
    Status::failure(
        500,
        "",
        format!(
            "failed to convert new object ({shown}) to proper version: unable to convert unstructured object to {ty}: {why}"
        ),
    )
}

/// An applied object's namespace, name and type, as messages show them.
fn shown_type(applied: &Value) -> String {
    let text = |pointer: &str| applied.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{namespace}/{name}; {slash}{api_version}, Kind={kind}")
}

fn type_ref(resource: &Resource) -> TypeRef {
    match &resource.origin {
        Origin::BuiltIn(resource, _) => TypeRef::from(resource.ty),
        Origin::Custom(_) => unreachable!("strategic merge patches of custom resources are refused by content type"),
    }
}

/// What the places of a kind hold, for the check of an applied configuration.
pub(crate) fn holds(node: AnyNode<'_>) -> apply::Holds {
    match node {
        AnyNode::BuiltIn(node) => roost_merge::built_in::holds(node),
        AnyNode::Custom(node) => match node.values() {
            Values::Any => apply::Holds::Anything,
            Values::Map => apply::Holds::Map,
            Values::List => apply::Holds::List,
            Values::Number => apply::Holds::Number,
            Values::Boolean => apply::Holds::Boolean,
            Values::Text => apply::Holds::Text,
            Values::Formatted => apply::Holds::Scalar,
        },
        AnyNode::Untyped => apply::Holds::Anything,
    }
}

/// Members of a JSON patch's operations that no operation has.
fn unknown_members(operations: &Value) -> Vec<String> {
    let known = |name: &str| matches!(name, "op" | "path" | "from" | "value");
    let members = operations.as_array().into_iter().flatten().enumerate().flat_map(|(index, operation)| {
        let names = operation.as_object().into_iter().flat_map(|operation| operation.keys());
        names
            .filter(|name| !known(name))
            .map(move |name| format!("unknown field {}", quote(&format!("[{index}].{name}"))))
    });
    members.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_same_but_managers;

    #[test]
    fn managers_alone_are_no_difference() {
        let of = |name: &str, managers: usize, data: u8| json!({"metadata": {"name": name, "managedFields": vec![0; managers]}, "data": data});
        let without = json!({"metadata": {"name": "a"}, "data": 1});
        assert!(is_same_but_managers(&of("a", 1, 1), &of("a", 2, 1)));
        assert!(is_same_but_managers(&of("a", 1, 1), &without));
        assert!(is_same_but_managers(&without, &of("a", 1, 1)));
        assert!(!is_same_but_managers(&of("a", 1, 1), &of("b", 1, 1)));
        assert!(!is_same_but_managers(&of("a", 1, 1), &of("a", 1, 2)));
        assert!(!is_same_but_managers(&without, &json!({"metadata": {"name": "a"}, "data": 1, "more": 2})));
    }
}
