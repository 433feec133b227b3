//! The service over real sockets: upstream's paths, codes and bodies, and what is not let in.

#![expect(clippy::unwrap_used, reason = "what a test stands on is there, or the test fails")]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use roost_discovery::{
    Ask, Caller, Claims, Document, FileQuery, Refusal, Registry, Server, Settings, Signer, TokenProblem,
};
use roost_host::wire::{MAX_BODY, ProgressReport, Registered, Registration, StepReply, Steps};
use roost_ignition_server::ServingCertificate;
use roost_pki::{CertificateAuthority, PrivateKey, Secret};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

const ENVIRONMENT: &str = "770980f8-07d0-4824-899c-0da82a7555a5";
const OTHER: &str = "8fc583b5-b7e7-0cf4-8068-179ea6e069e8";
const HOST: &str = "234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f";

/// A registry that remembers what it was asked.
struct Memory {
    signer: Signer,
    calls: Mutex<Vec<String>>,
}

impl Memory {
    fn note(&self, call: String) {
        self.calls.lock().push(call);
    }
}

impl Registry for Memory {
    fn verify(&self, token: &str) -> Result<Claims, TokenProblem> {
        self.signer.verify(token, Timestamp::now())
    }

    fn renew(&self, claims: &Claims) -> Option<Secret<String>> {
        let is_old = Timestamp::now().duration_since(claims.issued) > SignedDuration::from_hours(24);
        is_old.then(|| Secret::new("renewed".to_owned()))
    }

    async fn register(&self, caller: Caller, registration: Registration) -> Result<Registered, Refusal> {
        self.note(format!("register {} {}", caller.host, registration.discovery_agent_version));
        Ok(Registered { id: caller.host, kind: "Host".to_owned(), ..Registered::default() })
    }

    async fn instructions(&self, caller: Caller, ask: Ask) -> Result<Steps, Refusal> {
        self.note(format!("instructions {} {:?} {}", caller.host, ask.timestamp, ask.wait.as_secs()));
        Ok(Steps { next_instruction_seconds: 60, ..Steps::default() })
    }

    async fn reply(&self, _: Caller, reply: StepReply) -> Result<(), Refusal> {
        self.note(format!("reply {} {}", reply.step_type, reply.exit_code));
        Ok(())
    }

    async fn progress(&self, _: Caller, progress: ProgressReport) -> Result<(), Refusal> {
        match progress.current_stage.as_str() {
            "Rebooting" => Ok(()),
            "busy" => Err(Refusal::Unavailable("the password is hunter2".to_owned())),
            other => Err(Refusal::Conflict(format!("not {other}"))),
        }
    }

    async fn ignition(&self, _: Caller) -> Result<Document, Refusal> {
        Ok(Document { content_type: "application/json", body: "{}".into() })
    }

    async fn file(&self, _: String, query: FileQuery) -> Result<Document, Refusal> {
        if query.name == "ipxe-script" {
            Ok(Document { content_type: "text/plain", body: "#!ipxe\n".into() })
        } else {
            Err(Refusal::NotFound(format!("no {}", query.name)))
        }
    }

    async fn keep_logs(&self, caller: Caller, logs: Bytes) -> Result<(), Refusal> {
        self.note(format!("logs {} {}", caller.host, String::from_utf8_lossy(&logs)));
        Ok(())
    }

    async fn logs(&self, caller: Caller) -> Result<Document, Refusal> {
        Ok(Document { content_type: "application/gzip", body: caller.host.into() })
    }

    async fn environment(&self, infra_env: String) -> Result<Document, Refusal> {
        Ok(Document { content_type: "application/json", body: format!("{{\"id\":\"{infra_env}\"}}").into() })
    }
}

struct Service {
    address: SocketAddr,
    registry: Arc<Memory>,
    tls: TlsConnector,
    _stop: watch::Sender<bool>,
}

