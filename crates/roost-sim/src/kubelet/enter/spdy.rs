//! SPDY/3.1 as far as port forwarding needs it: streams that are opened, spoken on and closed by the other side.

use std::collections::HashMap;
use std::io;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The largest frame that is read.
const MAX_FRAME_BYTES: usize = 1 << 20;
/// The most that the headers of one stream may come to.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// How far back compressed headers may refer; the inflater wants a power of two.
const WINDOW: usize = 32 * 1024;
const VERSION: u16 = 3;
const FINAL: u8 = 1;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;

/// What the other side did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Opened a stream.
    Opened { stream: u32, headers: HashMap<String, String> },
    /// Said something; `last` when it says no more.
    Said { stream: u32, bytes: Vec<u8>, last: bool },
    /// Gave a stream up.
    Dropped(u32),
}

/// One end of a connection: the one that does not open streams.
pub(super) struct Connection<S> {
    stream: S,
    inflater: Inflater,
    /// Whether the compressed headers that this end sends have begun.
    replied: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S) -> Self {
        Connection { stream, inflater: Inflater::new(), replied: false }
    }

    /// What happens next; none when the connection is over.
    pub(super) async fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            let mut head = [0; 8];
            match self.stream.read_exact(&mut head).await {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                outcome => outcome?,
            };
            let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
            if length > MAX_FRAME_BYTES {
                return Err(wrong("a frame is too large"));
            }
            let mut payload = vec![0; length];
            self.stream.read_exact(&mut payload).await?;
            let last = head[4] & FINAL != 0;
            if head[0] & 0x80 == 0 {
                let stream = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
                return Ok(Some(Event::Said { stream, bytes: payload, last }));
            }
            match u16::from_be_bytes([head[2], head[3]]) {
                SYN_STREAM => {
                    let stream = number(&payload, 0)?;
                    let headers = self.inflater.headers(payload.get(10..).unwrap_or_default())?;
                    self.reply(stream).await?;
                    return Ok(Some(Event::Opened { stream, headers }));
                }
                RST_STREAM => return Ok(Some(Event::Dropped(number(&payload, 0)?))),
                PING => self.control(PING, &payload).await?,
                GOAWAY => return Ok(None),
                _ => {}
            }
        }
    }

    /// Says something on a stream, for the last time if so.
    pub(super) async fn say(&mut self, stream: u32, bytes: &[u8], last: bool) -> io::Result<()> {
        let mut frame = stream.to_be_bytes().to_vec();
        frame.extend(head_of(if last { FINAL } else { 0 }, bytes.len()));
        frame.extend(bytes);
        self.stream.write_all(&frame).await?;
        self.stream.flush().await
    }

    /// Takes a stream that was opened, with no headers of its own. They are compressed by not being so: a block is
    /// allowed to hold plain bytes. An empty one after it says that there is nothing to wait for.
    async fn reply(&mut self, stream: u32) -> io::Result<()> {
        let mut payload = stream.to_be_bytes().to_vec();
        if !self.replied {
            payload.extend([0x78, 0x01]);
            self.replied = true;
        }
        payload.extend([0, 4, 0, !4, !0]);
        payload.extend(0_u32.to_be_bytes());
        payload.extend([0, 0, 0, !0, !0]);
        self.control(SYN_REPLY, &payload).await
    }

    async fn control(&mut self, kind: u16, payload: &[u8]) -> io::Result<()> {
        let mut frame = (VERSION | 0x8000).to_be_bytes().to_vec();
        frame.extend(kind.to_be_bytes());
        frame.extend(head_of(0, payload.len()));
        frame.extend(payload);
        self.stream.write_all(&frame).await?;
        self.stream.flush().await
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The flags and the length that every frame has.
fn head_of(flags: u8, length: usize) -> [u8; 4] {
    let [_, high, middle, low] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [flags, high, middle, low]
}

fn number(bytes: &[u8], place: usize) -> io::Result<u32> {
    let four = bytes.get(place..place + 4).and_then(|four| four.try_into().ok());
    four.map(u32::from_be_bytes).ok_or_else(|| wrong("a frame is too short"))
}

/// Reads compressed headers: one stream of them for the whole connection, which knows some words beforehand.
struct Inflater {
    state: Box<DecompressorOxide>,
    window: Vec<u8>,
    place: usize,
    begun: bool,
}

impl Inflater {
    fn new() -> Self {
        let mut window = dictionary();
        let place = window.len();
        window.resize(WINDOW, 0);
        Inflater { state: Box::default(), window, place, begun: false }
    }

    fn headers(&mut self, mut compressed: &[u8]) -> io::Result<HashMap<String, String>> {
        if !self.begun {
            // Two bytes of header and, where it says so, four that name the dictionary.
            let named = compressed.get(1).is_some_and(|flags| flags & 0x20 != 0);
            compressed = compressed.get(if named { 6 } else { 2 }..).ok_or_else(|| wrong("headers are too short"))?;
            self.begun = true;
        }
        let mut plain = Vec::new();
        loop {
            let (status, read, written) =
                decompress(&mut self.state, compressed, &mut self.window, self.place, TINFL_FLAG_HAS_MORE_INPUT);
            plain.extend_from_slice(&self.window[self.place..self.place + written]);
            self.place = (self.place + written) % WINDOW;
            compressed = &compressed[read..];
            if plain.len() > MAX_HEADER_BYTES {
                return Err(wrong("headers are too large"));
            }
            match status {
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput => break,
                _ => return Err(wrong("headers cannot be read")),
            }
        }
        let mut headers = HashMap::new();
        let mut place = 4;
        let mut text = || -> io::Result<String> {
            let length = number(&plain, place)? as usize;
            let bytes = plain.get(place + 4..(place + 4).saturating_add(length));
            place += 4 + length;
            Ok(String::from_utf8_lossy(bytes.ok_or_else(|| wrong("headers are too short"))?).into_owned())
        };
        for _ in 0..number(&plain, 0)?.min(MAX_HEADER_BYTES as u32) {
            let (name, value) = (text()?, text()?);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// The words that both sides know, each behind its length, and a tail that has none.
fn dictionary() -> Vec<u8> {
    const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
        accept-ranges age allow authorization cache-control connection content-base content-encoding content-language \
        content-length content-location content-md5 content-range content-type date etag expect expires from host \
        if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards \
        pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding \
        upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public \
        set-cookie keep-alive origin";
    const TAIL: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505\
        203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized\
        403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable\
        Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT\
        chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,\
        text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
    let mut bytes = Vec::new();
    for word in WORDS.split(' ') {
        let word = word.replace('_', " ");
        bytes.extend(u32::try_from(word.len()).unwrap_or_default().to_be_bytes());
        bytes.extend(word.as_bytes());
    }
    bytes.extend(TAIL.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[test]
    fn the_dictionary_is_the_one_that_everybody_has() {
        let bytes = dictionary();
        assert_eq!(bytes.len(), 1423);
        // The checksum by which compressed headers name it.
        let (mut low, mut high) = (1_u32, 0_u32);
        for byte in &bytes {
            low = (low + u32::from(*byte)) % 65521;
            high = (high + low) % 65521;
        }
        assert_eq!((high << 16) | low, 0xe3c6_a7c2);
    }

    #[test]
    fn compressed_headers_refer_to_the_dictionary_and_to_earlier_ones() {
        // As a compressor writes them that knows the dictionary: two streams of one connection.
        let error = [
            0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x02, 0x25, 0x3a, 0x48, 0xf9, 0x5b, 0x04, 0x4a, 0xab, 0x4c, 0x16, 0x06,
            0x40, 0x92, 0xb3, 0x08, 0x12, 0x5b, 0x99, 0xa0, 0x54, 0xcc, 0x68, 0x00, 0x4e, 0x87, 0x25, 0x45, 0xa9, 0x89,
            0xb9, 0xd0, 0xa2, 0x86, 0x35, 0x15, 0x14, 0x11, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
        ];
        let data = [0x22, 0x4b, 0x2b, 0xa8, 0x94, 0x4a, 0x04, 0x00, 0x00, 0x00, 0xff, 0xff];
        let mut inflater = Inflater::new();
        for (bytes, kind) in [(&error[..], "error"), (&data, "data")] {
            let headers = inflater.headers(bytes).unwrap();
            assert_eq!((&*headers["port"], &*headers["requestid"], &*headers["streamtype"]), ("80", "0", kind));
        }
    }

    /// A frame that opens a stream, with headers that are not compressed.
    fn open(stream: u32, first: bool, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = (headers.len() as u32).to_be_bytes().to_vec();
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend((text.len() as u32).to_be_bytes());
            plain.extend(text.as_bytes());
        }
        let mut payload = stream.to_be_bytes().to_vec();
        payload.extend([0; 6]);
        if first {
            payload.extend([0x78, 0x01]);
        }
        let length = plain.len() as u16;
        payload.push(0);
        payload.extend(length.to_le_bytes());
        payload.extend((!length).to_le_bytes());
        payload.extend(plain);
        let mut frame = vec![0x80, 3, 0, 1];
        frame.extend(head_of(0, payload.len()));
        frame.extend(payload);
        frame
    }

    #[tokio::test]
    async fn streams_are_opened_spoken_on_and_closed() {
        let (mut client, server) = duplex(4096);
        let mut server = Connection::new(server);
        client.write_all(&open(1, true, &[("port", "80")])).await.unwrap();
        client.write_all(&open(3, false, &[("port", "81"), ("streamtype", "data")])).await.unwrap();
        client.write_all(&[0, 0, 0, 3, 1, 0, 0, 2, b'h', b'i']).await.unwrap();
        let headers = HashMap::from([("port".to_owned(), "80".to_owned())]);
        assert_eq!(server.next().await.unwrap(), Some(Event::Opened { stream: 1, headers }));
        let Some(Event::Opened { stream: 3, headers }) = server.next().await.unwrap() else { panic!("a stream") };
        assert_eq!(headers["streamtype"], "data");
        let said = Event::Said { stream: 3, bytes: b"hi".to_vec(), last: true };
        assert_eq!(server.next().await.unwrap(), Some(said));
        drop(client);
        assert_eq!(server.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn nonsense_is_an_error() {
        for bytes in [
            &[0x80, 3, 0, 1, 0, 0, 0, 2, 0, 0][..],
            &[0x80, 3, 0, 1, 0, 0, 0, 14, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x78, 1, 0xff, 0xff],
            &[0, 0, 0, 1, 0, 0xff, 0xff, 0xff],
        ] {
            let (mut client, server) = duplex(4096);
            client.write_all(bytes).await.unwrap();
            drop(client);
            assert!(Connection::new(server).next().await.is_err(), "{bytes:?}");
        }
    }
}
