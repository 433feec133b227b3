//! Volumes whose files are taken from other objects, and the references in them.

use roost_object::field::{Error, Errors};
use roost_object::{Quantity, names};

use super::spec::Options;
use super::volume::KEY_TO_PATH;
use crate::check::Check::{FileMode, Required};
use crate::check::{LOCAL_PATH, Spot, text};

static VOLUME_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

static CONTAINER_RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Checks a volume of files about the pod.
pub(super) fn downward_api(source: &Spot<'_>, errors: &mut Errors) {
    source.field("defaultMode").check(&[FileMode], errors);
    // Stock reports the files without their index.
    source.field("items").each(|_, file| downward_api_file(&Spot::new(file.value, source.path), errors));
}

fn downward_api_file(file: &Spot<'_>, errors: &mut Errors) {
    file.field("path").check(&[Required, LOCAL_PATH], errors);
    let field = file.field("fieldRef");
    let resource = file.field("resourceFieldRef");
    if field.given() {
        field_reference(&field, VOLUME_FIELDS, errors);
        if resource.given() {
            let words = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.push(Error::invalid(&file.path, "resource", words));
        }
    } else if resource.given() {
        resource_reference(&resource, true, errors);
    } else {
        errors.push(Error::required(&file.path, "one of fieldRef and resourceFieldRef is required"));
    }
    file.field("mode").check(&[FileMode], errors);
}

/// Checks a reference to a field of the pod. `allowed` is sorted, since stock prints it sorted.
pub(super) fn field_reference(reference: &Spot<'_>, allowed: &[&str], errors: &mut Errors) {
    let version = reference.field("apiVersion");
    let path = reference.field("fieldPath");
    for needed in [&version, &path] {
        if !needed.filled() {
            errors.push(Error::required(&needed.path, ""));
            return;
        }
    }
    let label = path.text();
    let subscript =
        label.strip_suffix("']").and_then(|rest| rest.split_once("['")).filter(|(base, _)| !base.is_empty());
    let problem = if version.text() == "v1" {
        match subscript {
            Some(("metadata.annotations" | "metadata.labels", _)) => None,
            Some(_) => Some(format!("field label does not support subscript: {label}")),
            None if !is_pod_field(label) => Some(format!("field label not supported: {label}")),
            None => None,
        }
    } else {
        Some(format!("unsupported pod version: {}", version.text()))
    };
    if let Some(problem) = problem {
        path.invalid(format!("error converting fieldPath: {problem}"), errors);
        return;
    }
    if let Some((base, key)) = subscript {
        let key = if base == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        let sentences = names::is_qualified_name(&key);
        errors.extend(sentences.into_iter().map(|words| Error::invalid(&reference.path, key.as_str(), words)));
        return;
    }
    let label = if label == "spec.host" { "spec.nodeName" } else { label };
    if !allowed.contains(&label) {
        errors.push(Error::not_supported(&path.path, label, allowed));
    }
}

fn is_pod_field(label: &str) -> bool {
    matches!(
        label,
        "metadata.annotations"
            | "metadata.labels"
            | "metadata.name"
            | "metadata.namespace"
            | "metadata.uid"
            | "spec.nodeName"
            | "spec.host"
            | "spec.restartPolicy"
            | "spec.serviceAccountName"
            | "spec.schedulerName"
            | "status.phase"
            | "status.hostIP"
            | "status.hostIPs"
            | "status.podIP"
            | "status.podIPs"
    )
}