impl Service {
    async fn start() -> Self {
        let now = Timestamp::now();
        let authority = CertificateAuthority::new("test", now, SignedDuration::from_hours(1)).unwrap();
        let issued = authority.issue_server("test", &["127.0.0.1"], now, SignedDuration::from_hours(1)).unwrap();
        let certificate =
            ServingCertificate::from_pem(&issued.certificate.to_pem(), &issued.key_pem().unwrap()).unwrap();
        let registry =
            Arc::new(Memory { signer: Signer::new(vec![PrivateKey::generate().unwrap()]), calls: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = Settings { read_timeout: Duration::from_millis(500), ..Settings::default() };
        let server = Server::new(Arc::clone(&registry), settings);
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(async move { server.serve(listener, certificate, stopped).await });
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate().to_tls()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { address, registry, tls: TlsConnector::from(Arc::new(config)), _stop: stop }
    }

    fn token(&self, infra_env: &str, age: SignedDuration, life: SignedDuration) -> String {
        let issued = Timestamp::now().checked_sub(age).unwrap();
        let expires = issued.checked_add(life).unwrap();
        let claims = Claims { infra_env_id: infra_env.to_owned(), issued, expires, revision: String::new() };
        self.registry.signer.issue(&claims).unwrap().into_exposed()
    }

    fn good(&self) -> String {
        self.token(ENVIRONMENT, SignedDuration::ZERO, SignedDuration::from_hours(1))
    }

    /// Sends a request as it is, and returns status and the whole answer.
    async fn raw(&self, request: &[u8]) -> io::Result<(u16, String)> {
        let stream = TcpStream::connect(self.address).await?;
        let mut stream = self.tls.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await?;
        stream.write_all(request).await?;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        Ok((status, text))
    }

    async fn call(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let token = token.map(|token| format!("X-Secret-Key: {token}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} /api/assisted-install/v2/{path} HTTP/1.1\r\nHost: x\r\n{token}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.raw(request.as_bytes()).await.unwrap()
    }
}

#[tokio::test]
async fn calls_have_upstreams_codes() {
    let service = Service::start().await;
    let token = service.good();
    let token = Some(token.as_str());
    let host = format!("infra-envs/{ENVIRONMENT}/hosts/{HOST}");
    let registration = format!("{{\"host_id\":\"{HOST}\",\"discovery_agent_version\":\"v1\"}}");
    let (code, body) = service.call("POST", &format!("infra-envs/{ENVIRONMENT}/hosts"), token, &registration).await;
    assert_eq!(code, 201, "{body}");
    assert!(body.contains("next_step_runner_command"));
    let (code, body) = service.call("GET", &format!("{host}/instructions?timestamp=7"), token, "").await;
    assert!(code == 200 && body.contains("\"post_step_action\":\"continue\""), "{body}");
    let reply = "{\"step_type\":\"inventory\",\"exit_code\":0,\"output\":\"{}\"}";
    assert_eq!(service.call("POST", &format!("{host}/instructions"), token, reply).await.0, 204);
    let progress = |stage: &str| format!("{{\"current_stage\":\"{stage}\"}}");
    assert_eq!(service.call("PUT", &format!("{host}/progress"), token, &progress("Rebooting")).await.0, 200);
    let (code, body) = service.call("PUT", &format!("{host}/progress"), token, &progress("x")).await;
    assert!(code == 409 && body.contains("\"code\":\"409\"") && body.contains("\"kind\":\"Error\""), "{body}");
    let (code, body) = service.call("PUT", &format!("{host}/progress"), token, &progress("busy")).await;
    assert!(code == 503 && !body.contains("hunter2"), "what fails inside is for the log: {body}");
    let ignition = format!("infra-env/{ENVIRONMENT}/hosts/{HOST}/downloads/ignition");
    assert_eq!(service.call("GET", &ignition, token, "").await.0, 200);
    assert_eq!(service.call("DELETE", &format!("{host}/progress"), token, "").await.0, 405);
    let calls = service.registry.calls.lock().clone();
    assert_eq!(
        calls,
        [format!("register {HOST} v1"), format!("instructions {HOST} Some(7) 0"), "reply inventory 0".to_owned(),]
    );
}

#[tokio::test]
async fn tokens_open_one_environment_and_expire() {
    let service = Service::start().await;
    let hour = SignedDuration::from_hours(1);
    let expired = service.token(ENVIRONMENT, hour + hour, hour);
    let foreign = service.token(OTHER, SignedDuration::ZERO, hour);
    let host = format!("infra-envs/{ENVIRONMENT}/hosts/{HOST}/instructions");
    let file = format!("infra-envs/{ENVIRONMENT}/downloads/files?file_name=ipxe-script");
    for (token, calls, downloads) in
        [(None, 401, 401), (Some("x.y.z"), 401, 401), (Some(expired.as_str()), 401, 401), (Some(&foreign), 403, 404)]
    {
        assert_eq!(service.call("GET", &host, token, "").await.0, calls, "{token:?}");
        assert_eq!(service.call("GET", &file, token, "").await.0, downloads, "{token:?}");
    }
    assert!(service.registry.calls.lock().is_empty(), "nobody was asked");
    let good = service.good();
    let (code, body) = service.call("GET", &format!("{file}&api_key={good}"), None, "").await;
    assert!(code == 200 && body.ends_with("#!ipxe\n"), "a link has its token in it: {body}");
    assert_eq!(service.call("GET", &format!("{host}?api_key={good}"), None, "").await.0, 401, "a host shows a header");
    let old = service.token(ENVIRONMENT, SignedDuration::from_hours(48), SignedDuration::from_hours(96));
    let (_, body) = service.call("GET", &host, Some(&old), "").await;
    assert!(body.to_lowercase().contains("roost-token: renewed"), "{body}");
    let (_, body) = service.call("GET", &host, Some(&good), "").await;
    assert!(!body.to_lowercase().contains("roost-token"));
}

#[tokio::test]
async fn logs_come_in_a_form_and_go_by_a_link() {
    let service = Service::start().await;
    let token = service.good();
    let path =
        format!("/api/assisted-install/v2/clusters/own/logs?logs_type=host&infra_env_id={ENVIRONMENT}&host_id={HOST}");
    let send = |kind: &str, body: &[u8], token: &str| {
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nX-Secret-Key: {token}\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        request
    };
    let (kind, body) = roost_host::form::write("logs.tar.gz", b"words");
    assert_eq!(service.raw(&send(&kind, &body, &token)).await.unwrap().0, 204);
    assert_eq!(service.raw(&send("application/json", b"{}", &token)).await.unwrap().0, 400, "no form");
    let foreign = service.token(OTHER, SignedDuration::ZERO, SignedDuration::from_hours(1));
    assert_eq!(service.raw(&send(&kind, &body, &foreign)).await.unwrap().0, 403);
    assert_eq!(*service.registry.calls.lock(), [format!("logs {HOST} words")]);
    let link = path["/api/assisted-install/v2/".len()..].to_owned();
    let (code, body) = service.call("GET", &format!("{link}&api_key={token}"), None, "").await;
    assert!(code == 200 && body.ends_with(HOST), "{body}");
    assert_eq!(service.call("GET", &format!("{link}&api_key={foreign}"), None, "").await.0, 404);
    assert_eq!(service.call("GET", &link, None, "").await.0, 401);
    let progress = format!("infra-envs/{ENVIRONMENT}/hosts/{HOST}/logs-progress");
    assert_eq!(service.call("PUT", &progress, Some(&token), "{\"logs_state\":\"completed\"}").await.0, 204);
}

#[tokio::test]
async fn what_is_too_much_is_refused() {
    let service = Service::start().await;
    let token = service.good();
    let path = format!("/api/assisted-install/v2/infra-envs/{ENVIRONMENT}/hosts");
    let long = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nX-Secret-Key: {token}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        MAX_BODY + 1
    );
    let mut request = long.into_bytes();
    request.resize(request.len() + MAX_BODY + 1, b' ');
    if let Ok((code, _)) = service.raw(&request).await {
        assert!(code == 400 || code == 0, "{code}");
    }
    let slow = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nX-Secret-Key: {token}\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{{"
    );
    assert_eq!(service.raw(slow.as_bytes()).await.unwrap().0, 400, "a body has to come");
    let deep = "[".repeat(100_000);
    assert_eq!(service.call("POST", &path["/api/assisted-install/v2/".len()..], Some(&token), &deep).await.0, 400);
    let odd = "{\"host_id\":\"../../secrets\"}";
    assert_eq!(service.call("POST", &path["/api/assisted-install/v2/".len()..], Some(&token), odd).await.0, 400);
    assert_eq!(service.raw(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap().0, 200);
    assert!(service.registry.calls.lock().is_empty());
}
