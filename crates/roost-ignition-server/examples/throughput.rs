//! How fast payloads leave, beside a server that does nothing but send the same bytes over TLS.
//!
//! Run by `cargo xtask bench ignition`. Clients and servers share the machine, so the ratio is what counts.

use std::net::SocketAddr;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use roost_ignition::SpecVersion;
use roost_ignition::payload::{Endpoint, Node, Pool, UserConfig, Written, render};
use roost_ignition_server::{
    Authority, Fetch, Limits, Payload, PlaneId, Rate, Refusal, Server, ServerSettings, ServingCertificate,
};
use roost_pki::Secret;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// What upstream's payloads weigh.
const PAYLOAD: usize = 355 << 10;
/// Machines that fetch at once.
const CLIENTS: usize = 16;
/// How long each way is measured.
const DURATION: Duration = Duration::from_secs(8);
const WARM_UP: Duration = Duration::from_secs(1);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Hands out a payload of its own to everybody.
struct Everybody {
    written: Written,
    count: AtomicU64,
}

impl Authority for Everybody {
    async fn payload(&self, fetch: Fetch) -> Result<Payload, Refusal> {
        if !fetch.token.matches("token") {
            return Err(Refusal::UnknownToken);
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed) % 1_000_000;
        let node = Node {
            name: format!("node-{count}"),
            bootstrap_token: Secret::new(format!("{count:06}.0123456789abcdef")),
            provider_id: None,
        };
        Ok(Payload::from_bytes(self.written.version(), self.written.for_node(&node)))
    }
}

struct Identity {
    certificate: String,
    key: String,
}

fn identity() -> Result<Identity, rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?;
    Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn pool(identity: &Identity) -> Pool {
    let motd = STANDARD.encode(vec![b'x'; PAYLOAD * 3 / 4 - 8000]);
    let text = format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {{name: 50-motd}}\nspec:\n  \
         config: {{ignition: {{version: 3.2.0}}, storage: {{files: [{{path: /etc/motd, contents: {{source: \
         \"data:;base64,{motd}\"}}}}]}}}}\n"
    );
    Pool {
        release_version: "1.36.3".to_owned(),
        api: Endpoint { host: "api.example.com".to_owned(), port: 6443 },
        api_trust: identity.certificate.clone(),
        user_configs: vec![UserConfig { name: "extra".to_owned(), text }],
        ..Pool::default()
    }
}

/// The median time of some rounds.
fn median(rounds: usize, mut action: impl FnMut() -> Result<Vec<u8>, Failure>) -> Result<Duration, Failure> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let made = action()?;
        times.push(start.elapsed());
        assert!(!made.is_empty(), "there is something to send");
    }
    times.sort_unstable();
    Ok(times[rounds / 2])
}

async fn ours(identity: &Identity, written: Written) -> Result<SocketAddr, Failure> {
    let unlimited = Rate { per_second: 1e9, burst: 1e9 };
    let limits = Limits { address: unlimited, token: unlimited, ..Limits::default() };
    let settings = ServerSettings { limits, ..ServerSettings::new(PlaneId::new("bench")) };
    let server = Server::new(Arc::new(Everybody { written, count: AtomicU64::new(0) }), settings);
    let certificate = ServingCertificate::from_pem(&identity.certificate, &Secret::new(identity.key.clone()))?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let _ = server.serve(listener, certificate, stopped).await;
        drop(stop);
    });
    Ok(address)
}

/// The least that can be called a server: reads until an empty line, sends the same bytes.
async fn bare(identity: &Identity, body: Vec<u8>) -> Result<SocketAddr, Failure> {
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend(body);
    let answer: Arc<[u8]> = answer.into();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
            tokio::spawn(async move {
                let _ = stream.set_nodelay(true);
                let mut stream = acceptor.accept(stream).await?;
                let mut request = vec![0; 4096];
                // Every client here sends its request in one piece.
                while stream.read(&mut request).await? > 0 {
                    stream.write_all(&answer).await?;
                    stream.flush().await?;
                }
                Ok::<_, std::io::Error>(())
            });
        }
    });
    Ok(address)
}

/// A machine that fetches, on one connection or on a new one each time.
struct Client {
    connector: TlsConnector,
    address: SocketAddr,
    stream: Option<TlsStream<TcpStream>>,
    keeps: bool,
    buffer: Vec<u8>,
}

impl Client {
    async fn fetch(&mut self) -> Result<usize, Failure> {
        let mut stream = if let Some(stream) = self.stream.take() {
            stream
        } else {
            let stream = TcpStream::connect(self.address).await?;
            stream.set_nodelay(true)?;
            self.connector.connect(ServerName::try_from("localhost")?, stream).await?
        };
        stream
            .write_all(b"GET /ignition HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dG9rZW4=\r\n\r\n")
            .await?;
        let (mut filled, mut wanted) = (0, usize::MAX);
        while filled < wanted {
            if filled == self.buffer.len() {
                self.buffer.resize(filled + (64 << 10), 0);
            }
            let count = stream.read(&mut self.buffer[filled..]).await?;
            if count == 0 {
                return Err("the server closed early".into());
            }
            filled += count;
            if wanted == usize::MAX
                && let Some(end) = self.buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n")
            {
                let head = std::str::from_utf8(&self.buffer[..end])?;
                if !head.starts_with("HTTP/1.1 200") {
                    return Err(head.lines().next().unwrap_or_default().to_owned().into());
                }
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
                });
                wanted = end + 4 + length.ok_or("an answer without a length")?;
            }
        }
        if self.keeps {
            self.stream = Some(stream);
        }
        Ok(filled)
    }
}

