//! Counters that `/metrics` shows, in Prometheus' text form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use roost_store::Size;

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 12] = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 60.0];

/// The counters of one tenant.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<Labels, Series>>,
    watches: AtomicU64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Labels {
    verb: &'static str,
    group: String,
    resource: String,
    code: u16,
}

#[derive(Default)]
struct Series {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Metrics {
    /// Counts an answered request. Unknown resources count without a name, so that callers cannot invent series.
    pub(crate) fn observe(&self, verb: &str, group: &str, resource: &str, code: u16, elapsed: Duration) {
        let labels = Labels { verb: known_verb(verb), group: group.to_owned(), resource: resource.to_owned(), code };
        let seconds = elapsed.as_secs_f64();
        let mut requests = self.requests.lock();
        let series = requests.entry(labels).or_default();
        series.count += 1;
        series.seconds += seconds;
        for (bucket, bound) in series.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// Counts a watch that was opened.
    pub(crate) fn watch_opened(&self) {
        self.watches.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a watch that ended.
    pub(crate) fn watch_closed(&self) {
        self.watches.fetch_sub(1, Ordering::Relaxed);
    }

    /// Everything as text.
    pub(crate) fn render(&self, size: &Size, revision: u64) -> String {
        let mut out = String::new();
        out.push_str("# HELP apiserver_request_total Requests by verb, resource and status code.\n# TYPE apiserver_request_total counter\n");
        let requests = self.requests.lock();
        for (labels, series) in requests.iter() {
            let _ = writeln!(
                out,
                "apiserver_request_total{{verb=\"{}\",group=\"{}\",resource=\"{}\",code=\"{}\"}} {}",
                labels.verb, labels.group, labels.resource, labels.code, series.count
            );
        }
        out.push_str("# HELP apiserver_request_duration_seconds How long requests took.\n# TYPE apiserver_request_duration_seconds histogram\n");
        for (labels, series) in requests.iter() {
            let names = format!(
                "verb=\"{}\",group=\"{}\",resource=\"{}\",code=\"{}\"",
                labels.verb, labels.group, labels.resource, labels.code
            );
            for (count, bound) in series.buckets.iter().zip(BUCKETS) {
                let _ = writeln!(out, "apiserver_request_duration_seconds_bucket{{{names},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(out, "apiserver_request_duration_seconds_bucket{{{names},le=\"+Inf\"}} {}", series.count);
            let _ = writeln!(out, "apiserver_request_duration_seconds_sum{{{names}}} {}", series.seconds);
            let _ = writeln!(out, "apiserver_request_duration_seconds_count{{{names}}} {}", series.count);
        }
        let gauges = [
            ("apiserver_longrunning_requests", "Watches that are open.", self.watches.load(Ordering::Relaxed)),
            ("roost_store_revision", "The newest revision of the store.", revision),
            ("roost_store_objects", "Objects in the store, of all tenants.", size.objects),
            ("roost_store_memory_bytes", "Bytes of objects and history in memory.", size.memory_bytes),
            ("roost_store_disk_bytes", "Bytes on disk.", size.disk_bytes),
        ];
        for (name, help, value) in gauges {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        out
    }
}

fn known_verb(verb: &str) -> &'static str {
    match verb {
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" => "CREATE",
        "update" => "UPDATE",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        _ => "OTHER",
    }
}
