//! What expressions are told about a write.

use std::collections::HashMap;

use roost_admission::policy::Input;
use roost_object::{GroupResource, Status, Value};

use super::super::Attributes;
use super::super::request::{Invocation, Kind};
use super::access::Caller;

/// The objects of a write in the version that a policy asks for, and what is around them.
pub(in super::super) struct Objects {
    pub(in super::super) object: Value,
    old: Value,
    request: Value,
    namespace: Value,
}

impl Objects {
    pub(in super::super) async fn of(
        attributes: &Attributes<'_>,
        object: &Value,
        invocation: &Invocation,
    ) -> Result<Objects, Status> {
        let [object, old] = attributes.objects(object, invocation).await?;
        Ok(Objects { object, old, request: attributes.request(invocation), namespace: namespace_of(attributes)? })
    }

    /// All of it as expressions see it, with parameters.
    pub(in super::super) fn input<'a>(&'a self, caller: &'a Caller<'a>, parameters: &'a Value) -> Input<'a> {
        Input {
            object: &self.object,
            old_object: &self.old,
            request: &self.request,
            parameters,
            namespace: &self.namespace,
            authorizer: caller,
        }
    }
}

/// The namespace, without what expressions do not see of it.
fn namespace_of(attributes: &Attributes<'_>) -> Result<Value, Status> {
    const HIDDEN: [&str; 3] = ["managedFields", "ownerReferences", "selfLink"];
    let scope = attributes.scope();
    if scope.is_empty() || attributes.target.resource.is("", "namespaces") {
        return Ok(Value::Null);
    }
    let Some(namespace) = attributes.target.call.cluster.namespace(scope) else {
        return Err(Status::not_found(&GroupResource::new("", "namespaces"), scope));
    };
    let mut object = namespace.object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| matches!(name.as_str(), "metadata" | "spec" | "status"));
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !HIDDEN.contains(&name.as_str()));
        }
    }
    Ok(object)
}

/// The objects of a write by the kind that policies ask for: most ask for the same.
#[derive(Default)]
pub(super) struct ByKind(HashMap<(Kind, [String; 3]), Objects>);

impl ByKind {
    pub(super) async fn get(
        &mut self,
        attributes: &Attributes<'_>,
        object: &Value,
        invocation: &Invocation,
    ) -> Result<&Objects, Status> {
        let key = (invocation.kind.clone(), invocation.resource.clone());
        if !self.0.contains_key(&key) {
            self.0.insert(key.clone(), Objects::of(attributes, object, invocation).await?);
        }
        Ok(&self.0[&key])
    }
}
