//! Names, versions, subresources, columns and selectable fields of a definition.

use roost_object::field::{Error, Errors, Kind, Path};
use roost_object::names;
use serde_json::Value;

use super::props::Props;
use super::spec::{SpecView, VersionView};
use super::{Options, conversion, extensions, open_api, shown};
use crate::rules::{NO_SUCH_FIELD, find_field};
use crate::structural::Type;
use crate::{Structural, wording};

/// A version may have no more selectable fields than this.
const MAX_SELECTABLE_FIELDS: usize = 8;

/// Deprecation warnings are no longer than this.
const MAX_WARNING_BYTES: usize = 256;

pub(super) fn validate_spec(spec: &SpecView<'_>, mut options: Options, path: &Path<'_>, errors: &mut Errors) {
    group(spec.props.text("group"), &path.child("group"), errors);
    one_of(spec.props.text("scope"), &["Cluster", "Namespaced"], &path.child("scope"), errors);
    if !spec.preserves_unknown_fields() {
        options.require_structural = true;
    }
    let versions_path = path.child("versions");
    if shared_schema(spec).is_none() {
        for (index, version) in spec.versions.iter().enumerate() {
            if version.schema.and_then(|schema| schema.schema("openAPIV3Schema")).is_some() {
                continue;
            }
            let version_path = versions_path.index(index);
            let schema_path = version_path.child("schema");
            let path = schema_path.child("openAPIV3Schema");
            if options.require_schema {
                errors.push(Error::required(&path, ""));
            } else if !spec.preserves_unknown_fields() && version.props.flag("served") {
                errors.push(Error::required(&path, "because otherwise all fields are pruned"));
            }
        }
    }
    let schemas = spec.schemas();
    if schemas.iter().any(|schema| schema.any(&mut |props| props.get("default").is_some())) {
        options.require_structural = true;
        if spec.preserves_unknown_fields() {
            let words = "must be false in order to use defaults in the schema";
            errors.push(Error::invalid(&path.child("preserveUnknownFields"), true, words));
        }
    }
    if schemas.iter().any(|schema| schema.any(&mut |props| extensions::has_extension(props))) {
        options.require_structural = true;
    }
    for (index, version) in spec.versions.iter().enumerate() {
        let path = versions_path.index(index);
        let name = version.props.text("name");
        let problems = names::is_dns1035_label(name);
        if !problems.is_empty() {
            errors.push(Error::invalid(&path.child("name"), name, problems.join(",")));
        }
        validate_version(spec, version, &options, &path, errors);
    }
    version_set(spec, &versions_path, path, errors);
    let names_path = path.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if spec.names.text(name).is_empty() {
            errors.push(Error::required(&names_path.child(name), ""));
        }
    }
    validate_names(spec.names, &names_path, errors);
    let first = spec.versions.first().map_or("", |version| version.props.text("name"));
    if let Some(schema) = spec.shared.schema {
        let status = has_status(spec.shared.subresources)
            || spec.versions.iter().any(|version| has_status(version.subresources));
        let suppress = options.unchanged.iter().any(|name| name == first);
        open_api::validate(schema, status, &options, suppress, &path.child("validation"), errors);
    }
    subresources(spec.shared.subresources, &path.child("subresources"), errors);
    columns(spec.shared.columns, &path.child("additionalPrinterColumns"), errors);
    if !spec.shared.selectable.is_empty() {
        match spec.shared.schema {
            None => {
                let words = "may only be set when validations.schema is included";
                errors.push(Error::invalid(&path.child("selectableFields"), "", words));
            }
            Some(schema) => {
                let schema = schema.get("openAPIV3Schema");
                selectable(spec.shared.selectable, schema, "", &options, path, errors);
            }
        }
    }
    conversion::validate(spec, &options, &path.child("conversion"), errors);
}

fn shared_schema<'a>(spec: &SpecView<'a>) -> Option<Props<'a>> {
    spec.shared.schema.and_then(|schema| schema.schema("openAPIV3Schema"))
}

fn group(group: &str, path: &Path<'_>, errors: &mut Errors) {
    let problems = names::is_dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(Error::required(path, ""));
    } else if !problems.is_empty() {
        errors.push(Error::invalid(path, group, problems.join(",")));
    } else if !group.contains('.') {
        errors.push(Error::invalid(path, group, "should be a domain with at least one dot"));
    }
}

pub(super) fn one_of(value: &str, accepted: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.push(Error::required(path, ""));
    } else if !accepted.contains(&value) {
        errors.push(Error::not_supported(path, value, accepted));
    }
}

