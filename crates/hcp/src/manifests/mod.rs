//! Objects from high arguments: the same, in the same order and with the same fields as upstream renders them.
//!
//! Pure: what is random, and what only the management plane knows, is passed in.

mod hosted_cluster;
mod infra_id;
mod node_pool;
mod secrets;

use serde_json::{Value, json};

use crate::high::{HighArguments, NodePoolRequest};

pub(crate) use infra_id::{INFRA_ID_LETTERS, infra_id};

/// The group and version of hosted clusters.
pub(crate) const API_VERSION: &str = "hypershift.openshift.io/v1beta1";
/// The label of what belongs to one infrastructure; `destroy` finds leftovers by it.
pub(crate) const INFRA_LABEL: &str = "hypershift.openshift.io/auto-created-for-infra";
/// The label of Secrets that may go with the cluster.
pub(crate) const DELETE_WITH_CLUSTER_LABEL: &str = "hypershift.openshift.io/safe-to-delete-with-cluster";
/// How the name of the Secret with the encryption key ends.
pub(crate) const ENCRYPTION_KEY: &str = "-etcd-encryption-key";
/// The name of the ConfigMap with authorities to trust.
const TRUST_BUNDLE: &str = "user-ca-bundle";

/// What is neither on the command line nor decided here.
pub(crate) struct Circumstances {
    /// The release, or an empty text when nobody knows one.
    pub(crate) release_image: String,
    /// The address of the management plane for node ports, if it is known.
    pub(crate) plane_address: Option<String>,
    /// The name of the infrastructure.
    pub(crate) infra_id: String,
    /// The key that Secrets are encrypted with.
    pub(crate) encryption_key: [u8; 32],
    /// A new SSH key, when one was asked for.
    pub(crate) ssh_key: Option<SshKey>,
}

/// Both halves of an SSH key.
pub(crate) struct SshKey {
    pub(crate) public: Vec<u8>,
    pub(crate) private: Vec<u8>,
}

/// All objects of a new cluster, in the order in which they are printed.
pub(crate) fn cluster(request: &HighArguments, circumstances: &Circumstances) -> Vec<Value> {
    let mut objects = vec![namespace(&request.namespace)];
    objects.extend(trust_bundle(request));
    objects.push(secrets::pull_secret(request));
    objects.extend(secrets::ssh_key(request, circumstances.ssh_key.as_ref()));
    objects.extend(secrets::infra_credentials(request));
    objects.push(secrets::encryption_key(request, &circumstances.encryption_key));
    objects.push(hosted_cluster::hosted_cluster(request, circumstances));
    objects.extend(node_pool::of_cluster(request, &circumstances.release_image));
    objects
}

/// The object of a later NodePool.
pub(crate) fn node_pool(request: &NodePoolRequest, release_image: &str) -> Value {
    node_pool::node_pool(
        (&request.namespace, &request.name, &request.cluster_name),
        &request.node_pool,
        release_image,
        None,
    )
}

/// Whether an object holds something that must not be shown by itself.
pub(crate) fn is_sensitive(object: &Value) -> bool {
    object["kind"] == "Secret"
}

/// YAML as upstream prints it: a line of dashes ends each object.
pub(crate) fn to_yaml<'a>(objects: impl IntoIterator<Item = &'a Value>) -> String {
    let mut text = String::new();
    for object in objects {
        text.push_str(&roost_object::yaml::write(object));
        text.push_str("---\n");
    }
    text
}

/// The form in which an object is sent: without status, and labelled with its infrastructure.
pub(crate) fn applied(mut object: Value, infra_id: &str) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object["metadata"]["labels"][INFRA_LABEL] = json!(infra_id);
    object
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {}, "status": {}})
}

fn trust_bundle(request: &HighArguments) -> Option<Value> {
    let bundle = request.files.trust_bundle.as_ref()?;
    Some(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": TRUST_BUNDLE, "namespace": request.namespace},
        "data": {"ca-bundle.crt": bundle},
    }))
}

#[cfg(test)]
mod tests;
