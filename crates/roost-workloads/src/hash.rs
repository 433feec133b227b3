//! Short names for contents: the hash that tells revisions apart, in letters that spell no words.

use serde_json::Value;

const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const OFFSET: u32 = 2_166_136_261;
const PRIME: u32 = 16_777_619;

/// The 32 bit FNV-1a hash.
pub fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

/// The 32 bit FNV-1 hash.
pub fn fnv1(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET, |hash, byte| hash.wrapping_mul(PRIME) ^ u32::from(*byte))
}

/// A number's decimal digits in letters that spell no words.
pub fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

/// The hash of a pod template; a count of collisions makes it another one.
pub fn of_template(template: &Value, collisions: Option<i64>) -> String {
    let mut bytes = template.to_string().into_bytes();
    if let Some(collisions) = collisions {
        bytes.extend_from_slice(&collisions.to_le_bytes());
    }
    letters(fnv1a(&bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hashes_are_those_of_fnv() {
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
        assert_eq!(fnv1(b"a"), 0x050c_5d7e);
    }

    #[test]
    fn collisions_change_the_name() {
        let template = json!({"spec": {}});
        assert_ne!(of_template(&template, None), of_template(&template, Some(1)));
        assert!(of_template(&template, None).bytes().all(|letter| ALPHABET.contains(&letter)));
    }
}
