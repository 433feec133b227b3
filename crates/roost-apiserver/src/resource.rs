//! One resource in one served version: what a path addresses, whether built in or custom.

mod built_in;
mod custom;
mod node;

use std::borrow::Cow;
use std::sync::Arc;

use roost_kinds::TypeRef;
use roost_object::{GroupKind, GroupResource, Value, group};
use roost_rules::Rules;
use roost_schema::SchemaRef;
use roost_store::{Collection, Revision};

pub(crate) use custom::Custom;
pub(crate) use node::AnyNode;

use crate::negotiate::{BUILT_IN, CUSTOM, Encoding};
use crate::stored::Stored;

/// A resource that requests can address.
pub(crate) struct Resource {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The served version.
    pub(crate) version: String,
    /// `group/version` as objects carry it.
    pub(crate) api_version: String,
    /// The plural name in paths.
    pub(crate) plural: String,
    /// The kind.
    pub(crate) kind: String,
    /// The kind of a list.
    pub(crate) list_kind: String,
    /// Whether objects live in a namespace.
    pub(crate) namespaced: bool,
    /// Where it comes from, and with it its schema and rules.
    pub(crate) origin: Origin,
}

/// Where a resource comes from.
pub(crate) enum Origin {
    /// A kind of Kubernetes itself.
    BuiltIn(&'static roost_kinds::Resource, &'static Rules),
    /// A kind that a CustomResourceDefinition brings.
    Custom(Arc<Custom>),
}