fn version_set(spec: &SpecView<'_>, versions_path: &Path<'_>, path: &Path<'_>, errors: &mut Errors) {
    let names: Vec<&str> = spec.versions.iter().map(|version| version.props.text("name")).collect();
    let mut refuse = |words: &str| {
        let given = spec.props.get("versions").is_some();
        let shown = if given { shown::versions(&spec.versions) } else { "null".to_owned() };
        errors.push(wording::error_showing(Kind::Invalid, versions_path.to_string(), &shown, words));
    };
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    if unique.len() != names.len() {
        refuse("must contain unique version names");
    }
    if spec.versions.iter().filter(|version| version.props.flag("storage")).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    if let Some(first) = names.first().filter(|name| !name.is_empty()) {
        let problems = names::is_dns1035_label(first);
        if !problems.is_empty() {
            errors.push(Error::invalid(&path.child("version"), *first, problems.join(",")));
        }
    }
}

pub(super) fn validate_names(names: Props<'_>, path: &Path<'_>, errors: &mut Errors) {
    let mut label = |value: &str, path: &Path<'_>| {
        let problems = names::is_dns1035_label(value);
        if !value.is_empty() && !problems.is_empty() {
            errors.push(Error::invalid(path, value, problems.join(",")));
        }
    };
    label(names.text("plural"), &path.child("plural"));
    label(names.text("singular"), &path.child("singular"));
    for name in ["kind", "listKind"] {
        let value = names.text(name);
        let problems = names::is_dns1035_label(&value.to_lowercase());
        if !value.is_empty() && !problems.is_empty() {
            let words = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
            errors.push(Error::invalid(&path.child(name), value, words));
        }
    }
    let labels = |name: &str, errors: &mut Errors| {
        let path = path.child(name);
        for (index, value) in names.names(name).into_iter().enumerate() {
            let problems = names::is_dns1035_label(value);
            if !problems.is_empty() {
                errors.push(Error::invalid(&path.index(index), value, problems.join(",")));
            }
        }
    };
    labels("shortNames", errors);
    let kind = names.text("kind");
    if !kind.is_empty() && kind == names.text("listKind") {
        errors.push(Error::invalid(&path.child("listKind"), kind, "kind and listKind may not be the same"));
    }
    labels("categories", errors);
}

fn has_status(subresources: Option<Props<'_>>) -> bool {
    subresources.is_some_and(|subresources| subresources.get("status").is_some())
}

fn validate_version(
    spec: &SpecView<'_>,
    version: &VersionView<'_>,
    options: &Options,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    deprecation(version.props, &path.child("deprecationWarning"), errors);
    if let Some(schema) = version.schema {
        let per_version = spec.versions.iter().any(|version| version.subresources.is_some());
        let subresources = if per_version { version.subresources } else { spec.shared.subresources };
        let suppress = options.unchanged.iter().any(|name| name == version.props.text("name"));
        open_api::validate(schema, has_status(subresources), options, suppress, &path.child("schema"), errors);
    }
    subresources(version.subresources, &path.child("subresources"), errors);
    columns(version.columns.unwrap_or_default(), &path.child("additionalPrinterColumns"), errors);
    let fields = version.selectable.unwrap_or_default();
    if !fields.is_empty() {
        match version.schema.and_then(|schema| schema.get("openAPIV3Schema")) {
            None => {
                let words = "may only be set when `version.schema.openAPIV3Schema` is not included";
                errors.push(Error::invalid(&path.child("selectableFields"), "", words));
            }
            schema => selectable(fields, schema, version.props.text("name"), options, path, errors),
        }
    }
}

fn deprecation(version: Props<'_>, path: &Path<'_>, errors: &mut Errors) {
    let Some(warning) = version.text_if_given("deprecationWarning") else { return };
    let mut refuse = |words: String| errors.push(Error::invalid(path, warning, words));
    if !version.flag("deprecated") {
        refuse("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > MAX_WARNING_BYTES {
        refuse(format!("must be <= {MAX_WARNING_BYTES} characters long"));
    }
    if warning.is_empty() {
        refuse("must not be an empty string".to_owned());
    }
    let unprintable = |c: char| c.is_control() || c.is_whitespace() && c != ' ' || matches!(c, '\u{ad}' | '\u{feff}');
    if let Some(index) = warning.find(unprintable) {
        refuse(format!("must only contain printable UTF-8 characters; non-printable character found at index {index}"));
    }
}

fn simple_path(value: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    let valid = value.starts_with('.');
    if !valid {
        errors.push(Error::invalid(path, value, "must be a simple json path starting with ."));
    }
    valid
}

fn subresources(subresources: Option<Props<'_>>, path: &Path<'_>, errors: &mut Errors) {
    let Some(scale) = subresources.and_then(|subresources| subresources.schema("scale")) else { return };
    for (name, prefix, field) in [
        ("specReplicasPath", ".spec.", "scale.specReplicasPath"),
        ("statusReplicasPath", ".status.", "scale.statusReplicasPath"),
    ] {
        let value = scale.text(name);
        let path = path.child(field);
        if value.is_empty() {
            errors.push(Error::required(&path, ""));
        } else if simple_path(value, &path, errors) && !value.starts_with(prefix) {
            let words = format!("should be a json path under {}", prefix.trim_end_matches('.'));
            errors.push(Error::invalid(&path, value, words));
        }
    }
    let selector = scale.text("labelSelectorPath");
    let path = path.child("scale.labelSelectorPath");
    if !selector.is_empty()
        && simple_path(selector, &path, errors)
        && !selector.starts_with(".spec.")
        && !selector.starts_with(".status.")
    {
        errors.push(Error::invalid(&path, selector, "should be a json path under either .spec or .status"));
    }
}

fn columns(columns: &[Value], path: &Path<'_>, errors: &mut Errors) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for (index, column) in columns.iter().filter_map(Props::of).enumerate() {
        let path = path.index(index);
        if column.text("name").is_empty() {
            errors.push(Error::required(&path.child("name"), ""));
        }
        let kind = column.kind();
        let words = format!("must be one of {}", TYPES.join(","));
        if kind.is_empty() {
            errors.push(Error::required(&path.child("type"), words));
        } else if !TYPES.contains(&kind) {
            errors.push(Error::invalid(&path.child("type"), kind, words));
        }
        let format = column.text("format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let words = format!("must be one of {}", FORMATS.join(","));
            errors.push(Error::invalid(&path.child("format"), format, words));
        }
        let json_path = column.text("jsonPath");
        let path = path.child("JSONPath");
        if json_path.is_empty() {
            errors.push(Error::required(&path, ""));
        } else {
            simple_path(json_path, &path, errors);
        }
    }
}

