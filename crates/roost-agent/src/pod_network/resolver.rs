//! Cluster DNS on this node: names of the cluster from memory, all others from the host's own resolvers. Over UDP and TCP.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use roost_network::dns::{Outcome, Query, Reply, encode, respond};
use roost_network::zone::Zone;

use super::forward::Forwarder;
use super::{SMALL_STACK, say};

const PORT: u16 = 53;
/// Questions that are asked elsewhere at the same time.
const WORKERS: usize = 32;
/// Questions that wait for one of these; more are answered with a failure at once.
const WAITING: usize = 512;
/// Connections of clients at the same time.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may be silent on a connection.
const IDLE: Duration = Duration::from_secs(10);
/// How soon an address that is not there yet is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// The largest question that is taken over UDP.
const LARGEST_QUESTION: usize = 4096;

/// What names mean, as of now.
#[derive(Debug)]
pub(super) struct Names {
    zone: RwLock<Arc<Zone>>,
    turn: AtomicUsize,
    own: Vec<IpAddr>,
}

impl Names {
    pub(super) fn new(own: Vec<IpAddr>) -> Self {
        Self { zone: RwLock::default(), turn: AtomicUsize::new(0), own }
    }

    pub(super) fn set(&self, zone: Zone) {
        *self.zone.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(zone);
    }

    fn zone(&self) -> Arc<Zone> {
        Arc::clone(&self.zone.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn reply(&self, query: &Query, limit: usize) -> Reply {
        let zone = self.zone();
        // Before anything is known, "no such name" would be a lie.
        if zone.domain().is_empty() {
            return Reply::Answer(failure(query, limit));
        }
        respond(&zone, query, self.turn.fetch_add(1, Ordering::Relaxed), limit)
    }
}

fn failure(query: &Query, limit: usize) -> Vec<u8> {
    encode(query, Outcome::Failed, false, [&[], &[], &[]], limit)
}

/// A question over UDP that has to be asked elsewhere.
struct Job {
    socket: Arc<UdpSocket>,
    client: SocketAddr,
    message: Vec<u8>,
    query: Query,
    reply: Reply,
}

/// Serves at these addresses, as soon as the host has them.
pub(super) fn serve(addresses: &[IpAddr], names: &Arc<Names>) -> io::Result<()> {
    let (jobs, waiting) = sync_channel::<Job>(WAITING);
    let waiting = Arc::new(Mutex::new(waiting));
    let forwarder = Arc::new(Forwarder::new(names.own.clone()));
    for _ in 0..WORKERS {
        let (waiting, forwarder) = (Arc::clone(&waiting), Arc::clone(&forwarder));
        std::thread::Builder::new()
            .name("forward".to_owned())
            .stack_size(SMALL_STACK)
            .spawn(move || work(&waiting, &forwarder))?;
    }
    for address in addresses {
        let place = SocketAddr::new(*address, PORT);
        let (names_here, jobs) = (Arc::clone(names), jobs.clone());
        super::spawn("names-udp", move || datagrams(place, &names_here, &jobs))?;
        let (names_here, forwarder) = (Arc::clone(names), Arc::clone(&forwarder));
        super::spawn("names-tcp", move || connections(place, &names_here, &forwarder))?;
    }
    Ok(())
}

/// Tries until the host has the address.
fn bound<T>(place: SocketAddr, bind: impl Fn(SocketAddr) -> io::Result<T>) -> T {
    let mut said = String::new();
    loop {
        match bind(place) {
            Ok(socket) => return socket,
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(error) if error.to_string() != said => {
                said = error.to_string();
                say(&format!("names cannot be served at {place}: {said}"));
            }
            Err(_) => {}
        }
        std::thread::sleep(RETRY);
    }
}

fn datagrams(place: SocketAddr, names: &Names, jobs: &SyncSender<Job>) {
    let socket = Arc::new(bound(place, UdpSocket::bind));
    let mut buffer = [0; LARGEST_QUESTION];
    loop {
        let Ok((length, client)) = socket.recv_from(&mut buffer) else {
            // A client that went away is told here, too.
            continue;
        };
        let Some(query) = Query::read(&buffer[..length]) else { continue };
        let limit = query.limit();
        let answer = match names.reply(&query, limit) {
            Reply::Answer(answer) => answer,
            reply => {
                let message = buffer[..length].to_vec();
                let job = Job { socket: Arc::clone(&socket), client, message, query, reply };
                match jobs.try_send(job) {
                    Err(TrySendError::Full(job)) => failure(&job.query, limit),
                    Ok(()) | Err(TrySendError::Disconnected(_)) => continue,
                }
            }
        };
        // A client that is gone needs no answer.
        let _ = socket.send_to(&answer, client);
    }
}

fn work(waiting: &Mutex<Receiver<Job>>, forwarder: &Forwarder) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let limit = job.query.limit();
        let answer = forwarder.answer(&job.query, &job.message, job.reply, limit, false);
        let answer = answer.unwrap_or_else(|| failure(&job.query, limit));
        let _ = job.socket.send_to(&answer, job.client);
    }
}

fn connections(place: SocketAddr, names: &Arc<Names>, forwarder: &Arc<Forwarder>) {
    let listener = bound(place, TcpListener::bind);
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            std::thread::sleep(RETRY);
            continue;
        };
        if open.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let (names, forwarder, counted) = (Arc::clone(names), Arc::clone(forwarder), Arc::clone(&open));
        let serve = move || {
            let _ = converse(stream, &names, &forwarder);
            counted.fetch_sub(1, Ordering::SeqCst);
        };
        let started = std::thread::Builder::new().name("names-client".to_owned()).stack_size(SMALL_STACK).spawn(serve);
        if started.is_err() {
            open.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Answers what comes on a connection until it ends.
fn converse(mut stream: TcpStream, names: &Names, forwarder: &Forwarder) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut message)?;
        let Some(query) = Query::read(&message) else { return Ok(()) };
        let limit = usize::from(u16::MAX);
        let answer = match names.reply(&query, limit) {
            Reply::Answer(answer) => answer,
            reply => forwarder.answer(&query, &message, reply, limit, true).unwrap_or_else(|| failure(&query, limit)),
        };
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes()[..], &answer].concat())?;
    }
}
