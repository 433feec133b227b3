//! Floods: of one address, of one token, of connections.

use std::time::Duration;

use roost_ignition_server::{Limits, Rate, ServerSettings};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::harness::{Echo, Reply, settings, start};

/// So slow that nothing comes back while a test runs.
const SLOW: Rate = Rate { per_second: 0.001, burst: 3.0 };

fn seconds(reply: &Reply) -> Option<u64> {
    reply.header("retry-after")?.parse().ok()
}

fn limited(limits: Limits) -> ServerSettings {
    ServerSettings { limits, ..settings() }
}

#[tokio::test]
async fn a_token_is_limited() {
    let server = start(limited(Limits { token: SLOW, ..Limits::default() }), Echo::default()).await;
    for _ in 0..3 {
        assert_eq!(server.get("Authorization: Bearer Z29vZA==\r\n").await.status, 200);
    }
    let reply = server.get("Authorization: Bearer Z29vZA==\r\n").await;
    assert_eq!((reply.status, reply.body.as_str()), (429, "Too many requests\n"));
    assert!(seconds(&reply).is_some_and(|seconds| (900..=1000).contains(&seconds)), "{reply:?}");
    let reply = server.get("Authorization: Bearer Z29vZA==\r\nUser-Agent: Ignition/2.14.0\r\n").await;
    assert_eq!((reply.status, seconds(&reply).is_some()), (503, true), "Ignition gives up on 429");
    assert_eq!(server.get("Authorization: Bearer Y29uZmln\r\n").await.status, 200, "other tokens are not touched");
    assert_eq!(server.authority.rejections.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_address_is_limited_whatever_it_shows() {
    let server = start(limited(Limits { address: SLOW, ..Limits::default() }), Echo::default()).await;
    for headers in ["", "Authorization: Bearer eA==\r\n", "Authorization: Bearer Z29vZA==\r\n"] {
        assert_ne!(server.get(headers).await.status, 429);
    }
    for headers in ["", "Authorization: Bearer eA==\r\n", "Authorization: Bearer Z29vZA==\r\n"] {
        assert_eq!(server.get(headers).await.status, 429);
    }
    let health = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(server.exchange(health, 1, false).await[0].status, 200, "health is always answered");
}

#[tokio::test]
async fn an_address_has_only_so_many_connections() {
    let limits = Limits { connections_per_address: 3, ..Limits::default() };
    let server = start(limited(limits), Echo::default()).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(server.connect().await);
    }
    let mut fourth = TcpStream::connect(server.address).await.unwrap();
    let mut byte = [0; 1];
    let read = tokio::time::timeout(Duration::from_secs(5), fourth.read(&mut byte)).await.unwrap();
    assert!(matches!(read, Ok(0) | Err(_)), "it is closed at once");
    drop(held);
    let mut status = 0;
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if let Ok(Some(reply)) = tokio::time::timeout(Duration::from_secs(5), attempt(&server)).await {
            status = reply;
            break;
        }
    }
    assert_eq!(status, 200, "places are given back");
}

/// The status of a health check, if the connection is let in.
async fn attempt(server: &crate::harness::Running) -> Option<u16> {
    let stream = TcpStream::connect(server.address).await.ok()?;
    let name = rustls_pki_types::ServerName::try_from("localhost").ok()?;
    let mut stream = crate::harness::connector(&server.identity.certificate, &[]).connect(name, stream).await.ok()?;
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.ok()?;
    crate::harness::Reader::default().reply(&mut stream, false).await.map(|reply| reply.status)
}

#[tokio::test]
async fn all_connections_have_a_limit_too() {
    let server = start(limited(Limits { connections: 2, ..Limits::default() }), Echo::default()).await;
    let first = server.connect().await;
    let _second = server.connect().await;
    let waiting = tokio::time::timeout(Duration::from_millis(300), server.connect()).await;
    assert!(waiting.is_err(), "the third waits");
    drop(first);
    tokio::time::timeout(Duration::from_secs(10), server.connect()).await.expect("and then has its turn");
}