/// Checks the selectable fields of what stands at a path: a version, or the spec for all versions.
fn selectable(
    fields: &[Value],
    schema: Option<&Value>,
    version: &str,
    options: &Options,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let nothing = Value::Object(serde_json::Map::new());
    let schema = Structural::compile_part(schema.unwrap_or(&nothing));
    if let Err(words) = &schema {
        errors.push(Error::invalid(&path.child("schema.openAPIV3Schema"), "", words.to_string()));
    }
    let empty = Structural::default();
    let path = &path.child("selectableFields");
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.iter().filter_map(Props::of).enumerate() {
        let index_path = path.index(index);
        let path = index_path.child("jsonPath");
        let json_path = field.text("jsonPath");
        if json_path.is_empty() {
            errors.push(Error::required(&path, ""));
            continue;
        }
        let found = match find_field(json_path, schema.as_ref().unwrap_or(&empty), false) {
            Ok(found) => found,
            // Stock breaks off where there is no schema to look in.
            Err(words) if schema.is_err() && words == NO_SUCH_FIELD => continue,
            Err(words) => {
                errors.push(Error::invalid(&path, json_path, format!("is an invalid path: {words}")));
                continue;
            }
        };
        if found.root == "metadata" {
            errors.push(Error::invalid(&path, json_path, "must not point to fields in metadata"));
        }
        if !matches!(found.schema.kind, Type::String | Type::Boolean | Type::Integer) {
            let words = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                         formats are allowed.";
            errors.push(Error::invalid(&path, json_path, words));
        }
        if seen.contains(&found.text) {
            errors.push(Error::duplicate(&path, json_path));
        } else {
            seen.push(found.text);
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS && !options.many_selectable.iter().any(|name| name == version) {
        errors.push(Error::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS));
    }
}

pub(super) fn all_have_schemas(spec: &SpecView<'_>) -> bool {
    shared_schema(spec).is_some()
        || spec.versions.iter().all(|version| version.schema.and_then(|s| s.schema("openAPIV3Schema")).is_some())
}

fn schema_of<'a>(spec: &SpecView<'a>, version: &VersionView<'a>) -> Option<&'a Value> {
    version.schema.or(spec.shared.schema).and_then(|schema| schema.get("openAPIV3Schema"))
}

pub(super) fn unchanged_schemas(new: &SpecView<'_>, old: &SpecView<'_>) -> Vec<String> {
    let unchanged = new.versions.iter().filter(|version| {
        let name = version.props.text("name");
        let before = old.versions.iter().find(|old| old.props.text("name") == name);
        before.is_some_and(|before| schema_of(new, version) == schema_of(old, before))
    });
    unchanged.map(|version| version.props.text("name").to_owned()).collect()
}

pub(super) fn many_selectable(new: &SpecView<'_>, old: &SpecView<'_>) -> Vec<String> {
    let mut allowed = Vec::new();
    let many = |fields: &[Value]| fields.len() > MAX_SELECTABLE_FIELDS;
    if many(old.shared.selectable) && new.shared.selectable == old.shared.selectable {
        allowed.push(String::new());
    }
    for version in &new.versions {
        let name = version.props.text("name");
        let before = old.versions.iter().find(|old| old.props.text("name") == name);
        if before.is_some_and(|before| {
            many(before.selectable.unwrap_or_default()) && before.selectable == version.selectable
        }) {
            allowed.push(name.to_owned());
        }
    }
    allowed
}
