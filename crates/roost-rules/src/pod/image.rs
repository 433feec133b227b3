//! Reading image references, as far as pull policies need it.

/// Whether an image is pulled by the tag `latest`, named or implied. References that cannot be read are not.
pub(super) fn is_latest(reference: &str) -> bool {
    let Some((rest, digest)) = split_digest(reference) else { return false };
    let (domain, remainder) = match rest.split_once('/') {
        Some((first, remainder)) if is_domain(first) => (Some(first), remainder),
        _ => (None, rest),
    };
    if domain.is_none() && digest.is_none() && is_identifier(rest) {
        return false;
    }
    let (path, tag) = match remainder.split_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (remainder, None),
    };
    let readable = domain.is_none_or(is_valid_domain)
        && path.split('/').all(is_valid_component)
        && domain.unwrap_or("docker.io").len() + 1 + path.len() <= 255
        && tag.is_none_or(is_valid_tag);
    readable && tag.map_or(digest.is_none(), |tag| tag == "latest")
}

/// Splits off a digest; nothing if the digest cannot be read.
fn split_digest(reference: &str) -> Option<(&str, Option<&str>)> {
    let Some((rest, digest)) = reference.split_once('@') else { return Some((reference, None)) };
    let (algorithm, hash) = digest.split_once(':')?;
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return None,
    };
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (hash.len() == length && hash.bytes().all(is_lower_hex)).then_some((rest, Some(digest)))
}

fn is_domain(text: &str) -> bool {
    text == "localhost" || text.contains(['.', ':']) || text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Sixty-four hexadecimal digits name an image by its identifier, which is no reference.
fn is_identifier(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_valid_domain(domain: &str) -> bool {
    let (host, port) = match domain.rfind(':') {
        Some(colon) if !domain.ends_with(']') => (&domain[..colon], Some(&domain[colon + 1..])),
        _ => (domain, None),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let host_is_valid = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':'),
        None => host.split('.').all(is_label),
    };
    host_is_valid && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Lowercase letters and digits, with single dots, one or two underscores, or dashes between.
fn is_valid_component(component: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = component.as_bytes();
    if !bytes.first().is_some_and(|byte| is_word(*byte)) || !bytes.last().is_some_and(|byte| is_word(*byte)) {
        return false;
    }
    bytes
        .split(|byte| is_word(*byte))
        .all(|separator| matches!(separator, b"" | b"." | b"_" | b"__") || separator.iter().all(|byte| *byte == b'-'))
}

fn is_valid_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_is_named_or_implied() {
        for image in
            ["nginx", "nginx:latest", "a.b:5000/c/d", "localhost/x", "registry.io/a__b/c-d:latest", "[::1]:80/a"]
        {
            assert!(is_latest(image), "{image}");
        }
        let digest = format!("nginx@sha256:{}", "a".repeat(64));
        let both = format!("nginx:latest@sha256:{}", "a".repeat(64));
        assert!(is_latest(&both));
        for image in
            ["nginx:1", "", "Nginx", "a b", &digest, &"a".repeat(64), "nginx:", "nginx@sha256:1", "a..b", " nginx"]
        {
            assert!(!is_latest(image), "{image}");
        }
    }
}
