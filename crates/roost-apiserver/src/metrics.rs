//! Counters that `/metrics` shows, in Prometheus' text form, with the names and labels that people's alerts know of stock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Response};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::call::Call;
use crate::cluster::Cluster;
use crate::request::{Query, RequestInfo};
use crate::resource::{Origin, Resource};
use crate::respond::{self, Body};

/// Upper bounds of the latency histogram, in seconds; stock's.
const BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];

/// Prometheus' text form, in names that have no other characters than its first ones.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// The counters of one tenant.
pub(crate) struct Metrics {
    started: Timestamp,
    requests: Mutex<BTreeMap<String, Series>>,
    watches: Mutex<BTreeMap<String, u64>>,
}

/// The answers to requests with the same labels.
#[derive(Default)]
struct Series {
    codes: BTreeMap<u16, u64>,
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Default for Metrics {
    fn default() -> Self {
        Self { started: Timestamp::now(), requests: Mutex::default(), watches: Mutex::default() }
    }
}

impl Metrics {
    /// When the tenant began to be served.
    pub(crate) fn started(&self) -> Timestamp {
        self.started
    }

    /// Counts an answered request under its labels.
    pub(crate) fn observe(&self, labels: String, code: u16, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        let mut requests = self.requests.lock();
        let series = requests.entry(labels).or_default();
        *series.codes.entry(code).or_default() += 1;
        series.count += 1;
        series.seconds += seconds;
        for (bucket, bound) in series.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// Counts a watch that was opened.
    pub(crate) fn watch_opened(&self, labels: &str) {
        *self.watches.lock().entry(labels.to_owned()).or_default() += 1;
    }

    /// Counts a watch that ended.
    pub(crate) fn watch_closed(&self, labels: &str) {
        if let Some(open) = self.watches.lock().get_mut(labels) {
            *open -= 1;
        }
    }

    /// When the tenant began to be served, as a metric.
    pub(crate) fn write_start(&self, out: &mut String) {
        let seconds = self.started.as_millisecond();
        let name = "process_start_time_seconds";
        let _ = writeln!(
            out,
            "# HELP {name} When the server was started, in seconds since 1970.\n# TYPE {name} gauge\n{name} {}.{:03}",
            seconds / 1000,
            seconds % 1000
        );
    }

    fn write_requests(&self, out: &mut String) {
        let requests = self.requests.lock();
        let name = "apiserver_request_total";
        let _ = writeln!(out, "# HELP {name} Requests by what they ask for and by the code of the answer.");
        let _ = writeln!(out, "# TYPE {name} counter");
        for (labels, series) in requests.iter() {
            for (code, count) in &series.codes {
                let _ = writeln!(out, "{name}{{code=\"{code}\",{labels}}} {count}");
            }
        }
        let name = "apiserver_request_duration_seconds";
        let _ = writeln!(out, "# HELP {name} How long requests took.\n# TYPE {name} histogram");
        for (labels, series) in requests.iter() {
            for (count, bound) in series.buckets.iter().zip(BUCKETS) {
                let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", series.count);
            let _ = writeln!(out, "{name}_sum{{{labels}}} {}", series.seconds);
            let _ = writeln!(out, "{name}_count{{{labels}}} {}", series.count);
        }
        drop(requests);
        let name = "apiserver_longrunning_requests";
        let _ = writeln!(out, "# HELP {name} Watches that are open.\n# TYPE {name} gauge");
        for (labels, open) in self.watches.lock().iter() {
            let _ = writeln!(out, "{name}{{{labels}}} {open}");
        }
    }
}

/// Answers with everything; forgets what was counted when it is told to.
pub(crate) fn answer(call: &Call) -> Response<Body> {
    let metrics = &call.cluster.metrics;
    if call.method == Method::DELETE {
        metrics.requests.lock().clear();
        return respond::bytes(200, "text/plain; charset=utf-8", "metrics reset\n");
    }
    let text = render(&call.cluster);
    let compressed = respond::accepts_gzip(&call.headers).then(|| respond::gzip(text.as_bytes())).flatten();
    let mut response = match compressed {
        Some(compressed) => {
            let mut response = respond::bytes(200, MEDIA_TYPE, compressed);
            response.headers_mut().insert(http::header::CONTENT_ENCODING, http::HeaderValue::from_static("gzip"));
            response
        }
        None => respond::bytes(200, MEDIA_TYPE, text),
    };
    response.headers_mut().insert("process-start-time-unix", metrics.started.as_second().into());
    response
}

/// Everything as text.
fn render(cluster: &Cluster) -> String {
    let mut out = String::new();
    cluster.metrics.write_requests(&mut out);
    write_objects(cluster, &mut out);
    let size = cluster.store.size();
    let gauges = [
        ("roost_store_revision", "The newest revision of the store.", cluster.store.revision()),
        ("roost_store_objects", "Objects in the store, of all tenants.", size.objects),
        ("roost_store_memory_bytes", "Bytes of objects and history in memory.", size.memory_bytes),
        ("roost_store_disk_bytes", "Bytes on disk.", size.disk_bytes),
    ];
    for (name, help, value) in gauges {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    }
    cluster.metrics.write_start(&mut out);
    out
}

/// How many objects there are of each kind that is stored, under both names that stock has for it.
fn write_objects(cluster: &Cluster, out: &mut String) {
    let mut counts = BTreeMap::new();
    let is_stored = |resource: &Resource| match &resource.origin {
        Origin::BuiltIn(row, _) => !row.storage_version_hash.is_empty() && resource.group != "events.k8s.io",
        Origin::Custom(_) => true,
    };
    for resource in cluster.resources().iter().filter(|resource| is_stored(resource)) {
        let count = cluster.store.state(&resource.collection(&cluster.tenant)).count;
        counts.insert((resource.group.clone(), resource.plural.clone()), count);
    }
    let help = "Objects that are stored, by resource.";
    let _ = writeln!(out, "# HELP apiserver_resource_objects {help}\n# TYPE apiserver_resource_objects gauge");
    for ((group, plural), count) in &counts {
        let _ = writeln!(out, "apiserver_resource_objects{{group=\"{group}\",resource=\"{plural}\"}} {count}");
    }
    let _ = writeln!(out, "# HELP apiserver_storage_objects {help}\n# TYPE apiserver_storage_objects gauge");
    for ((group, plural), count) in &counts {
        let dot = if group.is_empty() { "" } else { "." };
        let _ = writeln!(out, "apiserver_storage_objects{{resource=\"{plural}{dot}{group}\"}} {count}");
    }
}

/// The labels under which a request is counted, in stock's order; none for what stock does not count: callers must not
/// be able to invent series.
pub(crate) fn labels(
    cluster: &Cluster,
    info: &RequestInfo,
    method: &Method,
    headers: &HeaderMap,
    query: &Query,
) -> Option<String> {
    if !info.is_resource {
        let (component, name) = match info.path.as_str() {
            "/healthz" | "/livez" | "/readyz" => ("", info.path.as_str()),
            "/api" | "/apis" => ("apiserver", &info.path[1..]),
            "/openapi/v2" | "/openapi/v3" => ("", &info.path[1..]),
            _ => return None,
        };
        let verb = known_method(method);
        return Some(format!(
            "component=\"{component}\",dry_run=\"\",group=\"\",resource=\"\",scope=\"\",subresource=\"{name}\",verb=\"{verb}\",version=\"\""
        ));
    }
    let resource = cluster.resource(&info.group, &info.version, &info.resource)?;
    if !info.subresource.is_empty() && !resource.has_subresource(&info.subresource) {
        return None;
    }
    let dry_run = match query.all("dryRun").collect::<Vec<_>>().as_slice() {
        [] => "",
        values if values.iter().all(|value| *value == "All") => "All",
        _ => "invalid",
    };
    let (group, plural, subresource, version) = (&info.group, &info.resource, &info.subresource, &info.version);
    let (scope, verb) = (scope(info), verb(info, method, headers));
    Some(format!(
        "component=\"apiserver\",dry_run=\"{dry_run}\",group=\"{group}\",resource=\"{plural}\",scope=\"{scope}\",subresource=\"{subresource}\",verb=\"{verb}\",version=\"{version}\""
    ))
}

/// The labels of a watch that is open.
pub(crate) fn watch_labels(info: &RequestInfo) -> String {
    let (group, plural, subresource, version) = (&info.group, &info.resource, &info.subresource, &info.version);
    let scope = scope(info);
    format!(
        "component=\"apiserver\",group=\"{group}\",resource=\"{plural}\",scope=\"{scope}\",subresource=\"{subresource}\",verb=\"WATCH\",version=\"{version}\""
    )
}

/// How much a request is about: an object, those of a namespace, or all.
fn scope(info: &RequestInfo) -> &'static str {
    if !info.name.is_empty() || info.verb == "create" {
        "resource"
    } else if !info.namespace.is_empty() {
        "namespace"
    } else {
        "cluster"
    }
}

fn verb(info: &RequestInfo, method: &Method, headers: &HeaderMap) -> &'static str {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match known_method(method) {
        _ if info.is_connection() => "CONNECT",
        _ if info.verb == "watch" => "WATCH",
        "GET" if scope(info) != "resource" => "LIST",
        "PATCH" if content_type == Some("application/apply-patch+yaml") => "APPLY",
        other => other,
    }
}

