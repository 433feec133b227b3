//! Objects that are packed once for all tenants. Defaults and owners of fields cost far more than the copy that a tenant
//! gets, in which only the uid and the times are its own.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use roost_access::rbac;
use roost_merge::apply;
use roost_object::{Status, Value};
use roost_store::{Expect, Operation, Write};
use serde_json::json;

use super::owners;
use crate::call::Call;
use crate::clock;
use crate::inside::{ROLE_AGGREGATION, gather_rules};
use crate::resource::Resource;
use crate::write::{self, Target};

/// Stands for the uid until a tenant has its own. Nothing else in a fresh cluster contains this text.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Stands for the time of creation, wherever it occurs.
pub(super) const NO_TIME: &str = "0000-00-00T00:00:00Z";

/// An object of a fresh cluster, packed for the store.
pub(super) struct Prepared {
    resource: Arc<Resource>,
    key: Arc<str>,
    packed: Bytes,
    /// Where in the packed bytes the uid belongs.
    uids: Vec<usize>,
    /// Where in the packed bytes the time of creation belongs.
    times: Vec<usize>,
}

impl Prepared {
    /// Packs an object. The rules are those that a controller gathers for a role that is made of others.
    fn new(call: &Call, place: Place, object: Value, rules: Option<&Vec<Value>>) -> Result<Prepared, Status> {
        let Place { resource, namespace, name } = place;
        let target = Target { call, resource: &resource, namespace: &namespace, name: &name, subresource: "" };
        let object = resource.fill_required(object);
        let mut object = resource.settled(&object).into_owned();
        write::apply_defaults(&resource, &mut object);
        let protection = write::metadata_mut(&mut object).remove("finalizers");
        let settled = owners::take_settled(&mut object);
        let filter = write::filter(&target);
        let tracking = write::tracking(&target, owners::creator(&object), NO_TIME, &filter);
        apply::update(None, &mut object, &tracking, resource.node());
        owners::put_settled(&mut object, settled);
        if let Some(finalizers) = protection {
            let made = object.clone();
            write::metadata_mut(&mut object).insert("finalizers".into(), finalizers);
            let tracking = write::tracking(&target, write::CONTROLLERS, NO_TIME, &filter);
            apply::update(Some(&made), &mut object, &tracking, resource.node());
        }
        if let Some(rules) = rules {
            let said = json!({"rules": rules});
            object = owners::apply(&target, &object, ROLE_AGGREGATION, said)?;
        }
        if let Some((manager, status)) = owners::judged(&object) {
            let target = Target { subresource: "status", ..target };
            object = owners::apply(&target, &object, manager, json!({"status": status}))?;
        }
        let metadata = write::metadata_mut(&mut object);
        metadata.insert("uid".into(), NO_UID.into());
        metadata.insert("creationTimestamp".into(), NO_TIME.into());
        if resource.rules().is_some_and(|rules| rules.generation != roost_rules::Generation::Never) {
            metadata.insert("generation".into(), 1.into());
        }
        let packed = write::pack(&target, &object)?;
        let (uids, times) = (places(&packed, NO_UID), places(&packed, NO_TIME));
        let key = target.key();
        Ok(Prepared { resource, key, packed, uids, times })
    }

    /// The write that makes the object for a tenant.
    fn write(&self, call: &Call, now: &str) -> Write {
        let mut own = BytesMut::from(&*self.packed);
        let uid = uuid::Uuid::new_v4().to_string();
        for (places, text) in [(&self.uids, uid.as_str()), (&self.times, now)] {
            for place in places {
                own[*place..*place + text.len()].copy_from_slice(text.as_bytes());
            }
        }
        Write {
            collection: self.resource.collection(&call.cluster.tenant),
            name: Arc::clone(&self.key),
            expect: Expect::Absent,
            operation: Operation::Put(own.freeze()),
        }
    }
}

/// Where an object belongs.
struct Place {
    resource: Arc<Resource>,
    namespace: String,
    name: String,
}

impl Place {
    /// None when the object's kind is not served.
    fn of(call: &Call, object: &Value) -> Option<Place> {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let resource = call.cluster.resource_of_kind(text("apiVersion"), text("kind"))?;
        let metadata = |name: &str| write::metadata_text(object, name).to_owned();
        Some(Place { resource, namespace: metadata("namespace"), name: metadata("name") })
    }
}

