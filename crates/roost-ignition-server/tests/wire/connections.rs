//! Slow, silent and half-dead clients.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Echo, Reader, connector, settings, start};

/// Short for a test and long enough for an honest handshake on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long until a stream ends, and that it does.
async fn ends(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Duration {
    let start = Instant::now();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the server waits forever");
    start.elapsed()
}

#[tokio::test]
async fn a_client_that_does_not_speak_is_gone() {
    let quick = roost_ignition_server::ServerSettings { read_timeout: PATIENCE, ..settings() };
    let server = start(quick, Echo::default()).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    assert!(ends(&mut silent).await >= PATIENCE, "no handshake");
    let mut silent = server.connect().await;
    assert!(ends(&mut silent).await >= PATIENCE / 2, "no request");
    let mut idle = server.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert_eq!(Reader::default().reply(&mut idle, false).await.unwrap().status, 200);
    ends(&mut idle).await;
    assert_eq!(server.metrics.answers(http::StatusCode::OK), 1);
}

#[tokio::test]
async fn a_client_that_dribbles_is_gone() {
    let quick = roost_ignition_server::ServerSettings { read_timeout: PATIENCE, ..settings() };
    let server = start(quick, Echo::default()).await;
    let mut stream = server.connect().await;
    let started = Instant::now();
    for byte in b"GET /ignition HTTP/1.1\r\nHost: ignition.example.com\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    {
        if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
        if started.elapsed() > PATIENCE * 3 {
            break;
        }
    }
    ends(&mut stream).await;
    assert_eq!(server.authority.fetches.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_gone() {
    let quick = roost_ignition_server::ServerSettings { write_timeout: PATIENCE, ..settings() };
    let server = start(quick, Echo { large: 32 << 20, ..Echo::default() }).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /ignition HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bGFyZ2U=\r\n\r\n").await.unwrap();
    tokio::time::sleep(PATIENCE * 2).await;
    let mut received = 0_usize;
    let mut chunk = vec![0; 64 << 10];
    while let Ok(Ok(count)) = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut chunk)).await {
        if count == 0 {
            break;
        }
        received += count;
    }
    assert!(received < 32 << 20, "the answer was cut off");
}

#[tokio::test]
async fn a_client_that_reads_slowly_but_in_time_gets_everything() {
    let server = start(settings(), Echo { large: 4 << 20, ..Echo::default() }).await;
    let mut stream = server.connect().await;
    stream
        .write_all(b"GET /ignition HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer bGFyZ2U=\r\n\r\n")
        .await
        .unwrap();
    let (mut received, mut chunk) = (0_usize, vec![0; 256 << 10]);
    loop {
        tokio::time::sleep(Duration::from_millis(2)).await;
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => received += count,
        }
    }
    assert!(received > 4 << 20, "{received}");
}

#[tokio::test]
async fn plain_text_gets_nothing() {
    let server = start(settings(), Echo::default()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[tokio::test]
async fn http_2_is_not_offered() {
    let server = start(settings(), Echo::default()).await;
    let name = || rustls_pki_types::ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let both = connector(&server.identity.certificate, &[b"h2", b"http/1.1"]);
    let stream = both.connect(name(), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let stream = TcpStream::connect(server.address).await.unwrap();
    let only = connector(&server.identity.certificate, &[b"h2"]);
    assert!(only.connect(name(), stream).await.is_err());
}

#[tokio::test]
async fn stopping_lets_requests_finish() {
    let server = start(settings(), Echo { large: 4 << 20, ..Echo::default() }).await;
    let mut busy = server.connect().await;
    busy.write_all(b"GET /ignition HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bGFyZ2U=\r\n\r\n").await.unwrap();
    let mut first = [0; 1];
    busy.read_exact(&mut first).await.unwrap();
    server.stop.send_replace(true);
    let mut rest = Vec::new();
    let _ = busy.read_to_end(&mut rest).await;
    assert!(rest.len() > 4 << 20, "{}", rest.len());
    tokio::time::timeout(Duration::from_secs(10), server.task).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
