//! Addresses as Go's `net/url` reads them: request URIs, and references that may be relative.

use std::fmt::Write as _;
use std::net::Ipv6Addr;

/// An absolute URI or an absolute path, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// What was read.
    pub text: String,
    /// The scheme, in lower case.
    pub scheme: String,
    /// Host and port.
    pub host: String,
    /// The path as it is written in an address.
    pub escaped_path: String,
    /// What follows the question mark.
    pub raw_query: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Query,
}

impl Url {
    /// Reads a request URI. The error is the sentence of Go's parser, without the `parse "…":` in front.
    pub fn parse(text: &str) -> Result<Url, String> {
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        Self::read(text, true)
    }

    /// Reads a reference without a fragment, which may be relative.
    pub fn parse_reference(text: &str) -> Result<Url, String> {
        Self::read(text, false)
    }

    /// Reads a reference, which may be relative and end with a fragment.
    pub fn parse_with_fragment(text: &str) -> Result<Url, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let url = Self::read(before, false)?;
        unescape(fragment, Part::Path)?;
        Ok(Url { text: text.to_owned(), ..url })
    }

    fn read(text: &str, is_request: bool) -> Result<Url, String> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Url {
            text: text.to_owned(),
            scheme: String::new(),
            host: String::new(),
            escaped_path: String::new(),
            raw_query: String::new(),
        };
        if text == "*" {
            "*".clone_into(&mut url.escaped_path);
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if let Some((before, query)) = rest.split_once('?') {
            rest = before;
            query.clone_into(&mut url.raw_query);
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                return Ok(url);
            }
            if is_request {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        if (!url.scheme.is_empty() || !is_request && !rest.starts_with("///"))
            && let Some(after) = rest.strip_prefix("//")
        {
            let slash = after.find('/').unwrap_or(after.len());
            rest = &after[slash..];
            url.host = authority(&url.scheme, &after[..slash])?;
        }
        let path = unescape(rest, Part::Path)?;
        let escaped = escape(&path, Part::Path);
        url.escaped_path = if escaped == rest || is_valid_encoded_path(rest) { rest.to_owned() } else { escaped };
        Ok(url)
    }

    /// The host without its port and brackets.
    pub fn hostname(&self) -> &str {
        let host = self.split_host().0;
        host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, or nothing.
    pub fn port(&self) -> &str {
        self.split_host().1
    }

    fn split_host(&self) -> (&str, &str) {
        match self.host.rfind(':') {
            Some(colon) if is_optional_port(&self.host[colon..]) => (&self.host[..colon], &self.host[colon + 1..]),
            _ => (&self.host, ""),
        }
    }

    /// The query as keys with their values, in the order in which they stand. Malformed pairs are left out.
    pub fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut out: Vec<(String, Vec<String>)> = Vec::new();
        for pair in self.raw_query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Part::Query), unescape(value, Part::Query)) else { continue };
            let key = String::from_utf8_lossy(&key).into_owned();
            let value = String::from_utf8_lossy(&value).into_owned();
            match out.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => out.push((key, vec![value])),
            }
        }
        out
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn authority(scheme: &str, text: &str) -> Result<String, String> {
    let Some((user, host)) = text.rsplit_once('@') else { return parse_host(scheme, text) };
    let host = parse_host(scheme, host)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    unescape(name, Part::User)?;
    unescape(password, Part::User)?;
    Ok(host)
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    match host.rfind('[') {
        Some(0) => {
            let close = host.rfind(']').ok_or("missing ']' in host")?;
            let port = &host[close + 1..];
            if !is_optional_port(port) {
                return Err(format!("invalid port {port:?} after host"));
            }
            let inner = &host[1..close];
            let (address, zone) = match inner.find("%25") {
                Some(at) => (unescape(&inner[..at], Part::Host)?, unescape(&inner[at..], Part::Zone)?),
                None => (unescape(inner, Part::Host)?, Vec::new()),
            };
            let (address, zone) = (text(address), text(zone));
            if address.parse::<Ipv6Addr>().is_err() || zone == "%" {
                return Err(format!("invalid host: ParseAddr({:?}): unable to parse IP", format!("{address}{zone}")));
            }
            Ok(format!("[{address}{zone}]{port}"))
        }
        Some(_) => Err("invalid IP-literal".to_owned()),
        None => {
            let first = host.find(':');
            let last = host.rfind(':');
            let strict = scheme == "http" || scheme == "https";
            if let Some(colon) = if strict { first } else { last }
                && !is_optional_port(&host[colon..])
            {
                return Err(format!("invalid port {:?} after host", &host[colon..]));
            }
            Ok(text(unescape(host, Part::Host)?))
        }
    }
}

