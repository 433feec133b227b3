//! Which objects of a collection a list or watch is about.

use roost_object::selector::{FieldSelector, Selector};
use roost_object::{Status, Value};

use crate::options::ListOptions;
use crate::resource::{Origin, Resource};

/// The selectors of a request.
#[derive(Clone, Default)]
pub(crate) struct Selection {
    labels: Option<Selector>,
    fields: Option<FieldSelector>,
}

impl Selection {
    /// Reads the selectors, and refuses fields that the kind cannot be selected by.
    pub(crate) fn parse(options: &ListOptions, resource: &Resource) -> Result<Selection, Status> {
        let (labels, fields) = options.selectors()?;
        if let Some(fields) = &fields {
            for requirement in fields.requirements() {
                if !supports(resource, &requirement.field) {
                    return Err(unsupported(resource, &requirement.field));
                }
            }
        }
        Ok(Selection { labels, fields: fields.filter(|fields| !fields.is_empty()) })
    }

    /// Whether every object is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// Whether an object with this key in the store can be meant, as far as its name and namespace tell.
    pub(crate) fn could_mean(&self, key: &str) -> bool {
        let Some(fields) = &self.fields else { return true };
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        fields.requirements().iter().all(|requirement| match requirement.field.as_str() {
            "metadata.name" => (requirement.value == name) != requirement.negated,
            "metadata.namespace" => (requirement.value == namespace) != requirement.negated,
            _ => true,
        })
    }

    /// Whether an object, in the served version, is meant.
    pub(crate) fn matches(&self, resource: &Resource, object: &Value) -> bool {
        if let Some(labels) = &self.labels
            && !labels.matches_object(object)
        {
            return false;
        }
        let Some(fields) = &self.fields else { return true };
        fields.matches(|field| value_of(resource, object, field).into())
    }
}

fn unsupported(resource: &Resource, field: &str) -> Status {
    let why = match &resource.origin {
        Origin::BuiltIn(..) if resource.is("batch", "jobs") => {
            format!("field label {} not supported for Job", roost_object::field::quote(field))
        }
        Origin::BuiltIn(..) if resource.is("resource.k8s.io", "resourceslices") => {
            let (group, version, kind) = (&resource.group, &resource.version, &resource.kind);
            format!("field label not supported for {group}/{version}, Kind={kind}: {field}")
        }
        Origin::BuiltIn(..) if own_fields(resource).is_empty() => {
            let quoted = roost_object::field::quote(field);
            format!("{quoted} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        Origin::BuiltIn(..) | Origin::Custom(_) => format!("field label not supported: {field}"),
    };
    Status::bad_request(why)
}

/// The fields beside name and namespace that built-in kinds can be selected by.
const SELECTABLE: &[(&str, &str, &[&str])] = &[
    (
        "",
        "Pod",
        &[
            "spec.nodeName",
            "spec.host",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
    ),
    ("", "Node", &["spec.unschedulable"]),
    ("", "Namespace", &["status.phase"]),
    ("", "Secret", &["type"]),
    ("", "Service", &["spec.clusterIP", "spec.type"]),
    ("", "ReplicationController", &["status.replicas"]),
    ("batch", "Job", &["status.successful"]),
    ("certificates.k8s.io", "CertificateSigningRequest", &["spec.signerName"]),
    (
        "",
        "Event",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    (
        "events.k8s.io",
        "Event",
        &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
    ),
    ("resource.k8s.io", "ResourceSlice", &["spec.nodeName", "spec.driver"]),
];

fn own_fields(resource: &Resource) -> &'static [&'static str] {
    SELECTABLE
        .iter()
        .find(|(group, kind, _)| *group == resource.group && *kind == resource.kind)
        .map_or(&[], |(_, _, fields)| fields)
}

fn supports(resource: &Resource, field: &str) -> bool {
    match &resource.origin {
        _ if field == "metadata.name" => true,
        // Kinds without a namespace that name their fields do not name this one; all others have it by default.
        Origin::BuiltIn(..) if field == "metadata.namespace" => resource.namespaced || own_fields(resource).is_empty(),
        Origin::Custom(_) if field == "metadata.namespace" => true,
        Origin::BuiltIn(..) => own_fields(resource).contains(&field),
        Origin::Custom(custom) => {
            custom.version().selectable_fields.iter().any(|path| path.text().trim_start_matches('.') == field)
        }
    }
}

/// A field as text, with the empty text for what is not there.
fn value_of(resource: &Resource, object: &Value, field: &str) -> String {
    let special = match (resource.kind.as_str(), field) {
        ("Node", "spec.unschedulable") | ("Pod", "spec.hostNetwork") => Some("false"),
        ("ReplicationController", "status.replicas") => Some("0"),
        ("Job", "status.successful") => {
            return object["status"]["succeeded"].as_i64().unwrap_or(0).to_string();
        }
        ("Event", "source") => {
            let component = object["source"]["component"].as_str().unwrap_or_default();
            let component = if component.is_empty() {
                object["reportingComponent"].as_str().unwrap_or_default()
            } else {
                component
            };
            return component.to_owned();
        }
        ("Pod", "status.podIPs") => {
            let addresses = object["status"]["podIPs"].as_array().into_iter().flatten();
            return addresses.filter_map(|address| address["ip"].as_str()).collect::<Vec<_>>().join(",");
        }
        _ => None,
    };
    let field = if resource.kind == "Pod" && field == "spec.host" { "spec.nodeName" } else { field };
    let mut value = object;
    for step in field.split('.') {
        value = &value[step];
    }
    match value {
        Value::String(text) => text.clone(),
        Value::Null => special.unwrap_or_default().to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_names_and_namespaces() {
        let selection =
            |text: &str| Selection { labels: None, fields: Some(FieldSelector::parse(text).expect("a selector")) };
        for (text, key, could) in [
            ("metadata.name=a", "a", true),
            ("metadata.name=a", "b", false),
            ("metadata.name=a", "space/a", true),
            ("metadata.name=space", "space/a", false),
            ("metadata.name!=a", "space/a", false),
            ("metadata.name!=a", "space/b", true),
            ("metadata.namespace=space", "space/a", true),
            ("metadata.namespace=other", "space/a", false),
            ("metadata.namespace=", "a", true),
            ("spec.nodeName=n,metadata.name=a", "space/a", true),
            ("spec.nodeName=n,metadata.name=b", "space/a", false),
        ] {
            assert_eq!(selection(text).could_mean(key), could, "{text} and {key}");
        }
        assert!(Selection::default().could_mean("a"));
    }
}
