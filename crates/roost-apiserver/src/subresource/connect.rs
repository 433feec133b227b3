//! Ways into running things: logs, exec, attach, port-forward and proxies, as far as the server itself answers for them.

use std::net::IpAddr;
use std::sync::Arc;

use http::Response;
use roost_access::{Attributes, ResourceAttributes};
use roost_object::field::{Error, Errors, Path, quote};
use roost_object::{GroupKind, GroupResource, Status, Value};

use crate::call::Call;
use crate::negotiate;
use crate::resource::Resource;
use crate::respond::{self, Body};

/// The kinds of address under which nodes are reached, the best first.
const ADDRESS_TYPES: [&str; 5] = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/// Answers a request for a pod's log.
pub(super) fn log(call: &Call, pods: &Arc<Resource>) -> Result<Response<Body>, Status> {
    negotiate::negotiate_without_table(&call.headers, &call.query)?;
    check_log_options(call)?;
    let pod = find_pod(call, pods, &call.info.name)?;
    container(call, &pod)?;
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        let mut response = respond::bytes(204, "", "");
        response.headers_mut().remove(http::header::CONTENT_TYPE);
        return Ok(response);
    }
    let address = kubelet_address(call, node)?;
    Err(Status::failure(500, "", format!("no path to the kubelet of node {node} at {address} is set up")))
}

/// Answers a request to run something in a pod, to attach to it or to reach its ports.
pub(super) fn stream(call: &Call, pods: &Arc<Resource>) -> Result<Response<Body>, Status> {
    refuse_dry_run(call)?;
    may_create(call)?;
    let pod = find_pod(call, pods, &call.info.name)?;
    if call.info.subresource != "portforward" {
        container(call, &pod)?;
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request(format!("pod {} does not have a host assigned", call.info.name)));
    }
    let address = kubelet_address(call, node)?;
    if call.headers.get(http::header::UPGRADE).is_none() {
        return Err(Status::bad_request("Upgrade request required"));
    }
    Err(Status::internal(format!(
        "error dialing backend: no path to the kubelet of node {node} at {address} is set up"
    )))
}

/// Answers a request that is meant for a pod, a service or a node.
pub(super) fn proxy(call: &Call, resource: &Arc<Resource>) -> Result<Response<Body>, Status> {
    refuse_dry_run(call)?;
    let id = &call.info.name;
    let kind = resource.kind.to_ascii_lowercase();
    let Some((name, port)) = split_name(id) else {
        return Err(Status::bad_request(format!("invalid {kind} request {}", quote(id))));
    };
    match resource.plural.as_str() {
        "pods" => {
            let pod = find_pod(call, resource, name)?;
            check_address(pod["status"]["podIP"].as_str().unwrap_or_default())?;
        }
        "nodes" => check_address(&kubelet_address(call, name)?)?,
        _ => check_service(call, resource, id, name, port)?,
    }
    Err(Status::unavailable(format!("error trying to reach service: no path to {kind} {} is set up", quote(name))))
}

/// `name`, `name:port` or `scheme:name:port`: the name and the port.
fn split_name(id: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = id.split(':').collect();
    let (scheme, name, port) = match parts.as_slice() {
        [name] => ("", *name, ""),
        [name, port] => ("", *name, *port),
        [scheme, name, port] => (*scheme, *name, *port),
        _ => return None,
    };
    (!name.is_empty() && matches!(scheme, "" | "http" | "https")).then_some((name, port))
}

