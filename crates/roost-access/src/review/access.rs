//! `SubjectAccessReview`, `LocalSubjectAccessReview` and `SelfSubjectAccessReview`.

use roost_object::field::{Error as FieldError, Errors, Path};
use roost_object::selector::syntax::{label_key_errors, label_value_errors};
use roost_object::selector::{FieldRequirement, FieldSelector, Operator, Requirement, Selector};
use roost_object::{GroupKind, Status};
use serde_json::{Map, Value, json};

use crate::attributes::{Attributes, ResourceAttributes};
use crate::authorizer::Decision;
use crate::user::User;

/// Which of the reviews is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewKind {
    /// About anyone, anywhere.
    Subject,
    /// About anyone, in one namespace.
    LocalSubject,
    /// About the caller.
    SelfSubject,
}

/// A checked question about a permission.
#[derive(Clone, Debug)]
pub struct AccessReview {
    user: User,
    verb: String,
    path: String,
    resource: Option<Resource>,
    fields: Parsed<FieldSelector>,
    labels: Parsed<Selector>,
}

#[derive(Clone, Debug, Default)]
struct Resource {
    group: String,
    version: String,
    plural: String,
    subresource: String,
    namespace: String,
    name: String,
}

/// A selector as far as it could be read. Leaving out a condition only makes the question broader.
#[derive(Clone, Debug)]
struct Parsed<T> {
    selector: Option<T>,
    failed: bool,
}

