//! Versions that are read but not served: a body in one of them is told which version is expected, not that it is unknown.

/// The kinds of each such version.
const KINDS: &[(&str, &[&str])] = &[
    (
        "admissionregistration.k8s.io/v1beta1",
        &[
            "ValidatingWebhookConfiguration",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
        ],
    ),
    (
        "admissionregistration.k8s.io/v1alpha1",
        &[
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
        ],
    ),
    ("apps/v1beta1", &["Deployment", "DeploymentRollback", "Scale", "StatefulSet", "ControllerRevision"]),
    ("apps/v1beta2", &["Deployment", "Scale", "StatefulSet", "DaemonSet", "ReplicaSet", "ControllerRevision"]),
    ("authentication.k8s.io/v1beta1", &["SelfSubjectReview", "TokenReview"]),
    ("authentication.k8s.io/v1alpha1", &["SelfSubjectReview"]),
    (
        "authorization.k8s.io/v1beta1",
        &["SelfSubjectRulesReview", "SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview"],
    ),
    ("batch/v1beta1", &["CronJob"]),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"]),
    ("certificates.k8s.io/v1alpha1", &["ClusterTrustBundle"]),
    ("coordination.k8s.io/v1alpha2", &["LeaseCandidate"]),
    ("coordination.k8s.io/v1beta1", &["Lease", "LeaseCandidate"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    (
        "extensions/v1beta1",
        &["Deployment", "DeploymentRollback", "Scale", "DaemonSet", "Ingress", "ReplicaSet", "NetworkPolicy"],
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("flowcontrol.apiserver.k8s.io/v1beta2", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("flowcontrol.apiserver.k8s.io/v1beta3", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io/v1beta1", &["Ingress", "IngressClass", "IPAddress", "ServiceCIDR"]),
    ("node.k8s.io/v1alpha1", &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
    ("policy/v1beta1", &["PodDisruptionBudget", "Eviction"]),
    ("rbac.authorization.k8s.io/v1beta1", &["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"]),
    ("rbac.authorization.k8s.io/v1alpha1", &["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io/v1beta1", &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"]),
    (
        "resource.k8s.io/v1beta2",
        &["DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    (
        "storage.k8s.io/v1beta1",
        &["StorageClass", "VolumeAttachment", "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttributesClass"],
    ),
    ("storage.k8s.io/v1alpha1", &["VolumeAttachment", "CSIStorageCapacity", "VolumeAttributesClass"]),
];

/// Whether stock reads a kind in a version that nobody serves.
pub(crate) fn is_registered(api_version: &str, kind: &str) -> bool {
    if let Some(group) = api_version.strip_suffix("__internal") {
        return roost_kinds::resources()
            .iter()
            .any(|resource| resource.kind == kind && group.strip_suffix('/').unwrap_or(group) == resource.group);
    }
    KINDS.iter().any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_is_not_listed() {
        for (version, kinds) in KINDS {
            for kind in *kinds {
                assert!(roost_kinds::type_of(version, kind).is_none(), "{version} {kind}");
            }
        }
        assert!(is_registered("apps/v1beta1", "Deployment") && !is_registered("apps/v1beta1", "DaemonSet"));
    }
}
