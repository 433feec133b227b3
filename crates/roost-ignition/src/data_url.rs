//! `data:` URLs, the form in which a config carries the contents of files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

/// Why contents could not be had from a URL. The contents themselves are never part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataUrlError {
    /// The URL names another place, from which the contents have to be fetched.
    #[error("the contents are at a remote place")]
    Remote,
    /// The URL has no comma, or says it is base64 and is not.
    #[error("malformed data URL")]
    Malformed,
    /// The contents say they are compressed and cannot be unpacked.
    #[error("malformed compressed contents")]
    Compression,
    /// The contents are larger than anything honest.
    #[error("contents of more than {limit} bytes")]
    TooLarge {
        /// How large they may be.
        limit: usize,
    },
}

/// The URL that carries these bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "data:,".to_owned();
    }
    let prefix = "data:;base64,";
    let mut url = String::with_capacity(prefix.len() + bytes.len().div_ceil(3) * 4);
    url.push_str(prefix);
    STANDARD.encode_string(bytes, &mut url);
    url
}

/// The bytes that a URL carries.
pub(crate) fn decode(url: &str) -> Result<Vec<u8>, DataUrlError> {
    let Some(rest) = url.strip_prefix("data:") else { return Err(DataUrlError::Remote) };
    let (media, data) = rest.split_once(',').ok_or(DataUrlError::Malformed)?;
    let plain = percent_decode_str(data);
    if media.split(';').skip(1).any(|parameter| parameter == "base64") {
        let text: Vec<u8> = plain.filter(|byte| !byte.is_ascii_whitespace()).collect();
        STANDARD.decode(text).map_err(|_| DataUrlError::Malformed)
    } else {
        Ok(plain.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{DataUrlError, decode, encode};

    #[test]
    fn what_is_encoded_is_decoded() {
        for bytes in [&b""[..], b"a", b"\x00\xff,;%", b"[Unit]\nDescription=x\n"] {
            assert_eq!(decode(&encode(bytes)).unwrap(), bytes);
        }
    }

    #[test]
    fn forms_that_others_write_are_read() {
        for (url, bytes) in [
            ("data:,a%20b%0A", &b"a b\n"[..]),
            ("data:text/plain;charset=utf-8;base64,YQ==", b"a"),
            ("data:text/plain;charset=utf-8,a+b", b"a+b"),
            ("data:;base64,YQ%3D%3D", b"a"),
            ("data:text/plain;base64,Y\nQ==", b"a"),
        ] {
            assert_eq!(decode(url).unwrap(), bytes, "{url}");
        }
        assert_eq!(decode("data:abc"), Err(DataUrlError::Malformed));
        assert_eq!(decode("data:;base64,@@"), Err(DataUrlError::Malformed));
        assert_eq!(decode("https://x/y"), Err(DataUrlError::Remote));
    }
}
