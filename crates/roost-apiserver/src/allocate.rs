//! Cluster addresses and node ports: each is an entry of its own in the store, written in the same commit as its
//! Service, so that no two Services ever hold the same one.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use roost_object::field::{Error, Path};
use roost_object::{GroupKind, Status, Value};
use roost_rules::network::allocation;
use roost_store::{Collection, Expect, Operation, Write};
use serde_json::json;

use crate::clock;
use crate::stored::Stored;
use crate::write::{Target, metadata_text};

/// Takes what a new Service needs: fills in its address and ports, and returns the writes that reserve them.
pub(crate) fn before_create(target: &Target<'_>, object: &mut Value) -> Result<Vec<Write>, Status> {
    if !is_service(target) {
        return Ok(Vec::new());
    }
    reserve(target, object, None)
}

/// The same for a change of a Service; what it no longer needs is released.
pub(crate) fn before_update(target: &Target<'_>, new: &mut Value, old: &Value) -> Result<Vec<Write>, Status> {
    if !is_service(target) {
        return Ok(Vec::new());
    }
    reserve(target, new, Some(old))
}

/// The writes that release what a deleted Service held.
pub(crate) fn release(target: &Target<'_>, old: &Value) -> Vec<Write> {
    if !is_service(target) {
        return Vec::new();
    }
    let space = Space::of(target);
    let addresses = addresses(old).into_iter().map(|address| space.address_write(&address, Operation::Delete));
    let ports = ports(old).into_iter().map(|port| space.port_write(port, Operation::Delete));
    addresses.chain(ports).collect()
}

