//! One tenant: an independent Kubernetes cluster on the shared store.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use ipnet::{IpNet, Ipv4Net};
use parking_lot::{Mutex, RwLock};
use roost_object::{Status, Value};
use roost_store::{Collection, Entry, ListQuery, Revision, Store};
use tokio::sync::Notify;

use crate::access::Authorizer;
use crate::custom::CustomTable;
use crate::derived::Derived;
use crate::identity::Identity;
use crate::resource::{Origin, Resource};
use crate::seal::Sealer;
use crate::stored::Stored;
use crate::write::{convert_from_storage, key};

/// What distinguishes one tenant from another beside its objects.
pub struct ClusterConfig {
    /// The addresses that Services get.
    pub service_cidr: IpNet,
    /// The ports that Services of type NodePort get.
    pub node_ports: std::ops::RangeInclusive<u16>,
    /// The key that Secrets are sealed with before they reach the store; none leaves them plain.
    pub encryption_key: Option<[u8; 32]>,
    /// Where nodes and pods reach this API from the network, for the `kubernetes` Endpoints; none leaves it out.
    pub advertised: Option<(IpAddr, u16)>,
    /// Whether the controllers of workloads and the scheduler run for it. They do not beside stock's, nor where nobody
    /// runs pods.
    pub workloads: bool,
}

impl Default for ClusterConfig {
    /// An API alone: the usual networks, nothing sealed, nobody who reaches it from the network, no workloads.
    fn default() -> Self {
        let services = Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 16);
        Self {
            service_cidr: services.into(),
            node_ports: roost_rules::network::allocation::NODE_PORTS,
            encryption_key: None,
            advertised: None,
            workloads: false,
        }
    }
}

/// One tenant's API.
pub struct Cluster {
    pub(crate) tenant: String,
    pub(crate) store: Store,
    pub(crate) config: ClusterConfig,
    pub(crate) definitions: Derived<CustomTable>,
    pub(crate) authorizer: Authorizer,
    pub(crate) policies: crate::admission::Policies,
    pub(crate) flow: crate::flow::FlowControl,
    /// Which flow schema and priority level each answer names.
    pub(crate) flows: Derived<crate::classify::Flows>,
    /// In which way each user was last allowed to act as another, which is tried first the next time.
    pub(crate) impersonation: Mutex<HashMap<String, roost_access::impersonation::Mode>>,
    pub(crate) metrics: crate::metrics::Metrics,
    pub(crate) kubelets: crate::outgoing::Kubelets,
    /// The ways to nodes that nothing reaches.
    pub(crate) tunnels: Arc<crate::tunnel::Tunnels>,
    /// What the controllers of workloads look up, where they run.
    pub(crate) workloads: Option<Box<crate::inside::Workloads>>,
    pub(crate) audit: RwLock<Option<Arc<crate::audit::AuditLog>>>,
    identity: ArcSwap<Identity>,
    sealer: Option<Sealer>,
    closing: AtomicBool,
    closed: Notify,
}

impl Cluster {
    /// A tenant on a store. Nothing is read or written yet.
    pub fn new(tenant: &str, store: Store, config: ClusterConfig, identity: Identity) -> Arc<Cluster> {
        let collection = |group: &str, plural: &str| Collection::new(tenant, group, plural);
        Arc::new(Cluster {
            definitions: Derived::new([collection("apiextensions.k8s.io", "customresourcedefinitions")]),
            authorizer: Authorizer::new(tenant),
            policies: crate::admission::Policies::new(tenant),
            flow: crate::flow::FlowControl::new(tenant),
            flows: Derived::new(
                ["flowschemas", "prioritylevelconfigurations"]
                    .map(|plural| collection(crate::inside::FLOW_GROUP, plural)),
            ),
            impersonation: Mutex::default(),
            metrics: crate::metrics::Metrics::default(),
            kubelets: crate::outgoing::Kubelets::default(),
            tunnels: Arc::default(),
            workloads: config.workloads.then(|| Box::new(crate::inside::Workloads::new(tenant))),
            audit: RwLock::new(None),
            identity: ArcSwap::from_pointee(identity),
            sealer: config.encryption_key.map(|key| Sealer::new(&key)),
            tenant: tenant.to_owned(),
            store,
            config,
            closing: AtomicBool::new(false),
            closed: Notify::new(),
        })
    }

    /// Writes a line for every request to the given log from now on.
    pub fn set_audit_log(&self, log: crate::audit::AuditLog) {
        *self.audit.write() = Some(Arc::new(log));
    }

    /// Certificate authorities, keys and what they sign.
    pub fn identity(&self) -> Arc<Identity> {
        self.identity.load_full()
    }

    /// Trusts and signs with other keys from now on; open connections stay.
    pub fn set_identity(&self, identity: Identity) {
        self.identity.store(Arc::new(identity));
    }

