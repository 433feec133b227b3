//! What a tenant's own objects ask of its writes, as indexes that are built when first needed.

use std::sync::Arc;

use roost_admission::limits::LimitRange;
use roost_object::Value;
use roost_store::Collection;

use super::index::{ByNamespace, Classes, Namespace, Namespaces, StoredQuota};
use super::policy::PolicyTable;
use super::quota::Turns;
use super::webhook::Webhooks;
use crate::cluster::Cluster;
use crate::derived::Derived;
use crate::outgoing::Pool;

/// The group of what configures admission.
const REGISTRATION: &str = "admissionregistration.k8s.io";

/// The indexes of one tenant.
pub(crate) struct Policies {
    namespaces: Derived<Namespaces>,
    limit_ranges: Derived<ByNamespace<LimitRange>>,
    pub(super) quotas: Derived<ByNamespace<StoredQuota>>,
    pub(super) quota_turns: Turns,
    priority_classes: Derived<Classes>,
    runtime_classes: Derived<Classes>,
    storage_classes: Derived<Classes>,
    ingress_classes: Derived<Classes>,
    pub(super) policy_table: Derived<PolicyTable>,
    pub(super) webhooks: Derived<Webhooks>,
    /// Connections to webhooks.
    pub(crate) connections: Pool,
}

impl Policies {
    /// Nothing is read before the first write.
    pub(crate) fn new(tenant: &str) -> Policies {
        let collection = |group: &str, plural: &str| [Collection::new(tenant, group, plural)];
        Policies {
            namespaces: Derived::new(collection("", "namespaces")),
            limit_ranges: Derived::new(collection("", "limitranges")),
            quotas: Derived::new(collection("", "resourcequotas")),
            quota_turns: Turns::default(),
            priority_classes: Derived::new(collection("scheduling.k8s.io", "priorityclasses")),
            runtime_classes: Derived::new(collection("node.k8s.io", "runtimeclasses")),
            storage_classes: Derived::new(collection("storage.k8s.io", "storageclasses")),
            ingress_classes: Derived::new(collection("networking.k8s.io", "ingressclasses")),
            policy_table: Derived::new(
                PolicyTable::SOURCES.map(|plural| Collection::new(tenant, REGISTRATION, plural)),
            ),
            webhooks: Derived::new(Webhooks::SOURCES.map(|plural| Collection::new(tenant, REGISTRATION, plural))),
            connections: Pool::default(),
        }
    }
}

impl Cluster {
    /// A namespace, without decoding it anew.
    pub(crate) fn namespace(&self, name: &str) -> Option<Arc<Namespace>> {
        self.policies.namespaces.read(&self.store, |namespaces| namespaces.get(name))
    }

    /// The limit ranges of a namespace, by name.
    pub(super) fn limit_ranges(&self, namespace: &str) -> Vec<Arc<LimitRange>> {
        self.policies
            .limit_ranges
            .read(&self.store, |ranges| if ranges.has(namespace) { ranges.of(namespace) } else { Vec::new() })
    }

    /// Whether a namespace has quotas.
    pub(crate) fn has_quotas(&self, namespace: &str) -> bool {
        self.policies.quotas.read(&self.store, |quotas| quotas.has(namespace))
    }

    /// A class by kind and name.
    pub(super) fn class(&self, kind: ClassKind, name: &str) -> Option<Arc<Value>> {
        self.classes(kind).read(&self.store, |classes| classes.get(name))
    }

    /// The first of those classes that pass a filter, in an order.
    pub(super) fn first_class<K: Ord>(
        &self,
        kind: ClassKind,
        filter: impl Fn(&Value) -> bool,
        order: impl Fn(&Value) -> K,
    ) -> Option<Arc<Value>> {
        self.classes(kind).read(&self.store, |classes| {
            classes.iter().filter(|class| filter(class)).min_by_key(|class| order(class)).cloned()
        })
    }

    fn classes(&self, kind: ClassKind) -> &Derived<Classes> {
        let policies = &self.policies;
        match kind {
            ClassKind::Priority => &policies.priority_classes,
            ClassKind::Runtime => &policies.runtime_classes,
            ClassKind::Storage => &policies.storage_classes,
            ClassKind::Ingress => &policies.ingress_classes,
        }
    }
}

/// What a class is of.
#[derive(Clone, Copy)]
pub(super) enum ClassKind {
    Priority,
    Runtime,
    Storage,
    Ingress,
}
