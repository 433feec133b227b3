//! The way to other hosts: echo requests to all of them at once, for about a second.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use roost_host::measurement::{ConnectivityReply, MOST_PEERS, RemoteHost, RemoteReply, Way};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};

use super::super::network;
use super::echo;
use crate::root::Root;

/// Requests to each address. Upstream's number.
const REQUESTS: u32 = 10;
/// Between two requests to the same address.
const INTERVAL: Duration = Duration::from_millis(50);
/// How long the last answers are waited for: longer than what is called slow.
const LAST_WAIT: Duration = Duration::from_millis(1500);
/// Addresses that are tried, of all hosts together.
const MOST_TARGETS: usize = 32;
/// Answers are as long as requests.
const LARGEST: usize = 256;

struct Target {
    host: usize,
    address: IpAddr,
    sent: Vec<Option<Instant>>,
    times: Vec<Duration>,
}

/// Tries how other hosts are reached.
pub(in super::super) fn peers(root: &Root, order: &[RemoteHost]) -> io::Result<ConnectivityReply> {
    let order = &order[..order.len().min(MOST_PEERS)];
    let mut targets = targets(order);
    for is_v4 in [true, false] {
        if targets.iter().any(|target| target.address.is_ipv4() == is_v4) {
            measure(&open(is_v4)?, is_v4, &mut targets)?;
        }
    }
    let cards = cards(root);
    let way = |target: &Target| Way {
        outgoing_nic: outgoing(target.address).and_then(|own| cards.get(&own).cloned()).unwrap_or_default(),
        remote_ip_address: target.address.to_string(),
        successful: !target.times.is_empty(),
        average_rtt_ms: average(&target.times).as_secs_f64() * 1000.0,
        packet_loss_percentage: loss(target.times.len()),
    };
    let remote_hosts = order.iter().enumerate().map(|(place, host)| RemoteReply {
        host_id: host.host_id.clone(),
        l3_connectivity: targets.iter().filter(|target| target.host == place).map(way).collect(),
    });
    Ok(ConnectivityReply { remote_hosts: remote_hosts.collect() })
}

fn targets(order: &[RemoteHost]) -> Vec<Target> {
    let addresses = order.iter().enumerate().flat_map(|(host, remote)| {
        let texts = remote.nics.iter().flat_map(|card| &card.ip_addresses);
        texts.filter_map(move |text| Some((host, text.parse::<IpAddr>().ok()?)))
    });
    let target = |(host, address)| Target { host, address, sent: Vec::new(), times: Vec::new() };
    addresses.take(MOST_TARGETS).map(target).collect()
}

fn average(times: &[Duration]) -> Duration {
    times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1).max(1)
}

fn loss(answers: usize) -> f64 {
    let answers = u32::try_from(answers).unwrap_or(REQUESTS).min(REQUESTS);
    f64::from(REQUESTS - answers) * 100.0 / f64::from(REQUESTS)
}

/// A socket for packets as they are, which only an administrator may open.
fn open(is_v4: bool) -> io::Result<UdpSocket> {
    let (family, protocol) =
        if is_v4 { (AddressFamily::INET, ipproto::ICMP) } else { (AddressFamily::INET6, ipproto::ICMPV6) };
    Ok(UdpSocket::from(socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(protocol))?))
}

fn measure(socket: &UdpSocket, is_v4: bool, targets: &mut [Target]) -> io::Result<()> {
    let mark =
        u64::from(std::process::id()) << 32 | u64::from(jiff::Timestamp::now().subsec_nanosecond().unsigned_abs());
    for round in 0..REQUESTS {
        let begun = Instant::now();
        for (place, target) in (0_u32..).zip(targets.iter_mut()) {
            if target.address.is_ipv4() == is_v4 {
                let bytes = echo::request(target.address, mark, place * REQUESTS + round);
                let sent = socket.send_to(&bytes, SocketAddr::new(target.address, 0));
                // Where there is no way at all, the request is as good as lost.
                target.sent.push(sent.ok().map(|_| Instant::now()));
            }
        }
        receive(socket, is_v4, mark, targets, begun + INTERVAL)?;
    }
    receive(socket, is_v4, mark, targets, Instant::now() + LAST_WAIT)
}

/// Takes answers until a moment, or until none is missing.
fn receive(socket: &UdpSocket, is_v4: bool, mark: u64, targets: &mut [Target], until: Instant) -> io::Result<()> {
    let mut packet = [0; LARGEST];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut tried = targets.iter().filter(|target| target.address.is_ipv4() == is_v4);
        let is_open =
            |target: &Target| target.sent.len() < REQUESTS as usize || target.sent.iter().any(Option::is_some);
        if left.is_zero() || !tried.any(is_open) {
            return Ok(());
        }
        socket.set_read_timeout(Some(left))?;
        let (length, from) = match socket.recv_from(&mut packet) {
            Ok((length, from)) => (length, from.ip()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let Some(number) = echo::answer(&packet[..length], is_v4, mark) else { continue };
        let Some(target) = targets.get_mut((number / REQUESTS) as usize).filter(|target| target.address == from) else {
            continue;
        };
        if let Some(sent) = target.sent.get_mut((number % REQUESTS) as usize).and_then(Option::take) {
            target.times.push(sent.elapsed());
        }
    }
}

/// The own address by which packets to another leave.
fn outgoing(to: IpAddr) -> Option<IpAddr> {
    let any = if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Nothing is sent: the kernel only chooses the way.
    socket.connect((to, 9)).ok()?;
    socket.local_addr().ok().map(|own| own.ip())
}

fn cards(root: &Root) -> BTreeMap<IpAddr, String> {
    let mut all = BTreeMap::new();
    for card in network::interfaces(root) {
        for text in card.ipv4_addresses.iter().chain(&card.ipv6_addresses) {
            if let Some(address) = text.split('/').next().and_then(|text| text.parse().ok()) {
                all.insert(address, card.name.clone());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use roost_host::measurement::RemoteCard;

    use super::*;

    #[test]
    fn no_order_makes_more_work_than_a_second() {
        let card =
            RemoteCard { ip_addresses: vec!["192.0.2.1".to_owned(), "nonsense".to_owned()], ..RemoteCard::default() };
        let host = RemoteHost { host_id: String::new(), nics: vec![card; 1000] };
        assert_eq!(targets(&[host]).len(), MOST_TARGETS);
        assert_eq!((loss(10), loss(9), loss(0), loss(99)), (0.0, 10.0, 100.0, 0.0));
        assert_eq!(average(&[]), Duration::ZERO);
    }

    #[test]
    fn answers_are_taken_from_whom_they_were_asked_of() {
        // What comes back over this socket has no head before it, as packets of the newer family.
        let (own, other) = (UdpSocket::bind("[::1]:0").unwrap(), UdpSocket::bind("[::1]:0").unwrap());
        let target = |address: &str| Target {
            host: 0,
            address: address.parse().unwrap(),
            sent: vec![Some(Instant::now()); REQUESTS as usize],
            times: Vec::new(),
        };
        let mut targets = [target("::1"), target("::2")];
        let answer = |number: u32| {
            let mut bytes = echo::request("::1".parse().unwrap(), 7, number);
            bytes[0] = 129;
            other.send_to(&bytes, own.local_addr().unwrap()).unwrap();
        };
        // The second is told twice, the third in the name of another.
        for number in [0, 1, 1, REQUESTS, 9999] {
            answer(number);
        }
        receive(&own, false, 7, &mut targets, Instant::now() + Duration::from_millis(200)).unwrap();
        assert_eq!((targets[0].times.len(), targets[1].times.len()), (2, 0));
    }
}
