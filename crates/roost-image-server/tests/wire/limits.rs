//! Clients that stall, flood or lie do not hold anything up.

use std::time::{Duration, Instant};

use roost_image_server::{Exposure, Limits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{ask, get};
use crate::harness::{ISO, start, start_with};

const SHORT: Duration = Duration::from_millis(200);

fn impatient() -> Limits {
    Limits { connections: 8, head: SHORT, idle: SHORT, stalled: SHORT, drain: SHORT }
}

async fn end_of(mut stream: TcpStream) -> Duration {
    let begin = Instant::now();
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.unwrap();
    begin.elapsed()
}

#[tokio::test]
async fn silence_and_halves_of_requests_end() {
    let server = start_with(impatient(), Exposure::Everything, None).await;
    for bytes in ["", "GET /live", "GET /live HTTP/1.1\r\nA: b\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        end_of(stream).await;
    }
}

#[tokio::test]
async fn who_does_not_read_is_dropped() {
    let server = start_with(impatient(), Exposure::Everything, None).await;
    let mut stalled = Vec::new();
    for _ in 0..8 {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        stream.write_all(format!("GET {ISO} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    // All places are taken until the server has seen enough of them.
    let begin = Instant::now();
    loop {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let _ = stream.write_all(b"GET /live HTTP/1.0\r\n\r\n").await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        if answer.starts_with(b"HTTP/1.1 200") {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "nobody was dropped");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let server = start().await;
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(20_000));
    assert_eq!(ask(server.address, &long).await.status, 431);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    assert_eq!(ask(server.address, &many).await.status, 431);
    assert_eq!(ask(server.address, "\u{16}\u{3}\u{1}\r\n\r\n").await.status, 400);
    assert_eq!(get(server.address, "/live", "").await.status, 200);
}
