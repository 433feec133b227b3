//! Health: whether the server lives and is ready, as a whole and by its parts.
//!
//! The parts have the names of stock's, because tools ask for them one by one. What stock starts in steps is there here
//! as soon as a request is answered, so only the store and the end can be unwell.

use http::Response;
use jiff::Timestamp;
use roost_object::Status;
use roost_object::field::quote;

use crate::call::Call;
use crate::documents::{GO_VERSION, KUBERNETES_VERSION};
use crate::metrics;
use crate::negotiate;
use crate::respond::{self, Body};
use crate::route::not_found_page;

const ENDPOINTS: [&str; 3] = ["healthz", "livez", "readyz"];

/// The parts before those that stock starts in steps, of health and life.
const LIVE: [&str; 4] = ["ping", "log", "loopback-serving-certificate", "etcd"];
/// The same of readiness.
const READY: [&str; 5] = ["ping", "log", "etcd", "etcd-readiness", "informer-sync"];
/// The last part of readiness.
const SHUTDOWN: &str = "shutdown";

/// What stock starts in steps, in the order in which it reports it.
const STARTED: [&str; 31] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/aggregator-reload-proxy-client-cert",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// The parts of an endpoint.
fn checks(endpoint: &str) -> impl Iterator<Item = &'static str> {
    let ready = endpoint == "readyz";
    let first: &[&str] = if ready { &READY } else { &LIVE };
    first.iter().copied().chain(STARTED).chain(ready.then_some(SHUTDOWN))
}

/// All paths that answer about health.
pub(crate) fn paths() -> impl Iterator<Item = String> {
    ENDPOINTS.into_iter().flat_map(|endpoint| {
        let parts = checks(endpoint).map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(parts)
    })
}

/// What stock says above its pages for people.
const PAGE_WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

/// Answers on a path that is about health; none on another one.
pub(crate) fn answer(call: &Call, path: &str) -> Option<Response<Body>> {
    match path {
        "/statusz" => return Some(page(call, status_page(call))),
        // The engine has no flags of its own: what a tenant differs in is not for its users to see.
        "/flagz" => return Some(page(call, format!("\napiserver flagz\n{PAGE_WARNING}\n"))),
        "/metrics/slis" => {
            return Some(respond::bytes(200, metrics::MEDIA_TYPE, indicators(call)));
        }
        _ => {}
    }
    let (endpoint, check) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    if !ENDPOINTS.contains(&endpoint) {
        return None;
    }
    if check.is_empty() {
        return Some(whole(call, endpoint));
    }
    if !checks(endpoint).any(|known| known == check) {
        return Some(not_found_page());
    }
    Some(match problem(call, check) {
        None => respond::bytes(200, "text/plain; charset=utf-8", "ok"),
        Some(problem) => respond::text(500, format!("internal server error: {problem}\n")),
    })
}

/// A page for people, who take text.
fn page(call: &Call, text: String) -> Response<Body> {
    let clauses = negotiate::clauses(&call.headers);
    if clauses.is_empty() || clauses.iter().any(|clause| clause.allows("text/plain")) {
        return respond::bytes(200, "text/plain; charset=utf-8", text);
    }
    let status = Status::not_acceptable(&["application/json", "application/yaml", "text/plain"]);
    respond::status(&status, &negotiate::for_refusals(&call.headers, &call.query))
}

/// What is wrong with a part. Why the store cannot be written is for its owner, who has the log.
fn problem(call: &Call, check: &str) -> Option<&'static str> {
    match check {
        "etcd" | "etcd-readiness" if call.cluster.store.failure().is_some() => Some("the store cannot be written"),
        SHUTDOWN if call.cluster.is_closing() => Some("process is shutting down"),
        _ => None,
    }
}

fn whole(call: &Call, endpoint: &str) -> Response<Body> {
    let mut excluded: Vec<&str> = call.query.all("exclude").collect();
    let mut text = String::new();
    let mut is_well = true;
    for check in checks(endpoint) {
        let known = excluded.len();
        excluded.retain(|name| *name != check);
        if excluded.len() < known {
            text.extend(["[+]", check, " excluded: ok\n"]);
        } else if problem(call, check).is_some() {
            is_well = false;
            text.extend(["[-]", check, " failed: reason withheld\n"]);
        } else {
            text.extend(["[+]", check, " ok\n"]);
        }
    }
    if is_well && call.query.get("verbose").is_none() {
        return respond::text(200, "ok");
    }
    if !excluded.is_empty() {
        excluded.sort_unstable();
        excluded.dedup();
        let names: Vec<_> = excluded.into_iter().map(quote).collect();
        text.extend(["warn: some health checks cannot be excluded: no matches for ", &names.join(","), "\n"]);
    }
    text.extend([endpoint, if is_well { " check passed\n" } else { " check failed\n" }]);
    respond::text(if is_well { 200 } else { 500 }, text)
}

fn status_page(call: &Call) -> String {
    let version = KUBERNETES_VERSION.trim_start_matches('v');
    let emulated = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    let started = call.cluster.metrics.started();
    let up = Timestamp::now().as_second() - started.as_second();
    let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
    let started = started.strftime("%a %b %e %H:%M:%S UTC %Y");
    format!(
        "\napiserver statusz\n{PAGE_WARNING}\n\nStarted: {started}\nUp: {hours} hr {minutes:02} min {seconds:02} sec\nGo version: {GO_VERSION}\nBinary version: {version}\nEmulation version: {emulated}\nPaths: /flagz /healthz /livez /metrics /readyz /statusz /version\n"
    )
}

/// All parts as a gauge, for those who alert on them.
fn indicators(call: &Call) -> String {
    let mut text = String::from("# TYPE kubernetes_healthcheck gauge\n");
    for endpoint in ENDPOINTS {
        for check in checks(endpoint) {
            text.extend(["kubernetes_healthcheck{name=\"", check, "\",type=\"", endpoint, "\"} 1\n"]);
        }
    }
    call.cluster.metrics.write_start(&mut text);
    text
}
