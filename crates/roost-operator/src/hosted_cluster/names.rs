//! What the objects around a HostedCluster are called.

use serde_json::Value;

use crate::object::Kind;

/// The namespace of a hosted control plane.
pub(crate) fn control_plane_namespace(namespace: &str, name: &str) -> String {
    format!("{namespace}-{}", name.replace('.', "-"))
}

/// A Secret or ConfigMap of the user that a HostedCluster names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The field that names it.
    pub(crate) field: &'static str,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The key that must be there.
    pub(crate) key: &'static str,
    /// Its name beside the control plane; none keeps its own.
    copy: Option<&'static str>,
    /// Whether nothing can go on without it.
    pub(crate) critical: bool,
}

impl Reference {
    /// What it is called beside the control plane.
    pub(crate) fn copy_name(&self) -> &str {
        self.copy.unwrap_or(&self.name)
    }
}

/// A field that names a Secret or ConfigMap.
struct Field {
    name: &'static str,
    pointer: &'static str,
    kind: Kind,
    key: &'static str,
    copy: Option<&'static str>,
    critical: bool,
}

/// All fields that name Secrets and ConfigMaps, in the order in which these are copied.
const FIELDS: [Field; 6] = [
    Field {
        name: "spec.pullSecret",
        pointer: "/pullSecret/name",
        kind: Kind::Secret,
        key: ".dockerconfigjson",
        copy: Some("pull-secret"),
        critical: true,
    },
    Field {
        name: "spec.secretEncryption.aescbc.activeKey",
        pointer: "/secretEncryption/aescbc/activeKey/name",
        kind: Kind::Secret,
        key: "key",
        copy: None,
        critical: true,
    },
    Field {
        name: "spec.sshKey",
        pointer: "/sshKey/name",
        kind: Kind::Secret,
        key: "id_rsa.pub",
        copy: Some("ssh-key"),
        critical: false,
    },
    Field {
        name: "spec.additionalTrustBundle",
        pointer: "/additionalTrustBundle/name",
        kind: Kind::ConfigMap,
        key: "ca-bundle.crt",
        copy: Some("user-ca-bundle"),
        critical: false,
    },
    Field {
        name: "spec.auditWebhook",
        pointer: "/auditWebhook/name",
        kind: Kind::Secret,
        key: "webhook-kubeconfig",
        copy: None,
        critical: false,
    },
    Field {
        name: "spec.serviceAccountSigningKey",
        pointer: "/serviceAccountSigningKey/name",
        kind: Kind::Secret,
        key: "key",
        copy: None,
        critical: false,
    },
];

/// What a HostedCluster's spec names.
pub(crate) fn references(spec: &Value) -> Vec<Reference> {
    let name_of = |field: &Field| spec.pointer(field.pointer).and_then(Value::as_str).filter(|name| !name.is_empty());
    FIELDS
        .iter()
        .filter_map(|field| {
            let Field { name, kind, key, copy, critical, .. } = *field;
            Some(Reference { field: name, kind, name: name_of(field)?.to_owned(), key, copy, critical })
        })
        .collect()
}

/// A Secret that the control plane makes for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialName {
    /// Beside the control plane.
    pub(crate) original: &'static str,
    /// What follows the cluster's name in the copy beside the HostedCluster.
    suffix: &'static str,
    /// The field of the HostedCluster's status that names the copy.
    pub(crate) status: &'static str,
}

impl CredentialName {
    /// The copy beside the HostedCluster.
    pub(crate) fn copy_of(self, cluster: &str) -> String {
        format!("{cluster}-{}", self.suffix)
    }
}

/// All Secrets that the control plane makes for the user.
pub(crate) const CREDENTIALS: [CredentialName; 3] = [
    CredentialName { original: "admin-kubeconfig", suffix: "admin-kubeconfig", status: "kubeconfig" },
    CredentialName {
        original: "custom-admin-kubeconfig",
        suffix: "custom-admin-kubeconfig",
        status: "customKubeconfig",
    },
    CredentialName { original: "kubeadmin-password", suffix: "kubeadmin-password", status: "kubeadminPassword" },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dots_of_a_name_become_dashes() {
        assert_eq!(control_plane_namespace("clusters", "demo.one"), "clusters-demo-one");
    }

    #[test]
    fn empty_names_refer_to_nothing() {
        let spec = json!({"pullSecret": {"name": "demo-pull-secret"}, "sshKey": {"name": ""}});
        let names: Vec<_> = references(&spec).into_iter().map(|reference| reference.name).collect();
        assert_eq!(names, ["demo-pull-secret"]);
    }
}
