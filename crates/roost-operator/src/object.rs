//! Objects as the controllers handle them: documents with a kind, read and applied through one client.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, EvictParams, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use roost_api::hypershift::names::annotation::DESIRED_STATE_HASH;
use serde_json::{Value, json};

/// Who owns the fields that the controllers set.
pub(crate) const FIELD_MANAGER: &str = "roost-operator";
/// Writes of one plan that are under way at the same time.
const CONCURRENT_WRITES: usize = 16;

/// A kind that the controllers read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Namespace,
    Secret,
    ConfigMap,
    Service,
    HostedCluster,
    HostedControlPlane,
    NodePool,
    ControlPlaneComponent,
    ManagedCluster,
    CustomResourceDefinition,
    ClusterVersion,
    ClusterOperator,
    Machine,
    Node,
    Pod,
    Event,
    CertificateSigningRequest,
    ClusterRole,
    ClusterRoleBinding,
    AgentServiceConfig,
    InfraEnv,
    Agent,
    AgentMachine,
    AgentClassification,
    BareMetalHost,
    NMStateConfig,
}

impl Kind {
    /// Group, version, kind and plural.
    const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        const HYPERSHIFT: &str = "hypershift.openshift.io";
        const AGENT_INSTALL: &str = "agent-install.openshift.io";
        match self {
            Kind::Namespace => ("", "v1", "Namespace", "namespaces"),
            Kind::Secret => ("", "v1", "Secret", "secrets"),
            Kind::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Kind::Service => ("", "v1", "Service", "services"),
            Kind::HostedCluster => (HYPERSHIFT, "v1beta1", "HostedCluster", "hostedclusters"),
            Kind::HostedControlPlane => (HYPERSHIFT, "v1beta1", "HostedControlPlane", "hostedcontrolplanes"),
            Kind::NodePool => (HYPERSHIFT, "v1beta1", "NodePool", "nodepools"),
            Kind::ControlPlaneComponent => (HYPERSHIFT, "v1beta1", "ControlPlaneComponent", "controlplanecomponents"),
            Kind::ManagedCluster => ("cluster.open-cluster-management.io", "v1", "ManagedCluster", "managedclusters"),
            Kind::CustomResourceDefinition => {
                ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
            }
            Kind::ClusterVersion => ("config.openshift.io", "v1", "ClusterVersion", "clusterversions"),
            Kind::ClusterOperator => ("config.openshift.io", "v1", "ClusterOperator", "clusteroperators"),
            Kind::Machine => ("cluster.x-k8s.io", "v1beta1", "Machine", "machines"),
            Kind::Node => ("", "v1", "Node", "nodes"),
            Kind::Pod => ("", "v1", "Pod", "pods"),
            Kind::Event => ("", "v1", "Event", "events"),
            Kind::CertificateSigningRequest => {
                ("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests")
            }
            Kind::ClusterRole => ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles"),
            Kind::ClusterRoleBinding => {
                ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
            }
            Kind::AgentServiceConfig => (AGENT_INSTALL, "v1beta1", "AgentServiceConfig", "agentserviceconfigs"),
            Kind::InfraEnv => (AGENT_INSTALL, "v1beta1", "InfraEnv", "infraenvs"),
            Kind::Agent => (AGENT_INSTALL, "v1beta1", "Agent", "agents"),
            Kind::AgentClassification => (AGENT_INSTALL, "v1beta1", "AgentClassification", "agentclassifications"),
            Kind::NMStateConfig => (AGENT_INSTALL, "v1beta1", "NMStateConfig", "nmstateconfigs"),
            Kind::BareMetalHost => ("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts"),
            Kind::AgentMachine => {
                ("capi-provider.agent-install.openshift.io", "v1beta1", "AgentMachine", "agentmachines")
            }
        }
    }

    /// As documents name it.
    pub(crate) fn name(self) -> &'static str {
        self.names().2
    }

    /// As documents name its group and version.
    pub(crate) fn api_version(self) -> String {
        let (group, version, ..) = self.names();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = self.names();
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    fn of(api_version: &str, kind: &str) -> Option<Kind> {
        [
            Kind::Namespace,
            Kind::Secret,
            Kind::ConfigMap,
            Kind::Service,
            Kind::HostedCluster,
            Kind::HostedControlPlane,
            Kind::NodePool,
            Kind::ControlPlaneComponent,
            Kind::ManagedCluster,
            Kind::CustomResourceDefinition,
            Kind::ClusterVersion,
            Kind::ClusterOperator,
            Kind::Machine,
            Kind::Node,
            Kind::Pod,
            Kind::Event,
            Kind::CertificateSigningRequest,
            Kind::ClusterRole,
            Kind::ClusterRoleBinding,
            Kind::AgentServiceConfig,
            Kind::InfraEnv,
            Kind::Agent,
            Kind::AgentMachine,
            Kind::AgentClassification,
            Kind::BareMetalHost,
            Kind::NMStateConfig,
        ]
        .into_iter()
        .find(|known| known.name() == kind && known.api_version() == api_version)
    }
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) kind: Kind,
    /// Empty for what belongs to no namespace.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Reference {
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The object that a document describes.
    ///
    /// # Panics
    /// When the controllers build a document of a kind that they do not know, which tests find.
    pub(crate) fn of(document: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = Kind::of(&text(&document["apiVersion"]), &text(&document["kind"]))
            .expect("controllers build documents of known kinds");
        let metadata = &document["metadata"];
        Self { kind, namespace: text(&metadata["namespace"]), name: text(&metadata["name"]) }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        if namespace.is_empty() {
            write!(formatter, "{} {name}", kind.name())
        } else {
            write!(formatter, "{} {namespace}/{name}", kind.name())
        }
    }
}

