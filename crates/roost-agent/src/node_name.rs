//! Names of nodes.

/// The longest name that a Node object can have.
const LONGEST: usize = 253;
/// The longest part between dots.
const LONGEST_LABEL: usize = 63;

/// Whether a Node may be called so: a DNS-1123 subdomain that tells hosts apart.
pub fn is_valid(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    !name.is_empty() && name.len() <= LONGEST && first != "localhost" && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.len() <= LONGEST_LABEL
        && bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn names_are_subdomains_that_tell_hosts_apart() {
        for name in ["worker-1", "a", "w1.rack2.example.com", "0"] {
            assert!(is_valid(name), "{name}");
        }
        let long = "a".repeat(64);
        for name in ["", "localhost", "localhost.localdomain", "Worker", "a_b", "-a", "a-", "a..b", ".a", "ä", &long] {
            assert!(!is_valid(name), "{name}");
        }
    }
}
