//! WebSocket as far as streams of containers need it: the answer to a handshake, and messages.

use std::io;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};

/// The largest message that is read.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
/// What a handshake's key is put together with, by which the answer shows that it was understood.
const SEAL: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The first protocol of ours that the other side offers.
pub(super) fn choose(headers: &HeaderMap, known: &[&'static str]) -> Option<&'static str> {
    let offered: Vec<&str> = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim))
        .collect();
    known.iter().find(|known| offered.contains(known)).copied()
}

/// The answer with which both sides go over to WebSocket; none when the request does not ask for it.
pub(super) fn accept<B: Default>(headers: &HeaderMap, protocol: &'static str) -> Option<Response<B>> {
    let key = headers.get(SEC_WEBSOCKET_KEY)?.to_str().ok()?;
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{SEAL}").as_bytes());
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let own = response.headers_mut();
    own.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    own.insert(UPGRADE, HeaderValue::from_static("websocket"));
    own.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&STANDARD.encode(digest)).ok()?);
    own.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    Some(response)
}

/// Reads messages.
pub(super) struct Reader<S>(ReadHalf<S>);
/// Writes messages.
pub(super) struct Writer<S>(WriteHalf<S>);

/// What the other side sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Content.
    Content(Vec<u8>),
    /// A question whether this side is there.
    Ping(Vec<u8>),
}

/// Both ends of a connection.
pub(super) fn split<S: AsyncRead + AsyncWrite>(stream: S) -> (Reader<S>, Writer<S>) {
    let (read, write) = tokio::io::split(stream);
    (Reader(read), Writer(write))
}

impl<S: AsyncRead + AsyncWrite> Reader<S> {
    /// The next message; none when the other side has closed.
    pub(super) async fn next(&mut self) -> io::Result<Option<Message>> {
        let mut content = Vec::new();
        loop {
            let mut head = [0; 2];
            match self.0.read_exact(&mut head).await {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                outcome => outcome?,
            };
            let length = match head[1] & !MASKED {
                126 => u64::from(self.0.read_u16().await?),
                127 => self.0.read_u64().await?,
                short => u64::from(short),
            };
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length.saturating_add(content.len()) > MAX_MESSAGE_BYTES || head[1] & MASKED == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message makes no sense"));
            }
            let mut mask = [0; 4];
            self.0.read_exact(&mut mask).await?;
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).await?;
            payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
            match head[0] & 0x0f {
                CLOSE => return Ok(None),
                PING => return Ok(Some(Message::Ping(payload))),
                PONG => {}
                _ => {
                    content.append(&mut payload);
                    if head[0] & FINAL != 0 {
                        return Ok(Some(Message::Content(content)));
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Writer<S> {
    /// Sends content.
    pub(super) async fn send(&mut self, content: &[u8]) -> io::Result<()> {
        self.frame(BINARY, content).await
    }

    /// Says that this side is there.
    pub(super) async fn pong(&mut self, content: &[u8]) -> io::Result<()> {
        self.frame(PONG, content).await
    }

    /// Says that this side is through.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.frame(CLOSE, &1000_u16.to_be_bytes()).await?;
        self.0.shutdown().await
    }

    async fn frame(&mut self, kind: u8, content: &[u8]) -> io::Result<()> {
        debug_assert!(kind != CONTINUATION, "messages are sent whole");
        let mut frame = vec![FINAL | kind];
        match content.len() {
            short @ 0..=125 => frame.push(short as u8),
            middle @ 126..=0xffff => {
                frame.push(126);
                frame.extend((middle as u16).to_be_bytes());
            }
            long => {
                frame.push(127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend(content);
        self.0.write_all(&frame).await?;
        self.0.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_is_answered() {
        let mut headers = HeaderMap::new();
        headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ=="));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("v9.other, v4.channel.k8s.io"));
        assert_eq!(choose(&headers, &["v5.channel.k8s.io", "v4.channel.k8s.io"]), Some("v4.channel.k8s.io"));
        let response: Response<String> = accept(&headers, "v4.channel.k8s.io").expect("an answer");
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(accept::<String>(&HeaderMap::new(), "v4.channel.k8s.io").is_none());
    }

    #[tokio::test]
    async fn messages_come_whole_and_large_ones_not_at_all() {
        let (mut client, server) = tokio::io::duplex(4096);
        let (mut reader, mut writer) = split(server);
        client.write_all(&[2, 0x82, 1, 2, 3, 4, b'h' ^ 1, b'e' ^ 2]).await.unwrap();
        client.write_all(&[0x80, 0x81, 0, 0, 0, 0, b'y']).await.unwrap();
        assert_eq!(reader.next().await.unwrap(), Some(Message::Content(b"hey".to_vec())));
        writer.send(b"ok").await.unwrap();
        let mut answer = [0; 4];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, [0x82, 2, b'o', b'k']);
        client.write_all(&[0x82, 0xff, 0, 0, 0, 0, 0x7f, 0, 0, 0]).await.unwrap();
        assert!(reader.next().await.is_err());
    }
}