/// What the API refused, and for which object.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {object}")]
pub(crate) struct ObjectError {
    action: &'static str,
    object: Reference,
    source: Box<kube::Error>,
}

impl ObjectError {
    fn new(action: &'static str, object: &Reference, source: kube::Error) -> Self {
        Self { action, object: object.clone(), source: Box::new(source) }
    }

    /// Whether the object changed or went while it was being worked on; trying again is all it takes.
    pub(crate) fn is_race(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.code == 409 || status.code == 404)
    }
}

/// What became of a pod that was asked to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Evicted {
    /// It leaves, or is gone.
    Leaving,
    /// A disruption budget does not allow it now.
    Refused(String),
}

/// A plane's objects.
#[derive(Clone)]
pub(crate) struct Objects {
    client: Client,
}

impl Objects {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let resource = kind.resource();
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    /// The object; none when it is not there.
    pub(crate) async fn find(&self, kind: Kind, namespace: &str, name: &str) -> Result<Option<Value>, ObjectError> {
        let found = self.api(kind, namespace).get_opt(name).await;
        let found = found.map_err(|error| ObjectError::new("read", &Reference::new(kind, namespace, name), error))?;
        Ok(found.map(to_value))
    }

    /// All objects of a kind, of one namespace unless that is empty.
    pub(crate) async fn list(&self, kind: Kind, namespace: &str) -> Result<Vec<Value>, ObjectError> {
        self.list_with(kind, namespace, &ListParams::default()).await
    }

