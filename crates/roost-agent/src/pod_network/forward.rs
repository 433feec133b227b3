//! Asking the host's own resolvers, with another port and number for each question, so that nobody can guess an answer.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use aws_lc_rs::rand;
use roost_network::dns::{Query, Reply, Upstream, chased, with_id};

/// Where the host's resolvers are named.
const RESOLVERS: &str = "/etc/resolv.conf";
/// As many resolvers as the C library asks.
const MOST_RESOLVERS: usize = 3;
const PORT: u16 = 53;
/// How long a resolver may need.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who asks others.
#[derive(Debug)]
pub(super) struct Forwarder {
    /// Our own addresses, which must not be asked.
    own: Vec<IpAddr>,
}

impl Forwarder {
    pub(super) fn new(own: Vec<IpAddr>) -> Self {
        Self { own }
    }

    /// The answer to a question that is not, or not only, about the cluster.
    pub(super) fn answer(
        &self,
        query: &Query,
        message: &[u8],
        reply: Reply,
        limit: usize,
        is_stream: bool,
    ) -> Option<Vec<u8>> {
        match reply {
            Reply::Answer(answer) => Some(answer),
            Reply::Forward => Some(with_id(&self.ask(query, message, is_stream)?, query.id)),
            Reply::Chase { target, records } => {
                let message = Query::about(&target, query.kind, 0)?;
                let inner = Query::read(&message)?;
                let found = self.ask(&inner, &message, is_stream).and_then(|answer| Upstream::read(&answer));
                let found = match found {
                    Some(found) if found.is_truncated && !is_stream => {
                        self.ask(&inner, &message, true).and_then(|answer| Upstream::read(&answer))
                    }
                    other => other,
                };
                Some(chased(query, records, found.as_ref(), limit))
            }
        }
    }

    /// The first answer of a resolver.
    fn ask(&self, query: &Query, message: &[u8], is_stream: bool) -> Option<Vec<u8>> {
        let text = std::fs::read_to_string(RESOLVERS).ok()?;
        let resolvers = resolvers(&text).into_iter().filter(|address| !self.own.contains(address));
        resolvers.take(MOST_RESOLVERS).find_map(|address| {
            let mut id = [0; 2];
            rand::fill(&mut id).ok()?;
            let id = u16::from_be_bytes(id);
            let place = SocketAddr::new(address, PORT);
            let message = with_id(message, id);
            let answer = if is_stream { by_stream(place, &message) } else { by_datagram(place, &message, query, id) };
            answer.ok().filter(|answer| query.is_answered_by(answer, id))
        })
    }
}

fn resolvers(text: &str) -> Vec<IpAddr> {
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    named.filter_map(|rest| rest.split_whitespace().next()?.split('%').next()?.parse().ok()).collect()
}

fn by_datagram(place: SocketAddr, message: &[u8], query: &Query, id: u16) -> io::Result<Vec<u8>> {
    let any: IpAddr = if place.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(place)?;
    socket.send(message)?;
    let end = Instant::now() + PATIENCE;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let length = socket.recv(&mut buffer)?;
        // Another answer is somebody's attempt.
        if query.is_answered_by(&buffer[..length], id) {
            buffer.truncate(length);
            return Ok(buffer);
        }
    }
}

fn by_stream(place: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&place, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes()[..], message].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::resolvers;

    #[test]
    fn resolvers_are_read_as_the_c_library_reads_them() {
        let text = "# nameserver 9.9.9.9\nsearch a b\nnameserver 10.0.0.2\n nameserver fe80::1%eth0 \nnameserver nonsense\noptions x\n";
        let found: Vec<String> = resolvers(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.2", "fe80::1"]);
    }
}
