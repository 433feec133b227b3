//! What nodes may do in their cluster, beside the default roles.

use serde_json::{Value, json};

use crate::object::{Kind, ObjectError, Objects, has_all};

/// Binding, role, kind of subject, subject. Whoever has a bootstrap token may ask for a certificate, and nobody's is
/// approved for that alone; the API itself may use kubelets.
const BINDINGS: [(&str, &str, &str, &str); 2] = [
    ("roost:node-bootstrapper", "system:node-bootstrapper", "Group", "system:bootstrappers"),
    ("roost:kubelet-api-admin", "system:kubelet-api-admin", "User", "system:kube-apiserver"),
];

/// What nodes read to make the pod network: who else is there, which Services, who serves them, and who may speak with whom.
const NETWORK: &str = "roost:node-network";

/// Grants what is missing.
pub(super) async fn grant(guest: &Objects, has_default_network: bool) -> Result<(), ObjectError> {
    for (name, role, kind, subject) in BINDINGS {
        if guest.find(Kind::ClusterRoleBinding, "", name).await?.is_none() {
            guest.apply(&binding(name, role, kind, subject)).await?;
        }
    }
    if !has_default_network {
        return Ok(());
    }
    let role = network_role();
    if !guest.find(Kind::ClusterRole, "", NETWORK).await?.is_some_and(|live| has_all(&live, &role)) {
        guest.apply(&role).await?;
    }
    if guest.find(Kind::ClusterRoleBinding, "", NETWORK).await?.is_none() {
        guest.apply(&binding(NETWORK, NETWORK, "Group", "system:nodes")).await?;
    }
    Ok(())
}

fn network_role() -> Value {
    let verbs = ["list", "watch"];
    json!({
        "apiVersion": Kind::ClusterRole.api_version(), "kind": Kind::ClusterRole.name(),
        "metadata": {"name": NETWORK},
        "rules": [
            {"apiGroups": [""], "resources": ["namespaces", "nodes", "pods", "services"], "verbs": verbs},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": verbs},
            {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": verbs},
        ],
    })
}

fn binding(name: &str, role: &str, kind: &str, subject: &str) -> Value {
    json!({
        "apiVersion": Kind::ClusterRoleBinding.api_version(), "kind": Kind::ClusterRoleBinding.name(),
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}],
    })
}