fn is_optional_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn stands_unescaped(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return true;
    }
    match part {
        Part::Path => b"$&+,/:;=@".contains(&byte),
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Part::User => b"$&+,;=".contains(&byte),
        Part::Query => false,
    }
}

fn unescape(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    let hex = |byte: u8| (byte as char).to_digit(16);
    while index < bytes.len() {
        let byte = bytes[index];
        match byte {
            b'%' => {
                let digits =
                    bytes.get(index + 1).copied().and_then(hex).zip(bytes.get(index + 2).copied().and_then(hex));
                let shown = || String::from_utf8_lossy(&bytes[index..(index + 3).min(bytes.len())]).into_owned();
                let Some((high, low)) = digits else { return Err(format!("invalid URL escape {:?}", shown())) };
                let value = (high * 16 + low) as u8;
                let percent = &bytes[index..index + 3] == b"%25";
                let refused = match part {
                    Part::Host => high < 8 && !percent,
                    Part::Zone => !percent && value != b' ' && !stands_unescaped(value, Part::Host),
                    _ => false,
                };
                if refused {
                    return Err(format!("invalid URL escape {:?}", shown()));
                }
                out.push(value);
                index += 3;
                continue;
            }
            b'+' if part == Part::Query => out.push(b' '),
            _ => {
                let strict = matches!(part, Part::Host | Part::Zone);
                if strict && byte < 0x80 && !stands_unescaped(byte, part) {
                    return Err(format!("invalid character {:?} in host name", (byte as char).to_string()));
                }
                out.push(byte);
            }
        }
        index += 1;
    }
    Ok(out)
}

fn escape(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if stands_unescaped(byte, part) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn is_valid_encoded_path(text: &str) -> bool {
    text.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || stands_unescaped(byte, Part::Path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_taken_apart_as_go_does() {
        let url = Url::parse("https://user:pw@example.com:80/a%20b/c?x=1&x=2&y=a+b").unwrap();
        assert_eq!((url.scheme.as_str(), url.host.as_str()), ("https", "example.com:80"));
        assert_eq!((url.hostname(), url.port()), ("example.com", "80"));
        assert_eq!(url.escaped_path, "/a%20b/c");
        let values = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(url.query(), [("x".to_owned(), values(&["1", "2"])), ("y".to_owned(), values(&["a b"]))]);
        assert_eq!(Url::parse("https://[::1]:8080/x").unwrap().hostname(), "::1");
        assert_eq!(Url::parse("/a b").unwrap().escaped_path, "/a%20b");
        let url = Url::parse_with_fragment("https://example.com/a?b#c").unwrap();
        assert_eq!((&*url.raw_query, &*url.text), ("b", "https://example.com/a?b#c"));
        assert!(Url::parse_with_fragment("https://example.com/a#%zz").is_err());
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in ["", "example.com", ":x", "http://a b/", "http://[::1", "http://a:b/", "http://a/%zz", "a\nb"] {
            assert!(Url::parse(text).is_err(), "{text:?}");
        }
        for text in ["mailto:a@b", "/path", "http://", "*", "urn:x", "http://example.com"] {
            assert!(Url::parse(text).is_ok(), "{text:?}");
        }
    }
}
