//! What must not be guessed: keys, and the random part of names.

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::manifests::{INFRA_ID_LETTERS, SshKey};

use super::error::CommandError;

/// How many random characters end the name of an infrastructure.
const INFRA_ID_SUFFIX: usize = 5;

/// A new key of 32 bytes.
pub(super) fn key() -> Result<[u8; 32], CommandError> {
    let mut key = [0; 32];
    SystemRandom::new().fill(&mut key).map_err(|_| CommandError::Key)?;
    Ok(key)
}

/// The random end of an infrastructure's name.
pub(super) fn infra_id_suffix() -> Result<String, CommandError> {
    let letters = INFRA_ID_LETTERS.len();
    let mut suffix = String::with_capacity(INFRA_ID_SUFFIX);
    // Bytes beyond a multiple of the letters are left out, so that each letter is as likely as any other.
    let fair = (256 / letters * letters) as u8;
    while suffix.len() < INFRA_ID_SUFFIX {
        suffix.extend(
            key()?
                .into_iter()
                .filter(|byte| *byte < fair)
                .map(|byte| char::from(INFRA_ID_LETTERS[usize::from(byte) % letters]))
                .take(INFRA_ID_SUFFIX - suffix.len()),
        );
    }
    Ok(suffix)
}

/// A new SSH key: RSA of 4096 bits, because that is what the Secret's keys are named after.
pub(super) fn ssh_key() -> Result<SshKey, CommandError> {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};

    let pair = KeyPair::generate(KeySize::Rsa4096).map_err(|_| CommandError::Key)?;
    let private: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| CommandError::Key)?;
    let (modulus, exponent) = rsa_numbers(pair.public_key().as_ref()).ok_or(CommandError::Key)?;
    let mut blob = Vec::with_capacity(600);
    for part in [b"ssh-rsa".as_slice(), exponent, modulus] {
        blob.extend_from_slice(&(part.len() as u32).to_be_bytes());
        blob.extend_from_slice(part);
    }
    Ok(SshKey {
        public: format!("ssh-rsa {}\n", STANDARD.encode(blob)).into_bytes(),
        private: pem("PRIVATE KEY", private.as_ref()).into_bytes(),
    })
}

/// The two numbers of a public key in PKCS#1: a sequence of two integers, already in the form that SSH wants.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, _) = element(der, 0x30)?;
    let (modulus, rest) = element(content, 0x02)?;
    let (exponent, _) = element(rest, 0x02)?;
    Some((modulus, exponent))
}

/// The content of the first element, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let bytes = usize::from(first & 0x7f);
        let length = rest.get(..bytes.min(4))?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        (length, rest.get(bytes..)?)
    };
    (*found == tag).then_some(())?;
    Some((rest.get(..length)?, rest.get(length..)?))
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap_or_default()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{infra_id_suffix, rsa_numbers};

    #[test]
    fn suffixes_have_five_letters() {
        let suffix = infra_id_suffix().unwrap();
        assert_eq!(suffix.len(), 5);
        assert!(suffix.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte)));
        assert_ne!(suffix, infra_id_suffix().unwrap());
    }

    #[test]
    fn public_keys_are_taken_apart() {
        let der = [0x30, 0x08, 0x02, 0x02, 0x00, 0xab, 0x02, 0x02, 0x01, 0x01];
        assert_eq!(rsa_numbers(&der), Some((&[0x00, 0xab][..], &[0x01, 0x01][..])));
        assert_eq!(rsa_numbers(&[0x30, 0x84, 0xff]), None);
        assert_eq!(rsa_numbers(&[]), None);
    }
}
