//! Ways into running things: logs, exec, attach and port-forward through the kubelet of a pod's node.

mod proxy;

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Response};
use hyper::body::Incoming;
use roost_access::Attributes;
use roost_object::field::{Error, Errors, Path};
use roost_object::{GroupKind, GroupResource, Status, Value};

use crate::call::Call;
use crate::cluster::Cluster;
use crate::negotiate;
use crate::outgoing::{Backend, Hold, pass_on};
use crate::resource::Resource;
use crate::respond::{self, Body};
pub(super) use proxy::proxy;

/// The kinds of address under which nodes are reached, the best first: addresses need nobody to resolve them.
const ADDRESS_TYPES: [&str; 5] = ["InternalIP", "Hostname", "InternalDNS", "ExternalIP", "ExternalDNS"];
/// Where kubelets listen unless they say otherwise.
const KUBELET_PORT: u16 = 10250;
/// How much of a kubelet's refusal is told.
const MAX_REFUSAL_BYTES: usize = 50_000;
/// What a kubelet calls the options of a stream.
const STREAM_OPTIONS: [(&str, &str); 4] =
    [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];

/// Answers a request for a pod's log.
pub(super) async fn log(call: &Call, pods: &Arc<Resource>) -> Result<Response<Body>, Status> {
    negotiate::negotiate_without_table(&call.headers, &call.query)?;
    check_log_options(call)?;
    let pod = find_pod(call, pods, &call.info.name)?;
    let container = container(call, &pod)?;
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        let mut response = respond::bytes(204, "", "");
        response.headers_mut().remove(CONTENT_TYPE);
        return Ok(response);
    }
    let verify = !call.query.flag("insecureSkipTLSVerifyBackend");
    let path = format!("/containerLogs/{}/{}/{container}", call.info.namespace, call.info.name);
    let backend = kubelet(call, node, verify, &path, &log_options(call))?;
    let failed = |why: String| Status::failure(500, "", format!("Get \"{}\": {why}", backend.url()));
    let answer = backend.send(Method::GET, &HeaderMap::new(), Bytes::new()).await.map_err(failed)?;
    if !answer.status().is_success() {
        return Err(refusal(call, answer).await);
    }
    let mut response = pass_on(answer, None, hold(call)?);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// Answers a request to run something in a pod, to attach to it or to reach its ports.
pub(super) async fn stream(call: &Call, pods: &Arc<Resource>) -> Result<Response<Body>, Status> {
    refuse_dry_run(call)?;
    may_create(call)?;
    let info = &call.info;
    let pod = find_pod(call, pods, &info.name)?;
    let (namespace, name) = (&info.namespace, &info.name);
    let path = match info.subresource.as_str() {
        "portforward" => format!("/portForward/{namespace}/{name}"),
        action => format!("/{action}/{namespace}/{name}/{}", container(call, &pod)?),
    };
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
    }
    let backend = kubelet(call, node, true, &path, &stream_options(call))?;
    let Some(client) = call.take_upgrade() else {
        return Err(Status::bad_request("Upgrade request required"));
    };
    let failed = |why: String| Status::internal(format!("error dialing backend: {why}"));
    let answer = backend.send(call.method.clone(), &call.headers, Bytes::new()).await.map_err(failed)?;
    Ok(pass_on(answer, Some(client), hold(call)?))
}

/// What an open stream keeps until it ends.
fn hold(call: &Call) -> Result<Hold, Status> {
    Ok(Hold { cluster: Arc::clone(&call.cluster), _place: call.cluster.flow.open_watch(&call.user)? })
}

/// A path on the kubelet of a node that is known by name.
fn kubelet(call: &Call, node: &str, verify: bool, path: &str, query: &str) -> Result<Backend, Status> {
    backend_of_kubelet(&call.cluster, &find_node(call, node)?, verify, path, query)
}

/// A path on a node's kubelet.
pub(crate) fn backend_of_kubelet(
    cluster: &Cluster,
    node: &Value,
    verify: bool,
    path: &str,
    query: &str,
) -> Result<Backend, Status> {
    let host = kubelet_address(node)?;
    let port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_u64();
    let port = port.and_then(|port| u16::try_from(port).ok()).filter(|&port| port > 0).unwrap_or(KUBELET_PORT);
    let tls = cluster.kubelets.tls(&cluster.identity(), verify).map_err(Status::internal)?;
    let path_and_query = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    let name = node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let tunnel = Some((Arc::clone(&cluster.tunnels), name));
    Ok(Backend { host, port, tls: Some(tls), path_and_query, tunnel })
}

/// The options of a log, as a kubelet reads them.
fn log_options(call: &Call) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["follow", "previous", "timestamps"] {
        if call.query.flag(name) {
            query.append_pair(name, "true");
        }
    }
    for name in ["sinceSeconds", "sinceTime", "tailLines", "limitBytes"] {
        if let Some(value) = call.query.non_empty(name) {
            query.append_pair(name, value);
        }
    }
    query.finish()
}

/// The options of a stream, as a kubelet reads them.
fn stream_options(call: &Call) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if call.info.subresource == "portforward" {
        let ports: Vec<&str> = call.query.all("ports").collect();
        if !ports.is_empty() {
            query.append_pair("port", &ports.join(","));
        }
        return query.finish();
    }
    for (name, spelled) in STREAM_OPTIONS {
        if call.query.flag(name) {
            query.append_pair(spelled, "1");
        }
    }
    for word in call.query.all("command") {
        query.append_pair("command", word);
    }
    query.finish()
}

/// What a kubelet said instead of a log.
async fn refusal(call: &Call, answer: Response<Incoming>) -> Status {
    let code = answer.status().as_u16();
    let body = roost_body::read(answer.into_body(), MAX_REFUSAL_BYTES).await;
    let text = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
    let about = format!("( pods/log {})", call.info.name);
    match code {
        500 => Status::internal(text),
        400 => Status::bad_request(text),
        404 => Status::failure(404, "NotFound", format!("the server could not find the requested resource {about}")),
        _ => {
            let quoted = roost_object::field::quote(&text);
            let words = format!("an error on the server ({quoted}) has prevented the request from succeeding {about}");
            Status::failure(code, "InternalError", words)
        }
    }
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
    let decision =
        call.cluster.authorizer.decide(&call.cluster, &Attributes::resource(&call.user, "create", info.attributes()));
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
fn container<'a>(call: &'a Call, pod: &'a Value) -> Result<&'a str, Status> {
    let name = call.info.name.as_str();
    let of = |list: &str| pod["spec"][list].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str());
    let all: Vec<&str> = of("initContainers").chain(of("containers")).chain(of("ephemeralContainers")).collect();
    match call.query.non_empty("container") {
        Some(wanted) if all.contains(&wanted) => Ok(wanted),
        Some(wanted) => Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}"))),
        None if of("containers").count() == 1 => Ok(of("containers").next().unwrap_or_default()),
        None => {
            let why = format!("a container name must be specified for pod {name}, choose one of: [{}]", all.join(" "));
            Err(Status::bad_request(why))
        }
    }
}

fn find_node(call: &Call, node: &str) -> Result<Value, Status> {
    let found = call.cluster.find("", "nodes", "", node);
    // Stock names the resource of the request, whatever it is that is missing.
    found.ok_or_else(|| Status::not_found(&GroupResource::new("", &*call.info.resource), node))
}

/// Where a node's kubelet listens.
fn kubelet_address(node: &Value) -> Result<String, Status> {
    let addresses: Vec<&Value> = node["status"]["addresses"].as_array().into_iter().flatten().collect();
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