impl<T> Default for Parsed<T> {
    fn default() -> Self {
        Self { selector: None, failed: false }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

impl AccessReview {
    /// Checks a review. The requester is whom a [`ReviewKind::SelfSubject`] is about; the namespace is the URL's.
    pub fn new(kind: ReviewKind, object: &Value, requester: &User, namespace: &str) -> Result<Self, Status> {
        let errors = validate(kind, object);
        if !errors.is_empty() {
            return Err(Status::invalid(&GroupKind::new("authorization.k8s.io", ""), "", &errors));
        }
        if kind == ReviewKind::LocalSubject {
            if namespace.is_empty() {
                return Err(Status::bad_request("namespace is required on this type: "));
            }
            if text(&object["metadata"], "namespace") != namespace {
                let words = format!("spec.resourceAttributes.namespace must match namespace: {namespace}");
                return Err(Status::bad_request(words));
            }
        }
        let spec = &object["spec"];
        let user = match kind {
            ReviewKind::SelfSubject => requester.clone(),
            _ => subject(spec),
        };
        let asked = &spec["resourceAttributes"];
        if !asked.is_object() {
            let asked = &spec["nonResourceAttributes"];
            return Ok(Self {
                user,
                verb: text(asked, "verb").to_owned(),
                path: text(asked, "path").to_owned(),
                resource: None,
                fields: Parsed::default(),
                labels: Parsed::default(),
            });
        }
        let own = |field: &str| text(asked, field).to_owned();
        let version = Some(own("version")).filter(|version| !version.is_empty()).unwrap_or_else(|| "*".to_owned());
        Ok(Self {
            user,
            verb: own("verb"),
            path: String::new(),
            resource: Some(Resource {
                group: own("group"),
                version,
                plural: own("resource"),
                subresource: own("subresource"),
                namespace: own("namespace"),
                name: own("name"),
            }),
            fields: read_fields(&asked["fieldSelector"]),
            labels: read_labels(&asked["labelSelector"]),
        })
    }

    /// The request that is asked about.
    pub fn attributes(&self) -> Attributes<'_> {
        let resource = self.resource.as_ref().map(|resource| ResourceAttributes {
            group: &resource.group,
            version: &resource.version,
            resource: &resource.plural,
            subresource: &resource.subresource,
            namespace: &resource.namespace,
            name: &resource.name,
        });
        Attributes {
            user: &self.user,
            verb: &self.verb,
            resource,
            path: &self.path,
            field_selector: self.fields.selector.as_ref(),
            label_selector: self.labels.selector.as_ref(),
        }
    }

    /// The review's `status` after a decision.
    pub fn status(&self, decision: &Decision) -> Value {
        let mut status = Map::new();
        status.insert("allowed".into(), json!(decision.is_allowed()));
        if matches!(decision, Decision::Deny(_)) {
            status.insert("denied".into(), json!(true));
        }
        let reason = decision.reason().to_string();
        if !reason.is_empty() {
            status.insert("reason".into(), json!(reason));
        }
        let mut errors = Vec::new();
        let mut complain = |name: &str, failed: bool, some: bool| {
            if failed {
                let how = if some { "partially ignored" } else { "ignored" };
                errors.push(format!("spec.resourceAttributes.{name} {how} due to parse error"));
            }
        };
        let has_fields = self.fields.selector.as_ref().is_some_and(|fields| !fields.is_empty());
        let has_labels = self.labels.selector.as_ref().is_some_and(|labels| !labels.is_empty());
        complain("fieldSelector", self.fields.failed, has_fields);
        complain("labelSelector", self.labels.failed, has_labels);
        if !errors.is_empty() {
            status.insert("evaluationError".into(), json!(errors.join("; ")));
        }
        Value::Object(status)
    }
}

fn subject(spec: &Value) -> User {
    let mut object = spec.clone();
    if let Some(fields) = object.as_object_mut() {
        let name = fields.remove("user").unwrap_or_default();
        fields.insert("username".into(), name);
    }
    User::from_object(&object)
}

fn read_labels(object: &Value) -> Parsed<Selector> {
    let requirements = items(object, "requirements");
    if requirements.is_empty() {
        return match text(object, "rawSelector") {
            "" => Parsed::default(),
            raw => {
                let selector = Selector::parse(raw).ok();
                Parsed { failed: selector.is_none(), selector }
            }
        };
    }
    let mut read = Vec::new();
    for one in requirements {
        let operator = match text(one, "operator") {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => continue,
        };
        let values = items(one, "values").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        read.extend(Requirement::new(text(one, "key"), operator, values));
    }
    Parsed { failed: read.len() < requirements.len(), selector: Some(Selector::all_of(read)) }
}

fn read_fields(object: &Value) -> Parsed<FieldSelector> {
    let requirements = items(object, "requirements");
    if requirements.is_empty() {
        return match text(object, "rawSelector") {
            "" => Parsed::default(),
            raw => {
                let selector = FieldSelector::parse(raw).ok();
                Parsed { failed: selector.is_none(), selector }
            }
        };
    }
    let read: Vec<FieldRequirement> = requirements
        .iter()
        .filter_map(|one| {
            let negated = match text(one, "operator") {
                "In" => false,
                "NotIn" => true,
                _ => return None,
            };
            let [value] = items(one, "values") else {
                return None;
            };
            Some(FieldRequirement {
                field: text(one, "key").to_owned(),
                negated,
                value: value.as_str().unwrap_or_default().to_owned(),
            })
        })
        .collect();
    Parsed { failed: read.len() < requirements.len(), selector: Some(read.into_iter().collect()) }
}

fn validate(kind: ReviewKind, object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = &object["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let spec_path = Path::new("spec");
    // The stock server shows its own names of these fields.
    let shown = || json!({"Path": text(path, "path"), "Verb": text(path, "verb")});
    if !resource.is_null() && !path.is_null() {
        let words = "cannot be specified in combination with resourceAttributes";
        errors.push(FieldError::invalid(&spec_path.child("nonResourceAttributes"), shown(), words));
    }
    if resource.is_null() && path.is_null() {
        let words = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(&spec_path.child("resourceAttributes"), Value::Null, words));
    }
    if kind != ReviewKind::SelfSubject && text(spec, "user").is_empty() && items(spec, "groups").is_empty() {
        let words = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&spec_path.child("user"), "", words));
    }
    let resource_path = Path::new("spec.resourceAttributes");
    validate_selector(&resource["fieldSelector"], &resource_path.child("fieldSelector"), false, &mut errors);
    validate_selector(&resource["labelSelector"], &resource_path.child("labelSelector"), true, &mut errors);
    let is_local = kind == ReviewKind::LocalSubject;
    let is_free = |field: &str| field == "managedFields" || (is_local && field == "namespace");
    let metadata = object["metadata"].as_object();
    let is_set = |(field, value): (&String, &Value)| !is_free(field) && !value.is_null();
    if metadata.into_iter().flatten().any(is_set) {
        let words = if is_local { "must be empty except for namespace" } else { "must be empty" };
        let shown = as_go(&object["metadata"]);
        errors.push(FieldError::invalid_omitted(&Path::new("metadata"), format!("{shown}: {words}")));
    }
    if is_local {
        let asked = text(resource, "namespace");
        if !resource.is_null() && asked != text(&object["metadata"], "namespace") {
            let words = "must match metadata.namespace";
            errors.push(FieldError::invalid(&Path::new("spec.resourceAttributes.namespace"), asked, words));
        }
        if !path.is_null() {
            let words = "disallowed on this kind of request";
            errors.push(FieldError::invalid(&Path::new("spec.nonResourceAttributes"), shown(), words));
        }
    }
    errors
}

/// The fields of metadata and of what lies in it, in the order in which Go writes them.
const GO_ORDER: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "kind",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
];

