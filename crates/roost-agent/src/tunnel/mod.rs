//! The way back to this node from where nothing reaches it: one connection to the API server that stays open, and a further
//! one for every stream to the kubelet that the server asks for.
//!
//! Both sides say something every ten seconds. Whoever hears nothing for half a minute ends the connection, and this side
//! begins another.

mod pump;

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::https::Tls;
use crate::node_plane::node_name;
use crate::root::Root;
use crate::words;

/// How often a sign of life is given.
const PING: Duration = Duration::from_secs(10);
/// After how long without one the other side is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a read waits, so that pings go out in time.
const TICK: Duration = Duration::from_secs(1);
/// How soon another connection is begun: first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long the kubelet may need to take a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Streams at the same time.
const MOST_STREAMS: usize = 64;
/// Longer lines than this nobody sends.
const LONGEST_LINE: usize = 256;
/// Where the kubelet listens.
const KUBELET: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 10250);
/// What a thread needs that only copies bytes.
const SMALL_STACK: usize = 256 * 1024;

/// Starts to keep a connection.
pub fn start() -> io::Result<()> {
    std::thread::Builder::new().name("tunnel".to_owned()).stack_size(SMALL_STACK).spawn(keep).map(drop)
}

fn keep() {
    let root = Root::new(Path::new("/"));
    let open = Arc::new(AtomicUsize::new(0));
    let mut pause = PAUSES.0;
    let mut said = String::new();
    loop {
        let begin = Instant::now();
        let ended = connected(&root, &open);
        let reason = words::with_causes(ended.as_ref());
        if reason != said {
            eprintln!("tunnel: {reason}");
            said = reason;
        }
        if begin.elapsed() > SILENCE {
            pause = PAUSES.0;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Keeps one connection until it ends, and says why it did.
fn connected(root: &Root, open: &Arc<AtomicUsize>) -> Box<dyn std::error::Error> {
    let outcome = || -> Result<(), Box<dyn std::error::Error>> {
        let node = node_name(root).ok_or_else(|| io::Error::other("this host is no node"))?;
        let path = format!("/roost/tunnel/nodes/{node}");
        let mut stream = Cluster::of_node(root)?.switch(&path)?;
        stream.sock.set_read_timeout(Some(TICK))?;
        listen(&mut stream, &mut |id| serve(root, format!("{path}/streams/{id}"), open))?;
        Ok(())
    };
    outcome().err().unwrap_or_else(|| io::Error::other("the server ended it").into())
}

/// Takes orders and gives signs of life, until the other side is gone.
fn listen(stream: &mut Tls, order: &mut dyn FnMut(u64)) -> io::Result<()> {
    let (mut heard, mut pinged) = (Instant::now(), Instant::now());
    let mut line = Vec::new();
    let mut buffer = [0; 512];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                heard = Instant::now();
                for byte in &buffer[..length] {
                    if *byte == b'\n' {
                        if let Some(id) = ordered(&line) {
                            order(id);
                        }
                        line.clear();
                    } else if line.len() < LONGEST_LINE {
                        line.push(*byte);
                    }
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        if heard.elapsed() > SILENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the server is silent"));
        }
        if pinged.elapsed() >= PING {
            pinged = Instant::now();
            stream.write_all(b"ping\n")?;
            stream.flush()?;
        }
    }
}

/// The stream that a line asks for.
fn ordered(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line).ok()?.strip_prefix("open ")?.parse().ok()
}

/// Joins a new connection to the server with one to the kubelet.
fn serve(root: &Root, path: String, open: &Arc<AtomicUsize>) {
    if open.fetch_add(1, Ordering::SeqCst) >= MOST_STREAMS {
        open.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let cluster = Cluster::of_node(root);
    let counted = Arc::clone(open);
    let join = move || {
        let joined = || -> Result<(), Box<dyn std::error::Error>> {
            let kubelet = TcpStream::connect_timeout(&SocketAddr::from(KUBELET), CONNECT)?;
            pump::join(cluster?.switch(&path)?, &kubelet)?;
            Ok(())
        };
        if let Err(error) = joined() {
            eprintln!("tunnel: a stream ended: {}", words::with_causes(error.as_ref()));
        }
        counted.fetch_sub(1, Ordering::SeqCst);
    };
    let started = std::thread::Builder::new().name("tunnel-stream".to_owned()).stack_size(SMALL_STACK).spawn(join);
    if started.is_err() {
        open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::ordered;

    #[test]
    fn orders_are_read() {
        assert_eq!(ordered(b"open 17"), Some(17));
        for line in [&b"ping"[..], b"open", b"open -1", b"open x", b"\xff"] {
            assert_eq!(ordered(line), None);
        }
    }
}
