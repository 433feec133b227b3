//! Connections that wait for the next call.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use roost_admission::webhook::Client;

type Connection = SendRequest<Full<Bytes>>;

/// How many connections to one place are kept: as many as are usually busy at once.
const MAX_IDLE: usize = 8;

/// How long one is kept: less than most servers keep theirs.
const IDLE_TIME: Duration = Duration::from_mins(1);

/// The kept connections of a tenant, by where they lead.
#[derive(Default)]
pub(crate) struct Pool(Mutex<HashMap<Client, Vec<(Connection, Instant)>>>);

impl Pool {
    /// A connection that still stands, the youngest first.
    pub(super) fn take(&self, client: &Client) -> Option<Connection> {
        let mut pool = self.0.lock();
        let idle = pool.get_mut(client)?;
        while let Some((connection, since)) = idle.pop() {
            if !connection.is_closed() && connection.is_ready() && since.elapsed() < IDLE_TIME {
                return Some(connection);
            }
        }
        pool.remove(client);
        None
    }

    /// Keeps a connection whose answer was read to the end.
    pub(super) fn give_back(&self, client: &Client, connection: Connection) {
        if connection.is_closed() {
            return;
        }
        let mut pool = self.0.lock();
        pool.retain(|_, idle| {
            idle.retain(|(connection, since)| !connection.is_closed() && since.elapsed() < IDLE_TIME);
            !idle.is_empty()
        });
        let idle = pool.entry(client.clone()).or_default();
        if idle.len() < MAX_IDLE {
            idle.push((connection, Instant::now()));
        }
    }
}
