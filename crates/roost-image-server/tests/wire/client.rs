//! A client that says exactly what it is told and keeps exactly what it hears.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// One request on a new connection.
pub(crate) async fn ask(address: SocketAddr, request: &str) -> Heard {
    let mut stream = TcpStream::connect(address).await.unwrap();
    exchange(&mut stream, request).await
}

/// A GET with these headers.
pub(crate) async fn get(address: SocketAddr, path: &str, headers: &str) -> Heard {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: test\r\n{headers}\r\n")).await
}

/// One request, and its whole answer.
pub(crate) async fn exchange(stream: &mut dyn Stream, request: &str) -> Heard {
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = head(stream).await;
    let status = head[9..12].parse().unwrap();
    let mut heard = Heard { status, head, body: Vec::new() };
    let is_silent = request.starts_with("HEAD") || status == 304;
    if let Some(length) = heard.header("content-length").filter(|_| !is_silent) {
        heard.body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut heard.body).await.unwrap();
    }
    heard
}

/// Reads a head, and nothing behind it.
pub(crate) async fn head(stream: &mut dyn Stream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}
