//! Who is in the mesh: peers by key, by the slot that their datagrams name, and by the addresses behind them.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use roost_network::mesh::{self, Key};
use roost_wireguard::{Identity, KEEPALIVE, PublicKey, SILENCE, Tunnel};

/// A new peer may need so long until it is heard.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where a peer is.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Where it was last heard from.
    pub(super) known: Option<SocketAddr>,
    /// Where it may be.
    possible: Vec<SocketAddr>,
    turn: usize,
}

impl Place {
    /// It was heard from here.
    pub(super) fn found(&mut self, from: SocketAddr) {
        self.known = Some(from);
        self.turn = 0;
    }

    /// Where to look for it next: where it was, then where it may be, one after the other.
    pub(super) fn next(&mut self) -> Option<SocketAddr> {
        let all: Vec<SocketAddr> = self.known.iter().chain(&self.possible).copied().collect();
        let place = all.get(self.turn.checked_rem(all.len())?).copied();
        self.turn += 1;
        place
    }
}

/// A peer, as it is now.
#[derive(Debug)]
pub(super) struct State {
    pub(super) tunnel: Tunnel,
    pub(super) place: Place,
    nodes: String,
    since: Instant,
}

/// A peer.
#[derive(Debug)]
pub(super) struct Peer {
    slot: u32,
    state: Mutex<State>,
}

impl Peer {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All peers.
#[derive(Debug, Default)]
pub(super) struct Table {
    peers: HashMap<Key, Arc<Peer>>,
    slots: HashMap<u32, Arc<Peer>>,
    networks: HashMap<IpNet, Arc<Peer>>,
    /// The lengths of networks, the longest first.
    lengths: Vec<u8>,
    /// The addresses of this node's pods.
    own: Vec<IpNet>,
    last_slot: u32,
}

impl Table {
    /// Makes the table what is planned. Peers that stay keep their sessions.
    pub(super) fn set(&mut self, identity: &Arc<Identity>, wanted: &[mesh::Peer], own: &[IpNet], now: Instant) {
        let mut before = std::mem::take(&mut self.peers);
        self.networks.clear();
        for plan in wanted {
            let peer = before.remove(&plan.key).unwrap_or_else(|| {
                self.last_slot = (self.last_slot + 1) & 0x00ff_ffff;
                let tunnel = Tunnel::new(Arc::clone(identity), PublicKey::from(plan.key), self.last_slot);
                let state = State { tunnel, place: Place::default(), nodes: String::new(), since: now };
                Arc::new(Peer { slot: self.last_slot, state: Mutex::new(state) })
            });
            let mut state = peer.state();
            state.place.possible.clone_from(&plan.places);
            state.nodes = plan.nodes.join(", ");
            drop(state);
            self.networks.extend(plan.networks.iter().map(|network| (*network, Arc::clone(&peer))));
            self.peers.insert(plan.key, peer);
        }
        self.slots = self.peers.values().map(|peer| (peer.slot, Arc::clone(peer))).collect();
        let lengths: BTreeSet<u8> = self.networks.keys().map(IpNet::prefix_len).collect();
        self.lengths = lengths.into_iter().rev().collect();
        self.own = own.to_vec();
    }

    pub(super) fn all(&self) -> Vec<Arc<Peer>> {
        self.peers.values().cloned().collect()
    }

    pub(super) fn with_key(&self, key: PublicKey) -> Option<Arc<Peer>> {
        self.peers.get(key.as_bytes()).cloned()
    }

    pub(super) fn with_slot(&self, slot: u32) -> Option<Arc<Peer>> {
        self.slots.get(&slot).cloned()
    }

    /// Who is behind an address.
    pub(super) fn behind(&self, address: IpAddr) -> Option<&Arc<Peer>> {
        let network = |length: &u8| IpNet::new(address, *length).ok().map(|network| network.trunc());
        self.lengths.iter().filter_map(network).find_map(|network| self.networks.get(&network))
    }

