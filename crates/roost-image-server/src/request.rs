//! The head of a request, read from the wire.

use bytes::{Buf as _, BytesMut};

/// The largest head: a token and some headers have less than a fifth of it.
pub(crate) const LARGEST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// What is known of a request. Nobody reads a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Whether another request may follow on the connection.
    pub(crate) keep_alive: bool,
}

/// How far reading a head is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// More bytes are needed.
    Incomplete,
    /// A request, whose bytes were taken off the buffer.
    Complete(Request),
    /// This is not HTTP/1.
    Malformed,
    /// It is longer than any head needs to be.
    TooLarge,
}

impl Request {
    /// A header's value; the first one if there are several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Takes a head off the buffer, if there is a whole one.
pub(crate) fn take_head(buffer: &mut BytesMut) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let (length, request) = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => (length, read(&parsed)),
        Ok(httparse::Status::Partial) if buffer.len() < LARGEST_HEAD => return Head::Incomplete,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Head::TooLarge,
        Err(_) => return Head::Malformed,
    };
    buffer.advance(length);
    request.map_or(Head::Malformed, Head::Complete)
}

fn read(parsed: &httparse::Request<'_, '_>) -> Option<Request> {
    let target = parsed.path?;
    // Proxies send the whole URL; what counts is the path.
    let target = target
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        .map_or(target, |(_, rest)| rest.find('/').map_or("/", |slash| &rest[slash..]));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        headers.push((header.name.to_owned(), String::from_utf8_lossy(header.value).trim().to_owned()));
    }
    let mut request = Request {
        method: parsed.method?.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        keep_alive: parsed.version == Some(1),
    };
    let connection = request.header("connection").unwrap_or_default().to_ascii_lowercase();
    if connection.split(',').any(|word| word.trim() == "close") {
        request.keep_alive = false;
    }
    // What follows would have to be skipped; the connection ends instead.
    let has_body = request.header("transfer-encoding").is_some()
        || request.header("content-length").is_some_and(|length| length != "0");
    if has_body {
        request.keep_alive = false;
    }
    Some(request)
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{Head, LARGEST_HEAD, take_head};

    fn head(text: &str) -> Head {
        take_head(&mut BytesMut::from(text))
    }

    #[test]
    fn requests_are_taken_one_by_one() {
        let mut buffer = BytesMut::from("GET /a?b=c HTTP/1.1\r\nRange: bytes=0-\r\n\r\nHEAD /d HTTP/1.0\r\n\r\nGET");
        let Head::Complete(first) = take_head(&mut buffer) else { panic!() };
        assert_eq!((first.method.as_str(), first.path.as_str(), first.query.as_str()), ("GET", "/a", "b=c"));
        assert_eq!((first.header("range"), first.keep_alive), (Some("bytes=0-"), true));
        let Head::Complete(second) = take_head(&mut buffer) else { panic!() };
        assert_eq!((second.method.as_str(), second.path.as_str(), second.keep_alive), ("HEAD", "/d", false));
        assert_eq!(take_head(&mut buffer), Head::Incomplete);
    }

    #[test]
    fn what_has_a_body_is_the_last() {
        for header in ["Content-Length: 5", "Transfer-Encoding: chunked", "Connection: x, Close"] {
            let Head::Complete(request) = head(&format!("GET / HTTP/1.1\r\n{header}\r\n\r\n")) else { panic!() };
            assert!(!request.keep_alive, "{header}");
        }
    }

    #[test]
    fn a_proxy_may_send_the_whole_address() {
        let Head::Complete(request) = head("GET http://host:80/a/b?c HTTP/1.1\r\n\r\n") else { panic!() };
        assert_eq!((request.path.as_str(), request.query.as_str()), ("/a/b", "c"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(head("\x16\x03\x01\x02\0"), Head::Malformed);
        assert_eq!(head(&format!("GET /{} HTTP/1.1\r\n", "a".repeat(LARGEST_HEAD))), Head::TooLarge);
        assert_eq!(head(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65))), Head::TooLarge);
    }
}