fn known_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" | "HEAD" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::HeaderValue;
    use roost_store::{Options, Store};

    use super::*;
    use crate::cluster::ClusterConfig;
    use crate::identity::Identity;

    fn cluster() -> Arc<Cluster> {
        let identity = Identity::generate(Timestamp::now(), "https://issuer.example.com").unwrap();
        Cluster::new("one", Store::memory(Options::default()), ClusterConfig::default(), identity)
    }

    fn of(method: &Method, target: &str) -> Option<String> {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let query = Query::parse(query);
        let info = RequestInfo::parse(method, path, &query);
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/apply-patch+yaml"))]);
        labels(&cluster(), &info, method, &headers, &query)
    }

    #[test]
    fn requests_are_counted_under_stocks_labels() {
        assert_eq!(
            of(&Method::GET, "/api/v1/namespaces/a/pods").unwrap(),
            r#"component="apiserver",dry_run="",group="",resource="pods",scope="namespace",subresource="",verb="LIST",version="v1""#
        );
        assert_eq!(
            of(&Method::PATCH, "/apis/apps/v1/namespaces/a/deployments/d/scale?dryRun=All").unwrap(),
            r#"component="apiserver",dry_run="All",group="apps",resource="deployments",scope="resource",subresource="scale",verb="APPLY",version="v1""#
        );
        assert!(
            of(&Method::GET, "/api/v1/pods?watch=1")
                .unwrap()
                .contains(r#"scope="cluster",subresource="",verb="WATCH""#)
        );
        assert!(of(&Method::POST, "/api/v1/namespaces/a/pods/p/exec").unwrap().contains(r#"verb="CONNECT""#));
        assert!(of(&Method::DELETE, "/api/v1/namespaces/a/pods").unwrap().contains(r#"verb="DELETE""#));
        assert!(of(&Method::GET, "/readyz").unwrap().contains(r#"subresource="/readyz",verb="GET""#));
    }

    #[test]
    fn callers_cannot_invent_series() {
        for target in ["/nonsense", "/api/v1/nonsense", "/apis/a/v1/b", "/api/v1/namespaces/a/pods/p/nonsense"] {
            assert_eq!(of(&Method::GET, target), None, "{target}");
        }
        assert!(of(&"BREW".parse().unwrap(), "/api/v1/pods").is_none_or(|labels| labels.contains(r#"verb="other""#)));
    }
}
