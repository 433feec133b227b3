//! Byte fields: base64 as Go's decoder accepts it, written back in its one canonical form.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// Go does not mind bits that are set behind the last byte.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&base64::alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Decodes as Go does: line ends are passed over. The error is the offset that Go names.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    if let Ok(bytes) = STANDARD.decode(text) {
        return Ok(bytes);
    }
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    LENIENT.decode(&joined).map_err(|_| corrupt_offset(text.as_bytes()))
}

/// The text for bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The canonical text of what `text` says.
pub(crate) fn canonical(text: std::borrow::Cow<'_, str>) -> Result<String, usize> {
    let bytes = decode(&text)?;
    if STANDARD.encode(&bytes) == *text { Ok(text.into_owned()) } else { Ok(STANDARD.encode(bytes)) }
}

/// Finds the byte that Go complains about.
fn corrupt_offset(bytes: &[u8]) -> usize {
    let mut position = 0;
    loop {
        let mut digits = 0;
        loop {
            let Some(&byte) = bytes.get(position) else {
                return position - digits;
            };
            position += 1;
            match byte {
                b'\r' | b'\n' => {}
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {
                    digits += 1;
                    if digits == 4 {
                        break;
                    }
                }
                b'=' if digits >= 2 => return padding_offset(bytes, position, digits),
                _ => return position - 1,
            }
        }
    }
}

/// The padding has begun: what may follow is one more sign after two digits, and then nothing.
fn padding_offset(bytes: &[u8], mut position: usize, digits: usize) -> usize {
    let skip = |mut position: usize| {
        while matches!(bytes.get(position), Some(b'\r' | b'\n')) {
            position += 1;
        }
        position
    };
    if digits == 2 {
        position = skip(position);
        match bytes.get(position) {
            None => return bytes.len(),
            Some(b'=') => position += 1,
            Some(_) => return position - 1,
        }
    }
    skip(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_texts_become_canonical() {
        for (text, expected) in
            [("", ""), ("YQ==", "YQ=="), ("YR==", "YQ=="), ("Y\nQ=\r=", "YQ=="), ("YWJj", "YWJj"), ("\n", "")]
        {
            assert_eq!(canonical(text.into()), Ok(expected.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn refused_texts_name_the_byte_that_go_names() {
        for (text, offset) in
            [("b$", 1), ("YQ", 0), ("YWJjYQ", 4), ("YQ=", 3), ("YQ=x", 2), ("YQ==x", 4), ("=", 0), ("Y", 0), ("é", 0)]
        {
            assert_eq!(canonical(text.into()), Err(offset), "{text:?}");
        }
    }
}
