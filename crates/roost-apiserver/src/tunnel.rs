//! Ways to nodes that nothing reaches: their agents keep a connection to the server open, and bring a further one for
//! every stream that the server asks for.
//!
//! ```text
//! node ──GET /roost/tunnel/nodes/NAME, upgraded──► lines both ways: "ping", and "open ID" to the node
//! node ──GET /roost/tunnel/nodes/NAME/streams/ID, upgraded──► bytes of the kubelet's port
//! ```
//!
//! Whoever hears nothing for half a minute ends the connection, so that neither side believes in one that is dead. The server
//! speaks TLS with the kubelet inside a stream, as it does without.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use roost_access::User;
use roost_object::Status;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};

use crate::call::Call;
use crate::respond::{self, Body};

/// Where nodes come.
const PREFIX: &str = "/roost/tunnel/nodes/";
/// What is spoken instead of HTTP.
const PROTOCOL: &str = "roost-tunnel";
/// How often a sign of life is given.
const PING: Duration = Duration::from_secs(10);
/// After how long without one the other side is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a node may need to bring a stream.
const OPEN: Duration = Duration::from_secs(10);
/// For how long a node that was not reached directly is not tried so again.
const AVOID_DIRECT: Duration = Duration::from_mins(2);
/// Streams of one node that were asked for and are not there yet.
const MOST_WAITING: usize = 64;
/// Longer lines than this nobody sends.
const LONGEST_LINE: u64 = 256;

/// A connection to a node.
pub(crate) type Stream = TokioIo<Upgraded>;

/// The tunnels of one tenant, by node.
#[derive(Default)]
pub(crate) struct Tunnels {
    nodes: Mutex<HashMap<String, Tunnel>>,
    next: AtomicU64,
}

struct Tunnel {
    number: u64,
    orders: mpsc::Sender<u64>,
    waiting: HashMap<u64, oneshot::Sender<Stream>>,
    avoided_until: Option<Instant>,
}

impl Tunnels {
    /// Whether a node keeps a tunnel open.
    pub(crate) fn has(&self, node: &str) -> bool {
        self.nodes.lock().get(node).is_some_and(|tunnel| !tunnel.orders.is_closed())
    }

    /// Whether a node was not reached directly a short while ago.
    pub(crate) fn avoids_direct(&self, node: &str) -> bool {
        let nodes = self.nodes.lock();
        nodes.get(node).and_then(|tunnel| tunnel.avoided_until).is_some_and(|until| Instant::now() < until)
    }

    /// Remembers that a node was not reached directly.
    pub(crate) fn avoid_direct(&self, node: &str) {
        if let Some(tunnel) = self.nodes.lock().get_mut(node) {
            tunnel.avoided_until = Some(Instant::now() + AVOID_DIRECT);
        }
    }

    /// A connection to a node's kubelet, in the words of a dialler when there is none.
    pub(crate) async fn open(&self, node: &str) -> Result<Stream, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        let orders = {
            let mut nodes = self.nodes.lock();
            let tunnel = nodes.get_mut(node).ok_or_else(|| format!("dial tunnel {node}: no tunnel"))?;
            tunnel.waiting.retain(|_, waiting| !waiting.is_closed());
            if tunnel.waiting.len() >= MOST_WAITING {
                return Err(format!("dial tunnel {node}: too many streams wait"));
            }
            tunnel.waiting.insert(id, sender);
            tunnel.orders.clone()
        };
        orders.try_send(id).map_err(|_| format!("dial tunnel {node}: the tunnel is closed"))?;
        match tokio::time::timeout(OPEN, receiver).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(_)) => Err(format!("dial tunnel {node}: the tunnel is closed")),
            Err(_) => Err(format!("dial tunnel {node}: i/o timeout")),
        }
    }

    /// A node's new tunnel; the one before it ends.
    fn register(&self, node: &str) -> (u64, mpsc::Receiver<u64>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (orders, receiver) = mpsc::channel(MOST_WAITING);
        let mut nodes = self.nodes.lock();
        let avoided_until = nodes.get(node).and_then(|before| before.avoided_until);
        let tunnel = Tunnel { number, orders, waiting: HashMap::new(), avoided_until };
        nodes.insert(node.to_owned(), tunnel);
        (number, receiver)
    }

    /// A tunnel ended, unless another one has taken its place.
    fn remove(&self, node: &str, number: u64) {
        let mut nodes = self.nodes.lock();
        if nodes.get(node).is_some_and(|tunnel| tunnel.number == number) {
            nodes.remove(node);
        }
    }

    fn deliver(&self, node: &str, id: u64) -> Option<oneshot::Sender<Stream>> {
        self.nodes.lock().get_mut(node)?.waiting.remove(&id)
    }
}