/// Checks a reference to what a container asks for. In a volume it must say which container.
pub(super) fn resource_reference(reference: &Spot<'_>, in_volume: bool, errors: &mut Errors) {
    let container = reference.field("containerName");
    let resource = reference.field("resource");
    let name = resource.text();
    let is_huge_page = name.starts_with("requests.hugepages-") || name.starts_with("limits.hugepages-");
    if in_volume && !container.filled() {
        errors.push(Error::required(&container.path, ""));
    } else if name.is_empty() {
        errors.push(Error::required(&resource.path, ""));
    } else if !CONTAINER_RESOURCES.contains(&name) && !is_huge_page {
        errors.push(Error::not_supported(&resource.path, name, CONTAINER_RESOURCES));
    }
    let divisor = reference.field("divisor");
    let Ok(amount) = Quantity::from_value(divisor.value) else { return };
    if amount.is_zero() {
        return;
    }
    let printed = amount.to_string();
    let is_unit = matches!(
        printed.as_str(),
        "1" | "1k" | "1M" | "1G" | "1T" | "1P" | "1E" | "1Ki" | "1Mi" | "1Gi" | "1Ti" | "1Pi" | "1Ei"
    );
    let kind = match name {
        "limits.cpu" | "requests.cpu" => {
            if !matches!(printed.as_str(), "1m" | "1") {
                let words = "only divisor's values 1m and 1 are supported with the cpu resource";
                errors.push(Error::invalid(&divisor.path, name, words));
            }
            return;
        }
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if is_huge_page => "hugepages",
        _ => return,
    };
    if !is_unit {
        let words = format!(
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {kind} resource"
        );
        errors.push(Error::invalid(&divisor.path, name, words));
    }
}

/// Checks the sources of a projected volume, whose files must not hide each other.
pub(super) fn validate_sources(volume: &Spot<'_>, options: &Options, errors: &mut Errors) {
    let mut paths: Vec<&str> = Vec::new();
    for (index, value) in volume.field("sources").elements().iter().enumerate() {
        let list = volume.path.child("sources");
        let source = Spot::new(value, list.index(index));
        let mut count = 0;
        for kind in ["secret", "configMap"] {
            let object = source.field(kind);
            if !object.given() {
                continue;
            }
            count += 1;
            object.field("name").check(&[Required], errors);
            for (item, file) in value[kind]["items"].as_array().into_iter().flatten().enumerate() {
                let items = object.path.child("items");
                Spot::new(file, items.index(item)).check_fields(KEY_TO_PATH, errors);
                claim_path(text(file, "path"), text(&value[kind], "name"), volume, &mut paths, errors);
            }
        }
        let downward = source.field("downwardAPI");
        if downward.given() {
            count += 1;
            for file in value["downwardAPI"]["items"].as_array().into_iter().flatten() {
                downward_api_file(&Spot::new(file, downward.path), errors);
                claim_path(text(file, "path"), text(file, "path"), volume, &mut paths, errors);
            }
        }
        let token = source.field("serviceAccountToken");
        if token.given() {
            count += 1;
            validate_token(&token, volume, options, errors);
        }
        if count > 1 {
            source.forbidden("may not specify more than 1 volume type per source", errors);
        }
    }
}

fn claim_path<'a>(path: &'a str, shown: &str, volume: &Spot<'_>, taken: &mut Vec<&'a str>, errors: &mut Errors) {
    if path.is_empty() {
        return;
    }
    if taken.contains(&path) {
        errors.push(Error::invalid(&volume.path, shown, "conflicting duplicate paths"));
    } else {
        taken.push(path);
    }
}

fn validate_token(token: &Spot<'_>, volume: &Spot<'_>, options: &Options, errors: &mut Errors) {
    let expiration = token.field("expirationSeconds");
    let seconds = expiration.number();
    if seconds < 10 * 60 {
        errors.push(Error::invalid(&expiration.path, seconds, "may not specify a duration less than 10 minutes"));
    }
    if seconds > 1 << 32 {
        errors.push(Error::invalid(&expiration.path, seconds, "may not specify a duration larger than 2^32 seconds"));
    }
    // Stock reports the token's path as if it were the volume's.
    let path = Spot::new(&token.value["path"], volume.path.child("path"));
    if !path.filled() || !options.allow_any_token_path {
        path.check(&[Required, LOCAL_PATH], errors);
    }
}
