//! The admission rules for kubelets: a node writes only its own objects, and not all of them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_object::field::quote;
use roost_object::{GroupResource, Status};
use roost_pki::CertificateRequest;
use serde_json::Value;

use super::label::forbidden_labels;
use super::reference::api_object_reference;
use super::service_account_audience::check_audience;
use super::{MIRROR_POD, NODE_LEASES};
use crate::authorizer::Authorizer;
use crate::user::{NODE_PREFIX, User};

/// What admission is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// A deletion.
    Delete,
    /// A connection to a subresource.
    Connect,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        })
    }
}

/// A write, as admission sees it.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What is done.
    pub operation: Operation,
    /// The resource's group.
    pub group: &'a str,
    /// The resource's plural.
    pub resource: &'a str,
    /// The subresource; empty for the resource itself.
    pub subresource: &'a str,
    /// The namespace; empty for cluster-scoped resources.
    pub namespace: &'a str,
    /// The name, from the URL or from a new object.
    pub name: &'a str,
    /// The object as it shall be.
    pub object: Option<&'a Value>,
    /// The object as it is.
    pub old_object: Option<&'a Value>,
}

impl AdmissionRequest<'_> {
    /// The 403 of an admission rule.
    pub fn forbidden(&self, why: &str) -> Status {
        let metadata = |field: &str| {
            let text = self.object.and_then(|object| object["metadata"][field].as_str());
            text.filter(|text| !text.is_empty())
        };
        let name = match self.name {
            "" => metadata("name").or_else(|| metadata("generateName")).unwrap_or("Unknown"),
            name => name,
        };
        Status::forbidden(&GroupResource::new(self.group, self.resource), name, why)
    }
}

/// The objects that the rules look at, as they are now.
pub trait NodeObjects {
    /// A pod.
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// A node.
    fn node(&self, name: &str) -> Option<Arc<Value>>;
    /// A claim of a volume.
    fn persistent_volume_claim(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// A volume.
    fn persistent_volume(&self, name: &str) -> Option<Arc<Value>>;
    /// A storage driver.
    fn csi_driver(&self, name: &str) -> Option<Arc<Value>>;
}

/// Checks a write by a kubelet; writes of everyone else pass.
pub fn restrict(
    request: &AdmissionRequest<'_>,
    objects: &dyn NodeObjects,
    authorizer: &dyn Authorizer,
) -> Result<(), Status> {
    let Some(node) = request.user.node_name() else {
        return Ok(());
    };
    if request.operation == Operation::Connect {
        return Ok(());
    }
    if node.is_empty() {
        let words = format!("could not determine node from user {}", quote(&request.user.name));
        return Err(request.forbidden(&words));
    }
    let rules = Rules { request, node, objects };
    match (request.group, request.resource) {
        ("", "pods") => match request.subresource {
            "" => rules.pod(),
            "status" => rules.pod_status(),
            "eviction" => rules.pod_eviction(),
            other => rules.refuse(format!(
                "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
                quote(other)
            )),
        },
        ("", "nodes") => rules.own_node(),
        ("", "persistentvolumeclaims") if request.subresource == "status" => rules.claim_status(),
        ("", "persistentvolumeclaims") => rules.refuse("may only update PVC status"),
        ("", "serviceaccounts") => rules.token(authorizer),
        ("certificates.k8s.io", "podcertificaterequests") => {
            rules.refuse("PodCertificateRequest feature gate is disabled")
        }
        ("coordination.k8s.io", "leases") => rules.lease(),
        ("storage.k8s.io", "csinodes") => {
            rules.own_name("can only access CSINode with the same name as the requesting node")
        }
        ("resource.k8s.io", "resourceslices") => rules.resource_slice(),
        ("certificates.k8s.io", "certificatesigningrequests") => rules.signing_request(),
        _ => Ok(()),
    }
}

struct Rules<'a> {
    request: &'a AdmissionRequest<'a>,
    node: &'a str,
    objects: &'a dyn NodeObjects,
}

