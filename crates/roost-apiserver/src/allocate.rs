//! Cluster addresses and node ports: each is an entry of its own in the store, written in the same commit as its
//! Service, so that no two Services ever hold the same one.

use std::net::IpAddr;

use bytes::Bytes;
use roost_object::{GroupKind, Status, Value};
use roost_rules::network::service_allocation::{
    Changes, Pools, Refusal, allocate_for_create, allocate_for_update, held_by,
};
use roost_store::{Collection, Expect, Operation, Write};
use serde_json::json;

use crate::clock;
use crate::stored::Stored;
use crate::write::{Target, metadata_text};

/// Takes what a new Service needs: fills in its addresses and ports, and returns the writes that reserve them.
pub(crate) fn before_create(target: &Target<'_>, object: &mut Value, dry_run: bool) -> Result<Vec<Write>, Status> {
    if !is_service(target) {
        return Ok(Vec::new());
    }
    let space = Space::of(target);
    let changes = space.allocate(object, dry_run, allocate_for_create)?;
    Ok(space.writes(&changes, object))
}

/// The same for a change of a Service; what it no longer needs is released.
pub(crate) fn before_update(
    target: &Target<'_>,
    new: &mut Value,
    old: &Value,
    dry_run: bool,
) -> Result<Vec<Write>, Status> {
    if !is_service(target) {
        return Ok(Vec::new());
    }
    let space = Space::of(target);
    let changes = space.allocate(new, dry_run, |new, pools| allocate_for_update(new, old, pools))?;
    Ok(space.writes(&changes, new))
}

/// The writes that release what a deleted Service held.
pub(crate) fn release(target: &Target<'_>, old: &Value) -> Vec<Write> {
    if !is_service(target) {
        return Vec::new();
    }
    let held = held_by(old);
    let returned = Changes {
        returned_addresses: held.taken_addresses.into_iter().chain(held.returned_addresses).collect(),
        returned_ports: held.taken_ports.into_iter().chain(held.returned_ports).collect(),
        ..Changes::default()
    };
    Space::of(target).writes(&returned, old)
}

/// What to say when someone else took an address or port between choice and commit.
pub(crate) fn taken(target: &Target<'_>, object: &Value) -> Status {
    let why = "an address or port was taken by another Service, please try again";
    Status::conflict(&target.resource.group_resource(), metadata_text(object, "name"), why)
}

fn is_service(target: &Target<'_>) -> bool {
    target.subresource.is_empty() && target.resource.is("", "services")
}

/// Where reservations lie.
struct Space<'a> {
    target: &'a Target<'a>,
    addresses: Collection,
    ports: Collection,
}

impl<'a> Space<'a> {
    fn of(target: &'a Target<'a>) -> Space<'a> {
        let tenant = &target.call.cluster.tenant;
        Space {
            target,
            addresses: Collection::new(tenant, "networking.k8s.io", "ipaddresses"),
            ports: Collection::new(tenant, "roost.internal", "nodeports"),
        }
    }

    fn allocate(
        &self,
        service: &mut Value,
        dry_run: bool,
        choose: impl FnOnce(&mut Value, &Pools<'_>) -> Result<Changes, Refusal>,
    ) -> Result<Changes, Status> {
        let cluster = &self.target.call.cluster;
        let name = metadata_text(service, "name").to_owned();
        let pools = Pools {
            ranges: &[cluster.config.service_cidr],
            address_in_use: &|address| cluster.store.get(&self.addresses, &address.to_string()).is_some(),
            ports: cluster.config.node_ports.clone(),
            port_in_use: &|port| cluster.store.get(&self.ports, &port.to_string()).is_some(),
            seed: uuid::Uuid::new_v4().as_u128() as u64,
            dry_run,
        };
        choose(service, &pools).map_err(|refusal| match refusal {
            Refusal::Invalid(errors) => Status::invalid(&GroupKind::new("", "Service"), &name, &errors),
            Refusal::Exhausted(why) => Status::internal(why),
            Refusal::Failed(why) => Status::failure(500, "", why),
        })
    }

    /// The writes that make changes true. What is taken must be free at the moment of the commit.
    fn writes(&self, changes: &Changes, service: &Value) -> Vec<Write> {
        let owner = Bytes::copy_from_slice(self.target.key().as_bytes());
        let write = |collection: &Collection, name: String, expect: Expect, operation: Operation| Write {
            collection: collection.clone(),
            name: name.into(),
            expect,
            operation,
        };
        let addresses = &self.addresses;
        let ports = &self.ports;
        let mut writes = Vec::new();
        for address in &changes.taken_addresses {
            let object = Operation::Put(address_object(*address, service));
            writes.push(write(addresses, address.to_string(), Expect::Absent, object));
        }
        for port in &changes.taken_ports {
            writes.push(write(ports, port.to_string(), Expect::Absent, Operation::Put(owner.clone())));
        }
        let store = &self.target.call.cluster.store;
        let once = |ports: &[u16]| ports.iter().copied().collect::<std::collections::BTreeSet<u16>>();
        for address in &changes.returned_addresses {
            if store.get(addresses, &address.to_string()).is_some() {
                writes.push(write(addresses, address.to_string(), Expect::Anything, Operation::Delete));
            }
        }
        for port in once(&changes.returned_ports) {
            if store.get(ports, &port.to_string()).is_some() {
                writes.push(write(ports, port.to_string(), Expect::Anything, Operation::Delete));
            }
        }
        writes
    }
}

/// The IPAddress object behind an address, as stock keeps it.
fn address_object(address: IpAddr, service: &Value) -> Bytes {
    let object = json!({
        "metadata": {
            "name": address.to_string(),
            "uid": uuid::Uuid::new_v4().to_string(),
            "creationTimestamp": clock::now_text(),
            "labels": {
                "ipaddress.kubernetes.io/ip-family": if address.is_ipv6() { "IPv6" } else { "IPv4" },
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        },
        "spec": {"parentRef": {
            "group": "",
            "resource": "services",
            "namespace": metadata_text(service, "namespace"),
            "name": metadata_text(service, "name"),
        }},
    });
    Stored::encode(&object, "v1", roost_kinds::type_of("networking.k8s.io/v1", "IPAddress")).into_bytes()
}
