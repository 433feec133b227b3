//! `ResourceQuota`: a write that quotas count is committed together with what is then used.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roost_admission::amounts::Amounts;
use roost_admission::quota::{self, DeviceClasses, Evaluator, Objects, Quota, Request};
use roost_object::{Status, Value};
use roost_store::{Expect, ListQuery, Operation, Write};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::index::StoredQuota;
use super::{Attributes, Verb};
use crate::call::Call;
use crate::cluster::Cluster;
use crate::write::{self, Change, ChangeKind, Target};

/// How long a write waits for others of its namespace, as on stock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Namespaces share this many turns: enough that two busy ones seldom meet.
const TURNS: usize = 32;

/// Who may charge the quotas of a namespace: one write at a time, so that none is refused because of another that fails,
/// and none has to be tried again. Made with the first quota that counts something.
#[derive(Default)]
pub(super) struct Turns(OnceLock<[Arc<Mutex<()>>; TURNS]>);

impl Turns {
    async fn take(&self, namespace: &str) -> Option<OwnedMutexGuard<()>> {
        let hash = namespace.bytes().fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let turns = self.0.get_or_init(|| std::array::from_fn(|_| Arc::default()));
        let turn = Arc::clone(&turns[hash % TURNS]);
        tokio::time::timeout(PATIENCE, turn.lock_owned()).await.ok()
    }
}

/// What is written together with an admitted object.
#[derive(Default)]
pub(crate) struct Admitted {
    /// The changes of other objects. When one of them meets a conflict, admission has to be asked again.
    pub(crate) writes: Vec<Write>,
    /// Held until the write is made.
    _turn: Option<OwnedMutexGuard<()>>,
}

impl Admitted {
    /// Whether a write of a commit is one of these, which come right before the write at `end`.
    pub(crate) fn has(&self, end: usize, index: usize) -> bool {
        (end - self.writes.len()..end).contains(&index)
    }
}

/// Checks a write against the quotas of its namespace.
pub(super) async fn charge(attributes: &Attributes<'_>, object: &Value) -> Result<Admitted, Status> {
    let target = &attributes.target;
    let cluster = &target.call.cluster;
    if attributes.verb == Verb::Delete || !target.resource.namespaced || target.namespace.is_empty() {
        return Ok(Admitted::default());
    }
    let policies = &cluster.policies;
    if !cluster.has_quotas(target.namespace) {
        return Ok(Admitted::default());
    }
    let Some(evaluator) = Evaluator::of(&target.resource.group, &target.resource.plural) else {
        return Ok(Admitted::default());
    };
    let request = Request {
        evaluator: &evaluator,
        subresource: target.subresource,
        object,
        old: attributes.old,
        now: jiff::Timestamp::now().as_second(),
        devices: &Devices { cluster },
    };
    if !request.counts() {
        return Ok(Admitted::default());
    }
    let Some(turn) = policies.quota_turns.take(target.namespace).await else {
        return Err(Status::internal("resource quota evaluation timed out"));
    };
    let stored = policies.quotas.read(&cluster.store, |quotas| quotas.of(target.namespace));
    let quotas: Vec<Quota> = stored.iter().map(|stored| stored.quota.clone()).collect();
    let charges = quota::check(&quotas, &request).map_err(|refusal| attributes.forbidden(object, &refusal.0))?;
    if attributes.dry_run || charges.is_empty() {
        return Ok(Admitted::default());
    }
    let writes = charges.into_iter().map(|(index, used)| charged(cluster, target.namespace, &stored[index], used));
    Ok(Admitted { writes: writes.collect::<Result<_, _>>()?, _turn: Some(turn) })
}

/// The write of a quota with what is used now.
fn charged(cluster: &Arc<Cluster>, namespace: &str, stored: &StoredQuota, used: Value) -> Result<Write, Status> {
    let call = Call::internal(cluster);
    let resource = cluster.resource("", "v1", "resourcequotas").ok_or_else(Status::unknown_path)?;
    let name = &stored.quota.name;
    let target = Target { call: &call, resource: &resource, namespace, name, subresource: "status" };
    let mut object = stored.object.clone();
    object["status"]["used"] = used;
    write::track(&target, Some(&stored.object), &mut object, "kube-apiserver");
    Ok(Write {
        collection: target.collection(),
        name: target.key(),
        expect: Expect::Revision(stored.revision),
        operation: Operation::Put(write::pack(&target, &object)?),
    })
}