impl Rules<'_> {
    fn refuse(&self, words: impl AsRef<str>) -> Result<(), Status> {
        Err(self.request.forbidden(words.as_ref()))
    }

    fn new_object(&self) -> &Value {
        self.request.object.unwrap_or(&Value::Null)
    }

    fn old_object(&self) -> &Value {
        self.request.old_object.unwrap_or(&Value::Null)
    }

    fn find_pod(&self, name: &str) -> Result<Arc<Value>, Status> {
        let pod = self.objects.pod(self.request.namespace, name);
        pod.ok_or_else(|| Status::not_found(&GroupResource::new("", "pod"), name))
    }

    fn is_own(&self, pod: &Value) -> bool {
        pod["spec"]["nodeName"].as_str() == Some(self.node)
    }

    fn pod(&self) -> Result<(), Status> {
        let node = quote(self.node);
        match self.request.operation {
            Operation::Create => self.mirror_pod(),
            Operation::Delete if self.is_own(&*self.find_pod(self.request.name)?) => Ok(()),
            Operation::Delete => {
                self.refuse(format!("node {node} can only delete pods with spec.nodeName set to itself"))
            }
            other => self.refuse(format!(
                "unexpected operation \"{other}\", node {node} can only create and delete mirror pods"
            )),
        }
    }

    fn mirror_pod(&self) -> Result<(), Status> {
        let pod = self.new_object();
        let node = quote(self.node);
        if pod["metadata"]["annotations"].get(MIRROR_POD).is_none() {
            return self.refuse(format!(
                "pod does not have {} annotation, node {node} can only create mirror pods",
                quote(MIRROR_POD)
            ));
        }
        if !self.is_own(pod) {
            return self.refuse(format!("node {node} can only create pods with spec.nodeName set to itself"));
        }
        let owners = pod["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        let owner = match owners {
            [] => {
                return self.refuse(format!("node {node} can only create pods with an owner reference set to itself"));
            }
            [owner] => owner,
            _ => {
                return self
                    .refuse(format!("node {node} can only create pods with a single owner reference set to itself"));
            }
        };
        if owner["apiVersion"] != "v1" || owner["kind"] != "Node" || owner["name"] != self.node {
            return self.refuse(format!("node {node} can only create pods with an owner reference set to itself"));
        }
        if owner["controller"] != true {
            return self
                .refuse(format!("node {node} can only create pods with a controller owner reference set to itself"));
        }
        if owner["blockOwnerDeletion"] == true {
            return self.refuse(format!("node {node} must not set blockOwnerDeletion on an owner reference"));
        }
        let Some(own) = self.objects.node(self.node) else {
            return Err(Status::not_found(&GroupResource::new("", "node"), self.node));
        };
        let uid = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (claimed, real) = (uid(&owner["uid"]), uid(&own["metadata"]["uid"]));
        if claimed != real {
            return self.refuse(format!("node {} UID mismatch: expected {claimed} got {real}", self.node));
        }
        match api_object_reference(pod) {
            Ok(None) => Ok(()),
            Ok(Some(what)) => self.refuse(format!("node {node} can not create pods that reference {what}")),
            Err(words) => self.refuse(format!("error checking mirror pod for API references: {words}")),
        }
    }

    fn pod_status(&self) -> Result<(), Status> {
        let node = quote(self.node);
        if self.request.operation != Operation::Update {
            return self.refuse(format!("unexpected operation \"{}\"", self.request.operation));
        }
        let (old, new) = (self.old_object(), self.new_object());
        if !self.is_own(old) {
            return self
                .refuse(format!("node {node} can only update pod status for pods with spec.nodeName set to itself"));
        }
        if !is_same(&old["metadata"]["labels"], &new["metadata"]["labels"]) {
            return self.refuse(format!("node {node} cannot update labels through pod status"));
        }
        if !is_same(&old["status"]["resourceClaimStatuses"], &new["status"]["resourceClaimStatuses"]) {
            return self.refuse(format!("node {node} cannot update resource claim statues"));
        }
        if !is_same(&old["status"]["extendedResourceClaimStatus"], &new["status"]["extendedResourceClaimStatus"]) {
            return self.refuse(format!("node {node} cannot update extended resource claim status"));
        }
        Ok(())
    }

    fn pod_eviction(&self) -> Result<(), Status> {
        if self.request.operation != Operation::Create {
            return self.refuse(format!("unexpected operation {}", self.request.operation));
        }
        let from_body = self.new_object()["metadata"]["name"].as_str().unwrap_or_default();
        let name = if self.request.name.is_empty() { from_body } else { self.request.name };
        if name.is_empty() {
            return self.refuse("could not determine pod from request data");
        }
        if self.is_own(&*self.find_pod(name)?) {
            Ok(())
        } else {
            self.refuse(format!("node {} can only evict pods with spec.nodeName set to itself", self.node))
        }
    }

    fn claim_status(&self) -> Result<(), Status> {
        if self.request.operation != Operation::Update {
            return self.refuse(format!("unexpected operation \"{}\"", self.request.operation));
        }
        let strip = |object: &Value| {
            let mut object = object.clone();
            let free = [
                ("metadata", ["resourceVersion", "managedFields"].as_slice()),
                ("status", &["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"]),
            ];
            for (part, fields) in free {
                if let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) {
                    part.retain(|field, _| !fields.contains(&&**field));
                }
            }
            object
        };
        if strip(self.old_object()) == strip(self.new_object()) {
            return Ok(());
        }
        self.refuse(format!(
            "node {} is not allowed to update fields other than status.quantity and status.conditions: ",
            quote(self.node)
        ))
    }

    fn own_node(&self) -> Result<(), Status> {
        let node = quote(self.node);
        let (old, new) = (self.old_object(), self.new_object());
        if self.request.name != self.node {
            let other = quote(self.request.name);
            return self.refuse(format!("node {node} is not allowed to modify node {other}"));
        }
        let source = &new["spec"]["configSource"];
        match self.request.operation {
            Operation::Create => {
                if !source.is_null() {
                    return self
                        .refuse(format!("node {node} is not allowed to create pods with a non-nil configSource"));
                }
                let forbidden = forbidden_labels(new, &Value::Null);
                if !forbidden.is_empty() {
                    let labels = join(&forbidden);
                    return self.refuse(format!("node {node} is not allowed to set the following labels: {labels}"));
                }
            }
            Operation::Update => {
                if !source.is_null() && *source != old["spec"]["configSource"] {
                    return self.refuse(format!(
                        "node {node} is not allowed to update configSource to a new non-nil configSource"
                    ));
                }
                if !is_same(&new["spec"]["taints"], &old["spec"]["taints"]) {
                    return self.refuse(format!("node {node} is not allowed to modify taints"));
                }
                if !is_same(&new["metadata"]["ownerReferences"], &old["metadata"]["ownerReferences"]) {
                    return self.refuse(format!("node {node} is not allowed to modify ownerReferences"));
                }
                let forbidden = forbidden_labels(new, old);
                if !forbidden.is_empty() {
                    return self.refuse(format!("is not allowed to modify labels: {}", join(&forbidden)));
                }
            }
            Operation::Delete | Operation::Connect => {}
        }
        Ok(())
    }

    fn token(&self, authorizer: &dyn Authorizer) -> Result<(), Status> {
        if self.request.operation != Operation::Create || self.request.subresource != "token" {
            return Ok(());
        }
        let reference = &self.new_object()["spec"]["boundObjectRef"];
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        if text("apiVersion") != "v1" || text("kind") != "Pod" || text("name").is_empty() {
            return self.refuse("node requested token not bound to a pod");
        }
        if text("uid").is_empty() {
            return self.refuse("node requested token with a pod binding without a uid");
        }
        let pod = self.find_pod(text("name"))?;
        if pod["metadata"]["uid"] != text("uid") {
            return self.refuse(format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
                 deleted and then recreated",
                text("uid")
            ));
        }
        if !self.is_own(&pod) {
            return self.refuse("node requested token bound to a pod scheduled on a different node");
        }
        check_audience(self.request, &pod, self.objects, authorizer).or_else(|words| self.refuse(words))
    }

    fn own_name(&self, words: &str) -> Result<(), Status> {
        let name = match self.request.operation {
            Operation::Create => self.new_object()["metadata"]["name"].as_str().unwrap_or_default(),
            _ => self.request.name,
        };
        if name == self.node { Ok(()) } else { self.refuse(words) }
    }

    fn lease(&self) -> Result<(), Status> {
        if self.request.namespace != NODE_LEASES {
            return self.refuse(format!("can only access leases in the {} system namespace", quote(NODE_LEASES)));
        }
        self.own_name("can only access node lease with the same name as the requesting node")
    }

    fn resource_slice(&self) -> Result<(), Status> {
        let (object, word) = match self.request.operation {
            Operation::Create => (self.new_object(), "create"),
            Operation::Delete => (self.old_object(), "delete"),
            _ => return Ok(()),
        };
        if self.is_own(object) {
            return Ok(());
        }
        self.refuse(format!("can only {word} ResourceSlice with the same NodeName as the requesting node"))
    }

    fn signing_request(&self) -> Result<(), Status> {
        let spec = &self.new_object()["spec"];
        let signers = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
        let is_ours = spec["signerName"].as_str().is_some_and(|name| signers.contains(&name));
        if self.request.operation != Operation::Create || !is_ours {
            return Ok(());
        }
        let bytes = spec["request"].as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
        let read = CertificateRequest::from_pem(&String::from_utf8_lossy(&bytes));
        match read {
            Err(error) => self.refuse(format!("unable to parse csr: {error}")),
            Ok(read) if read.subject().common_name == format!("{NODE_PREFIX}{}", self.node) => Ok(()),
            Ok(_) => self.refuse(format!("can only create a node CSR with CN=system:node:{}", self.node)),
        }
    }
}

/// Equal, where missing, null and empty are the same.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    one == other || (is_empty(one) && is_empty(other))
}

fn join(labels: &BTreeSet<&str>) -> String {
    labels.iter().copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "restriction_tests.rs"]
mod tests;