/// What a node asks for at its own path.
enum Wish<'a> {
    Tunnel(&'a str),
    Stream(&'a str, u64),
}

/// Whether a request is a node's, at its own path. Nobody else is told that there is such a path.
pub(crate) fn is_of_node(user: &User, path: &str) -> bool {
    wish(path).is_some_and(|(Wish::Tunnel(node) | Wish::Stream(node, _))| {
        user.is_in("system:nodes") && user.name.strip_prefix("system:node:") == Some(node)
    })
}

fn wish(path: &str) -> Option<Wish<'_>> {
    let rest = path.strip_prefix(PREFIX)?;
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        [node] if !node.is_empty() => Some(Wish::Tunnel(node)),
        [node, "streams", id] if !node.is_empty() => Some(Wish::Stream(node, id.parse().ok()?)),
        _ => None,
    }
}

/// Switches protocols with a node.
pub(crate) fn answer(call: &Call) -> Result<Response<Body>, Status> {
    let required = || Status::bad_request("Upgrade request required");
    let asked = call.headers.get(UPGRADE).is_some_and(|value| value == PROTOCOL);
    let wish = wish(&call.info.path).filter(|_| asked).ok_or_else(required)?;
    let client = call.take_upgrade().ok_or_else(required)?;
    let place = call.cluster.flow.open_watch(&call.user)?;
    let cluster = Arc::clone(&call.cluster);
    match wish {
        Wish::Tunnel(node) => {
            let node = node.to_owned();
            tokio::spawn(async move {
                let (number, orders) = cluster.tunnels.register(&node);
                tokio::select! {
                    () = keep(client, orders) => {}
                    () = cluster.closing() => {}
                }
                cluster.tunnels.remove(&node, number);
                drop(place);
            });
        }
        Wish::Stream(node, id) => {
            let waiting = cluster.tunnels.deliver(node, id);
            let waiting = waiting.ok_or_else(|| Status::failure(404, "NotFound", "nobody waits for this stream"))?;
            tokio::spawn(async move {
                if let Ok(upgraded) = client.await {
                    let _ = waiting.send(TokioIo::new(upgraded));
                }
            });
        }
    }
    let mut response = respond::bytes(StatusCode::SWITCHING_PROTOCOLS.as_u16(), "", Bytes::new());
    let headers = response.headers_mut();
    headers.clear();
    headers.insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    Ok(response)
}

/// Hands orders on and gives signs of life, for as long as the node does.
async fn keep(client: OnUpgrade, mut orders: mpsc::Receiver<u64>) {
    let Ok(upgraded) = client.await else { return };
    let (reader, mut writer) = tokio::io::split(TokioIo::new(upgraded));
    let mut reader = BufReader::new(reader);
    let mut ping = tokio::time::interval(PING);
    let mut heard = tokio::time::Instant::now();
    loop {
        let line = tokio::select! {
            line = read_line(&mut reader) => match line {
                Some(()) => {
                    heard = tokio::time::Instant::now();
                    continue;
                }
                None => return,
            },
            order = orders.recv() => match order {
                Some(id) => format!("open {id}\n"),
                // Another tunnel has taken its place.
                None => return,
            },
            _ = ping.tick() => "ping\n".to_owned(),
            () = tokio::time::sleep_until(heard + SILENCE) => return,
        };
        let written = tokio::time::timeout(SILENCE, writer.write_all(line.as_bytes())).await;
        if !matches!(written, Ok(Ok(()))) || writer.flush().await.is_err() {
            return;
        }
    }
}

/// Takes a line; all that nodes say is that they are there.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<()> {
    let mut line = Vec::new();
    let read = reader.take(LONGEST_LINE).read_until(b'\n', &mut line).await.ok()?;
    (read > 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_node_has_its_own_path() {
        let node = |name: &str| User {
            name: format!("system:node:{name}"),
            groups: vec!["system:nodes".into()],
            ..User::default()
        };
        assert!(is_of_node(&node("a"), "/roost/tunnel/nodes/a"));
        assert!(is_of_node(&node("a"), "/roost/tunnel/nodes/a/streams/7"));
        for path in ["/roost/tunnel/nodes/b", "/roost/tunnel/nodes/", "/roost/tunnel/nodes/a/streams/x", "/roost"] {
            assert!(!is_of_node(&node("a"), path), "{path}");
        }
        let admin = User { name: "system:node:a".into(), groups: vec!["system:masters".into()], ..User::default() };
        assert!(!is_of_node(&admin, "/roost/tunnel/nodes/a"));
    }

    #[tokio::test]
    async fn a_later_tunnel_takes_the_place_of_an_earlier_one() {
        let tunnels = Tunnels::default();
        assert!(tunnels.open("a").await.is_err_and(|why| why.contains("no tunnel")));
        let (first, mut orders) = tunnels.register("a");
        let (_second, _others) = tunnels.register("a");
        assert_eq!(orders.recv().await, None);
        tunnels.remove("a", first);
        assert!(tunnels.has("a"));
        tunnels.avoid_direct("a");
        assert!(tunnels.avoids_direct("a") && !tunnels.avoids_direct("b"));
    }
}