    /// Ends all watches, so that connections can close.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.closed.notify_waiters();
    }

    /// Whether the tenant is being closed.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Waits until the tenant is being closed.
    pub(crate) async fn closing(&self) {
        let notified = self.closed.notified();
        if !self.is_closing() {
            notified.await;
        }
    }

    /// The resource at a path: built in, or brought by a definition.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        if let Some(resource) = Resource::built_in(group, version, plural) {
            return Some(Arc::clone(resource));
        }
        self.definitions.read(&self.store, |table| table.resource(group, version, plural))
    }

    /// All resources, one entry a served version.
    pub(crate) fn resources(&self) -> Vec<Arc<Resource>> {
        let mut resources: Vec<_> = Resource::all_built_in().cloned().collect();
        resources.extend(self.definitions.read(&self.store, |table| table.all()));
        resources
    }

    /// The resource of a kind, in any served version.
    pub(crate) fn resource_of_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Resource::all_built_in()
            .find(|resource| resource.kind == kind && resource.group == group && resource.version == version)
            .cloned()
            .or_else(|| {
                self.definitions.read(&self.store, |table| {
                    table.all().into_iter().find(|resource| {
                        resource.kind == kind && resource.group == group && resource.version == version
                    })
                })
            })
    }

    /// Reads an object by its coordinates, in its storage version.
    pub(crate) fn find(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let resource = self.storage_resource(group, plural)?;
        let entry = self.store.get(&resource.collection(&self.tenant), &key(&resource, namespace, name))?;
        self.decode(&resource, &entry).ok()
    }

    /// Reads all objects of a resource, or of one namespace of it.
    pub(crate) fn find_all(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let Some(resource) = self.storage_resource(group, plural) else { return Vec::new() };
        let prefix = (resource.namespaced && !namespace.is_empty()).then(|| format!("{namespace}/"));
        let query = ListQuery { prefix: prefix.as_deref(), ..ListQuery::default() };
        let Ok(page) = self.store.list(&resource.collection(&self.tenant), query) else { return Vec::new() };
        page.entries.iter().filter_map(|entry| self.decode(&resource, entry).ok()).collect()
    }

    /// A resource in the version that it is stored in.
    pub(crate) fn storage_resource(&self, group: &str, plural: &str) -> Option<Arc<Resource>> {
        Resource::all_built_in()
            .find(|resource| {
                resource.group == group && resource.plural == plural && resource.version == resource.storage_version()
            })
            .cloned()
            .or_else(|| {
                self.definitions.read(&self.store, |table| {
                    table.all().into_iter().find(|resource| {
                        resource.group == group
                            && resource.plural == plural
                            && resource.version == resource.storage_version()
                    })
                })
            })
    }

    /// Unpacks an entry without building a tree.
    pub(crate) fn open(&self, resource: &Resource, entry: &Entry) -> Result<Stored, Status> {
        self.open_bytes(resource, &entry.name, &entry.value)
    }

    /// Unpacks stored bytes without building a tree.
    pub(crate) fn open_bytes(&self, resource: &Resource, name: &str, bytes: &Bytes) -> Result<Stored, Status> {
        let plain = match &self.sealer {
            Some(sealer) if is_sealed(resource) => {
                sealer.open(name, bytes).map_err(|error| Status::internal(error.to_string()))?
            }
            _ => bytes.clone(),
        };
        Stored::new(plain).map_err(|error| Status::internal(error.to_string()))
    }

    /// Packs an object for the store; Secrets are sealed.
    pub(crate) fn seal(&self, resource: &Resource, name: &str, stored: Stored) -> Result<Bytes, Status> {
        match &self.sealer {
            Some(sealer) if is_sealed(resource) => {
                sealer.seal(name, &stored.into_bytes()).map_err(|error| Status::internal(error.to_string()))
            }
            _ => Ok(stored.into_bytes()),
        }
    }

    /// An entry as an object in its storage version.
    pub(crate) fn decode(&self, resource: &Resource, entry: &Entry) -> Result<Value, Status> {
        let stored = self.open(resource, entry)?;
        let api_version = resource.stored_api_version(&stored);
        stored.decode(&api_version, &resource.kind, entry.modified).map_err(|error| Status::internal(error.to_string()))
    }

    /// An entry as an object in the served version.
    pub(crate) fn decode_served(&self, resource: &Resource, entry: &Entry) -> Result<Value, Status> {
        self.decode_served_bytes(resource, &entry.name, &entry.value, entry.modified)
    }

    /// Stored bytes as an object in the served version.
    pub(crate) fn decode_served_bytes(
        &self,
        resource: &Resource,
        name: &str,
        bytes: &Bytes,
        revision: Revision,
    ) -> Result<Value, Status> {
        let stored = self.open_bytes(resource, name, bytes)?;
        let object = stored
            .decode(&resource.stored_api_version(&stored), &resource.kind, revision)
            .map_err(|error| Status::internal(error.to_string()))?;
        let mut object = convert_from_storage(resource, object)?;
        bring_up_to_date(resource, &stored, revision, &mut object);
        Ok(object)
    }

    /// An entry as writes start from it: as it is stored, but with the fields that the served version knows. Where a
    /// webhook converts, that is left to it.
    pub(crate) fn decode_live(&self, resource: &Resource, entry: &Entry) -> Result<Value, Status> {
        let mut object = self.decode(resource, entry)?;
        if resource.as_custom().is_some() && resource.webhook().is_none() {
            bring_up_to_date(resource, &self.open(resource, entry)?, entry.modified, &mut object);
        }
        Ok(object)
    }
}

/// Gives a custom resource of another version, or of an older definition, the defaults of the version that it is stored
/// in and the fields of the served one.
fn bring_up_to_date(resource: &Resource, stored: &Stored, revision: Revision, object: &mut Value) {
    let Origin::Custom(custom) = &resource.origin else { return };
    let Some(schema) = &custom.version().schema else { return };
    if resource.is_current(stored, revision) {
        return;
    }
    let at_rest = custom.definition.version_named(stored.version());
    if let Some(at_rest) = at_rest.and_then(|version| version.schema.as_ref()) {
        at_rest.apply_defaults(object);
    }
    schema.prune(object);
}

/// Secrets are what encryption at rest is about.
fn is_sealed(resource: &Resource) -> bool {
    resource.is("", "secrets")
}