    /// All objects of a kind with a label, of one namespace unless that is empty.
    pub(crate) async fn list_labelled(
        &self,
        kind: Kind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, ObjectError> {
        self.list_with(kind, namespace, &ListParams::default().labels(selector)).await
    }

    /// All objects of a kind that are on a node.
    pub(crate) async fn list_of_node(&self, kind: Kind, node: &str) -> Result<Vec<Value>, ObjectError> {
        self.list_with(kind, "", &ListParams::default().fields(&format!("spec.nodeName={node}"))).await
    }

    async fn list_with(&self, kind: Kind, namespace: &str, parameters: &ListParams) -> Result<Vec<Value>, ObjectError> {
        let listed = self.api(kind, namespace).list(parameters).await;
        let listed = listed.map_err(|error| ObjectError::new("list", &Reference::new(kind, namespace, "*"), error))?;
        let (api_version, name) = (kind.api_version(), kind.name());
        let complete = |object: DynamicObject| {
            let mut value = to_value(object);
            value["apiVersion"] = json!(api_version);
            value["kind"] = json!(name);
            value
        };
        Ok(listed.items.into_iter().map(complete).collect())
    }

    /// Makes or changes an object so that it has all that the document says. What others set stays.
    pub(crate) async fn apply(&self, document: &Value) -> Result<Value, ObjectError> {
        let object = Reference::of(document);
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let applied =
            self.api(object.kind, &object.namespace).patch(&object.name, &parameters, &Patch::Apply(document)).await;
        applied.map(to_value).map_err(|error| ObjectError::new("apply", &object, error))
    }

    /// Makes an object that must not be there yet; none when it is.
    pub(crate) async fn create(&self, document: &Value) -> Result<Option<Value>, ObjectError> {
        let object = Reference::of(document);
        let refuse = |error| ObjectError::new("make", &object, error);
        let parsed: DynamicObject =
            serde_json::from_value(document.clone()).map_err(|error| refuse(kube::Error::SerdeError(error)))?;
        match self.api(object.kind, &object.namespace).create(&PostParams::default(), &parsed).await {
            Ok(made) => Ok(Some(to_value(made))),
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => Ok(None),
            Err(error) => Err(refuse(error)),
        }
    }

    /// Merges a change into a part of an object that has a door of its own.
    pub(crate) async fn merge_part(
        &self,
        object: &Reference,
        part: &str,
        change: &Value,
    ) -> Result<Value, ObjectError> {
        let merged = self
            .api(object.kind, &object.namespace)
            .patch_subresource(part, &object.name, &PatchParams::default(), &Patch::Merge(change))
            .await;
        merged.map(to_value).map_err(|error| ObjectError::new("change a part of", object, error))
    }

    /// Applies many documents that do not depend on each other.
    pub(crate) async fn apply_all(&self, documents: &[Value]) -> Result<Vec<Value>, ObjectError> {
        let writes: Vec<_> = documents.iter().map(|document| self.apply(document)).collect();
        stream::iter(writes).buffer_unordered(CONCURRENT_WRITES).try_collect().await
    }

    /// Merges a change into an object.
    pub(crate) async fn merge(&self, object: &Reference, change: &Value) -> Result<Value, ObjectError> {
        let merged = self
            .api(object.kind, &object.namespace)
            .patch(&object.name, &PatchParams::default(), &Patch::Merge(change))
            .await;
        merged.map(to_value).map_err(|error| ObjectError::new("change", object, error))
    }

    /// Replaces an object's status.
    pub(crate) async fn set_status(&self, object: &Reference, status: &Value) -> Result<Value, ObjectError> {
        // A status is replaced as a whole, and merging null first would be two writes; a JSON patch is one.
        let patch = json!([{"op": "add", "path": "/status", "value": status}]);
        let Ok(patch) = serde_json::from_value(patch) else { return Ok(Value::Null) };
        let written = self
            .api(object.kind, &object.namespace)
            .patch_status(&object.name, &PatchParams::default(), &Patch::<Value>::Json(patch))
            .await;
        written.map(to_value).map_err(|error| ObjectError::new("report the status of", object, error))
    }

    /// Replaces the status of an object that was just read; refused when it changed meanwhile.
    pub(crate) async fn replace_status(&self, read: &Value, status: Value) -> Result<Value, ObjectError> {
        let reference = Reference::of(read);
        let refuse = |error| ObjectError::new("report the status of", &reference, error);
        let mut document = read.clone();
        document["status"] = status;
        let parsed: DynamicObject =
            serde_json::from_value(document).map_err(|error| refuse(kube::Error::SerdeError(error)))?;
        let api = self.api(reference.kind, &reference.namespace);
        let written = api.replace_status(&reference.name, &PostParams::default(), &parsed).await;
        written.map(to_value).map_err(refuse)
    }

    /// Takes a finalizer off an object that was just read, so that it can go. False when it changed meanwhile.
    pub(crate) async fn release(&self, object: &Value, finalizer: &str) -> Result<bool, ObjectError> {
        let rest: Vec<&str> = finalizers(object).filter(|&present| present != finalizer).collect();
        let version = &object["metadata"]["resourceVersion"];
        let change = json!({"metadata": {"finalizers": rest, "resourceVersion": version}});
        match self.merge(&Reference::of(object), &change).await {
            Err(error) if error.is_race() => Ok(false),
            Err(error) => Err(error),
            Ok(_) => Ok(true),
        }
    }

    /// Asks a pod to leave its node, as its disruption budgets allow. One that is gone has left.
    pub(crate) async fn evict(&self, pod: &Reference) -> Result<Evicted, ObjectError> {
        let api: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        match api.evict(&pod.name, &EvictParams::default()).await {
            Ok(_) => Ok(Evicted::Leaving),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Evicted::Leaving),
            Err(kube::Error::Api(status)) if status.code == 429 => Ok(Evicted::Refused(status.message.clone())),
            Err(error) => Err(ObjectError::new("evict", pod, error)),
        }
    }