impl Resource {
    /// The built-in resource at a path, if there is one.
    pub(crate) fn built_in(group: &str, version: &str, plural: &str) -> Option<&'static Arc<Resource>> {
        built_in::RESOURCES
            .iter()
            .find(|resource| resource.plural == plural && resource.group == group && resource.version == version)
    }

    /// All built-in resources.
    pub(crate) fn all_built_in() -> impl Iterator<Item = &'static Arc<Resource>> {
        built_in::RESOURCES.iter()
    }

    /// A built-in kind that has no place of its own, such as the scale of others.
    pub(crate) fn of_kind(group: &str, version: &str, kind: &'static str, namespaced: bool) -> Option<Resource> {
        let api_version = group::api_version(group, version);
        let ty = roost_kinds::type_of(&api_version, kind)?;
        let row = roost_kinds::Resource {
            group: group.to_owned().leak(),
            version: version.to_owned().leak(),
            plural: "",
            singular: "",
            kind,
            namespaced,
            verbs: &[],
            short_names: &[],
            categories: &[],
            subresources: &[],
            storage_version_hash: "",
            ty,
            storage_version: api_version.clone().leak(),
        };
        let row: &'static roost_kinds::Resource = Box::leak(Box::new(row));
        Some(Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            plural: String::new(),
            kind: kind.to_owned(),
            list_kind: String::new(),
            namespaced,
            origin: Origin::BuiltIn(row, built_in::rules_of(row)),
        })
    }

    /// A served version of a custom kind.
    pub(crate) fn custom(custom: Custom) -> Resource {
        let definition = Arc::clone(&custom.definition);
        let version = definition.versions[custom.index].name.clone();
        Resource {
            api_version: group::api_version(&definition.group, &version),
            group: definition.group.clone(),
            version,
            plural: definition.plural.clone(),
            kind: definition.kind.clone(),
            list_kind: definition.list_kind.clone(),
            namespaced: definition.namespaced,
            origin: Origin::Custom(Arc::new(custom)),
        }
    }

    /// The resource as error messages name it.
    pub(crate) fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.group, &*self.plural)
    }

    /// The kind as error messages name it.
    pub(crate) fn group_kind(&self) -> GroupKind {
        let group = if self.group == "events.k8s.io" { "" } else { &self.group };
        GroupKind::new(group, &*self.kind)
    }

    /// Where the objects of a tenant lie. Events of both groups are the same objects.
    pub(crate) fn collection(&self, tenant: &str) -> Collection {
        let group = if self.group == "events.k8s.io" { "" } else { &self.group };
        Collection::new(tenant, group, &self.plural)
    }

    /// The version that objects are stored in.
    pub(crate) fn storage_version(&self) -> &str {
        match &self.origin {
            Origin::BuiltIn(resource, _) => resource.storage_version.rsplit('/').next().unwrap_or_default(),
            Origin::Custom(custom) => &custom.definition.storage_version,
        }
    }

    /// `apiVersion` of the stored form.
    pub(crate) fn storage_api_version(&self) -> String {
        match &self.origin {
            Origin::BuiltIn(resource, _) => resource.storage_version.to_owned(),
            Origin::Custom(custom) => group::api_version(&self.group, &custom.definition.storage_version),
        }
    }

    /// The encodings that bodies and answers may have.
    pub(crate) fn encodings(&self) -> &'static [Encoding] {
        match &self.origin {
            Origin::BuiltIn(..) => BUILT_IN,
            Origin::Custom(_) => CUSTOM,
        }
    }

    /// Whether an action is served, such as `list` or, on a subresource, `update`.
    pub(crate) fn serves(&self, subresource: &str, verb: &str) -> bool {
        match &self.origin {
            Origin::BuiltIn(resource, _) if subresource.is_empty() => resource.verbs.contains(&verb),
            Origin::BuiltIn(resource, _) => resource
                .subresources
                .iter()
                .any(|candidate| candidate.name == subresource && candidate.verbs.contains(&verb)),
            Origin::Custom(custom) => match subresource {
                "" => true,
                "status" => custom.version().status && matches!(verb, "get" | "patch" | "update"),
                "scale" => custom.version().scale.is_some() && matches!(verb, "get" | "patch" | "update"),
                _ => false,
            },
        }
    }

    /// Whether a subresource exists at all.
    pub(crate) fn has_subresource(&self, subresource: &str) -> bool {
        ["get", "patch", "update", "create", "delete"].iter().any(|verb| self.serves(subresource, verb))
    }

    /// The rules of a built-in kind.
    pub(crate) fn rules(&self) -> Option<&'static Rules> {
        match &self.origin {
            Origin::BuiltIn(_, rules) => Some(rules),
            Origin::Custom(_) => None,
        }
    }

    /// The schema that merges go by.
    pub(crate) fn node(&self) -> AnyNode<'_> {
        match &self.origin {
            Origin::BuiltIn(resource, _) => AnyNode::BuiltIn(TypeRef::from(resource.ty)),
            Origin::Custom(custom) => match &custom.version().schema {
                Some(schema) => AnyNode::Custom(SchemaRef(schema)),
                None => AnyNode::Untyped,
            },
        }
    }

    /// Whether objects can be what callers see as they are stored, but for the type and revision.
    pub(crate) fn is_served_as_stored(&self) -> bool {
        match &self.origin {
            Origin::BuiltIn(..) => self.api_version == self.storage_api_version(),
            Origin::Custom(custom) => custom.definition.conversion == roost_schema::Conversion::None,
        }
    }

    /// How to reach the webhook that converts objects, and which reviews it reads; none where no webhook does.
    pub(crate) fn webhook(&self) -> Option<(&Value, &[String])> {
        match &self.origin {
            Origin::Custom(custom) => match &custom.definition.conversion {
                roost_schema::Conversion::Webhook { client_config, review_versions } => {
                    Some((client_config, review_versions))
                }
                roost_schema::Conversion::None => None,
            },
            Origin::BuiltIn(..) => None,
        }
    }

    /// Whether one such object is: written in the served version, under the present definition.
    pub(crate) fn is_current(&self, stored: &Stored, modified: Revision) -> bool {
        match &self.origin {
            Origin::BuiltIn(..) => true,
            Origin::Custom(custom) => stored.version() == self.version && modified > custom.since,
        }
    }

    /// `apiVersion` of one object as it is stored: custom ones may be of an older storage version.
    pub(crate) fn stored_api_version(&self, stored: &Stored) -> String {
        match &self.origin {
            Origin::BuiltIn(..) => self.storage_api_version(),
            Origin::Custom(_) => group::api_version(&self.group, stored.version()),
        }
    }

    /// Fills in what an object of the kind always has, as Go's encoder would: for objects that were never decoded.
    pub(crate) fn fill_required(&self, object: Value) -> Value {
        match &self.origin {
            Origin::BuiltIn(built_in, _) => {
                roost_kinds::json::decode(object.clone(), built_in.ty).map_or(object, |decoded| decoded.value)
            }
            Origin::Custom(_) => object,
        }
    }

    /// An object as webhooks, policies and the owners of fields see it: without what Go does not write.
    pub(crate) fn written<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        let ty = match &self.origin {
            Origin::BuiltIn(resource, _) if object["apiVersion"] == *self.api_version => resource.ty,
            Origin::BuiltIn(..) => match self.storage_type() {
                Some(ty) => ty,
                None => return Cow::Borrowed(object),
            },
            Origin::Custom(_) => return Cow::Borrowed(object),
        };
        roost_kinds::json::written(object, ty)
    }

    /// An object, in its storage version, as it comes back from the store: what was lost there has its default again.
    pub(crate) fn read_back<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match (self.settled(object), self.rules()) {
            (Cow::Owned(mut settled), Some(rules)) if self.is_served_as_stored() => {
                (rules.defaults)(&mut settled);
                Cow::Owned(settled)
            }
            (settled, _) => settled,
        }
    }

    /// An object, in its storage version, as it lies in the store.
    pub(crate) fn settled<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match (self.storage_type(), self.as_custom().and_then(|custom| custom.version().schema.as_ref())) {
            (Some(ty), _) => roost_kinds::json::stored(object, ty),
            (None, Some(schema)) => schema.without_nulls(object),
            (None, None) => Cow::Borrowed(object),
        }
    }

    /// An object, in its storage version, as it is compared to find out whether its generation moves.
    pub(crate) fn compared<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        self.storage_type().map_or(Cow::Borrowed(object), |ty| roost_kinds::json::compared(object, ty))
    }

    /// The Go type behind a built-in kind as it is stored.
    pub(crate) fn storage_type(&self) -> Option<&'static roost_kinds::Type> {
        match &self.origin {
            Origin::BuiltIn(resource, _) if resource.storage_version == self.api_version => Some(resource.ty),
            Origin::BuiltIn(resource, _) => roost_kinds::type_of(resource.storage_version, resource.kind),
            Origin::Custom(_) => None,
        }
    }

    /// The kind with nothing set, which nobody comes to own.
    pub(crate) fn empty(&self) -> &Value {
        match &self.origin {
            Origin::BuiltIn(resource, _) => built_in::empty_of(resource.ty),
            Origin::Custom(_) => roost_merge::apply::NOTHING,
        }
    }

    /// The same in the version that objects are stored in.
    pub(crate) fn empty_stored(&self) -> &Value {
        self.storage_type().map_or(roost_merge::apply::NOTHING, built_in::empty_of)
    }

    /// The custom kind behind it, if it is one.
    pub(crate) fn as_custom(&self) -> Option<&Arc<Custom>> {
        match &self.origin {
            Origin::Custom(custom) => Some(custom),
            Origin::BuiltIn(..) => None,
        }
    }

    /// Whether this is the built-in resource with the given group and plural.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural && matches!(self.origin, Origin::BuiltIn(..))
    }
}
