//! The parameters that a binding brings to its policy.

use std::sync::Arc;

use roost_admission::policy::{Binding, MissingParameter, ParameterKind, ParameterReference};
use roost_object::Value;

use super::super::Attributes;
use crate::resource::Resource;
use crate::write::convert_from_storage;

/// The resource of a policy's parameters; the error is in stock's words.
pub(super) fn resource_of(
    attributes: &Attributes<'_>,
    kind: Option<&ParameterKind>,
) -> Result<Option<Arc<Resource>>, String> {
    let Some(kind) = kind else { return Ok(None) };
    let found = attributes.target.call.cluster.resource_of_kind(&kind.api_version, &kind.kind);
    let unknown = || format!("failed to find resource referenced by paramKind: '{}'", kind.shown());
    found.ok_or_else(unknown).map(Some)
}

/// All parameters to evaluate a policy with: null when it has none, nothing when the binding does not count then.
pub(super) fn collect(
    attributes: &Attributes<'_>,
    resource: Option<&Arc<Resource>>,
    binding: &Binding,
) -> Result<Vec<Value>, String> {
    let (Some(resource), Some(reference)) = (resource, &binding.parameters) else { return Ok(vec![Value::Null]) };
    let namespace = namespace_of(attributes, resource, reference)?;
    let cluster = &attributes.target.call.cluster;
    let stored = match &reference.selector {
        None => cluster.find(&resource.group, &resource.plural, namespace, &reference.name).into_iter().collect(),
        Some(Err(why)) => return Err(why.clone()),
        Some(Ok(selector)) => {
            let mut all = cluster.find_all(&resource.group, &resource.plural, namespace);
            all.retain(|object| selector.matches_object(object));
            all
        }
    };
    let found: Vec<Value> =
        stored.into_iter().filter_map(|object| convert_from_storage(resource, object).ok()).collect();
    if found.is_empty() && reference.missing == MissingParameter::Deny {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found)
}

fn namespace_of<'a>(
    attributes: &'a Attributes<'_>,
    resource: &Resource,
    reference: &'a ParameterReference,
) -> Result<&'a str, String> {
    if !resource.namespaced {
        if reference.namespace.is_empty() {
            return Ok("");
        }
        return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
    }
    let own = attributes.scope();
    if !reference.namespace.is_empty() {
        return Ok(&reference.namespace);
    }
    if own.is_empty() {
        let why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
        return Err(why.to_owned());
    }
    Ok(own)
}
