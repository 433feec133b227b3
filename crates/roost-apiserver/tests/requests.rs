//! What every request goes through, seen from outside: credentials, bodies and headers of the answer.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use jiff::{SignedDuration, Timestamp};
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Identity, InProcess, PeerCertificates};
use roost_store::{Options, Store};
use tower::ServiceExt as _;

async fn cluster() -> Arc<Cluster> {
    let config = ClusterConfig::default();
    let cluster = Cluster::new("test", Store::memory(Options::default()), config, identity());
    cluster.bootstrap().await.expect("the first objects");
    cluster
}

fn identity() -> Identity {
    Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").expect("keys")
}

async fn send(cluster: &Arc<Cluster>, request: Request<Empty<Bytes>>) -> (StatusCode, HeaderMap, Bytes) {
    let Ok(response) = ApiService::new(Arc::clone(cluster)).oneshot(request).await;
    let (parts, body) = response.into_parts();
    (parts.status, parts.headers, body.collect().await.expect("a body").to_bytes())
}

fn request(method: Method, path: &str) -> Request<Empty<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).body(Empty::new()).expect("a request");
    let admin = User::new("system:admin", ["system:masters", "system:authenticated"]);
    request.extensions_mut().insert(InProcess(admin));
    request
}

#[tokio::test]
async fn a_head_is_answered_without_a_body() {
    let cluster = cluster().await;
    for (path, status) in [("/healthz", StatusCode::OK), ("/version", StatusCode::METHOD_NOT_ALLOWED)] {
        let (found, headers, body) = send(&cluster, request(Method::HEAD, path)).await;
        assert_eq!((found, body.len()), (status, 0), "{path}");
        assert!(headers.get("content-length").is_some_and(|length| length != "0"), "{path}: {headers:?}");
    }
}

#[tokio::test]
async fn compression_leaves_what_else_an_answer_varies_by() {
    let cluster = cluster().await;
    let mut list = request(Method::GET, "/apis");
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    list.headers_mut().insert("accept", aggregated.parse().expect("a header"));
    list.headers_mut().insert("accept-encoding", "gzip".parse().expect("a header"));
    let (status, headers, _) = send(&cluster, list).await;
    assert_eq!(status, StatusCode::OK);
    let varies: Vec<&str> = headers.get_all("vary").iter().filter_map(|value| value.to_str().ok()).collect();
    assert!(varies.contains(&"Accept"), "{headers:?}");
    assert_eq!(varies.contains(&"Accept-Encoding"), headers.get("content-encoding").is_some(), "{headers:?}");
}

#[tokio::test]
async fn certificates_are_judged_anew_once_the_authorities_change() {
    let cluster = cluster().await;
    let lifetime = SignedDuration::from_hours(1);
    let issued = cluster
        .identity()
        .authority
        .issue_client("alice", &["system:masters"], Timestamp::now(), lifetime)
        .expect("a certificate");
    let peer = PeerCertificates::new(vec![issued.certificate.to_tls()]);
    let ask = || {
        let mut request = Request::builder().uri("/api/v1/namespaces").body(Empty::new()).expect("a request");
        request.extensions_mut().insert(peer.clone());
        send(&cluster, request)
    };
    assert_eq!(ask().await.0, StatusCode::OK);
    cluster.set_identity(identity());
    assert_eq!(ask().await.0, StatusCode::UNAUTHORIZED);
}
