//! Reading an answer: head, then a body by length, in chunks, or until the end.

use std::io::{BufRead, BufReader, Read, Write};

use super::{HttpsError, Request, failure};

/// The largest head that is taken; servers of this field stay under four kilobytes.
const LARGEST_HEAD: usize = 64 * 1024;
/// The most headers that are taken.
const MOST_HEADERS: usize = 128;
/// The longest line between chunks.
const LONGEST_LINE: u64 = 1024;

/// What a server answered.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, unless it was written elsewhere.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(super) fn read(stream: &mut impl Read, request: &Request<'_>, body: &mut dyn Write) -> Result<Answer, HttpsError> {
    let senseless =
        |reason: &str| HttpsError::Answer { address: request.address.authority(), reason: reason.to_owned() };
    let broken = |source| failure(request.address, source);
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader).map_err(broken)?.ok_or_else(|| senseless("its head is too large or cut off"))?;
    let answer = parse_head(&head).ok_or_else(|| senseless("it is not HTTP"))?;
    if request.method == "HEAD" || matches!(answer.status, 204 | 304) {
        return Ok(answer);
    }
    let is_chunked = answer.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    if is_chunked {
        let mut left = request.largest;
        while let Some(length) = chunk_length(&mut reader).map_err(broken)? {
            left = left.checked_sub(length).ok_or_else(|| senseless("its body is too large"))?;
            if copy(&mut reader, length, body).map_err(broken)? != length {
                return Err(senseless("its body is cut off"));
            }
            let mut end = [0; 2];
            reader.read_exact(&mut end).map_err(broken)?;
        }
        return Ok(answer);
    }
    let length = answer.header("content-length").map(str::parse::<u64>).transpose();
    match length.map_err(|_| senseless("its length is no number"))? {
        Some(length) if length > request.largest => Err(senseless("its body is too large")),
        Some(length) if copy(&mut reader, length, body).map_err(broken)? != length => {
            Err(senseless("its body is cut off"))
        }
        None if copy(&mut reader, request.largest + 1, body).map_err(broken)? > request.largest => {
            Err(senseless("its body is too large"))
        }
        _ => Ok(answer),
    }
}

/// Reads a head and not a byte more, since what follows may be anything.
pub(super) fn read_status(stream: &mut impl Read, request: &Request<'_>) -> Result<u16, HttpsError> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).map_err(|source| failure(request.address, source))?;
        head.push(byte[0]);
        if head.len() > LARGEST_HEAD {
            break;
        }
    }
    let senseless = || HttpsError::Answer { address: request.address.authority(), reason: "it is not HTTP".to_owned() };
    parse_head(&head).map(|answer| answer.status).ok_or_else(senseless)
}

fn copy(reader: &mut impl Read, length: u64, body: &mut dyn Write) -> std::io::Result<u64> {
    let mut limited = reader.take(length);
    let copied = std::io::copy(&mut limited, body);
    match copied {
        // Servers that end without a word at the end of a body are common.
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(length - limited.limit()),
        other => other,
    }
}

fn read_head(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        reader.by_ref().take((LARGEST_HEAD - before) as u64).read_until(b'\n', &mut head)?;
        if head.len() == before || head.len() >= LARGEST_HEAD {
            return Ok(None);
        }
        if matches!(&head[before..], b"\r\n" | b"\n") {
            return Ok(Some(head));
        }
    }
}

fn parse_head(head: &[u8]) -> Option<Answer> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    if !parsed.parse(head).ok()?.is_complete() {
        return None;
    }
    let headers = parsed
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned()));
    Some(Answer { status: parsed.code?, headers: headers.collect(), body: Vec::new() })
}

/// The length of the next chunk, or nothing after the last.
fn chunk_length(reader: &mut impl BufRead) -> std::io::Result<Option<u64>> {
    let mut line = Vec::new();
    reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    let text = String::from_utf8_lossy(&line);
    let digits = text.split(';').next().unwrap_or_default().trim();
    let length = u64::from_str_radix(digits, 16)
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "a chunk has no length"))?;
    Ok((length > 0).then_some(length))
}

#[cfg(test)]
mod tests {
    use super::super::Address;
    use super::{Request, read};

    fn body_of(text: &str, largest: u64) -> Result<(u16, String), String> {
        let address = Address::parse("https://host").unwrap();
        let request = Request { method: "GET", address: &address, headers: &[], body: b"", largest };
        let mut body = Vec::new();
        let answer = read(&mut text.as_bytes(), &request, &mut body).map_err(|error| error.to_string())?;
        Ok((answer.status, String::from_utf8(body).unwrap()))
    }

    #[test]
    fn bodies_are_read_in_every_form() {
        let good = Ok((200, "hello".to_owned()));
        assert_eq!(body_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 10), good);
        assert_eq!(body_of("HTTP/1.1 200 OK\r\n\r\nhello", 10), good);
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n";
        assert_eq!(body_of(chunked, 10), good);
        assert_eq!(body_of("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", 10), Ok((204, String::new())));
    }

    #[test]
    fn bodies_that_are_too_large_or_cut_off_are_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ] {
            assert!(body_of(text, 4).unwrap_err().contains("too large"), "{text}");
        }
        for text in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
        ] {
            assert!(body_of(text, 100).is_err(), "{text}");
        }
        assert!(body_of(&format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(70_000)), 10).is_err());
    }
}