    /// Whether a packet may come from a peer: from an address behind it, to a pod of this node.
    pub(super) fn allows(&self, peer: &Arc<Peer>, from: IpAddr, to: IpAddr) -> bool {
        self.behind(from).is_some_and(|owner| Arc::ptr_eq(owner, peer))
            && self.own.iter().any(|network| network.contains(&to))
    }

    /// Peers that nothing is heard of, each in a sentence.
    pub(super) fn silent(&self, now: Instant) -> Vec<String> {
        let mut silent: Vec<String> = self.peers.values().filter_map(|peer| words(&peer.state(), now)).collect();
        silent.sort();
        silent
    }
}

fn words(state: &State, now: Instant) -> Option<String> {
    let (since, patience) = match state.tunnel.heard() {
        Some(heard) => (heard, SILENCE + KEEPALIVE),
        None => (state.since, PATIENCE),
    };
    if now.saturating_duration_since(since) < patience {
        return None;
    }
    let places: Vec<String> = state.place.possible.iter().map(ToString::to_string).collect();
    let places = if places.is_empty() { "no address".to_owned() } else { places.join(", ") };
    Some(format!("no word from {} through the mesh, which was looked for at {places}", state.nodes))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use ipnet::IpNet;
    use roost_network::mesh;
    use roost_wireguard::{Identity, PrivateKey};

    use super::{Place, Table};

    fn peer(number: u8, network: &str) -> mesh::Peer {
        let key = *PrivateKey::generate().unwrap().public().unwrap().as_bytes();
        let places = vec![SocketAddr::from(([192, 0, 2, number], 51_840))];
        mesh::Peer { nodes: vec![format!("n{number}")], key, networks: vec![network.parse().unwrap()], places }
    }

    #[test]
    fn peers_keep_their_place_and_speak_only_for_themselves() {
        let identity = Arc::new(Identity::new(PrivateKey::generate().unwrap()).unwrap());
        let own: [IpNet; 1] = ["10.1.0.0/24".parse().unwrap()];
        let (mut table, now) = (Table::default(), Instant::now());
        let peers = [peer(1, "10.1.1.0/24"), peer(2, "10.1.2.0/25"), peer(3, "fd01::/64")];
        table.set(&identity, &peers, &own, now);
        let address = |text: &str| text.parse().unwrap();
        let first = Arc::clone(table.behind(address("10.1.1.9")).unwrap());
        assert!(table.behind(address("10.1.2.200")).is_none());
        assert!(table.behind(address("fd01::9")).is_some());
        assert!(table.allows(&first, address("10.1.1.9"), address("10.1.0.7")));
        assert!(!table.allows(&first, address("10.1.2.9"), address("10.1.0.7")), "another's pod");
        assert!(!table.allows(&first, address("10.1.1.9"), address("192.168.0.1")), "no pod of this node");
        table.set(&identity, &peers[..1], &own, now);
        assert!(Arc::ptr_eq(&first, table.behind(address("10.1.1.9")).unwrap()));
        assert!(Arc::ptr_eq(&first, &table.with_slot(first.slot).unwrap()));
        assert_eq!(table.all().len(), 1);
        assert!(table.silent(now + Duration::from_secs(5)).is_empty());
        let words = table.silent(now + Duration::from_secs(30));
        assert_eq!(words, ["no word from n1 through the mesh, which was looked for at 192.0.2.1:51840"]);
    }

    #[test]
    fn a_peer_is_looked_for_where_it_was_first() {
        let [here, there]: [SocketAddr; 2] = ["192.0.2.1:1".parse().unwrap(), "192.0.2.2:2".parse().unwrap()];
        let mut place = Place { possible: vec![here], ..Place::default() };
        assert_eq!([place.next(), place.next()], [Some(here), Some(here)]);
        place.found(there);
        assert_eq!([place.next(), place.next(), place.next()], [Some(there), Some(here), Some(there)]);
        assert_eq!(Place::default().next(), None);
    }
}
