//! HTTPS without an event loop: one request, one connection, one answer. A host joins once; what matters is that every
//! wait ends and that every failure says which step it was.

mod address;
mod answer;
#[cfg(test)]
mod loopback_tests;
mod trust;

use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

pub use address::{Address, AddressError};
pub use answer::Answer;
pub use trust::{Identity, Pin, Trust, TrustError};

/// How long a connection may take to come about. The system asks again after 1 s and 3 s, and then too seldom for a host
/// whose network is back.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the other side may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Why a request had no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpsError {
    /// The name has no address; look at DNS.
    #[error("{host} does not resolve")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: std::io::Error,
    },
    /// Nothing answers there; look at routes and firewalls.
    #[error("cannot connect to {address}")]
    Connect {
        /// The address.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The trust or the identity cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server is not the one that is trusted, or does not want us.
    #[error("TLS with {address} failed: {reason}")]
    Tls {
        /// The address.
        address: String,
        /// What failed.
        reason: String,
    },
    /// The connection ended in the middle; try again.
    #[error("the connection to {address} broke")]
    Broken {
        /// The address.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The answer is not HTTP, or larger than expected.
    #[error("the answer of {address} makes no sense: {reason}")]
    Answer {
        /// The address.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What is asked.
#[derive(Debug)]
pub struct Request<'a> {
    /// GET, POST and so on.
    pub method: &'static str,
    /// Where.
    pub address: &'a Address,
    /// Headers besides Host, Connection and Content-Length.
    pub headers: &'a [(String, String)],
    /// What is sent along.
    pub body: &'a [u8],
    /// The largest body that is taken.
    pub largest: u64,
}

/// Asks and returns the answer with its body.
pub fn send(request: &Request<'_>, trust: &Trust, identity: Option<&Identity>) -> Result<Answer, HttpsError> {
    let mut body = Vec::new();
    let mut answer = send_into(request, trust, identity, &mut body)?;
    answer.body = body;
    Ok(answer)
}

/// Asks and writes the answer's body elsewhere as it comes.
pub fn send_into(
    request: &Request<'_>,
    trust: &Trust,
    identity: Option<&Identity>,
    body: &mut dyn Write,
) -> Result<Answer, HttpsError> {
    let mut stream = begin(request, trust, identity)?;
    answer::read(&mut stream, request, body)
}

/// The same where the other side is silent until something happens. That it is still there, the kernel finds out.
pub fn follow_into(
    request: &Request<'_>,
    trust: &Trust,
    identity: Option<&Identity>,
    silence: Duration,
    body: &mut dyn Write,
) -> Result<Answer, HttpsError> {
    let mut stream = begin(request, trust, identity)?;
    let broken = |source: std::io::Error| failure(request.address, source);
    stream.sock.set_read_timeout(Some(silence)).map_err(broken)?;
    keep_alive(&stream.sock).map_err(|error| broken(error.into()))?;
    answer::read(&mut stream, request, body)
}

/// A connection with TLS.
pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// Asks to speak something else, and returns the connection, or the status of a server that does not.
pub fn switch(
    request: &Request<'_>,
    trust: &Trust,
    identity: Option<&Identity>,
) -> Result<Result<Tls, u16>, HttpsError> {
    let mut stream = begin(request, trust, identity)?;
    let status = answer::read_status(&mut stream, request)?;
    Ok(if status == 101 { Ok(stream) } else { Err(status) })
}

/// A peer that does not answer for half a minute is gone.
pub(crate) fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(15))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(stream, 3)
}

/// Connects and sends the request.
fn begin(request: &Request<'_>, trust: &Trust, identity: Option<&Identity>) -> Result<Tls, HttpsError> {
    let address = request.address;
    let configuration = trust.configuration(identity)?;
    let name = ServerName::try_from(address.host.clone()).map_err(|_| HttpsError::Tls {
        address: address.authority(),
        reason: "this is no name that a certificate could have".to_owned(),
    })?;
    let connection = ClientConnection::new(configuration, name)
        .map_err(|error| HttpsError::Tls { address: address.authority(), reason: error.to_string() })?;
    let mut stream = StreamOwned::new(connection, connect(address)?);
    let broken = |source: std::io::Error| failure(address, source);
    stream.write_all(&head(request)).map_err(broken)?;
    stream.write_all(request.body).map_err(broken)?;
    stream.flush().map_err(broken)?;
    Ok(stream)
}

/// Certificates that are refused come back as I/O errors; they deserve other words than a broken cable.
fn failure(address: &Address, source: std::io::Error) -> HttpsError {
    match source.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => HttpsError::Tls { address: address.authority(), reason: error.to_string() },
        None => HttpsError::Broken { address: address.authority(), source },
    }
}

fn connect(address: &Address) -> Result<TcpStream, HttpsError> {
    let candidates = (address.host.as_str(), address.port)
        .to_socket_addrs()
        .map_err(|source| HttpsError::Resolve { host: address.host.clone(), source })?;
    let end = Instant::now() + CONNECT;
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for candidate in candidates {
        let left = end.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        let connected = TcpStream::connect_timeout(&candidate, left).and_then(|stream| {
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(HttpsError::Connect { address: address.authority(), source: last })
}

fn head(request: &Request<'_>) -> Vec<u8> {
    let mut text = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: {}\r\nUser-Agent: hcp-agent/{}\r\n",
        request.method,
        request.address.path,
        request.address.authority(),
        if request.headers.iter().any(|(name, _)| name == "Upgrade") { "Upgrade" } else { "close" },
        env!("CARGO_PKG_VERSION"),
    );
    for (name, value) in request.headers {
        // A header cannot end itself and begin another.
        let clean = |text: &str| text.chars().filter(|character| !character.is_control()).collect::<String>();
        text.extend([&clean(name), ": ", &clean(value), "\r\n"]);
    }
    if !request.body.is_empty() || request.method != "GET" {
        text.extend(["Content-Length: ", &request.body.len().to_string(), "\r\n"]);
    }
    text.push_str("\r\n");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{Address, Request, head};

    #[test]
    fn headers_cannot_break_out_of_their_line() {
        let address = Address::parse("https://host:1/a").unwrap();
        let headers = [("X-Name".to_owned(), "a\r\nEvil: 1".to_owned())];
        let request = Request { method: "GET", address: &address, headers: &headers, body: b"", largest: 1 };
        let text = String::from_utf8(head(&request)).unwrap();
        assert!(text.contains("X-Name: aEvil: 1\r\n"), "{text}");
        assert!(text.starts_with("GET /a HTTP/1.1\r\nHost: host:1\r\n"));
    }
}
