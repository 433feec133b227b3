//! Which requests lead somewhere: paths and methods, as stock's routers have them.

use http::Response;
use roost_object::Status;
use roost_object::status::Details;

use crate::call::Call;
use crate::handle::warn_of_deprecation;
use crate::negotiate::Format;
use crate::resource::{Origin, Resource};
use crate::respond::{self, Body};

/// The answer to a request that leads nowhere; none when it is served.
pub(crate) fn refuse(resource: &Resource, call: &Call) -> Option<Result<Response<Body>, Status>> {
    match &resource.origin {
        Origin::BuiltIn(..) => refuse_built_in(resource, call),
        Origin::Custom(_) => refuse_custom(resource, call),
    }
}

/// Built-in kinds have a route for each path and method.
fn refuse_built_in(resource: &Resource, call: &Call) -> Option<Result<Response<Body>, Status>> {
    let info = &call.info;
    if !is_routed(resource, call) {
        return Some(if is_nameless_namespace(resource, call) {
            Err(Status::bad_request("Namespace parameter required."))
        } else {
            Ok(unknown_path(call))
        });
    }
    let verb = info.verb.as_str();
    if info.is_head {
        return Some(Err(method_not_allowed(resource, call)));
    }
    if !info.subresource.is_empty() && info.name.is_empty() {
        let method = match verb {
            "list" | "watch" => "get",
            "deletecollection" => "delete",
            other => other,
        };
        if resource.serves(&info.subresource, method) {
            return Some(Err(Status::bad_request("name must be provided")));
        }
    }
    if verb == "watch" && resource.is("", "componentstatuses") {
        warn_of_deprecation(call, resource);
        return Some(Err(Status::method_not_supported(&resource.group_resource(), verb)));
    }
    let served = resource.serves(&info.subresource, verb) && is_method_routed(resource, call);
    (!served).then(|| Err(method_not_allowed(resource, call)))
}

/// Custom resources have one handler, which goes by what the path means.
fn refuse_custom(resource: &Resource, call: &Call) -> Option<Result<Response<Body>, Status>> {
    let info = &call.info;
    let verb = info.verb.as_str();
    let in_namespace = !info.namespace.is_empty();
    let across = resource.namespaced && matches!(verb, "list" | "watch");
    if resource.namespaced != in_namespace && !across {
        return Some(Ok(unknown_path(call)));
    }
    if !info.subresource.is_empty() && !resource.has_subresource(&info.subresource) {
        warn_of_deprecation(call, resource);
        return Some(Err(Status::not_found(&resource.group_resource(), &info.name)));
    }
    let served = match info.subresource.as_str() {
        "" => ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"].contains(&verb),
        _ => matches!(verb, "get" | "update" | "patch"),
    };
    if !served {
        return Some(Err(method_not_allowed(resource, call)));
    }
    let nameless = info.name.is_empty() && matches!(verb, "update" | "patch");
    nameless.then(|| Err(Status::bad_request("name must be provided")))
}

/// Whether the path has the form of the resource's scope, and its subresource exists.
fn is_routed(resource: &Resource, call: &Call) -> bool {
    let info = &call.info;
    let in_namespace = !info.namespace.is_empty();
    let scope_fits = if resource.namespaced {
        in_namespace || info.name.is_empty() || matches!(info.verb.as_str(), "list" | "watch")
    } else {
        !in_namespace || resource.is("", "namespaces")
    };
    let subresource_fits = info.subresource.is_empty() || resource.has_subresource(&info.subresource);
    let rest_fits = info.rest.is_empty() || info.subresource == "proxy";
    let past = info.verb == "proxy" || (info.watch_prefix && !info.subresource.is_empty());
    if past {
        return false;
    }
    let named = ["get", "update", "patch", "delete"].iter().any(|verb| resource.serves("", verb));
    if info.subresource.is_empty() && !info.name.is_empty() && !named && !matches!(info.verb.as_str(), "list" | "watch")
    {
        return false;
    }
    // What cannot be listed has no place outside namespaces.
    let listed = in_namespace || !resource.namespaced || resource.serves("", "list");
    scope_fits && subresource_fits && rest_fits && listed
}

/// Objects are created in collections and changed by name, and namespaced ones only inside a namespace.
fn is_method_routed(resource: &Resource, call: &Call) -> bool {
    let info = &call.info;
    let all_namespaces = resource.namespaced && info.namespace.is_empty();
    match info.verb.as_str() {
        "list" | "watch" => info.reads,
        "create" => !all_namespaces && (info.name.is_empty() || !info.subresource.is_empty()),
        "update" | "patch" => !all_namespaces && !info.name.is_empty(),
        _ => !all_namespaces,
    }
}

/// `/namespaces//pods/name`: the place for a namespace is there, but it is empty.
fn is_nameless_namespace(resource: &Resource, call: &Call) -> bool {
    resource.namespaced && call.info.path.contains("/namespaces//")
}

/// What stock answers to a path that leads nowhere: a `Status` where it serves the group itself, a page elsewhere.
pub(crate) fn unknown_path(call: &Call) -> Response<Body> {
    let path = call.info.path.as_str();
    let mut steps = path.trim_start_matches("/apis/").splitn(3, '/');
    if let (true, Some(group), Some(version)) = (path.starts_with("/apis/"), steps.next(), steps.next())
        && crate::inside::is_foreign(&call.cluster, group, version)
    {
        return respond::text(503, "service unavailable\n");
    }
    let built_in = match path.strip_prefix("/apis/") {
        Some(rest) => {
            let group = rest.split('/').next().unwrap_or_default();
            roost_kinds::resources().iter().any(|resource| resource.group == group && !group.is_empty())
        }
        None => path == "/api" || path.starts_with("/api/"),
    };
    if !built_in {
        return not_found_page();
    }
    respond::status(&Status::unknown_path(), &Format::JSON)
}

/// What stock answers where no route is.
pub(crate) fn not_found_page() -> Response<Body> {
    respond::text(404, "404 page not found\n")
}

pub(crate) fn method_not_allowed(resource: &Resource, call: &Call) -> Status {
    match &resource.origin {
        Origin::Custom(_) => Status::method_not_supported(&resource.group_resource(), &call.info.verb),
        Origin::BuiltIn(..) => {
            Status::failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
                .with_details(Details::default())
        }
    }
}