/// Only what is out in the network may be reached through the server.
fn check_address(address: &str) -> Result<(), Status> {
    let reachable = address.parse().is_ok_and(|address: IpAddr| {
        let link_local = match address {
            IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        !(link_local || address.is_loopback() || address.is_multicast() || address.is_unspecified())
    });
    if reachable { Ok(()) } else { Err(Status::bad_request("address not allowed")) }
}

/// Whether a service has somewhere to send a request to.
fn check_service(call: &Call, services: &Resource, id: &str, name: &str, port: &str) -> Result<(), Status> {
    let namespace = &call.info.namespace;
    let mut port = port.to_owned();
    if let Ok(number) = port.parse::<i64>() {
        let service = call.cluster.find("", "services", namespace, name);
        let service = service.ok_or_else(|| Status::not_found(&services.group_resource(), name))?;
        let ports = service["spec"]["ports"].as_array().into_iter().flatten();
        let named = ports.clone().find(|entry| entry["port"] == number);
        let named = named.map(|entry| entry["name"].as_str().unwrap_or_default().to_owned());
        port = named.ok_or_else(|| {
            Status::unavailable(format!("no service port {number} found for service {}", quote(name)))
        })?;
    }
    let endpoints = call.cluster.find("", "endpoints", namespace, name);
    let endpoints = endpoints.ok_or_else(|| Status::not_found(&services.group_resource(), name))?;
    let none = |name: &str| Status::unavailable(format!("no endpoints available for service {}", quote(name)));
    let Some(subsets) = endpoints["subsets"].as_array().filter(|subsets| !subsets.is_empty()) else {
        return Err(none(name));
    };
    let has_port = |subset: &&Value| {
        subset["ports"].as_array().into_iter().flatten().any(|entry| entry["name"].as_str().unwrap_or_default() == port)
    };
    let is_pod = |address: &Value| {
        let reference = &address["targetRef"];
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        text("kind") == "Pod" && call.cluster.find("", "pods", text("namespace"), text("name")).is_some()
    };
    let reachable =
        subsets.iter().filter(has_port).any(|subset| subset["addresses"].as_array().into_iter().flatten().any(is_pod));
    if reachable { Ok(()) } else { Err(none(id)) }
}

fn refuse_dry_run(call: &Call) -> Result<(), Status> {
    match call.query.get("dryRun") {
        Some(_) => Err(Status::bad_request("dryRun is not supported")),
        None => Ok(()),
    }
}

/// Opening a stream by GET, as browsers do, takes the same right as by POST.
fn may_create(call: &Call) -> Result<(), Status> {
    let info = &call.info;
    if info.verb == "create" {
        return Ok(());
    }
    let resource = ResourceAttributes {
        group: &info.group,
        version: &info.version,
        resource: &info.resource,
        subresource: &info.subresource,
        namespace: &info.namespace,
        name: &info.name,
    };
    let decision = call.cluster.authorizer.decide(&call.cluster, &Attributes::resource(&call.user, "create", resource));
    if decision.is_allowed() {
        return Ok(());
    }
    let resource = GroupResource::new(&*info.group, &*info.resource);
    Err(Status::forbidden(&resource, &info.name, &decision.reason().to_string()))
}

fn find_pod(call: &Call, pods: &Resource, name: &str) -> Result<Value, Status> {
    let pod = call.cluster.find("", "pods", &call.info.namespace, name);
    pod.ok_or_else(|| Status::not_found(&pods.group_resource(), name))
}

/// The container that is meant: the named one, or the only one.
fn container(call: &Call, pod: &Value) -> Result<(), Status> {
    let name = call.info.name.as_str();
    let of = |list: &str| pod["spec"][list].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str());
    let all: Vec<&str> = of("initContainers").chain(of("containers")).chain(of("ephemeralContainers")).collect();
    match call.query.non_empty("container") {
        Some(wanted) if all.contains(&wanted) => Ok(()),
        Some(wanted) => Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}"))),
        None if of("containers").count() == 1 => Ok(()),
        None => {
            let why = format!("a container name must be specified for pod {name}, choose one of: [{}]", all.join(" "));
            Err(Status::bad_request(why))
        }
    }
}

/// Where a node's kubelet listens.
fn kubelet_address(call: &Call, node: &str) -> Result<String, Status> {
    let found = call.cluster.find("", "nodes", "", node);
    // Stock names the resource of the request, whatever it is that is missing.
    let found = found.ok_or_else(|| Status::not_found(&GroupResource::new("", &*call.info.resource), node))?;
    let addresses: Vec<&Value> = found["status"]["addresses"].as_array().into_iter().flatten().collect();
    let text = |address: &Value, name: &str| address[name].as_str().unwrap_or_default().to_owned();
    ADDRESS_TYPES
        .iter()
        .find_map(|wanted| addresses.iter().find(|address| address["type"] == *wanted))
        .map(|address| text(address, "address"))
        .ok_or_else(|| {
            let known: Vec<String> =
                addresses.iter().map(|one| format!("{{{} {}}}", text(one, "type"), text(one, "address"))).collect();
            let why = format!("no preferred addresses found; known addresses: [{}]", known.join(" "));
            Status::failure(500, "", why)
        })
}

/// Refuses options of a log that make no sense.
fn check_log_options(call: &Call) -> Result<(), Status> {
    let number = |name: &str| call.query.integer(name);
    let mut errors = Errors::new();
    let since = number("sinceSeconds")?;
    if let Some(lines) = number("tailLines")?.filter(|lines| *lines < 0) {
        errors.push(Error::invalid(&Path::new("tailLines"), lines, "must be greater than or equal to 0"));
    }
    if let Some(bytes) = number("limitBytes")?.filter(|bytes| *bytes < 1) {
        errors.push(Error::invalid(&Path::new("limitBytes"), bytes, "must be greater than 0"));
    }
    if since.is_some() && call.query.non_empty("sinceTime").is_some() {
        let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(Error::forbidden(&Path::new(""), why));
    } else if let Some(seconds) = since.filter(|seconds| *seconds < 1) {
        errors.push(Error::invalid(&Path::new("sinceSeconds"), seconds, "must be greater than 0"));
    }
    if call.query.get("stream").is_some() {
        errors.push(Error::forbidden(&Path::new("stream"), "may not be specified"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupKind::new("", "PodLogOptions"), &call.info.name, &errors))
}
