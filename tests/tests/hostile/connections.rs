//! Clients that stall, and clients that want too much at once.

use std::time::{Duration, Instant};

use http::StatusCode;
use roost_tests::client::Call;
use roost_tests::hostile::{self, Multiplexed, Raw};
use roost_tests::plane::Plane;

/// Connections that stall at the same time.
const STALLED: usize = 200;

/// The slowest of a few requests of somebody else.
async fn slowest_of_others(plane: &Plane) -> Duration {
    let client = plane.administrator().expect("a client");
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let start = Instant::now();
        let answer = client.send(Call::get("/api/v1/namespaces/default")).await.expect("an answer");
        assert_eq!(answer.status, StatusCode::OK);
        slowest = slowest.max(start.elapsed());
    }
    slowest
}

#[tokio::test]
async fn headers_that_never_end_are_cut_off() {
    let plane = hostile::start().await.expect("a server");
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut raw = Raw::connect(&plane, "http/1.1").await.expect("a connection");
        assert!(raw.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").await);
        stalled.push(raw);
    }
    assert!(slowest_of_others(&plane).await < Duration::from_secs(5));
    // A byte now and then must not keep a connection alive.
    let start = Instant::now();
    let mut first = stalled.remove(0);
    while first.write(b"x").await && start.elapsed() < Duration::from_secs(40) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(start.elapsed() < Duration::from_secs(35), "open after {:?}", start.elapsed());
    for mut raw in stalled {
        let answer = raw.read().await;
        assert!(answer.closed, "{}", answer.text);
    }
}

#[tokio::test]
async fn bodies_that_never_end_do_not_hold_up_others() {
    let plane = hostile::start().await.expect("a server");
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut raw = Raw::connect(&plane, "http/1.1").await.expect("a connection");
        let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
        assert!(raw.write(head.as_bytes()).await);
        stalled.push(raw);
    }
    assert!(slowest_of_others(&plane).await < Duration::from_secs(5));
}

#[tokio::test]
async fn ten_thousand_watches_of_one_client_are_bounded() {
    let plane = hostile::start().await.expect("a server");
    let administrator = plane.administrator().expect("a client");
    let binding = serde_json::json!({
        "metadata": {"name": "watcher"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "watcher"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "watcher"}],
    });
    let role = serde_json::json!({
        "metadata": {"name": "watcher"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}],
    });
    for (plural, body) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let target = format!("/apis/rbac.authorization.k8s.io/v1/{plural}");
        let made = administrator.send(Call::new(http::Method::POST, target).json(&body)).await.expect("an answer");
        assert!(made.status.is_success());
    }
    let (mut opened, mut refused) = (Vec::new(), 0);
    let mut connections = Vec::new();
    for _ in 0..13 {
        let mut connection = Multiplexed::connect(&plane).await.expect("a connection");
        for _ in 0..800 {
            let target = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0";
            let answer = connection.get(target, "watcher").await.expect("an answer");
            match answer.status() {
                StatusCode::OK => opened.push(answer),
                StatusCode::TOO_MANY_REQUESTS => refused += 1,
                other => panic!("{other}"),
            }
        }
        connections.push(connection);
    }
    assert!(opened.len() >= 1000, "{} watches were opened", opened.len());
    assert!(opened.len() <= 5000, "{} watches were opened", opened.len());
    assert_eq!(opened.len() + refused, 10_400);
    assert!(slowest_of_others(&plane).await < Duration::from_secs(5));
}

#[tokio::test]
async fn garbage_instead_of_http_ends_the_connection() {
    let plane = hostile::start().await.expect("a server");
    let long_line = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(2_000_000));
    let many_headers =
        format!("GET /readyz HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X-Header: value\r\n".repeat(50_000));
    let requests: [(&str, &[u8]); 7] = [
        ("a long line", long_line.as_bytes()),
        ("many headers", many_headers.as_bytes()),
        ("no HTTP", b"\x16\x03\x01\x00\xff\xff\xff\r\n\r\n"),
        (
            "two lengths",
            b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        ),
        ("a negative length", b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        ("a blank in a name", b"GET /readyz HTTP/1.1\r\nHost : a\r\n\r\n"),
        ("a bad chunk", b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    ];
    for (name, request) in requests {
        let mut raw = Raw::connect(&plane, "http/1.1").await.expect("a connection");
        raw.write(request).await;
        let answer = raw.read().await;
        assert!(answer.closed, "{name}: {}", answer.text);
        assert!(answer.text.is_empty() || (400..500).contains(&answer.code()), "{name}: {}", answer.text);
    }
    slowest_of_others(&plane).await;
}
