//! Which labels a kubelet may give to its own node.

use std::collections::BTreeMap;

/// Labels of Kubernetes' own that a kubelet knows the values of.
const KUBELET_LABELS: &[&str] = &[
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// Namespaces of Kubernetes' own that are a kubelet's to use.
const KUBELET_NAMESPACES: &[&str] = &["kubelet.kubernetes.io", "node.kubernetes.io"];

fn is_within(namespace: &str, parent: &str) -> bool {
    namespace == parent || namespace.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether a kubelet starts with this label. It refuses to start with others of Kubernetes' own, such as roles, because
/// a node must not be able to claim them.
pub fn is_registered_by_kubelet(key: &str) -> bool {
    let Some((namespace, _)) = key.split_once('/') else { return true };
    if !is_within(namespace, "kubernetes.io") && !is_within(namespace, "k8s.io") {
        return true;
    }
    KUBELET_LABELS.contains(&key) || KUBELET_NAMESPACES.iter().any(|parent| is_within(namespace, parent))
}

/// The labels that a node registers with.
pub fn registered_by_kubelet(labels: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().filter(|(key, _)| is_registered_by_kubelet(key)).map(|(key, value)| (key.as_str(), value.as_str()))
}

/// The labels that have to be put on the Node by somebody else, at once after it registered.
pub fn left_for_controllers(labels: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().filter(|(key, _)| !is_registered_by_kubelet(key)).map(|(key, value)| (key.as_str(), value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::is_registered_by_kubelet;

    #[test]
    fn kubelets_do_not_claim_roles() {
        for key in [
            "zone",
            "example.com/zone",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/x",
            "a.node.kubernetes.io/x",
            "notkubernetes.io/x",
        ] {
            assert!(is_registered_by_kubelet(key), "{key}");
        }
        for key in
            ["node-role.kubernetes.io/worker", "kubernetes.io/x", "node-restriction.kubernetes.io/x", "a.k8s.io/x"]
        {
            assert!(!is_registered_by_kubelet(key), "{key}");
        }
    }
}
