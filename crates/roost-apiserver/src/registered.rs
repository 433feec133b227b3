//! What stock can read where: the kinds of the server that a group belongs to, and versions that are not served any more,
//! of which a body is told which version is expected, not that it is unknown.

use roost_kinds::Type;
use roost_object::GroupVersionKind;

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
    ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition", "CustomResourceDefinitionList"]),
    ("apiregistration.k8s.io/v1beta1", &["APIService", "APIServiceList"]),
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

/// The kinds that every server inside stock knows in the version `v1`.
const EVERYWHERE: [&str; 12] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "Status",
    "UpdateOptions",
    "WatchEvent",
];

/// Two groups have servers of their own inside stock, which know nothing of other groups, nor others of them.
fn share_server(group: &str, other: &str) -> bool {
    const OWN: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
    let server = |group| OWN.iter().position(|own| *own == group);
    server(group) == server(other)
}

/// The type of a kind as far as the server of a group knows it.
pub(crate) fn type_of(group: &str, kind: &GroupVersionKind) -> Option<&'static Type> {
    let api_version = kind.api_version();
    let everywhere = api_version == "v1" && EVERYWHERE.contains(&kind.kind.as_str());
    if kind.group == "meta.k8s.io" || !(everywhere || share_server(group, &kind.group)) {
        return None;
    }
    roost_kinds::type_of(&api_version, &kind.kind)
}

/// Whether a group has a kind in any version, so that stock has an internal type of it.
pub(crate) fn is_internal(group: &str, kind: &str) -> bool {
    let group_of = |api_version: &'static str| api_version.split_once('/').map_or("", |(group, _)| group);
    roost_kinds::roots().any(|(api_version, name, _)| name == kind && group_of(api_version) == group)
}

/// Whether the server of a group reads a kind in a version that nobody serves.
pub(crate) fn is_registered(group: &str, kind: &GroupVersionKind) -> bool {
    let (api_version, kind) = (kind.api_version(), kind.kind.as_str());
    let own = api_version.split_once('/').map_or("", |(group, _)| group);
    if !share_server(group, own) {
        return false;
    }
    if let Some(group) = api_version.strip_suffix("__internal") {
        return roost_kinds::resources()
            .iter()
            .any(|resource| resource.kind == kind && group.strip_suffix('/').unwrap_or(group) == resource.group);
    }
    KINDS.iter().any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}

/// A kind as stock's own packages name it.
pub(crate) fn internal_name(group: &str, kind: &str) -> String {
    let package = match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    format!("{package}.{kind}")
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
        let is_registered = |group, kind| is_registered(group, &GroupVersionKind::parse("apps/v1beta1", kind));
        assert!(is_registered("apps", "Deployment") && is_registered("", "Deployment"));
        assert!(!is_registered("apps", "DaemonSet") && !is_registered("apiextensions.k8s.io", "Deployment"));
    }

    #[test]
    fn two_groups_have_servers_of_their_own() {
        let knows = |group, api_version, kind| type_of(group, &GroupVersionKind::parse(api_version, kind)).is_some();
        assert!(knows("apps", "v1", "Pod") && knows("", "apps/v1", "DeleteOptions"));
        assert!(!knows("apiextensions.k8s.io", "v1", "Pod") && knows("apiextensions.k8s.io", "v1", "DeleteOptions"));
        assert!(!knows("", "apiextensions.k8s.io/v1", "CustomResourceDefinition"));
        assert!(is_internal("", "PodList") && !is_internal("", "Deployment") && is_internal("apps", "Deployment"));
    }
}
