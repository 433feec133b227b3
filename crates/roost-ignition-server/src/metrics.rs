//! What was asked and answered, counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use parking_lot::Mutex;

/// The answers that are counted one by one.
const STATUSES: [u16; 13] = [200, 304, 400, 401, 404, 408, 409, 413, 429, 431, 500, 503, 511];

/// Pools that are counted one by one; beyond it they share the name `other`.
const MAX_POOLS: usize = 1024;

/// Counters of one server. They only grow.
#[derive(Debug, Default)]
pub struct Metrics {
    answers: [AtomicU64; STATUSES.len()],
    connections: AtomicU64,
    refused_connections: AtomicU64,
    failed_handshakes: AtomicU64,
    bytes: AtomicU64,
    by_pool: Mutex<BTreeMap<String, u64>>,
}

impl Metrics {
    pub(crate) fn answered(&self, status: StatusCode) {
        if let Some(index) = STATUSES.iter().position(|known| *known == status.as_u16()) {
            self.answers[index].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn delivered(&self, pool: Option<&str>, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let Some(pool) = pool else { return };
        let mut by_pool = self.by_pool.lock();
        let pool = if by_pool.len() < MAX_POOLS || by_pool.contains_key(pool) { pool } else { "other" };
        *by_pool.entry(pool.to_owned()).or_default() += 1;
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connection_refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handshake_failed(&self) {
        self.failed_handshakes.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests were answered with a status.
    pub fn answers(&self, status: StatusCode) -> u64 {
        let index = STATUSES.iter().position(|known| *known == status.as_u16());
        index.map_or(0, |index| self.answers[index].load(Ordering::Relaxed))
    }

    /// The counters in the text form that Prometheus reads, with the label `cluster`.
    pub fn render(&self, cluster: &str) -> String {
        let cluster = escaped(cluster);
        let mut text = String::new();
        let mut family = |name: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            let mut lines = String::new();
            match name {
                "ign_server_get_request" => {
                    for (pool, count) in self.by_pool.lock().iter() {
                        let pool = escaped(pool);
                        let _ = writeln!(lines, "{name}{{cluster=\"{cluster}\",nodePool=\"{pool}\"}} {count}");
                    }
                }
                "roost_ignition_answers_total" => {
                    for (status, count) in STATUSES.iter().zip(&self.answers) {
                        let count = count.load(Ordering::Relaxed);
                        let _ = writeln!(lines, "{name}{{cluster=\"{cluster}\",code=\"{status}\"}} {count}");
                    }
                }
                _ => {
                    let counter = match name {
                        "roost_ignition_connections_total" => &self.connections,
                        "roost_ignition_refused_connections_total" => &self.refused_connections,
                        "roost_ignition_failed_handshakes_total" => &self.failed_handshakes,
                        _ => &self.bytes,
                    };
                    let _ = writeln!(lines, "{name}{{cluster=\"{cluster}\"}} {}", counter.load(Ordering::Relaxed));
                }
            }
            text.push_str(&lines);
        };
        family("ign_server_get_request", "Payloads that left, by pool.");
        family("roost_ignition_answers_total", "Requests, by the status that answered them.");
        family("roost_ignition_connections_total", "Connections that finished their handshake.");
        family("roost_ignition_refused_connections_total", "Connections of addresses that had too many.");
        family("roost_ignition_failed_handshakes_total", "Connections that never finished their handshake.");
        family("roost_ignition_payload_bytes_total", "Bytes of payloads that left.");
        text
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
