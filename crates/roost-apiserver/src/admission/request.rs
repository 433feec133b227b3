//! A write as webhooks and policies see it: by its coordinates, and with its objects in the version that they ask for.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use roost_admission::matching::{Equivalent, Subject};
use roost_admission::webhook::{Review, ReviewVersion, review as review_of};
use roost_object::{Map, Status, Value, group};

use super::{Attributes, Verb};
use crate::conversion;
use crate::options::Propagation;
use crate::resource::{Origin, Resource};
use crate::subresource::scale;
use crate::write::{apply_defaults, convert_from_storage};

/// The kind of the scale of anything.
const SCALE: [&str; 3] = ["autoscaling", "v1", "Scale"];

/// Group, version and kind.
pub(super) type Kind = [String; 3];

/// How a webhook or policy sees a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    /// Group, version and plural under which its rule matched.
    pub(super) resource: [String; 3],
    /// Group, version and kind of the objects that it is told about.
    pub(super) kind: Kind,
}

impl Attributes<'_> {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub(super) fn operation(&self) -> &str {
        match self.verb {
            Verb::Create => self.action.map_or("CREATE", |action| action.operation),
            Verb::Update => "UPDATE",
            Verb::Delete => "DELETE",
        }
    }

    /// The namespace that rules and selectors go by: a namespace counts as being in itself.
    pub(super) fn scope(&self) -> &str {
        let target = &self.target;
        if target.resource.is("", "namespaces") {
            target.name
        } else if target.resource.namespaced {
            target.namespace
        } else {
            ""
        }
    }

    /// The write as rules look at it.
    pub(super) fn subject(&self) -> Subject<'_> {
        let target = &self.target;
        // Whoever deletes a collection names no object.
        let name = if target.call.info.verb == "deletecollection" { "" } else { target.name };
        Subject {
            operation: self.operation(),
            group: &target.resource.group,
            version: &target.resource.version,
            resource: &target.resource.plural,
            subresource: target.subresource,
            namespace: self.scope(),
            name,
        }
    }

    /// The kind that the request is about.
    pub(super) fn kind(&self) -> Kind {
        let resource = self.target.resource;
        self.kind_as(&resource.group, &resource.version, &resource.kind)
    }

    /// The kind of what is sent through a version of the resource: a scale is a scale in all of them.
    pub(super) fn kind_as(&self, group: &str, version: &str, kind: &str) -> Kind {
        let kind = match self.action {
            Some(action) => action.kind,
            None if self.target.subresource == "scale" => SCALE,
            None => [group, version, kind],
        };
        kind.map(str::to_owned)
    }

    /// How a write is seen by a rule that matched it, or the same objects under another name.
    pub(super) fn invocation(&self, other: Option<&Equivalent>) -> Invocation {
        let text = |[a, b, c]: [&str; 3]| [a.to_owned(), b.to_owned(), c.to_owned()];
        match other {
            None => {
                let subject = self.subject();
                Invocation { resource: text([subject.group, subject.version, subject.resource]), kind: self.kind() }
            }
            Some(other) => Invocation {
                resource: text([&other.group, &other.version, &other.resource]),
                kind: self.kind_as(&other.group, &other.version, &other.kind),
            },
        }
    }

    /// The request as a review has it, but without the objects.
    pub(super) fn request(&self, invocation: &Invocation) -> Value {
        let subject = self.subject();
        let kind = self.kind();
        let review = Review {
            version: ReviewVersion::V1,
            uid: "",
            kind: invocation.kind.each_ref().map(String::as_str),
            resource: invocation.resource.each_ref().map(String::as_str),
            subresource: subject.subresource,
            request_kind: kind.each_ref().map(String::as_str),
            request_resource: [subject.group, subject.version, subject.resource],
            name: subject.name,
            namespace: subject.namespace,
            operation: subject.operation,
            user: self.target.call.user.to_object(),
            object: Value::Null,
            old_object: Value::Null,
            dry_run: self.dry_run,
            options: self.options(),
        };
        review_of(review)["request"].take()
    }

    /// The versions and groups under which the same objects are served, this one among them.
    pub(super) fn equivalents(&self) -> Arc<[Equivalent]> {
        let resource = self.target.resource;
        if resource.as_custom().is_none() {
            type ByPlace = HashMap<(String, String), Arc<[Equivalent]>>;
            static BUILT_IN: LazyLock<ByPlace> = LazyLock::new(|| {
                let mut by_place: HashMap<_, Vec<Equivalent>> = HashMap::new();
                for resource in Resource::all_built_in() {
                    by_place.entry(place(resource)).or_default().push(equivalent(resource));
                }
                by_place.into_iter().map(|(place, list)| (place, list.into())).collect()
            });
            return BUILT_IN.get(&place(resource)).cloned().unwrap_or_default();
        }
        let cluster = &self.target.call.cluster;
        let all = cluster.definitions.read(&cluster.store, |table| table.all());
        all.iter().filter(|other| place(other) == place(resource)).map(|other| equivalent(other)).collect()
    }

    /// An object, which is in the stored version, as the given kind: in another version, or as its scale.
    pub(super) async fn convert(&self, object: &Value, [group_name, version, _]: &Kind) -> Result<Value, Status> {
        let resource = self.target.resource;
        if self.action.is_some() {
            return Ok(object.clone());
        }
        if self.target.subresource == "scale" {
            let served = convert_from_storage(resource, object.clone())?;
            return Ok(scale::of(resource, &served).unwrap_or(Value::Null));
        }
        let wanted = group::api_version(group_name, version);
        let object = resource.written(object).into_owned();
        match &resource.origin {
            Origin::BuiltIn(..) if wanted == resource.storage_api_version() && wanted == resource.api_version => {
                Ok(object)
            }
            Origin::BuiltIn(..) => {
                let object = roost_kinds::convert(object, &resource.storage_api_version(), &wanted)
                    .map_err(|error| Status::internal(error.to_string()))?;
                as_kind(object)
            }
            Origin::Custom(_) => conversion::to_version(&self.target.call.cluster, resource, object, &wanted).await,
        }
    }

    /// An object as it will be and as it is, each null where there is none, as the kind that is asked for.
    pub(super) async fn objects(&self, object: &Value, invocation: &Invocation) -> Result<[Value; 2], Status> {
        let mut converted = [Value::Null, Value::Null];
        for (place, object) in [object, self.old.unwrap_or(&Value::Null)].into_iter().enumerate() {
            if !object.is_null() {
                converted[place] = self.convert(object, &invocation.kind).await?;
            }
        }
        Ok(converted)
    }

    /// What was changed from outside, from the kind it is in back to the stored object: it gets the form of its kind,
    /// and its defaults.
    pub(super) async fn convert_back(
        &self,
        changed: Value,
        [group_name, version, _]: &Kind,
        current: &Value,
    ) -> Result<Value, Status> {
        let resource = self.target.resource;
        if self.action.is_some() {
            return as_kind(changed);
        }
        if self.target.subresource == "scale" {
            let mut object = current.clone();
            scale::set_replicas(resource, &mut object, &as_kind(changed)?);
            return Ok(object);
        }
        match &resource.origin {
            Origin::BuiltIn(..) => {
                let cluster = &self.target.call.cluster;
                let served = cluster.resource(group_name, version, &resource.plural);
                let served = served.unwrap_or_else(|| Arc::clone(resource));
                let mut object = as_kind(changed)?;
                apply_defaults(&served, &mut object);
                let given = group::api_version(group_name, version);
                roost_kinds::convert(object, &given, &resource.storage_api_version())
                    .map_err(|error| Status::internal(error.to_string()))
            }
            Origin::Custom(_) => {
                // Where a webhook converts, writes work with the served version.
                let wanted = match resource.webhook() {
                    Some(_) => resource.api_version.clone(),
                    None => resource.storage_api_version(),
                };
                let cluster = &self.target.call.cluster;
                let mut object = conversion::to_version(cluster, resource, changed, &wanted).await?;
                apply_defaults(resource, &mut object);
                Ok(object)
            }
        }
    }

    /// The options of the request, as an object of their own kind.
    pub(super) fn options(&self) -> Value {
        if self.operation() == "CONNECT" {
            return Value::Null;
        }
        let mut options = Map::new();
        let mut set = |name: &str, value: Value| {
            options.insert(name.to_owned(), value);
        };
        let kind = match self.verb {
            Verb::Create => "CreateOptions",
            Verb::Update => "UpdateOptions",
            Verb::Delete => "DeleteOptions",
        };
        set("kind", kind.into());
        set("apiVersion", "meta.k8s.io/v1".into());
        if self.dry_run {
            set("dryRun", Value::Array(vec!["All".into()]));
        }
        if let Some(deletion) = self.deletion {
            if let Some(seconds) = deletion.grace_period_seconds {
                set("gracePeriodSeconds", seconds.into());
            }
            if let Some(orphan) = deletion.orphan_dependents {
                set("orphanDependents", orphan.into());
            }
            if let Some(policy) = deletion.propagation {
                let word = match policy {
                    Propagation::Orphan => "Orphan",
                    Propagation::Background => "Background",
                    Propagation::Foreground => "Foreground",
                };
                set("propagationPolicy", word.into());
            }
            let mut preconditions = Map::new();
            for (name, value) in [("uid", &deletion.uid), ("resourceVersion", &deletion.resource_version)] {
                if let Some(value) = value {
                    preconditions.insert(name.into(), value.as_str().into());
                }
            }
            if !preconditions.is_empty() {
                set("preconditions", Value::Object(preconditions));
            }
            return Value::Object(options);
        }
        for name in ["fieldManager", "fieldValidation"] {
            if let Some(value) = self.target.call.query.get(name) {
                set(name, value.into());
            }
        }
        Value::Object(options)
    }
}

/// Gives a built-in object the form of its kind, as a decoder would.
fn as_kind(object: Value) -> Result<Value, Status> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    match roost_kinds::type_of(text("apiVersion"), text("kind")) {
        Some(ty) => roost_kinds::json::decode(object, ty)
            .map(|decoded| decoded.value)
            .map_err(|error| Status::internal(error.to_string())),
        None => Ok(object),
    }
}

/// Where objects lie: what is served from the same place is equivalent.
fn place(resource: &Resource) -> (String, String) {
    let group = if resource.group == "events.k8s.io" { "" } else { &resource.group };
    (group.to_owned(), resource.plural.clone())
}

fn equivalent(resource: &Resource) -> Equivalent {
    Equivalent {
        group: resource.group.clone(),
        version: resource.version.clone(),
        resource: resource.plural.clone(),
        kind: resource.kind.clone(),
    }
}
