//! Carrying packets: from the link to peers, from peers to the link, and what time asks for in between.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ipnet::IpNet;
use roost_network::mesh::{self, LINK, PORT};
use roost_wireguard::{Datagram, Identity, Initiation, Now, Output, Tunnel};
use tun_rs::{DeviceBuilder, SyncDevice};

use super::super::{say, spawn};
use super::MeshError;
use super::table::{Peer, Place, State, Table};

/// How often tunnels are told the time.
const TICK: Duration = Duration::from_millis(500);
/// Handshakes that are answered within a tick; each costs two agreements on keys, and anybody can ask for one.
const MOST_HANDSHAKES: u32 = 100;
/// No packet and no datagram is larger.
const LARGEST: usize = 1 << 16;

/// The link and the socket, and who is behind them.
pub(super) struct Carrier {
    identity: Arc<Identity>,
    socket: UdpSocket,
    device: SyncDevice,
    table: RwLock<Table>,
    handshakes: AtomicU32,
}

fn now() -> Now {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { at: Instant::now(), since_1970 }
}

impl Carrier {
    /// Makes the link and begins to carry.
    pub(super) fn start(identity: Arc<Identity>) -> Result<Arc<Self>, MeshError> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).map_err(MeshError::Port)?;
        let device = DeviceBuilder::new().name(LINK).build_sync().map_err(MeshError::Link)?;
        let (table, handshakes) = (RwLock::default(), AtomicU32::new(0));
        let carrier = Arc::new(Self { identity, socket, device, table, handshakes });
        for (name, work) in
            [("mesh-out", Self::outward as fn(&Self)), ("mesh-in", Self::inward), ("mesh-time", Self::time)]
        {
            let carrier = Arc::clone(&carrier);
            spawn(name, move || work(&carrier)).map_err(MeshError::Link)?;
        }
        Ok(carrier)
    }

    /// Who is in the mesh from now on, and which addresses are behind this host.
    pub(super) fn set(&self, peers: &[mesh::Peer], own: &[IpNet]) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.set(&self.identity, peers, own, Instant::now());
    }

    /// Peers that nothing is heard of, each in a sentence.
    pub(super) fn silent(&self) -> Vec<String> {
        self.table().silent(Instant::now())
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn outward(&self) {
        let mut packet = vec![0; LARGEST];
        loop {
            let length = match self.device.recv(&mut packet) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => gone(&error),
            };
            let packet = &packet[..length];
            let Some((to, _)) = mesh::ends(packet) else { continue };
            let peer = self.table().behind(to).cloned();
            if let Some(peer) = peer {
                let State { tunnel, place, .. } = &mut *peer.state();
                tunnel.send(packet, now(), &mut |output| self.put(&peer, place, output));
            }
        }
    }

    fn inward(&self) {
        let mut datagram = vec![0; LARGEST];
        loop {
            // What a router says about an earlier datagram is said here, too.
            let Ok((length, from)) = self.socket.recv_from(&mut datagram) else { continue };
            self.take(&datagram[..length], from);
        }
    }

    /// Takes a datagram. Nothing is answered, and nothing believed, before it has proved whose it is.
    fn take(&self, datagram: &[u8], from: SocketAddr) -> Option<()> {
        let mut initiation = None;
        let peer = match Datagram::read(datagram)? {
            Datagram::To(index) => self.table().with_slot(Tunnel::slot(index))?,
            Datagram::Initiation => {
                if self.handshakes.fetch_add(1, Ordering::Relaxed) >= MOST_HANDSHAKES {
                    return None;
                }
                let read = Initiation::read(&self.identity, datagram).ok()?;
                let peer = self.table().with_key(read.peer())?;
                initiation = Some(read);
                peer
            }
        };
        let State { tunnel, place, .. } = &mut *peer.state();
        let mut out = |output: Output<'_>| {
            place.found(from);
            self.put(&peer, place, output);
        };
        let taken = match initiation {
            Some(initiation) => tunnel.answer(initiation, now(), &mut out),
            None => tunnel.receive(datagram, now(), &mut out),
        };
        taken.ok().map(|()| place.found(from))
    }

    fn time(&self) {
        loop {
            std::thread::sleep(TICK);
            self.handshakes.store(0, Ordering::Relaxed);
            let peers = self.table().all();
            for peer in peers {
                let State { tunnel, place, .. } = &mut *peer.state();
                tunnel.tick(now(), &mut |output| self.put(&peer, place, output));
            }
        }
    }

    /// Brings what comes out of a tunnel to where it belongs. What is lost is sent again by who cares.
    fn put(&self, peer: &Arc<Peer>, place: &mut Place, output: Output<'_>) {
        match output {
            Output::Packet(packet) => {
                let ends = mesh::ends(packet);
                if ends.is_some_and(|(to, from)| self.table().allows(peer, from, to)) {
                    let _ = self.device.send(packet);
                }
            }
            Output::Datagram(datagram) => {
                if let Some(place) = place.known {
                    let _ = self.socket.send_to(datagram, place);
                }
            }
            Output::Initiation(datagram) => {
                if let Some(place) = place.next() {
                    let _ = self.socket.send_to(datagram, place);
                }
            }
        }
    }
}

/// Somebody removed the link. A new process makes a new one.
fn gone(error: &io::Error) -> ! {
    say(&format!("the link {LINK} is gone: {error}"));
    std::process::exit(1)
}