    /// Asks for an object's deletion. Nothing happens when it is not there.
    pub(crate) async fn delete(&self, object: &Reference) -> Result<(), ObjectError> {
        match self.api(object.kind, &object.namespace).delete(&object.name, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(ObjectError::new("delete", object, error)),
            Ok(_) => Ok(()),
        }
    }
}

fn to_value(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Marks a document with what it says, so that it can be told later whether it would say something else now.
pub(crate) fn stamp(mut document: Value) -> Value {
    let mut hasher = DefaultHasher::new();
    document.to_string().hash(&mut hasher);
    document["metadata"]["annotations"][DESIRED_STATE_HASH] = json!(format!("{:016x}", hasher.finish()));
    document
}

/// Whether an object already has all that a document says. What a document no longer says is only seen when it was
/// stamped.
pub(crate) fn has_all(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| live.get(key).is_some_and(|live| has_all(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| has_all(live, wanted))
        }
        (live, wanted) => live == wanted,
    }
}

/// Whether an object is on its way out.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether an object carries a finalizer.
pub(crate) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|present| present == finalizer)
}

/// The finalizers of an object and one more; none when it carries that one already.
pub(crate) fn with_finalizer(object: &Value, finalizer: &str) -> Option<Value> {
    (!has_finalizer(object, finalizer)).then(|| finalizers(object).chain([finalizer]).collect())
}

/// What has to be done before an object can go.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// An annotation's value; empty when it is not there.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_may_have_more_than_is_wanted() {
        let live = json!({"data": {"a": "1", "b": "2"}, "list": [{"x": 1, "y": 2}]});
        assert!(has_all(&live, &json!({"data": {"a": "1"}, "list": [{"x": 1}]})));
        assert!(!has_all(&live, &json!({"data": {"a": "2"}})));
        assert!(!has_all(&live, &json!({"list": []})));
        assert!(!has_all(&live, &json!({"other": {}})));
    }

    #[test]
    fn documents_name_their_object() {
        let document = json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedControlPlane",
            "metadata": {"name": "demo", "namespace": "clusters-demo"}});
        let object = Reference::of(&document);
        assert_eq!(object.kind, Kind::HostedControlPlane);
        assert_eq!(object.to_string(), "HostedControlPlane clusters-demo/demo");
    }
}