/// Brings the status of all quotas of a namespace up to date with its objects. What controllers do after objects went,
/// or a quota was changed.
pub(crate) async fn refresh(cluster: &Arc<Cluster>, namespace: &str) -> Result<(), Status> {
    let stored = cluster.policies.quotas.read(&cluster.store, |quotas| quotas.of(namespace));
    for quota in stored {
        match refresh_one(cluster, namespace, &quota).await {
            Err(status) if status.code != 404 => return Err(status),
            _ => {}
        }
    }
    Ok(())
}

async fn refresh_one(cluster: &Arc<Cluster>, namespace: &str, stored: &StoredQuota) -> Result<(), Status> {
    let now = jiff::Timestamp::now().as_second();
    let status = |quota: &Value| {
        let objects = NamespaceObjects { cluster, namespace };
        quota::recalculate(quota, &objects, &Devices { cluster }, now)
    };
    if status(&stored.object).is_none() {
        return Ok(());
    }
    let call = Call::internal(cluster);
    let resource = cluster.resource("", "v1", "resourcequotas").ok_or_else(Status::unknown_path)?;
    let name = &stored.quota.name;
    let target = Target { call: &call, resource: &resource, namespace, name, subresource: "status" };
    let transform = |live: &Value| {
        let mut next = live.clone();
        if let Some(status) = status(live) {
            next["status"] = status;
        }
        Ok(next)
    };
    let change = Change { kind: ChangeKind::Patch, transform: &transform, create: false };
    let options = write::internal_options(write::CONTROLLERS);
    write::update(target, change, &options).await.map(|_| ())
}

/// The objects of a namespace, as usage is counted from.
struct NamespaceObjects<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
}

impl Objects for NamespaceObjects<'_> {
    fn for_each(&self, group: &str, plural: &str, visit: &mut dyn FnMut(&Value)) -> bool {
        if self.cluster.storage_resource(group, plural).is_none() {
            return false;
        }
        self.cluster.find_all(group, plural, self.namespace).iter().for_each(visit);
        true
    }

    fn count(&self, group: &str, plural: &str) -> Option<usize> {
        let resource = self.cluster.storage_resource(group, plural).filter(|resource| resource.namespaced)?;
        let prefix = format!("{}/", self.namespace);
        let query = ListQuery { prefix: Some(&prefix), ..ListQuery::default() };
        let page = self.cluster.store.list(&resource.collection(&self.cluster.tenant), query).ok()?;
        Some(page.entries.len())
    }
}

/// Device classes, asked for only by claims for devices.
struct Devices<'a> {
    cluster: &'a Cluster,
}

impl Devices<'_> {
    fn classes(&self) -> impl Iterator<Item = (String, String)> {
        self.cluster.find_all("resource.k8s.io", "deviceclasses", "").into_iter().filter_map(|class| {
            let resource = class["spec"]["extendedResourceName"].as_str().filter(|name| !name.is_empty())?;
            Some((write::metadata_text(&class, "name").to_owned(), resource.to_owned()))
        })
    }

    fn owner(&self, claim: &Value) -> Option<Value> {
        const ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";
        if claim["metadata"]["annotations"][ANNOTATION] != "true" {
            return None;
        }
        let owners = claim["metadata"]["ownerReferences"].as_array()?;
        let owner = owners.iter().find(|owner| owner["controller"] == true)?;
        if owner["kind"] != "Pod" || owner["apiVersion"] != "v1" {
            return None;
        }
        let namespace = write::metadata_text(claim, "namespace");
        let pod = self.cluster.find("", "pods", namespace, owner["name"].as_str()?)?;
        (pod["metadata"]["uid"] == owner["uid"]).then_some(pod)
    }
}

impl DeviceClasses for Devices<'_> {
    fn extended_resource(&self, class: &str) -> Option<String> {
        self.classes().find(|(name, _)| name == class).map(|(_, resource)| resource)
    }

    fn has_class_for(&self, extended_resource: &str) -> bool {
        self.classes().any(|(_, resource)| resource == extended_resource)
    }

    fn usage_of_pod(&self, claim: &Value) -> Amounts {
        let Some(pod) = self.owner(claim) else { return Amounts::new() };
        let named = pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"].as_str();
        if named.is_some_and(|name| name != write::metadata_text(claim, "name")) {
            return Amounts::new();
        }
        quota::pod_usage(&pod, jiff::Timestamp::now().as_second())
    }
}
