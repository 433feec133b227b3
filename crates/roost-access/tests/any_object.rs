//! Whatever an object looks like, nothing here panics.

use std::sync::Arc;

use proptest::prelude::*;
use roost_access::node::{AdmissionRequest, NodeIndex, NodeIndexKind, NodeObjects, Operation, PodReferences, restrict};
use roost_access::rbac::{EscalationRequest, ObjectKind, RbacIndex, aggregate, check_binding, check_role};
use roost_access::review::{AccessReview, ReviewKind, TokenReview, rules_review};
use roost_access::token::{BootstrapToken, TokenIssuer, TokenRequest, TokenRequestSettings, authenticate_bootstrap};
use roost_access::{Authorizer, User};
use serde_json::Value;

const FIELDS: &str = "metadata|name|namespace|uid|labels|annotations|spec|status|rules|verbs|resources|roleRef|subjects|\
    kind|aggregationRule|clusterRoleSelectors|matchLabels|matchExpressions|operator|values|key|nodeName|volumes|secret|\
    projected|sources|containers|env|valueFrom|resourceClaims|claimRef|csi|audiences|boundObjectRef|expirationSeconds|\
    resourceAttributes|nonResourceAttributes|fieldSelector|labelSelector|requirements|rawSelector|user|groups|extra|\
    token|data|type|taints|ownerReferences|request|signerName";

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(|a|In|Pod|v1|n1|Role|User|\\PC{0,6})".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 80, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(FIELDS, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

struct Anything(Value);

impl NodeObjects for Anything {
    fn pod(&self, _: &str, _: &str) -> Option<Arc<Value>> {
        Some(Arc::new(self.0.clone()))
    }
    fn node(&self, _: &str) -> Option<Arc<Value>> {
        Some(Arc::new(self.0.clone()))
    }
    fn persistent_volume_claim(&self, _: &str, _: &str) -> Option<Arc<Value>> {
        Some(Arc::new(self.0.clone()))
    }
    fn persistent_volume(&self, _: &str) -> Option<Arc<Value>> {
        Some(Arc::new(self.0.clone()))
    }
    fn csi_driver(&self, _: &str) -> Option<Arc<Value>> {
        Some(Arc::new(self.0.clone()))
    }
}

proptest! {
    #[test]
    fn roles_and_bindings(one in object(), other in object()) {
        let mut index = RbacIndex::default();
        for kind in [ObjectKind::Role, ObjectKind::ClusterRole, ObjectKind::RoleBinding, ObjectKind::ClusterRoleBinding] {
            index.apply(kind, &one);
            index.apply(kind, &other);
        }
        let user = User::new("a", ["a"]);
        let request = EscalationRequest { authorizer: &index, index: &index, user: &user, namespace: "a", name: "a" };
        let _ = check_role(&request, ObjectKind::ClusterRole, &one, Some(&other));
        let _ = check_binding(&request, ObjectKind::RoleBinding, &one, Some(&other));
        let _ = aggregate(&one, [&one, &other]);
        let _ = rules_review(&index, &user, &one);
        for kind in [ReviewKind::Subject, ReviewKind::LocalSubject, ReviewKind::SelfSubject] {
            if let Ok(review) = AccessReview::new(kind, &one, &user, "a") {
                let _ = review.status(&index.authorize(&review.attributes()));
            }
        }
    }

    #[test]
    fn what_kubelets_send(one in object(), other in object(), resource in 0usize..10) {
        let paths = [("", "pods"), ("", "nodes"), ("", "persistentvolumeclaims"), ("", "serviceaccounts"),
            ("coordination.k8s.io", "leases"), ("storage.k8s.io", "csinodes"), ("resource.k8s.io", "resourceslices"),
            ("certificates.k8s.io", "certificatesigningrequests"), ("apps", "deployments"), ("", "secrets")];
        let mut index = NodeIndex::default();
        for kind in [NodeIndexKind::Pod, NodeIndexKind::PersistentVolume, NodeIndexKind::VolumeAttachment, NodeIndexKind::ResourceSlice] {
            index.apply(kind, &one);
            index.apply(kind, &other);
        }
        let _ = PodReferences::of(&one);
        let user = User::new("system:node:n1", ["system:nodes"]);
        let (group, resource) = paths[resource];
        for subresource in ["", "status", "eviction", "token"] {
            for operation in [Operation::Create, Operation::Update, Operation::Delete] {
                let request = AdmissionRequest { user: &user, operation, group, resource, subresource, namespace: "a",
                    name: "n1", object: Some(&one), old_object: Some(&other) };
                let _ = restrict(&request, &Anything(other.clone()), &RbacIndex::default());
            }
        }
    }

    #[test]
    fn what_is_asked_about_tokens(one in object(), other in object()) {
        let now = "2026-11-01T12:00:00Z".parse().unwrap();
        let settings = TokenRequestSettings::new(vec!["api".into()]);
        if let Ok(request) = TokenRequest::new(one.clone(), "a", "a", Arc::new(other.clone()), &settings, now) {
            let issuer = TokenIssuer::new("iss", roost_pki::PrivateKey::generate().unwrap());
            let _ = request.issue(&issuer, &settings, Some(&other), Some(&one), "id".into(), now);
        }
        let token = BootstrapToken::parse("abcdef.0123456789abcdef").unwrap();
        let _ = authenticate_bootstrap(&token, &one, now);
        let _ = TokenReview::new(&one, &[]);
        let _ = User::from_object(&one);
    }
}