/// What to say when someone else took an address or port between choice and commit.
pub(crate) fn taken(target: &Target<'_>, object: &Value) -> Status {
    let name = metadata_text(object, "name");
    Status::conflict(
        &target.resource.group_resource(),
        name,
        "an address or port was taken by another Service, please try again",
    )
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

    fn address_write(&self, address: &str, operation: Operation) -> Write {
        let expect = if matches!(operation, Operation::Put(_)) { Expect::Absent } else { Expect::Anything };
        Write { collection: self.addresses.clone(), name: address.into(), expect, operation }
    }

    fn port_write(&self, port: u16, operation: Operation) -> Write {
        let expect = if matches!(operation, Operation::Put(_)) { Expect::Absent } else { Expect::Anything };
        Write { collection: self.ports.clone(), name: port.to_string().into(), expect, operation }
    }

    fn address_is_used(&self, address: IpAddr) -> bool {
        self.target.call.cluster.store.get(&self.addresses, &address.to_string()).is_some()
    }

    fn port_is_used(&self, port: u16) -> bool {
        self.target.call.cluster.store.get(&self.ports, &port.to_string()).is_some()
    }

    /// The IPAddress object behind an address, as stock keeps it.
    fn address_object(&self, address: &str, service: &Value) -> Bytes {
        let object = json!({
            "metadata": {
                "name": address,
                "uid": uuid::Uuid::new_v4().to_string(),
                "creationTimestamp": clock::now_text(),
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": if address.contains(':') { "IPv6" } else { "IPv4" },
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
        Stored::encode(&object, "v1").into_bytes()
    }
}

fn reserve(target: &Target<'_>, service: &mut Value, old: Option<&Value>) -> Result<Vec<Write>, Status> {
    let space = Space::of(target);
    let held_addresses = old.map(addresses).unwrap_or_default();
    let held_ports = old.map(ports).unwrap_or_default();
    if service["spec"]["type"] != "ExternalName" {
        set_families(target, service);
        assign_address(&space, service, &held_addresses)?;
    }
    assign_ports(&space, service, &held_ports)?;
    let wanted_addresses = addresses(service);
    let wanted_ports = ports(service);
    let mut writes = Vec::new();
    for address in wanted_addresses.iter().filter(|address| !held_addresses.contains(address)) {
        writes.push(space.address_write(address, Operation::Put(space.address_object(address, service))));
    }
    for address in held_addresses.iter().filter(|address| !wanted_addresses.contains(address)) {
        writes.push(space.address_write(address, Operation::Delete));
    }
    let owner: Arc<str> = target.key();
    for port in wanted_ports.iter().filter(|port| !held_ports.contains(port)) {
        writes.push(space.port_write(*port, Operation::Put(Bytes::copy_from_slice(owner.as_bytes()))));
    }
    for port in held_ports.iter().filter(|port| !wanted_ports.contains(port)) {
        writes.push(space.port_write(*port, Operation::Delete));
    }
    Ok(writes)
}

/// The address families of a Service: those of the cluster's one range, unless the Service says otherwise.
fn set_families(target: &Target<'_>, service: &mut Value) {
    let family = if target.call.cluster.config.service_cidr.addr().is_ipv6() { "IPv6" } else { "IPv4" };
    let spec = &mut service["spec"];
    if spec.get("ipFamilyPolicy").is_none() {
        spec["ipFamilyPolicy"] = "SingleStack".into();
    }
    if spec["ipFamilies"].as_array().is_none_or(Vec::is_empty) {
        spec["ipFamilies"] = json!([family]);
    }
}

/// Takes the address that a Service asks for, or finds it one.
fn assign_address(space: &Space<'_>, service: &mut Value, held: &[String]) -> Result<(), Status> {
    let range = space.target.call.cluster.config.service_cidr;
    let spec = &mut service["spec"];
    let wanted = spec["clusterIPs"][0].as_str().or_else(|| spec["clusterIP"].as_str()).unwrap_or_default().to_owned();
    let used = |address: IpAddr| space.address_is_used(address);
    let address = match wanted.as_str() {
        "" => {
            let seed = uuid::Uuid::new_v4().as_u128() as u64;
            let found = allocation::allocate_cluster_ip(&range, &used, seed);
            found.ok_or_else(|| Status::internal("failed to allocate a serviceIP: range is full"))?.to_string()
        }
        "None" => wanted,
        text if held.iter().any(|address| address == text) => wanted,
        text => {
            if let Ok(address) = text.parse::<IpAddr>() {
                allocation::claim_cluster_ip(address, &[range], &used).map_err(|why| {
                    refusal(service, "spec.clusterIPs", &json!([text]), &why.to_string(), "failed to allocate IP")
                })?;
            }
            wanted
        }
    };
    let spec = &mut service["spec"];
    spec["clusterIP"] = address.as_str().into();
    spec["clusterIPs"] = json!([address]);
    Ok(())
}

/// Takes the node ports that a Service asks for, and finds those it needs.
fn assign_ports(space: &Space<'_>, service: &mut Value, held: &[u16]) -> Result<(), Status> {
    let range = &space.target.call.cluster.config.node_ports;
    let kind = service["spec"]["type"].as_str().unwrap_or_default().to_owned();
    let wants_ports =
        kind == "NodePort" || (kind == "LoadBalancer" && service["spec"]["allocateLoadBalancerNodePorts"] != false);
    let mut taken: Vec<u16> = Vec::new();
    let count = service["spec"]["ports"].as_array().map_or(0, Vec::len);
    for index in 0..count {
        let port = &service["spec"]["ports"][index];
        let wanted = port["nodePort"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
        if wanted == 0 && !wants_ports {
            continue;
        }
        // Ports that differ only in protocol share a number.
        let number = port["port"].clone();
        let shared = (0..index).map(|other| &service["spec"]["ports"][other]).find(|other| {
            other["port"] == number && other["protocol"] != port["protocol"] && other["nodePort"].as_u64().is_some()
        });
        let used = |candidate: u16| taken.contains(&candidate) || space.port_is_used(candidate);
        let chosen = if wanted == 0 {
            let shared = shared.and_then(|other| other["nodePort"].as_u64()).and_then(|port| u16::try_from(port).ok());
            let seed = uuid::Uuid::new_v4().as_u128() as u64;
            shared
                .or_else(|| allocation::allocate_node_port(range, &used, seed))
                .ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))?
        } else {
            if !held.contains(&wanted) && !taken.contains(&wanted) {
                let path = format!("spec.ports[{index}].nodePort");
                allocation::claim_node_port(wanted, range, &used)
                    .map_err(|why| refusal(service, &path, &json!(wanted), &why.to_string(), ""))?;
            }
            wanted
        };
        taken.push(chosen);
        service["spec"]["ports"][index]["nodePort"] = chosen.into();
    }
    assign_health_port(space, service, held, &taken, range)
}

/// A load balancer that keeps traffic local asks the nodes on a port of its own whether they have endpoints.
fn assign_health_port(
    space: &Space<'_>,
    service: &mut Value,
    held: &[u16],
    taken: &[u16],
    range: &std::ops::RangeInclusive<u16>,
) -> Result<(), Status> {
    let spec = &service["spec"];
    if spec["type"] != "LoadBalancer" || spec["externalTrafficPolicy"] != "Local" {
        return Ok(());
    }
    let used = |candidate: u16| taken.contains(&candidate) || space.port_is_used(candidate);
    let wanted = spec["healthCheckNodePort"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
    let chosen = if wanted == 0 {
        let seed = uuid::Uuid::new_v4().as_u128() as u64;
        allocation::allocate_node_port(range, &used, seed)
            .ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))?
    } else {
        if !held.contains(&wanted) {
            allocation::claim_node_port(wanted, range, &used).map_err(|why| {
                Status::internal(format!("failed to allocate requested HealthCheck NodePort {wanted}: {why}"))
            })?;
        }
        wanted
    };
    service["spec"]["healthCheckNodePort"] = chosen.into();
    Ok(())
}

fn refusal(service: &Value, field: &str, value: &Value, why: &str, what: &str) -> Status {
    let detail = match what {
        "" => why.to_owned(),
        what => format!("{what} {}: {why}", value[0].as_str().unwrap_or_default()),
    };
    let error = Error::invalid(&Path::new(field), value.clone(), detail);
    Status::invalid(&GroupKind::new("", "Service"), metadata_text(service, "name"), &[error])
}

/// The addresses that a Service holds.
fn addresses(service: &Value) -> Vec<String> {
    if service["spec"]["type"] == "ExternalName" {
        return Vec::new();
    }
    let list = service["spec"]["clusterIPs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    list.filter(|address| !address.is_empty() && *address != "None").map(str::to_owned).collect()
}

/// The node ports that a Service holds.
fn ports(service: &Value) -> Vec<u16> {
    let mut ports: Vec<u16> = service["spec"]["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|port| port["nodePort"].as_u64())
        .chain(service["spec"]["healthCheckNodePort"].as_u64())
        .filter_map(|port| u16::try_from(port).ok())
        .filter(|port| *port > 0)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