/// Metadata as the stock server shows it.
fn as_go(metadata: &Value) -> String {
    match metadata {
        Value::Array(items) => format!("[{}]", items.iter().map(as_go).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let place = |name: &str| GO_ORDER.iter().position(|known| *known == name).unwrap_or(GO_ORDER.len());
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| place(name));
            let shown = |(name, value): (&String, &Value)| match name.as_str() {
                "managedFields" => format!("{}:{}", json!(name), as_go(value)),
                _ => format!("{}:{value}", json!(name)),
            };
            format!("{{{}}}", fields.into_iter().map(shown).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn validate_selector(selector: &Value, path: &Path<'_>, is_label: bool, errors: &mut Errors) {
    if selector.is_null() {
        return;
    }
    let raw = text(selector, "rawSelector");
    let requirements = items(selector, "requirements");
    if !raw.is_empty() && !requirements.is_empty() {
        let words = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(&path.child("rawSelector"), raw, words));
    }
    let list = path.child("requirements");
    if raw.is_empty() && requirements.is_empty() {
        let words = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(&list, words));
    }
    for (index, one) in requirements.iter().enumerate() {
        let place = list.index(index);
        let key = text(one, "key");
        let key_path = place.child("key");
        let values_path = place.child("values");
        let values = items(one, "values");
        if !is_label && key.is_empty() {
            errors.push(FieldError::required(&key_path, "must be specified"));
        }
        match text(one, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                errors.push(FieldError::required(&values_path, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values_path, words));
            }
            _ => {}
        }
        if !is_label {
            continue;
        }
        errors.extend(label_key_errors(key).into_iter().map(|words| FieldError::invalid(&key_path, key, words)));
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            let place = values_path.index(index);
            errors.extend(label_value_errors(value).into_iter().map(|words| FieldError::invalid(&place, value, words)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorizer::Reason;

    fn review(kind: ReviewKind, object: &Value) -> Result<AccessReview, String> {
        let caller = User::new("me", ["us"]);
        AccessReview::new(kind, object, &caller, "ns").map_err(|status| status.message)
    }

    #[test]
    fn bad_reviews_are_refused_in_stock_words() {
        let cases = [
            (
                ReviewKind::Subject,
                json!({"spec": {}}),
                r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]"#,
            ),
            (
                ReviewKind::Subject,
                json!({"metadata": {"name": "x"}, "spec": {"user": "a", "resourceAttributes": {"fieldSelector": {}},
                    "nonResourceAttributes": {"path": "/x", "verb": "get"}}}),
                r#".authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes, spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, metadata: Invalid value: {"name":"x"}: must be empty]"#,
            ),
            (
                ReviewKind::SelfSubject,
                json!({"spec": {}}),
                r#".authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"#,
            ),
            (
                ReviewKind::LocalSubject,
                json!({"metadata": {"namespace": "ns"},
                    "spec": {"user": "a", "nonResourceAttributes": {"path": "/x", "verb": "get"}}}),
                r#".authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request"#,
            ),
            (
                ReviewKind::LocalSubject,
                json!({"metadata": {"namespace": "ns"}, "spec": {"user": "a", "resourceAttributes": {"namespace": "b"}}}),
                r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace"#,
            ),
            (
                ReviewKind::LocalSubject,
                json!({"metadata": {"namespace": "b"}, "spec": {"user": "a", "resourceAttributes": {"namespace": "b"}}}),
                "spec.resourceAttributes.namespace must match namespace: ns",
            ),
        ];
        for (kind, object, words) in cases {
            assert_eq!(review(kind, &object).unwrap_err(), words);
        }
    }

    #[test]
    fn a_review_becomes_a_request() {
        let object = json!({"spec": {"user": "alice", "groups": ["dev"], "uid": "7", "extra": {"k": ["v"]},
            "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "x",
                "labelSelector": {"rawSelector": "a=b c"},
                "fieldSelector": {"requirements": [
                    {"key": "a", "operator": "In", "values": ["x"]}, {"key": "b", "operator": "Exists"}]}}}});
        let review = review(ReviewKind::Subject, &object).unwrap();
        let attributes = review.attributes();
        assert_eq!((&*attributes.user.name, &*attributes.user.uid), ("alice", "7"));
        assert_eq!(attributes.user.extra["k"], ["v"]);
        assert_eq!(attributes.resource.unwrap().version, "*");
        assert_eq!(attributes.field_selector.unwrap().to_string(), "a=x");
        assert_eq!(
            review.status(&Decision::NoOpinion(Reason::NONE)),
            json!({"allowed": false, "evaluationError": "spec.resourceAttributes.fieldSelector partially ignored due to \
                parse error; spec.resourceAttributes.labelSelector ignored due to parse error"})
        );
        assert_eq!(review.status(&Decision::Deny("because".into()))["denied"], json!(true));
    }

    #[test]
    fn callers_ask_about_themselves() {
        let object = json!({"spec": {"user": "ignored", "nonResourceAttributes": {"path": "/x", "verb": "get"}}});
        let review = review(ReviewKind::SelfSubject, &object).unwrap();
        let attributes = review.attributes();
        assert_eq!((&*attributes.user.name, attributes.path, attributes.verb), ("me", "/x", "get"));
        assert_eq!(review.status(&Decision::Allow("RBAC: x".into())), json!({"allowed": true, "reason": "RBAC: x"}));
    }
}
