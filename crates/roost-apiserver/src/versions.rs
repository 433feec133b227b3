//! Objects in the other versions of their kind, for the owners that wrote in those.

use std::borrow::Cow;

use roost_kinds::TypeRef;
use roost_merge::apply::Versions;
use roost_object::{GroupVersionKind, Value};
use roost_schema::SchemaRef;

use crate::resource::{AnyNode, Origin, Resource};

/// The versions of a resource.
#[derive(Clone, Copy)]
pub(crate) struct ResourceVersions<'a>(pub(crate) &'a Resource);

impl<'a> Versions<AnyNode<'a>> for ResourceVersions<'a> {
    fn convert<'o>(&self, object: &'o Value, api_version: &str) -> Option<(Cow<'o, Value>, AnyNode<'a>)> {
        let resource = self.0;
        let own = object.get("apiVersion").and_then(Value::as_str).unwrap_or(&resource.api_version);
        match &resource.origin {
            Origin::BuiltIn(..) => {
                // Stock knows here only the versions of the group that is written to: events are in two.
                if GroupVersionKind::parse(api_version, "").group != resource.group {
                    return None;
                }
                let node = AnyNode::BuiltIn(TypeRef::from(roost_kinds::type_of(api_version, &resource.kind)?));
                if own == api_version {
                    return Some((Cow::Borrowed(object), node));
                }
                let mut object = object.clone();
                object["kind"] = resource.kind.as_str().into();
                let converted = roost_kinds::convert(object, own, api_version).ok()?;
                Some((Cow::Owned(converted), node))
            }
            Origin::Custom(custom) => {
                let version = api_version.strip_prefix(resource.group.as_str())?.strip_prefix('/')?;
                // What a webhook makes of an object is not asked for here: its versions count as alike.
                if resource.webhook().is_some() {
                    custom.definition.version_named(version)?;
                    return Some((Cow::Borrowed(object), resource.node()));
                }
                let node = match &custom.definition.version_named(version)?.schema {
                    Some(schema) => AnyNode::Custom(SchemaRef(schema)),
                    None => AnyNode::Untyped,
                };
                if own == api_version {
                    return Some((Cow::Borrowed(object), node));
                }
                let mut object = object.clone();
                object["apiVersion"] = api_version.into();
                Some((Cow::Owned(object), node))
            }
        }
    }
}