/// What was measured of one server in one way.
struct Measured {
    per_second: f64,
    megabytes: f64,
    median: Duration,
    slow: Duration,
}

async fn measure(certificate: &str, address: SocketAddr, keeps: bool) -> Result<Measured, Failure> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes())?)?;
    let mut config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
    // A machine boots for the first time: it has no session to resume.
    config.resumption = rustls::client::Resumption::disabled();
    let connector = TlsConnector::from(Arc::new(config));
    let start = Instant::now() + WARM_UP;
    let end = start + DURATION;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let connector = connector.clone();
        clients.push(tokio::spawn(async move {
            let mut client = Client { connector, address, stream: None, keeps, buffer: Vec::new() };
            let (mut times, mut bytes) = (Vec::new(), 0_usize);
            loop {
                let begin = Instant::now();
                if begin >= end {
                    return Ok::<_, Failure>((times, bytes));
                }
                let count = client.fetch().await?;
                if begin >= start {
                    times.push(begin.elapsed());
                    bytes += count;
                }
            }
        }));
    }
    let (mut times, mut bytes) = (Vec::new(), 0_usize);
    for client in clients {
        let (own, count) = client.await??;
        times.extend(own);
        bytes += count;
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Ok(Measured {
        per_second: times.len() as f64 / DURATION.as_secs_f64(),
        megabytes: bytes as f64 / 1e6 / DURATION.as_secs_f64(),
        median: at(0.5),
        slow: at(0.99),
    })
}

/// What one core encrypts, if OpenSSL is there to say.
fn openssl_speed() -> Option<String> {
    let output = Command::new("openssl")
        .args(["speed", "-seconds", "2", "-bytes", "16384", "-evp", "aes-256-gcm"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().rfind(|line| line.to_ascii_lowercase().contains("aes-256-gcm"))?;
    let thousands: f64 = line.split_whitespace().last()?.trim_end_matches('k').parse().ok()?;
    Some(format!("{:.0} MB/s", thousands / 1e3))
}

async fn run() -> Result<(), Failure> {
    let identity = identity()?;
    let pool = pool(&identity);
    let rendered = render(&pool)?;
    let written = rendered.written(SpecVersion::V3_2)?;
    let node = Node {
        name: "n1".to_owned(),
        bootstrap_token: Secret::new("abcdef.0123456789abcdef".to_owned()),
        provider_id: None,
    };
    let body = written.for_node(&node);
    println!("payload of {} KB, {CLIENTS} clients, clients and servers on this machine", body.len() >> 10);
    let times = [
        ("rendered from a pool", median(50, || Ok(render(&pool)?.for_node(&node).to_bytes()))?),
        ("personalised and written out", median(500, || Ok(rendered.for_node(&node).to_bytes()))?),
        ("personalised, written ahead", median(5000, || Ok(written.for_node(&node)))?),
    ];
    for (name, time) in times {
        println!("{name:<30} {:>9.3} ms", time.as_secs_f64() * 1e3);
    }
    if let Some(speed) = openssl_speed() {
        println!("{:<30} {speed:>12}", "openssl, AES-256-GCM, one core");
    }
    let server = ours(&identity, written).await?;
    let reference = bare(&identity, body).await?;
    for (way, keeps) in [("kept connections", true), ("a connection each", false)] {
        let ours = measure(&identity.certificate, server, keeps).await?;
        let bare = measure(&identity.certificate, reference, keeps).await?;
        for (name, measured) in [("ours", &ours), ("bare rustls", &bare)] {
            println!(
                "{way:<18} {name:<12} {:>7.0} requests/s {:>7.0} MB/s   p50 {:>7.2} ms   p99 {:>7.2} ms",
                measured.per_second,
                measured.megabytes,
                measured.median.as_secs_f64() * 1e3,
                measured.slow.as_secs_f64() * 1e3
            );
        }
        println!("{way:<18} ours is {:.2} of the bare server", ours.per_second / bare.per_second);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
