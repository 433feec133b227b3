//! What a simulated kubelet answers, and to whom.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use roost_sim::{NodeSpec, Simulator, Stage, Start};
use rustls::crypto::aws_lc_rs::default_provider;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::plane::{Answer, Plane};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Asks a kubelet as somebody with a token.
async fn ask(plane: &Plane, port: u16, path: &str, token: Option<&str>) -> (u16, String) {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(roost_pki::Certificate::from_pem(&plane.authority).expect("a certificate").to_tls()).expect("a root");
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a kubelet");
    let name = "127.0.0.1".try_into().expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a good certificate");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    let carrier = tokio::spawn(connection);
    let mut request = http::Request::get(path).header("host", "kubelet");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Empty::<bytes::Bytes>::new()).expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    carrier.abort();
    (code, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn only_those_who_may_read_logs() {
    let plane = Plane::start(Answer::Approved).await;
    let node = Simulator::new().spawn(NodeSpec::new("node", Start::Kubeconfig(plane.bootstrap_kubeconfig())));
    node.reach(Stage::Serving).await;
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let _ = plane.try_create(accounts, &account("default")).await;
    plane.create(accounts, &account("reader")).await;
    let token = plane.create(&format!("{accounts}/reader/token"), &json!({"spec": {}})).await;
    let token = token["status"]["token"].as_str().expect("a token").to_owned();
    let annotations = json!({"sim.roost.dev/run-seconds": "0.1", "sim.roost.dev/exit-code": "4"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job", "annotations": annotations},
        "spec": {"nodeName": "node", "restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]},
    });
    plane.create(PODS, &pod).await;
    plane.wait_for(&format!("{PODS}/job"), |pod| pod["status"]["phase"] == "Failed").await;
    let object = plane.get("/api/v1/nodes/node").await.expect("a node");
    let port = object["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_u64().expect("a port");
    let port = u16::try_from(port).expect("a port");

    let path = "/containerLogs/default/job/a";
    assert_eq!(ask(&plane, port, path, None).await.0, 401);
    assert_eq!(ask(&plane, port, path, Some("nonsense")).await.0, 401);
    let (code, words) = ask(&plane, port, path, Some(&token)).await;
    assert_eq!(code, 403, "{words}");
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    });
    plane.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &role).await;
    let said = "simulated container started, run 1\nsimulated container ended with code 4\n";
    for query in ["", "?follow=true"] {
        let answer = ask(&plane, port, &format!("{path}{query}"), Some(&token)).await;
        assert_eq!(answer, (200, said.to_owned()), "{query}");
    }
    let missing = ask(&plane, port, "/containerLogs/default/job/b", Some(&token)).await;
    assert_eq!(missing, (404, "container \"b\" not found in pod \"job\"".to_owned()));
    let (code, metrics) = ask(&plane, port, "/metrics/resource", Some(&token)).await;
    assert!(code == 200 && metrics.contains("node_memory_working_set_bytes "), "{metrics}");
    let (code, summary) = ask(&plane, port, "/stats/summary", Some(&token)).await;
    assert!(code == 200 && summary.contains("\"nodeName\":\"node\""), "{summary}");
    let entered = ask(&plane, port, "/exec/default/job/a", Some(&token)).await;
    assert_eq!(entered, (400, "Upgrade request required".to_owned()));
}
