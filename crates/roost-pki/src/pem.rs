//! PEM: text around DER.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::{PemObject as _, SectionKind};

use crate::Error;

/// Longest PEM text that is read; a bundle of hundreds of authorities fits.
pub(crate) const MAX_LENGTH: usize = 4 << 20;

const COLUMNS: usize = 64;

pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut text = String::with_capacity(body.len() + body.len() / COLUMNS + 2 * label.len() + 40);
    text.push_str("-----BEGIN ");
    text.push_str(label);
    text.push_str("-----\n");
    let mut rest = &*body;
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(COLUMNS));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    text
}

/// All blocks of known kinds, in order; other text and blocks are passed over.
pub(crate) fn sections(text: &str) -> Result<Vec<(SectionKind, Vec<u8>)>, Error> {
    if text.len() > MAX_LENGTH {
        return Err(Error::TooLarge { what: "PEM", limit: MAX_LENGTH });
    }
    <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| Error::Malformed { what: "PEM", why: error.to_string() })
}

/// The content of the first block, which must be of this kind.
pub(crate) fn first(text: &str, wanted: SectionKind, name: &'static str) -> Result<Vec<u8>, Error> {
    match sections(text)?.into_iter().next() {
        Some((kind, der)) if kind == wanted => Ok(der),
        _ => Err(Error::Pem(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let der: Vec<u8> = (0..200).collect();
        let text = encode("CERTIFICATE", &der);
        assert!(text.lines().all(|line| line.len() <= COLUMNS));
        assert_eq!(first(&format!("words\n{text}"), SectionKind::Certificate, "CERTIFICATE").unwrap(), der);
        assert_eq!(first(&text, SectionKind::Csr, "CERTIFICATE REQUEST"), Err(Error::Pem("CERTIFICATE REQUEST")));
        assert_eq!(first("", SectionKind::Csr, "CERTIFICATE REQUEST"), Err(Error::Pem("CERTIFICATE REQUEST")));
    }
}
