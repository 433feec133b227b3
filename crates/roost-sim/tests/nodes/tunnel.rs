//! A kubelet that is reached by the connection that its node keeps open, and by nobody else's.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use roost_sim::{NodeSpec, Simulator, Stage, Start};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::plane::{Answer, Plane};

/// TLS of a node that shows its certificate.
fn tls(plane: &Plane, node: &str) -> Arc<rustls::ClientConfig> {
    let authority = &plane.cluster.identity().authority;
    let (name, lifetime) = (format!("system:node:{node}"), SignedDuration::from_hours(1));
    let issued = authority.issue_client(&name, &["system:nodes"], Timestamp::now(), lifetime).expect("a certificate");
    let key = issued.key.to_pkcs8_der().expect("a key").into_exposed();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.certificate().to_tls()).expect("a root");
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![issued.certificate.to_tls()], PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key)));
    Arc::new(config.expect("a client"))
}

/// Asks to switch protocols, and returns the status with the connection.
async fn switch(port: u16, tls: &Arc<rustls::ClientConfig>, path: &str) -> (u16, TlsStream<TcpStream>) {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a server");
    let name = "127.0.0.1".try_into().expect("a name");
    let mut stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await.expect("TLS");
    let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: roost-tunnel\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("a request");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.expect("an answer"));
    }
    let status = String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), stream)
}

#[tokio::test]
async fn a_kubelet_is_reached_by_its_nodes_tunnel() {
    let plane = Plane::start(Answer::Approved).await;
    let near = Simulator::new().spawn(NodeSpec::new("near", Start::Kubeconfig(plane.bootstrap_kubeconfig())));
    near.reach(Stage::Serving).await;
    let object = plane.get("/api/v1/nodes/near").await.expect("a node");
    let kubelet = object["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_u64().expect("a port");
    let kubelet = u16::try_from(kubelet).expect("a port");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let _ = plane.try_create("/api/v1/namespaces/default/serviceaccounts", &account).await;
    // Nobody listens where this node says that its kubelet does.
    let hidden = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "hidden"}, "status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    }});
    plane.create("/api/v1/nodes", &hidden).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "far"},
        "spec": {"nodeName": "hidden", "containers": [{"name": "a", "image": "i"}]}});
    plane.create("/api/v1/namespaces/default/pods", &pod).await;
    let log = "/api/v1/namespaces/default/pods/far/log";
    let refused = plane.try_get(log).await.expect_err("no way").to_string();
    assert!(refused.contains("connection refused"), "{refused}");

    let path = "/roost/tunnel/nodes/hidden";
    assert_eq!(switch(plane.port, &tls(&plane, "near"), path).await.0, 403);
    let own = tls(&plane, "hidden");
    assert_eq!(switch(plane.port, &own, &format!("{path}/streams/7")).await.0, 404);
    let (status, tunnel) = switch(plane.port, &own, path).await;
    assert_eq!(status, 101);
    let port = plane.port;
    let keeper = tokio::spawn(async move {
        let mut lines = BufReader::new(tunnel).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(id) = line.strip_prefix("open ").map(str::to_owned) else { continue };
            let (status, mut stream) = switch(port, &own, &format!("{path}/streams/{id}")).await;
            assert_eq!(status, 101);
            let mut kubelet = TcpStream::connect(("127.0.0.1", kubelet)).await.expect("a kubelet");
            tokio::spawn(async move { copy_bidirectional(&mut stream, &mut kubelet).await });
        }
    });
    // The kubelet at the other end is another node's and does not know the pod: so it was asked.
    let answered = plane.try_get(log).await.expect_err("no such pod").to_string();
    assert!(answered.contains("could not find the requested resource"), "{answered}");
    keeper.abort();
    let _ = keeper.await;
    let mut last = String::new();
    for _ in 0..100 {
        last = plane.try_get(log).await.expect_err("no way").to_string();
        if last.contains("connection refused") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the tunnel is still believed in: {last}");
}
