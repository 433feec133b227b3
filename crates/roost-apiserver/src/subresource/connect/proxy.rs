//! Requests that are meant for a pod, a service or a node, and are sent on there.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use roost_object::field::quote;
use roost_object::{Status, Value};

use super::{find_node, find_pod, hold, kubelet, kubelet_address, refuse_dry_run};
use crate::call::Call;
use crate::outgoing::{Backend, pass_on, unverified};
use crate::resource::Resource;
use crate::respond::Body;

/// Sends a request on to a pod, a service or a node, and hands back what comes.
pub(in crate::subresource) async fn proxy(
    call: &Call,
    resource: &Arc<Resource>,
    body: &Bytes,
) -> Result<Response<Body>, Status> {
    refuse_dry_run(call)?;
    let id = &call.info.name;
    let kind = resource.kind.to_ascii_lowercase();
    let Some(target) = Target::parse(id) else {
        return Err(Status::bad_request(format!("invalid {kind} request {}", quote(id))));
    };
    let path = format!("/{}", call.info.rest);
    let query = call.query.to_text();
    let backend = match resource.plural.as_str() {
        "pods" => {
            let pod = find_pod(call, resource, target.name)?;
            let address = pod["status"]["podIP"].as_str().unwrap_or_default();
            check_address(address)?;
            target.backend(address, target.port_of(&pod), &path, &query)?
        }
        "nodes" => {
            check_address(&kubelet_address(&find_node(call, target.name)?)?)?;
            kubelet(call, target.name, true, &path, &query)?
        }
        _ => {
            let (address, port) = endpoint(call, resource, id, &target)?;
            target.backend(&address, port, &path, &query)?
        }
    };
    let method = call.method.clone();
    let failed = |why: String| Status::unavailable(format!("error trying to reach service: {why}"));
    let answer = backend.send(method, &call.headers, body.clone()).await.map_err(failed)?;
    Ok(pass_on(answer, call.take_upgrade(), hold(call)?))
}

/// `name`, `name:port` or `scheme:name:port`.
struct Target<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl<'a> Target<'a> {
    fn parse(id: &'a str) -> Option<Self> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        (!name.is_empty() && matches!(scheme, "" | "http" | "https")).then_some(Self { scheme, name, port })
    }

    /// The port of a pod: the one that was asked for, else the first that it declares.
    fn port_of(&self, pod: &Value) -> Option<u16> {
        if !self.port.is_empty() {
            return self.port.parse().ok();
        }
        let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        let mut ports = containers.flat_map(|container| container["ports"].as_array().into_iter().flatten());
        ports.find_map(|port| port["containerPort"].as_u64()).and_then(|port| u16::try_from(port).ok())
    }

    fn backend(&self, address: &str, port: Option<u16>, path: &str, query: &str) -> Result<Backend, Status> {
        let tls = match self.scheme {
            // What runs in a pod shows a certificate of its own making; stock does not check it either.
            "https" => Some(unverified().map_err(Status::internal)?),
            _ => None,
        };
        let port = port.unwrap_or(if tls.is_some() { 443 } else { 80 });
        let path_and_query = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        Ok(Backend { host: address.to_owned(), port, tls, path_and_query, tunnel: None })
    }
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

/// Where a service sends a request to: the first of its endpoints that is a pod.
fn endpoint(call: &Call, services: &Resource, id: &str, target: &Target<'_>) -> Result<(String, Option<u16>), Status> {
    let namespace = &call.info.namespace;
    let (name, mut port) = (target.name, target.port.to_owned());
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
    let port_of = |subset: &Value| {
        let mut ports = subset["ports"].as_array().into_iter().flatten();
        let port = ports.find(|entry| entry["name"].as_str().unwrap_or_default() == port)?;
        port["port"].as_u64().and_then(|port| u16::try_from(port).ok())
    };
    let is_pod = |address: &Value| {
        let reference = &address["targetRef"];
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        text("kind") == "Pod" && call.cluster.find("", "pods", text("namespace"), text("name")).is_some()
    };
    for subset in subsets {
        let Some(port) = port_of(subset) else { continue };
        let mut addresses = subset["addresses"].as_array().into_iter().flatten();
        if let Some(ip) = addresses.find(|address| is_pod(address)).and_then(|address| address["ip"].as_str()) {
            check_address(ip)?;
            return Ok((ip.to_owned(), Some(port)));
        }
    }
    Err(none(id))
}
