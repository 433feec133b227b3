//! A server on loopback with an authority that says what it was asked, and a client that sends any bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rcgen::{CertificateParams, DnType, KeyPair};
use roost_ignition::{Config, SpecVersion};
use roost_ignition_server::{
    Authority, Fetch, Metrics, Payload, PlaneId, Refresh, Refusal, Rejection, Server, ServerSettings,
    ServingCertificate,
};
use roost_pki::Secret;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Says what it was asked.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) fetches: AtomicUsize,
    pub(crate) rejections: AtomicUsize,
    /// Bytes of the payload for the token `large`.
    pub(crate) large: usize,
}

/// What the echo says, in a form that stands in one line.
pub(crate) fn described(fetch: &Fetch) -> String {
    let addresses: Vec<String> = fetch.host.addresses.iter().map(ToString::to_string).collect();
    format!(
        "{} {} {} {}{} {} [{}]",
        fetch.plane,
        fetch.pool.as_deref().unwrap_or("-"),
        fetch.hash.as_deref().unwrap_or("-"),
        if fetch.host.is_sent { "" } else { "peer " },
        fetch.host.id,
        fetch.host.name.as_deref().unwrap_or("-"),
        addresses.join(","),
    )
}

impl Authority for Echo {
    async fn payload(&self, fetch: Fetch) -> Result<Payload, Refusal> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        match fetch.token.expose() {
            "good" => Ok(Payload::from_bytes(SpecVersion::V3_0, described(&fetch)).of_pool("clusters/workers")),
            "config" => {
                let mut config = Config::new(SpecVersion::V3_2);
                config.put_file("/etc/motd", 0o644, b"hello");
                Ok(Payload::from_config(&config))
            }
            "headers" => {
                let text = br#"{"ignition":{"version":"3.1.0","proxy":{"httpProxy":"http://p"}}}"#;
                Ok(Payload::from_bytes(SpecVersion::V3_1, &text[..]))
            }
            "large" => Ok(Payload::from_bytes(SpecVersion::V3_0, vec![b'x'; self.large])),
            "building" => Err(Refusal::NotBuilt),
            "broken" => Err(Refusal::InvalidPayload),
            "cloned" => Err(Refusal::Conflict("node n1 belongs to\r\nanother host".to_owned())),
            "busy" => Err(Refusal::Limited { retry_after: Duration::from_millis(1500) }),
            "down" => Err(Refusal::Unavailable("the secret reason".to_owned())),
            _ => Err(Refusal::UnknownToken),
        }
    }

    async fn refresh(&self, refresh: Refresh) -> Result<Payload, Refusal> {
        let name = refresh.chain.first().map(|leaf| leaf.subject().common_name.clone()).unwrap_or_default();
        match refresh.hash.as_deref() {
            Some("other") => Err(Refusal::Conflict("by now it is another".to_owned())),
            _ if name != "known" => Err(Refusal::Forbidden(format!("{name} is nobody"))),
            hash => Ok(Payload::from_bytes(SpecVersion::V3_0, format!("for {name} {}", hash.unwrap_or("-")))),
        }
    }

    fn rejected(&self, _: &Rejection) {
        self.rejections.fetch_add(1, Ordering::SeqCst);
    }
}

/// A certificate and its key in PEM, signed by itself.
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: Secret<String>,
}

impl Identity {
    pub(crate) fn new(common_name: &str) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate: certificate.pem(), key: Secret::new(key.serialize_pem()) }
    }
}

/// A running server.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) identity: Identity,
    pub(crate) authority: Arc<Echo>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) certificate: Arc<ServingCertificate>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) task: tokio::task::JoinHandle<()>,
}

pub(crate) fn settings() -> ServerSettings {
    ServerSettings::new(PlaneId::new("plane"))
}

pub(crate) async fn start(settings: ServerSettings, authority: Echo) -> Running {
    let identity = Identity::new("first");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = ServingCertificate::from_pem(&identity.certificate, &identity.key).unwrap();
    let authority = Arc::new(authority);
    let server = Server::new(Arc::clone(&authority), settings);
    let metrics = server.metrics();
    let (stop, stopped) = watch::channel(false);
    let shown = Arc::clone(&certificate);
    let task = tokio::spawn(async move { server.serve(listener, shown, stopped).await.unwrap() });
    Running { address, identity, authority, metrics, certificate, stop, task }
}

/// A client's side of TLS that trusts one certificate.
pub(crate) fn connector(certificate: &str, protocols: &[&[u8]]) -> TlsConnector {
    connector_as(certificate, protocols, None)
}

/// The same for one that shows a certificate of its own.
pub(crate) fn connector_as(certificate: &str, protocols: &[&[u8]], own: Option<&Identity>) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match own {
        None => config.with_no_client_auth(),
        Some(own) => {
            let chain = vec![CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(own.key.expose().as_bytes()).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

impl Running {
    pub(crate) async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        connector(&self.identity.certificate, &[]).connect(name, stream).await.unwrap()
    }

    /// Sends bytes and reads answers until the server closes or everything asked for is there.
    pub(crate) async fn exchange(&self, bytes: &[u8], answers: usize, is_head: bool) -> Vec<Reply> {
        let mut stream = self.connect().await;
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(bytes).await;
        let _ = stream.flush().await;
        let mut reader = Reader::default();
        let mut replies = Vec::new();
        while replies.len() < answers {
            let reply = tokio::time::timeout(Duration::from_secs(20), reader.reply(&mut stream, is_head)).await;
            match reply.expect("an answer in time") {
                Some(reply) => replies.push(reply),
                None => break,
            }
        }
        replies
    }

    pub(crate) async fn get(&self, headers: &str) -> Reply {
        let request = format!("GET /ignition HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
        self.exchange(request.as_bytes(), 1, false).await.pop().expect("an answer")
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Cuts a stream into answers.
#[derive(Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// The next answer, or none when the stream ends before it is whole.
    pub(crate) async fn reply(&mut self, stream: &mut TlsStream<TcpStream>, is_head: bool) -> Option<Reply> {
        let end = loop {
            if let Some(index) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break index + 4;
            }
            self.more(stream).await?;
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
        let length: usize = if is_head { 0 } else { length.unwrap_or(0) };
        while self.buffer.len() < length {
            self.more(stream).await?;
        }
        let body = String::from_utf8(self.buffer.drain(..length).collect()).unwrap();
        Some(Reply { status, headers, body })
    }

    async fn more(&mut self, stream: &mut TlsStream<TcpStream>) -> Option<()> {
        let mut chunk = vec![0; 16 << 10];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Some(())
            }
        }
    }
}
