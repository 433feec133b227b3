//! Hosts that know nothing but their user-data.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use roost_ignition::payload::{Endpoint, Node, Pool, Taint, TaintEffect, render};
use roost_ignition::{Pointer, user_data};
use roost_pki::{CertificateAuthority, Secret};
use roost_sim::{NodeSpec, Simulator, Stage, Start};
use rustls::crypto::aws_lc_rs::default_provider;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::plane::{Answer, Plane, bootstrap_token};
use crate::{is_ready, trouble};

/// A server that gives every host a payload, except those whose name another has, and that is not ready at first.
struct Server {
    user_data: Vec<u8>,
    requests: Arc<Mutex<Vec<(String, String)>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start(plane: &Plane, refusals: usize) -> Server {
        let now = Timestamp::now();
        let authority = CertificateAuthority::new("ignition", now, SignedDuration::from_hours(24)).expect("keys");
        let issued = authority.issue_server("i", &["127.0.0.1"], now, SignedDuration::from_hours(1)).expect("keys");
        let key = issued.key.to_pkcs8_der().expect("a key").into_exposed();
        let tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_no_client_auth()
            .with_single_cert(vec![issued.certificate.to_tls()], rustls_pki_types::PrivateKeyDer::Pkcs8(key.into()))
            .expect("TLS");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = listener.local_addr().expect("an address").to_string();
        let pointer = Pointer {
            endpoint,
            address: None,
            certificate_authority: authority.certificate().to_pem(),
            token: Secret::new("token".to_owned()),
            node_pool: "clusters/demo".to_owned(),
            config_hash: "abc".to_owned(),
            proxy: None,
            agent: None,
        };
        let requests = Arc::new(Mutex::new(Vec::new()));
        let desk = Arc::new(Desk { pool: pool(plane), refusals, requests: Arc::clone(&requests) });
        let task = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(tls)), desk));
        Server { user_data: user_data(&pointer).to_bytes(), requests, task }
    }

    fn host(&self, name: &str, host_id: &str) -> NodeSpec {
        let mut spec = NodeSpec::new(name, Start::UserData(self.user_data.clone()));
        host_id.clone_into(&mut spec.host_id);
        spec
    }
}

fn pool(plane: &Plane) -> Pool {
    Pool {
        name: "demo".to_owned(),
        cluster_name: "demo".to_owned(),
        release_version: "1.36.3".to_owned(),
        api: Endpoint { host: "127.0.0.1".to_owned(), port: plane.port },
        api_trust: plane.authority.clone(),
        cluster_dns: vec!["10.96.0.10".parse().expect("an address")],
        pod_networks: vec!["10.132.0.0/14".to_owned()],
        service_networks: vec!["10.96.0.0/16".to_owned()],
        labels: [("zone".to_owned(), "a".to_owned())].into(),
        taints: vec![Taint { key: "kept".to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }],
        ..Pool::default()
    }
}

struct Desk {
    pool: Pool,
    refusals: usize,
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

impl Desk {
    fn answer<B>(&self, request: &Request<B>) -> (StatusCode, Vec<u8>) {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if header("authorization") != "Bearer dG9rZW4=" || request.uri().path() != "/ignition" {
            return (StatusCode::UNAUTHORIZED, b"Unauthorized".to_vec());
        }
        let (name, host) = (header("roost-host-name").to_owned(), header("roost-host-id").to_owned());
        let mut requests = self.requests.lock();
        requests.push((name.clone(), host.clone()));
        if requests.len() <= self.refusals {
            return (StatusCode::NETWORK_AUTHENTICATION_REQUIRED, b"Token not found".to_vec());
        }
        if requests.iter().any(|(other, holder)| *other == name && *holder != host) {
            return (StatusCode::CONFLICT, format!("the name {name} belongs to another host").into_bytes());
        }
        let node = Node { name, bootstrap_token: bootstrap_token(), provider_id: Some("roost://c/m".to_owned()) };
        let rendered = render(&self.pool).expect("a payload");
        (StatusCode::OK, rendered.for_node(&node).to_bytes())
    }
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, desk: Arc<Desk>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, desk) = (tls.clone(), Arc::clone(&desk));
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(move |request| {
                let (code, body) = desk.answer(&request);
                let mut response = Response::new(Full::new(Bytes::from(body)));
                *response.status_mut() = code;
                async move { Ok::<_, Infallible>(response) }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

#[tokio::test]
async fn user_data_are_enough() {
    let plane = Plane::start(Answer::Approved).await;
    let server = Server::start(&plane, 2).await;
    let directory = tempfile::tempdir().unwrap();
    let mut spec = server.host("node-1", "host-1");
    spec.disk = Some(directory.path().join("node-1"));
    let node = Simulator::new().spawn(spec.clone());
    node.reach(Stage::Serving).await;
    let object = plane.wait_for("/api/v1/nodes/node-1", is_ready).await;
    assert_eq!(object["metadata"]["labels"]["zone"], "a");
    assert_eq!(object["spec"]["providerID"], "roost://c/m");
    plane.wait_for("/api/v1/nodes/node-1", |node| node["spec"]["taints"][0]["key"] == "kept").await;
    assert_eq!(server.requests.lock().len(), 3, "two were refused, and the third was answered");
    drop(node);
    // A host that boots again has its payload and its certificate already.
    let again = Simulator::new().spawn(spec);
    again.reach(Stage::Serving).await;
    assert_eq!(server.requests.lock().len(), 3);
}

#[tokio::test]
async fn a_cloned_host_is_refused_and_says_so() {
    let plane = Plane::start(Answer::Approved).await;
    let server = Server::start(&plane, 0).await;
    let simulator = Simulator::new();
    let honest = simulator.spawn(server.host("node-1", "host-1"));
    honest.reach(Stage::Ready).await;
    let clone = simulator.spawn(server.host("node-1", "host-2"));
    let words = trouble(&clone).await;
    assert!(words.contains("409 Conflict: the name node-1 belongs to another host"), "{words}");
    assert_eq!(clone.progress().borrow().stage, Stage::Started);
}