/// The writes that a tenant lacks: of the objects that all tenants have alike, and of its own.
pub(super) fn missing(call: &Call, own: Vec<Value>) -> Result<Vec<Write>, Status> {
    let now = clock::now_text();
    let lacks = |resource: &Resource, key: &str| {
        call.cluster.store.get(&resource.collection(&call.cluster.tenant), key).is_none()
    };
    let lacking = shared(call)?.iter().filter(|prepared| lacks(&prepared.resource, &prepared.key));
    let mut writes: Vec<Write> = lacking.map(|prepared| prepared.write(call, &now)).collect();
    for object in own {
        let Some(place) = Place::of(call, &object) else { continue };
        if lacks(&place.resource, &write::key(&place.resource, &place.namespace, &place.name)) {
            writes.push(Prepared::new(call, place, object, None)?.write(call, &now));
        }
    }
    Ok(writes)
}

/// What all tenants have alike, packed when the first tenant comes.
fn shared(call: &Call) -> Result<&'static [Prepared], Status> {
    static SHARED: OnceLock<Vec<Prepared>> = OnceLock::new();
    if let Some(shared) = SHARED.get() {
        return Ok(shared);
    }
    let objects: Vec<Value> = super::shared_objects().collect();
    let gathered = gathered_rules(&objects);
    let mut shared = Vec::new();
    for object in objects {
        if let Some(place) = Place::of(call, &object) {
            let rules = gathered.get(&place.name).filter(|_| rbac::is_aggregated(&object));
            shared.push(Prepared::new(call, place, object, rules)?);
        }
    }
    Ok(SHARED.get_or_init(|| shared))
}

/// The rules of roles that are made of others, which may be made of others themselves, by name.
fn gathered_rules(objects: &[Value]) -> HashMap<String, Vec<Value>> {
    let mut roles: Vec<Value> = objects.iter().filter(|object| object["kind"] == "ClusterRole").cloned().collect();
    let mut gathered = HashMap::new();
    loop {
        let next = gather_rules(&roles);
        if next.is_empty() {
            return gathered;
        }
        for (name, rules) in next {
            for role in roles.iter_mut().filter(|role| write::metadata_text(role, "name") == name) {
                role["rules"] = rules.clone().into();
            }
            gathered.insert(name, rules);
        }
    }
}

fn places(packed: &[u8], text: &str) -> Vec<usize> {
    let windows = packed.windows(text.len()).enumerate();
    windows.filter(|(_, window)| *window == text.as_bytes()).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use roost_store::{ListQuery, Options, Store};

    use super::*;
    use crate::cluster::{Cluster, ClusterConfig};
    use crate::identity::Identity;

    fn tenant(name: &str, store: &Store) -> Arc<Cluster> {
        let config = ClusterConfig::default();
        let identity = Identity::generate(jiff::Timestamp::now(), "https://issuer.example.com").unwrap();
        Cluster::new(name, store.clone(), config, identity)
    }

    #[tokio::test]
    async fn each_tenant_gets_its_own_uids_and_times_and_nothing_twice() {
        let store = Store::memory(Options::default());
        let (one, two) = (tenant("one", &store), tenant("two", &store));
        one.bootstrap().await.unwrap();
        two.bootstrap().await.unwrap();
        let revision = store.revision();
        one.bootstrap().await.unwrap();
        assert_eq!(store.revision(), revision, "a second start makes nothing");
        for collection in store.collections("one") {
            for entry in store.list(&collection, ListQuery::default()).unwrap().entries {
                let text = String::from_utf8_lossy(&entry.value).into_owned();
                assert!(!text.contains(NO_UID) && !text.contains(NO_TIME), "{collection} {}: {text}", entry.name);
            }
        }
        let uid = |cluster: &Cluster| {
            let role = cluster.find(rbac::GROUP, "clusterroles", "", "admin").unwrap();
            write::metadata_text(&role, "uid").to_owned()
        };
        assert_ne!(uid(&one), uid(&two));
    }

    #[tokio::test]
    async fn roles_that_are_made_of_others_come_complete() {
        let one = tenant("one", &Store::memory(Options::default()));
        one.bootstrap().await.unwrap();
        let roles = one.find_all(rbac::GROUP, "clusterroles", "");
        assert_eq!(gather_rules(&roles), []);
        let admin = one.find(rbac::GROUP, "clusterroles", "", "admin").unwrap();
        assert!(admin["rules"].as_array().is_some_and(|rules| rules.len() > 10));
        let managers: Vec<&Value> =
            admin["metadata"]["managedFields"].as_array().unwrap().iter().map(|entry| &entry["manager"]).collect();
        assert_eq!(managers, [ROLE_AGGREGATION, write::API_SERVER]);
    }
}
