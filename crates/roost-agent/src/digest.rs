//! Digests of contents, in hexadecimal.

use std::fmt::Write as _;
use std::io::{self, Read};

use aws_lc_rs::digest::{Algorithm, Context, SHA256, SHA512};

/// The SHA-256 of what is read.
pub(crate) fn of(contents: &mut dyn Read) -> io::Result<String> {
    compute(&SHA256, contents)
}

/// Whether contents are what an Ignition verification (`sha256-…` or `sha512-…`) says.
pub(crate) fn matches(verification: &str, contents: &mut dyn Read) -> io::Result<bool> {
    let Some((name, wanted)) = verification.split_once('-') else { return Ok(false) };
    let algorithm = match name {
        "sha256" => &SHA256,
        "sha512" => &SHA512,
        _ => return Ok(false),
    };
    Ok(compute(algorithm, contents)?.eq_ignore_ascii_case(wanted))
}

fn compute(algorithm: &'static Algorithm, contents: &mut dyn Read) -> io::Result<String> {
    let mut context = Context::new(algorithm);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = contents.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        context.update(&buffer[..length]);
    }
    Ok(hexadecimal(context.finish().as_ref()))
}

/// Bytes as people write digests.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{matches, of};

    #[test]
    fn digests_are_those_of_the_standard_tools() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(&mut [].as_slice()).unwrap(), empty);
        assert!(matches(&format!("sha256-{empty}"), &mut [].as_slice()).unwrap());
        assert!(!matches(&format!("sha256-{empty}"), &mut b"x".as_slice()).unwrap());
        assert!(!matches("md5-x", &mut [].as_slice()).unwrap());
        assert!(!matches("", &mut [].as_slice()).unwrap());
    }
}
